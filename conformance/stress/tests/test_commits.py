"""Whose fault it is by what was committed: one story for each verdict, and what a record of the offsets topic says."""

from __future__ import annotations

import struct

import pytest

from groupspec.conformance.stress.offsets_topic import OffsetRecord, decoded
from groupspec.conformance.stress.tests.story import A, B, Story

C = "confluent-kafka-2-1"


def told(story: Story, ends: dict[int, int]) -> list[tuple[str, str, int, str]]:
    """Each finding, with its evidence."""
    found = story.findings(ends)
    return [(one.promise, one.process, one.records, one.text.partition(": ")[2]) for one in found]


def handed_over(*committed: int) -> Story:
    """A has processed 0 to 9, has committed these, and gives up; then B has it."""
    story = Story().add(0, "assigned", A).add(1, "consumed", A, 0, 9)
    for place, offset in enumerate(committed):
        story.commits(1.5 + place / 10, offset)
    return story.add(2, "revoked", A).add(3, "assigned", B)


def test_O1_a_reader_that_keeps_its_position_over_a_rebalance_begins_below_what_another_has_committed() -> None:
    """Seed 113: kafka-python has read to 497, the reference to 609, and kafka-python goes on at 497."""
    story = Story().add(0, "assigned", A).add(1, "consumed", A, 0, 496).commits(1.5, 497).add(2, "revoked", A)
    story.add(3, "assigned", B).add(4, "consumed", B, 497, 608).commits(5, 609).add(5.1, "revoked", B)
    story.add(6, "assigned", A).add(7, "consumed", A, 497, 613)
    evidence = f"committed was 609 at 5.0 s, and {A} read on from 497"
    assert told(story, {0: 614}) == [("doubled", A, 112, evidence)]


def test_M8_who_has_processed_records_and_not_committed_them_is_to_blame_and_nobody_in_between() -> None:
    story = handed_over(4).add(3.5, "revoked", B).add(4, "assigned", C).add(5, "consumed", C, 4, 19)
    assert told(story, {0: 20}) == [("doubled", A, 6, f"{A} had processed up to 9, and committed was 4 at 1.5 s")]
    nothing = handed_over().add(4, "consumed", B, 0, 19)
    assert told(nothing, {0: 20}) == [("doubled", A, 10, f"{A} had processed up to 9, and committed was nothing")]


def test_M8_what_is_read_again_poll_by_poll_stays_the_fault_of_who_has_not_committed_it() -> None:
    story = handed_over(4).add(4, "consumed", B, 4, 6).add(5, "consumed", B, 7, 8).add(6, "consumed", B, 9, 19)
    assert [one[:3] for one in told(story, {0: 20})] == [("doubled", A, 3), ("doubled", A, 2), ("doubled", A, 1)]
    jumps = handed_over(10).add(4, "consumed", B, 10, 14).add(5, "consumed", B, 12, 13).add(6, "consumed", B, 14, 19)
    evidence = f"{B} was at 15, and read on from 12"
    assert told(jumps, {0: 20}) == [("doubled", B, 2, evidence), ("doubled", B, 1, evidence)]


def test_O1_who_commits_less_than_was_committed_is_to_blame_for_what_is_read_again() -> None:
    story = handed_over(10).commits(3.3, 5).add(3.5, "revoked", B).add(4, "assigned", C).add(5, "consumed", C, 5, 19)
    assert told(story, {0: 20}) == [("doubled", B, 5, f"committed was 10 at 1.5 s, then 5 at 3.3 s, by {B}")]
    made_good = handed_over(3, 2, 8).add(4, "consumed", B, 8, 19)
    assert [one[1] for one in told(made_good, {0: 20})] == [A]
    assert "had processed up to 9" in told(made_good, {0: 20})[0][3]


def killed(after_offset: int) -> Story:
    """A has committed that, and dies; B begins at 5."""
    story = Story().add(0, "assigned", A).add(1, "consumed", A, 0, 9).commits(1.5, after_offset).add(2, "killed", A)
    return story.add(6, "assigned", B).add(7, "consumed", B, 5, 19)


def test_O1_who_begins_below_what_was_committed_is_not_excused_by_the_end_of_another() -> None:
    assert told(killed(5), {0: 20}) == []
    assert told(killed(10), {0: 20}) == [("doubled", B, 5, f"committed was 10 at 1.5 s, and {B} read on from 5")]


@pytest.mark.parametrize(
    ("at_s", "kind", "process"), [(6.5, "stopped", B), (6.5, "broker down", ""), (5, "expelled", B)]
)
def test_O1_but_by_trouble_of_its_own_and_of_the_coordinator(at_s: float, kind: str, process: str) -> None:
    assert told(killed(10).add(at_s, kind, process), {0: 20}) == []


def test_O1_what_is_lost_was_committed_before_it_was_processed_or_passed_over() -> None:
    early, over = "and 9 the last one processed", f"and {B} read on from 15"
    behind = handed_over(10, 15).add(4, "consumed", B, 15, 19)
    assert told(behind, {0: 20}) == [("lost", A, 5, f"committed was 15 at 1.6 s, by {A}, {early}")]
    passed_over = handed_over(10).add(4, "consumed", B, 15, 19)
    assert told(passed_over, {0: 20}) == [("lost", B, 5, f"committed was 10 at 1.5 s, {over}")]
    both = handed_over(12).add(4, "consumed", B, 15, 19)
    assert told(both, {0: 20}) == [
        ("lost", A, 2, f"committed was 12 at 1.5 s, by {A}, {early}"),
        ("lost", B, 3, f"committed was 12 at 1.5 s, {over}"),
    ]
    never = handed_over().add(4, "consumed", B, 15, 19)
    assert told(never, {0: 20}) == [("lost", B, 5, f"committed was nothing, {over}")]


def test_O1_what_is_lost_at_the_end_was_committed_or_never_begun() -> None:
    rest = handed_over(12)
    assert told(rest, {0: 15}) == [
        ("lost", A, 2, f"committed was 12 at 1.5 s, by {A}, and 9 the last one processed"),
        ("lost", A, 3, f"committed was 12 at 1.5 s, and {A} had the partition last"),
    ]


def test_M1_a_commit_is_that_of_the_member_and_not_of_one_that_does_not_know_yet_that_it_is_out() -> None:
    """A has stood still, is out, and was the last to be told of an assignment: one that was over by then."""
    story = Story().add(0, "assigned", B).add(1, "consumed", B, 0, 9).add(2, "joined", A).add(3, "expelled", A)
    story.add(4, "assigned", A).commits(5, 15).add(5.5, "lost", A).add(6, "revoked", B)
    story.add(7, "assigned", C).add(8, "consumed", C, 15, 19)
    assert [one[:3] for one in told(story, {0: 20})] == [("lost", B, 5)]


def test_an_offset_that_was_deleted_is_none() -> None:
    story = handed_over(10, -1).add(4, "consumed", B, 0, 19)
    [(promise, process, _, evidence)] = told(story, {0: 20})
    assert (promise, process) == ("doubled", A)
    assert evidence.startswith("committed was 10 at 1.5 s, then nothing")


def key(version: int) -> bytes:
    """Of group `billing`, topic `orders`, partition 3."""
    return struct.pack(">hh7sh6si", version, 7, b"billing", 6, b"orders", 3)


VALUES = {
    0: struct.pack(">hqhq", 0, 609, 0, 1_700),
    1: struct.pack(">hqhqq", 1, 609, 0, 1_700, -1),
    2: struct.pack(">hqhq", 2, 609, 0, 1_700),
    3: struct.pack(">hqihq", 3, 609, 7, 0, 1_700),
    4: struct.pack(">hqibqb", 4, 609, 7, 1, 1_700, 0),
}
"""OffsetCommitValue, with offset 609 and no metadata: from version 3 with the leader's epoch, from 4 flexible."""


@pytest.mark.parametrize("version", VALUES)
@pytest.mark.parametrize("key_version", [0, 1])
def test_a_commit_is_read_from_its_record(version: int, key_version: int) -> None:
    expected = OffsetRecord(5, "billing", "orders", 3, 609)
    assert decoded(key(key_version), VALUES[version], 5) == expected


def test_a_record_without_a_value_deletes_and_one_of_another_kind_is_none_of_these() -> None:
    assert decoded(key(1), None, 5) == OffsetRecord(5, "billing", "orders", 3, -1)
    assert decoded(struct.pack(">hh7s", 2, 7, b"billing"), b"", 5) is None

"""A stress run is kept as a life without a loss: its judge finds the same in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.conformance.frozen.stressed import as_life, judged_again
from groupspec.conformance.history.life import VERSION, Header, load, save
from groupspec.conformance.stress.judging import Judge
from groupspec.conformance.stress.tests.story import A, B, Story

HEADER = Header(VERSION, "stress", "processes", 1)
BEGAN_US = 500_000
ENDS = {0: 20}


def handed_over(committed: int) -> Story:
    """A has processed up to 9, and B goes on from what was committed."""
    story = Story().add(1, "started", A).add(1, "assigned", A).add(2, "consumed", A, 0, 9).add(2.5, "joined", A)
    story.commits(2.9, committed).add(3, "revoked", A).add(4, "assigned", B)
    return story.add(5, "consumed", B, committed, 19)


@pytest.mark.parametrize(("committed", "promises"), [(10, []), (8, ["doubled"]), (12, ["lost"])])
@pytest.mark.parametrize("stalls", [(), ((3_100_000, 3_900_000),)])
def test_the_judge_finds_the_same(
    committed: int, promises: list[str], stalls: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    story = handed_over(committed)
    found = Judge(story.happenings, story.log, stalls, BEGAN_US).verdict(ENDS)
    assert [one.promise for one in found.findings] == promises
    save([as_life(HEADER, story.happenings, story.log, stalls, BEGAN_US, ENDS, 0)], tmp_path / "stress.ndjson.gz")
    [life] = load(tmp_path / "stress.ndjson.gz")
    again = judged_again(life)
    assert [(one.promise, one.process, one.text) for one in again.findings] == [
        (one.promise, one.process, one.text) for one in found.findings
    ]
    assert (again.processed, again.longest_overlap_ms) == (found.processed, found.longest_overlap_ms)


def test_a_group_that_was_not_stable_in_time_is_found_again() -> None:
    story = handed_over(10)
    given = (story.happenings, story.log, (), BEGAN_US, {0: 30}, 6_000_000)
    found = Judge(*given[:4]).verdict({0: 30}, 6_000_000)
    again = judged_again(as_life(HEADER, *given))
    assert [one.promise for one in again.findings] == [one.promise for one in found.findings] != []


@pytest.mark.parametrize(("stalls", "promises"), [((), ["expired"]), (((15_000_000, 24_000_000),), [])])
def test_what_the_coordinator_noted_and_when_the_machine_stood_still_is_kept(
    stalls: tuple[tuple[int, int], ...], promises: list[str]
) -> None:
    story = Story().add(1, "started", A).add(2, "joined", A, text="joined member-1").add(3, "assigned", A)
    story.add(25, "expelled", A, text="session_expired member-1")
    found = Judge(story.happenings, story.log, stalls, BEGAN_US).verdict({})
    assert [one.promise for one in found.findings] == promises
    again = judged_again(as_life(HEADER, story.happenings, story.log, stalls, BEGAN_US, {}, 0))
    assert [one.promise for one in again.findings] == promises

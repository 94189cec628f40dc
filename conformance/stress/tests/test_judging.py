"""The judge: what is allowed is excused, and what is not is put down to whoever did it. Times are in seconds here."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupspec.conformance.stress.judging import Finding, Judge
from groupspec.conformance.stress.tests.story import A, B, Story
from groupspec.conformance.stress.timeline import Happening


def reads(to: int = 9) -> Story:
    """A has the partition, and has processed it so far."""
    return Story().add(0, "assigned", A).add(1, "consumed", A, 0, to)


def handed_over(committed: int = 10) -> Story:
    """In good order, with this offset committed before."""
    return reads().commits(1.9, committed).add(2, "revoked", A).add(3, "assigned", B)


def test_nothing_is_wrong_with_an_orderly_handover() -> None:
    story = handed_over().add(4, "consumed", B, 10, 19)
    assert story.found({0: 20}) == []


def test_M8_a_repetition_without_trouble_is_put_down_to_who_gave_the_partition_up() -> None:
    assert handed_over(8).add(4, "consumed", B, 8, 19).found({0: 20}) == [("doubled", A, 2)]


def test_O2_who_reads_its_own_records_again_is_to_blame_itself() -> None:
    assert reads().add(2, "consumed", A, 5, 9).found({0: 10}) == [("doubled", A, 5)]


def test_O1_what_nobody_processes_is_lost_by_who_committed_it() -> None:
    assert handed_over(15).add(4, "consumed", B, 15, 19).found({0: 20}) == [("lost", A, 5)]


def test_O1_who_skips_records_of_its_own_is_to_blame_itself() -> None:
    assert handed_over().add(4, "consumed", B, 10, 11).add(5, "consumed", B, 14, 19).found({0: 20}) == [("lost", B, 2)]


def test_O1_what_is_processed_late_is_not_lost() -> None:
    late = handed_over(15).add(4, "consumed", B, 15, 19).add(5, "consumed", B, 10, 12).add(6, "consumed", B, 12, 14)
    assert [one for one in late.found({0: 20}) if one[0] == "lost"] == []
    assert handed_over(15).add(4, "consumed", B, 15, 19).add(5, "consumed", B, 11, 12).found({0: 20}) == [
        ("lost", A, 1),
        ("lost", A, 2),
    ]


def test_O1_a_partition_that_is_not_read_to_its_end() -> None:
    assert reads().add(2, "revoked", A).found({0: 12}) == [("lost", A, 2)]


@pytest.mark.parametrize("fault", ["stopped", "disconnected", "busy"])
def test_who_was_in_trouble_may_leave_something_to_repeat(fault: str) -> None:
    ends = {"stopped": "resumed", "disconnected": "connected", "busy": "polls again"}
    story = reads().add(1.5, fault, A).add(5, "expelled", A).add(5.1, "assigned", B).add(6, "consumed", B, 3, 19)
    story.add(7, ends[fault], A).add(7.5, "lost", A)
    assert story.found({0: 20}) == []


@pytest.mark.parametrize("end", ["killed", "lost"])
def test_so_may_who_is_killed_or_loses_it(end: str) -> None:
    assert reads().add(2, end, A).add(6, "assigned", B).add(7, "consumed", B, 3, 19).found({0: 20}) == []


def test_so_may_who_gives_up_while_the_broker_is_away_or_was_just_now() -> None:
    story = reads().add(1.5, "broker down", "").add(4, "broker up", "").add(6, "revoked", A).add(7, "assigned", B)
    assert story.add(8, "consumed", B, 3, 19).found({0: 20}) == []
    late = reads().add(1.5, "broker down", "").add(4, "broker up", "").add(16, "revoked", A).add(17, "assigned", B)
    assert late.add(18, "consumed", B, 3, 19).found({0: 20}) == [("doubled", A, 7)]


def test_an_excuse_is_over_when_the_only_owner_has_processed_something_new() -> None:
    story = reads().add(2, "killed", A).add(6, "assigned", B).add(7, "consumed", B, 3, 19).add(8, "consumed", B, 15, 19)
    assert story.found({0: 20}) == [("doubled", B, 5)]


def test_K1_two_owners_without_an_expulsion() -> None:
    assert reads().add(2, "assigned", B).add(2.5, "revoked", A).found({0: 10}) == [("owners", A, 0)]


def test_K1_an_expulsion_of_an_earlier_membership_does_not_count() -> None:
    story = Story().add(0, "expelled", A).add(1, "assigned", A).add(2, "assigned", B).add(2.5, "lost", A)
    assert story.found() == [("owners", A, 0)]


def test_K1_who_is_out_of_the_group_has_some_time_to_hear_of_it_from_when_it_can() -> None:
    def story(resumed: float, lost: float) -> Story:
        expelled = reads().add(1.5, "stopped", A).add(5, "expelled", A).add(5.1, "assigned", B)
        return expelled.add(resumed, "resumed", A).add(lost, "lost", A)

    assert story(30, 31).found({0: 10}) == []
    assert story(6, 20).found({0: 10}) == [("owners", A, 0)]


def late_callback(standing: str) -> Story:
    """B gets at 2 s what is A's, of an assignment that is over."""
    return Story().add(0, "joined", B).add(1, standing, B).add(1.5, "assigned", A).add(2, "assigned", B)


def test_K1_a_late_callback_may_bring_what_is_over() -> None:
    assert late_callback("expelled").add(2.5, "lost", B).found() == []
    assert late_callback("left").add(2.01, "lost", B).found() == []


def test_K1_who_has_left_says_in_the_same_poll_that_it_is_lost() -> None:
    assert late_callback("left").add(2.5, "lost", B).found() == [("owners", B, 0)]
    assert late_callback("left").add(2.1, "consumed", B, 0, 5).add(2.15, "lost", B).found() == [("owners", B, 0)]


def test_X2_who_is_fenced_off_needs_a_broker_that_has_restarted() -> None:
    story = Story().add(0, "broker up", "").add(1, "started", A).add(2, "fenced", A)
    assert story.found() == [("crash", A, 0)]
    assert Story().add(1, "started", A).add(1.5, "broker up", "").add(2, "fenced", A).found() == []


def test_K1_who_has_joined_again_is_a_member() -> None:
    story = Story().add(0, "left", B).add(1, "joined", B).add(1.5, "assigned", A).add(2, "assigned", B)
    assert story.found() == [("owners", A, 0)]


def test_silence_counts_where_nothing_explains_it() -> None:
    def silent(until_s: float, *, stopped: bool) -> Story:
        story = Story().add(0, "started", A)
        if stopped:
            story.add(2, "stopped", A).add(until_s - 1, "resumed", A)
        story.happenings.append(Happening(round(until_s * 1e6), "silence", A, first=1_000_000))
        return story

    assert silent(10, stopped=False).found() == []
    assert silent(30, stopped=False).found() == [("hang", A, 0)]
    assert silent(30, stopped=True).found() == []


def expired(trouble: str = "", end: str = "", end_s: float = 0) -> Story:
    """A is put out at 20 s."""
    story = Story().add(0, "started", A).add(0.1, "joined", A, text="joining a-1")
    if trouble:
        story.add(end_s - 3, trouble, A).add(end_s, end, A)
    return story.add(20, "expelled", A, text="session_expired a-1")


def test_H1_a_session_expires_for_a_reason() -> None:
    assert expired().found() == [("expired", A, 0)]
    assert expired("stopped", "resumed", 19).found() == []
    assert expired("busy", "polls again", 21).found() == []
    assert expired("stopped", "resumed", 10).found() == [("expired", A, 0)]
    assert expired().add(18, "killed", A).found() == []
    assert expired().add(18, "joined", A, text="joining a-2").found() == []
    stalled = expired()
    assert not Judge(stalled.happenings, stalled.log, [(17_000_000, 17_600_000)]).verdict({}).findings


def test_a_process_that_ends_by_itself_and_a_close_that_does_not_end() -> None:
    assert Story().add(1, "ended", A, text="exit code 1").found() == [("crash", A, 0)]
    assert Story().add(1, "closing", A).add(2, "ended", A).found() == []
    assert Story().add(1, "closing", A).add(21, "killed", A).found() == [("close", A, 0)]


def unstable(story: Story, ends: Mapping[int, int] = {0: 10}) -> list[tuple[str, str]]:
    """The group should have been stable at 50 s; all are closed at 60 s."""
    story.add(60, "closing", A)
    verdict = Judge(story.happenings, story.log).verdict(ends, 50_000_000)
    return [(one.promise, one.process) for one in verdict.findings]


def test_who_is_in_the_way_of_a_stable_group() -> None:
    def group() -> Story:
        story = Story().add(0, "started", A).add(0, "started", B).add(1, "assigned", A).add(2, "consumed", A, 0, 9)
        story.log.append(Happening(3_000_000, "led", A))
        return story

    assert unstable(group()) == [("unstable", B)]
    given_nothing = group()
    given_nothing.happenings.append(Happening(4_000_000, "assigned", B))
    assert unstable(given_nothing) == [("unstable", A)]
    assert unstable(group().add(5, "killed", B), {0: 11}) == [("unstable", A)]
    assert unstable(group().add(5, "killed", B)) == [("unstable", "")]
    silent = group()
    assert [one.promise for one in Judge(silent.happenings, silent.log).verdict({0: 10}, 50_000_000).findings] == [
        "unstable"
    ]


def test_a_finding_names_the_client() -> None:
    assert Finding("lost", "reference-heartbeat-3-12", 0, "").client == "reference-heartbeat"


def test_a_stall_of_the_machine_is_no_silence_and_excuses_a_commit_that_it_may_have_kept() -> None:
    silent = Story().add(0, "started", A)
    silent.happenings.append(Happening(20_000_000, "silence", A, first=1_000_000))
    assert [one.promise for one in Judge(silent.happenings, []).verdict({}).findings] == ["hang"]
    assert not Judge(silent.happenings, [], [(5_000_000, 10_000_000)]).verdict({}).findings
    doubled = handed_over(8).add(4, "consumed", B, 8, 19)
    assert not Judge(doubled.happenings, doubled.log, [(500_000, 1_800_000)]).verdict({}).findings
    assert Judge(doubled.happenings, doubled.log, [(1_000_000, 1_800_000)]).verdict({}).findings


def test_another_coordinator_is_trouble_for_everybody() -> None:
    story = handed_over(8).add(4, "consumed", B, 8, 19)
    story.log.append(Happening(1_500_000, "loaded"))
    assert story.found({0: 20}) == []
    fenced = Story().add(1, "started", A).add(2, "fenced", A)
    fenced.log.append(Happening(1_500_000, "loaded"))
    assert fenced.found() == []

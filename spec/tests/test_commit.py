"""Stories of one commit: who waits how long, as whom it is sent, and how every answer ends it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupspec.spec.commit import COMMIT_ANSWERS, COMMIT_ENDINGS
from groupspec.spec.compiler.member import IllegalEvent, Member
from groupspec.spec.compiler.tables import tables
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import RESPONSES, VARIABLES

ALL = tuple(COMMIT_ANSWERS)
PERSISTENT = ("commit_sync_called", "rebalance_commit_due", "close_commit_due")
BEGINNINGS = (*PERSISTENT, "commit_async_called", "auto_commit_due")


class CommitCase:
    """One commit, by itself."""

    def __init__(self, standing: str = "member", coordinator: bool = True) -> None:
        self.machine = Member("eager", "deployed", ("commit",))
        self.at = self.machine.initial(auto_commit=True)
        if standing != "outside":
            self.happens("commit_standing_changed", standing_now=standing)
        if coordinator:
            self.happens("coordinator_found")

    def happens(self, event: str, **inputs: Value) -> tuple[str, ...]:
        """One event; what was emitted."""
        names = self.machine.tables["commit"].event(event).inputs
        given: Mapping[str, Value] = {name: inputs.pop(name, VARIABLES[name].initial) for name in names}
        assert not inputs
        reaction = self.machine.react(self.at, event, given)
        self.at = reaction.state
        return reaction.emitted

    @property
    def state(self) -> str:
        """Where it is."""
        return self.at.states[0]

    def value(self, name: str) -> Value:
        """One variable."""
        return self.machine.value_of(self.at, name)


def test_every_error_of_an_answer_is_an_event_and_means_what_it_means_to_the_member() -> None:
    of_member = {error: event for (api, error), event in RESPONSES.items() if api == "OffsetCommit"}
    assert set(COMMIT_ANSWERS) == set(of_member)
    for error, event in COMMIT_ANSWERS.items():
        settled = ("commit_accepted", "commit_refused", "commit_topic_missing")
        assert of_member[error] == ("commit_settled" if event in settled else event)


@pytest.mark.parametrize("error", ALL)
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_T3_M3_every_answer_ends_a_commit_once_or_has_it_tried_again(beginning: str, error: str) -> None:
    story = CommitCase()
    assert story.happens(beginning) == ("OffsetCommit",)
    told = story.happens(COMMIT_ANSWERS[error])
    passing = COMMIT_ANSWERS[error] in ("commit_retriable", "commit_coordinator_gone")
    passing |= COMMIT_ANSWERS[error] == "commit_topic_missing" and beginning != "rebalance_commit_due"
    if passing and beginning in PERSISTENT:
        assert (story.state, told) == ("WAITING", ())
        assert story.happens("coordinator_found") == ()
        assert story.happens("commit_backoff_elapsed") == ("OffsetCommit",)
    else:
        assert story.state == "SETTLED"
        assert len(told) == 1
        assert told[0] in COMMIT_ENDINGS
        assert (told == ("COMMIT_DONE",)) == (error == "NONE")


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize(("standing", "sent_as"), [("member", "member"), ("manual", "nobody")])
def test_M1_X1_D8_the_identity_is_a_members_whole_or_none_at_all(beginning: str, standing: str, sent_as: str) -> None:
    story = CommitCase(standing)
    if (beginning, standing) == ("rebalance_commit_due", "manual"):
        assert story.happens(beginning) == ()
    else:
        assert story.happens(beginning) == ("OffsetCommit",)
        assert story.value("sent_as") == sent_as


@pytest.mark.parametrize("waits_for", ["a coordinator", "an earlier commit"])
@pytest.mark.parametrize("then", [("manual",), ("manual", "outside", "in_round", "member"), ("outside", "member")])
def test_M1_what_waits_goes_out_in_the_membership_that_it_was_asked_for_in_or_not_at_all(
    waits_for: str, then: tuple[str, ...]
) -> None:
    story = CommitCase(coordinator=waits_for != "a coordinator")
    story.happens("commit_sync_called", behind_now=True)
    for standing in then:
        assert story.happens("commit_standing_changed", standing_now=standing, same_identity=False) == ()
    assert story.happens("earlier_commits_done") == ("COMMIT_FAILED",)


@pytest.mark.parametrize("standing", ["member", "manual"])
def test_M1_a_rebalance_ends_no_membership_and_who_assigns_others_itself_has_none(standing: str) -> None:
    story = CommitCase(standing)
    story.happens("commit_async_called", behind_now=True)
    for now in ("in_round", "member") if standing == "member" else ("manual",):
        story.happens("commit_standing_changed", standing_now=now, same_identity=False)
    assert story.happens("earlier_commits_done") == ("OffsetCommit",)
    assert story.value("sent_as") == ("nobody" if standing == "manual" else "member")


@pytest.mark.parametrize(("standing", "told"), [("in_round", "COMMIT_REBALANCING"), ("outside", "COMMIT_FAILED")])
def test_M7_in_a_round_and_outside_of_the_group_a_commit_fails_without_a_request(standing: str, told: str) -> None:
    story = CommitCase(standing)
    assert story.happens("commit_sync_called") == (told,)
    assert story.happens("auto_commit_due") == ()
    assert story.happens("close_commit_due") == ()
    assert story.state == "SETTLED"


def test_M6_a_commit_waits_for_those_before_it_even_to_fail() -> None:
    story = CommitCase()
    assert story.happens("commit_sync_called", behind_now=True) == ()
    assert story.happens("commit_standing_changed", standing_now="in_round") == ()
    assert story.happens("earlier_commits_done") == ("COMMIT_REBALANCING",)


def test_M4_the_commit_before_a_rebalance_waits_for_the_poll_that_says_that_records_are_processed() -> None:
    story = CommitCase()
    assert story.happens("rebalance_commit_due", covers_now="nothing", unprocessed_now=True) == ()
    assert story.happens("application_polled") == ("OffsetCommit",)


def test_M5_a_commit_of_nothing_is_done_and_the_interval_begins_no_second_automatic_one() -> None:
    story = CommitCase()
    assert story.happens("rebalance_commit_due", covers_now="nothing") == ()
    assert story.happens("commit_sync_called", covers_now="nothing") == ("COMMIT_DONE",)
    story.happens("auto_commit_due")
    assert story.happens("auto_commit_due") == ()
    assert story.happens("commit_accepted") == ("COMMIT_DONE",)
    assert story.happens("auto_commit_due") == ("OffsetCommit",)


@pytest.mark.parametrize("beginning", PERSISTENT)
@pytest.mark.parametrize("retried", [False, True])
def test_M3_D3_who_waits_waits_until_the_deadline_and_no_longer(beginning: str, retried: bool) -> None:
    story = CommitCase(coordinator=retried)
    story.happens(beginning)
    if retried:
        story.happens("commit_retriable")
    assert story.happens("commit_deadline_expired") == ("COMMIT_TIMED_OUT",)
    assert story.happens("commit_accepted", current=False) == ()


def test_D3_a_commit_that_is_tried_once_does_not_wait_for_a_second_lookup() -> None:
    story = CommitCase(coordinator=False)
    story.happens("commit_async_called")
    assert story.happens("discovery_retriable") == ("COMMIT_RETRIABLE",)
    story.happens("rebalance_commit_due")
    assert story.happens("discovery_retriable") == ()
    assert story.happens("discovery_fatal") == ()
    assert story.happens("coordinator_found") == ("OffsetCommit",)


def test_C2_automatic_commits_end_with_the_membership_and_those_of_the_application_are_answered() -> None:
    for beginning in ("auto_commit_due", "rebalance_commit_due", "close_commit_due"):
        story = CommitCase()
        story.happens(beginning)
        assert story.happens("commit_standing_changed", standing_now="outside") == ("COMMIT_FAILED",)
    story = CommitCase()
    story.happens("commit_async_called")
    assert story.happens("commit_standing_changed", standing_now="outside", same_identity=False) == ()
    assert story.happens("commit_accepted") == ("COMMIT_DONE",)


@pytest.mark.parametrize("answer", ["commit_unknown_member", "commit_illegal_generation", "commit_fenced"])
def test_J9_M2_a_rejection_of_an_identity_that_is_gone_says_only_how_the_commit_ends(answer: str) -> None:
    story = CommitCase()
    story.happens("commit_async_called")
    story.happens("commit_standing_changed", standing_now="in_round", same_identity=False)
    assert story.happens(answer) == ("COMMIT_REBALANCING",)
    story = CommitCase()
    story.happens("commit_async_called")
    story.happens("commit_standing_changed", standing_now="member", same_identity=False)
    assert story.happens(answer) == ("COMMIT_FAILED",)


@pytest.mark.parametrize("state", ["SETTLED", "WAITING"])
def test_J9_nothing_answers_a_commit_that_is_not_out(state: str) -> None:
    story = CommitCase(coordinator=False)
    if state == "WAITING":
        story.happens("commit_sync_called")
    with pytest.raises(IllegalEvent):
        story.happens("commit_accepted")


def test_L2_the_end_of_the_consumer_ends_every_commit_under_way() -> None:
    for coordinator in (False, True):
        for beginning in BEGINNINGS:
            story = CommitCase(coordinator=coordinator)
            story.happens(beginning)
            assert story.happens("stopped") == ("COMMIT_CLOSED",)


def test_every_ending_is_told_somewhere() -> None:
    table = tables()["commit", "eager", "deployed"]
    assert {word for row in table.rows for word in table.emitted(row)} == {*COMMIT_ENDINGS, "OffsetCommit"}

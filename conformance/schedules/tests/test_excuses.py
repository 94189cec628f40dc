"""What the oracles excuse of what a member sends, exactly: the same a little otherwise is no excuse."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from msgspec import structs

from groupspec.conformance.schedules.asking import EVERYTHING
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.rounds import Rounds
from groupspec.conformance.schedules.tests.heard import (
    HEARTBEAT,
    INTERVAL_MS,
    PLACE,
    SYNC,
    WHERE,
    Heard,
    join_group,
)
from groupspec.conformance.schedules.times import LOOK_MS, SETTINGS, Times
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    ListedOffset,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    NoAnswer,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment


@pytest.mark.parametrize("others", [True, False])
def test_D5_a_heartbeat_that_breaks_is_late_where_a_commit_lets_it_join_with_other_topics(others: bool) -> None:
    """Schedule 1338: then nobody waits for the heartbeat's answer, and the coordinator stays known."""
    heard = Heard()
    heard.stable()
    if others:
        heard.requests.asking.subscribed = frozenset({"payments"})
    heard.requests.rounds.may_come(1_000)
    commit, beat = heard.sends(OffsetCommitRequest("billing", 1, "m", None, {})), heard.sends(HEARTBEAT)
    heard.takes((commit, OffsetCommitResponse({})), (beat, NoAnswer(ErrorCode.DISCONNECTED)))
    heard.takes()
    if others:
        heard.sends(join_group("payments"))
    else:
        with pytest.raises(AssertionError, match="rules D4, D5"):
            heard.sends(join_group("orders"))


ALL = ("orders", "payments")
CHANGES: dict[str, tuple[list[str], str]] = {
    "its one choice leaves it out": (["payments"], "accused"),
    "the first of two does": (["payments", ""], "accused"),
    "the second of two does": (["orders", ""], "excused"),
    "it vanishes": (["-orders"], "accused"),
    "it vanishes after a choice": (["orders", "-orders"], "excused"),
    "it vanishes after another one": (["-payments", "-orders"], "excused"),
    "it vanishes, and another one vanishes that it does not subscribe to": (["-shipments", "-orders"], "accused"),
    "it vanishes, and a topic comes": (["+orders-eu", "-orders"], "accused"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_K1_who_gives_something_up_before_a_round_may_claim_what_a_second_change_leaves_out(change: str) -> None:
    """Schedules 20465 and 5001163: meanwhile nobody looks at another change. A topic vanishes under a pattern."""
    steps, verdict = CHANGES[change]
    heard = Heard()
    heard.requests.asking.subscribed = frozenset({*ALL, EVERYTHING})
    heard.stable(*ALL)
    heard.lists(*ALL, "shipments")
    claims = draw(1).by_hand[:1]
    heard.requests.claims.owned = set(claims)
    for step in steps:
        if step[:1] in ("-", "+"):
            heard.there ^= {step[1:]}
            heard.lists(*heard.there)
        else:
            heard.requests.rounds.wants({step} - {""})
    heard.requests.rounds.may_come(1_000)
    join = join_group("payments", owned=claims, generation=1)
    if verdict == "excused":
        heard.sends(join)
    else:
        with pytest.raises(AssertionError, match="not subscribed to"):
            heard.sends(join)


@pytest.mark.parametrize("lies_about", [True, False])
def test_P1_the_poll_interval_begins_when_the_answer_to_join_group_is_taken(lies_about: bool) -> None:
    """Schedules 5438 and 21469 of the heartbeat design: nobody polls, and the answer lies about until the next call."""
    times, taken_ms = Times(SETTINGS), 9_000 if lies_about else 1_000
    times.poll_begins(1_000)
    times.answered(join_group("orders"), JoinGroupResponse(ErrorCode.NONE, 1, "range", "other", "m"), set(), 1_000)
    times.poll_ends(1_000)
    times.sent(SYNC, taken_ms, leaves=False)
    if lies_about:
        times.sent(HEARTBEAT, INTERVAL_MS + 2_000, leaves=False)
    else:
        with pytest.raises(AssertionError, match="rule P1"):
            times.sent(HEARTBEAT, INTERVAL_MS + 2_000, leaves=False)


@pytest.mark.parametrize("broken", [True, False])
def test_H5_who_takes_over_from_a_thread_that_has_ended_finds_a_silent_coordinator_at_once(broken: bool) -> None:
    """Schedule 2000427 of the heartbeat design: until the next poll() there was nobody to look."""
    times, late_ms = Times(SETTINGS), 5 * SETTINGS["session_timeout_ms"]
    times.sent(SYNC, 1_000, leaves=False)
    if broken:
        times.broken()
    times.poll_begins(late_ms)
    if not broken:
        with pytest.raises(AssertionError, match="rule H5"):
            times.looks(late_ms)
        return
    times.looks(late_ms)
    times.mended()
    with pytest.raises(AssertionError, match="rule H5"):
        times.looks(late_ms + 1_000)


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_K1_an_assignment_that_comes_after_its_coordinator_has_gone_was_never_had(first: bool, leads: bool) -> None:
    """Schedule 9004129: a leader's Heartbeat is answered NOT_COORDINATOR before its SyncGroup is; both lie there."""
    heard = Heard("sticky", leads)
    found = FindCoordinatorResponse(ErrorCode.NONE, 2, "localhost", 9093)
    heard.takes((heard.sends(FindCoordinatorRequest("billing"), "any"), found))
    heard.takes((heard.joins("orders"), JoinGroupResponse(ErrorCode.NONE, 1, "sticky", "other", "m")))
    moved = (heard.sends(HEARTBEAT), HeartbeatResponse(ErrorCode.NOT_COORDINATOR))
    shared = (heard.sends(SYNC), SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(()))))
    heard.takes(*((moved, shared) if first else (shared, moved)))
    heard.requests.disconnected(1_000)
    heard.takes((heard.sends(FindCoordinatorRequest("billing"), "any"), found))
    if first:
        heard.joins("orders")
    else:
        heard.requests.rounds.may_come(1_000)
        with pytest.raises(AssertionError, match="sticky, it had"):
            heard.joins("orders")


WAITING: dict[str, tuple[bool, bool, int, str]] = {
    "it waits for its turn": (False, False, 0, "excused"),
    "it is taken at once": (True, False, 0, "accused"),
    "it has had its turn": (False, False, LOOK_MS + 1, "accused"),
    "the listener was told of it": (False, True, 0, "accused"),
}
"""How -> whether answers are taken at once, whether it is owned, how much later the coordinator is given up."""


@pytest.mark.parametrize("waits", WAITING)
def test_K1_an_assignment_that_waits_for_its_turn_as_its_coordinator_is_given_up_was_never_had(waits: str) -> None:
    """Schedule 1000311 of the heartbeat design: its thread finds the session over before it can see the answer."""
    at_once, owned, later_ms, verdict = WAITING[waits]
    heard = Heard("sticky", at_once=at_once)
    heard.requests.times.is_polling = True
    found = FindCoordinatorResponse(ErrorCode.NONE, 2, "localhost", 9093)
    heard.takes((heard.sends(FindCoordinatorRequest("billing"), "any"), found))
    heard.takes((heard.joins("orders"), JoinGroupResponse(ErrorCode.NONE, 1, "sticky", "other", "m")))
    heard.at_ms += SETTINGS["session_timeout_ms"]
    share = (PLACE,)
    heard.takes((heard.sends(SYNC), SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(share)))))
    heard.requests.claims.owned = {*share} if owned else set()
    heard.at_ms += later_ms
    heard.requests.disconnected(heard.at_ms)
    heard.takes((heard.sends(FindCoordinatorRequest("billing"), "any"), found))
    heard.requests.rounds.may_come(heard.at_ms)
    with nullcontext() if verdict == "excused" else pytest.raises(AssertionError, match="sticky, it had"):
        heard.joins("orders")


@pytest.mark.parametrize("seeks", [{1}, {2}, {1, 2}])
def test_M8_a_commit_that_was_made_before_a_seek_may_be_sent_after_it(seeks: set[int]) -> None:
    """Schedule 1002628: both while the same answers are worked off. The one before them the commit covers."""
    heard = Heard()
    heard.stable()
    for seek in (1, 2):
        if seek in seeks:
            heard.requests.moved[PLACE] = seek
        if seek == 1:
            heard.takes()
    heard.sends(OffsetCommitRequest("billing", 1, "m", None, {}))
    assert (PLACE in heard.requests.moved) == (2 in seeks)


@pytest.mark.parametrize("dropped", [True, False])
def test_J2_who_has_dropped_an_assignment_with_its_coordinator_joins_again(dropped: bool) -> None:
    """Without anything else that has called for it."""
    heard = Heard()
    heard.stable()
    heard.requests.rounds.may_come(heard.at_ms)
    heard.at_ms = 1_500
    heard.takes((heard.joins("orders"), JoinGroupResponse(ErrorCode.NONE, 1, heard.assignor, "other", "m")))
    moved = (heard.sends(HEARTBEAT), HeartbeatResponse(ErrorCode.NOT_COORDINATOR))
    shared = (heard.sends(SYNC), SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(()))))
    heard.at_ms = 2_000
    heard.takes(*((moved, shared) if dropped else (shared, moved)))
    heard.requests.disconnected(heard.at_ms)
    found = FindCoordinatorResponse(ErrorCode.NONE, 2, "localhost", 9093)
    heard.takes((heard.sends(FindCoordinatorRequest("billing"), "any"), found))
    if dropped:
        heard.joins("orders")
    else:
        with pytest.raises(AssertionError, match="nothing has called for"):
            heard.joins("orders")


@pytest.mark.parametrize("closes", [True, False])
def test_M7_who_is_closed_by_another_thread_may_commit_in_the_round_that_it_gives_up(closes: bool) -> None:
    """Schedule 962 of the heartbeat design: the callback of that close() commits, as that of its own would."""
    heard = Heard()
    heard.stable()
    heard.requests.rounds.may_come(heard.at_ms)
    heard.takes((heard.joins("orders"), JoinGroupResponse(ErrorCode.NONE, 1, heard.assignor, "other", "m")))
    heard.sends(SYNC)
    heard.requests.closes_meanwhile = closes
    with nullcontext() if closes else pytest.raises(AssertionError, match="rules J1, M7"):
        heard.sends(OffsetCommitRequest("billing", 1, "m", None, {}))


@pytest.mark.parametrize("leaves", ["itself", "closed by another thread", ""])
def test_M1_who_leaves_as_its_round_is_answered_may_commit_as_whom_it_was_before(leaves: str) -> None:
    """Schedules 2000494, 2001398: a callback of close() commits; the round that it gives up makes it another one."""
    heard = Heard()
    heard.stable()
    heard.requests.rounds.may_come(1_000)
    join = heard.sends(join_group("orders"))
    heard.requests.doing = "close" if leaves == "itself" else ""
    heard.requests.closes_meanwhile = leaves == "closed by another thread"
    heard.takes((join, JoinGroupResponse(ErrorCode.NONE, 2, "cooperative-sticky", "other", "m")))
    heard.takes()
    commit = OffsetCommitRequest("billing", 1, "m", None, {})
    if leaves:
        heard.sends(commit)
    else:
        with pytest.raises(AssertionError, match="rules J9, M1"):
            heard.sends(commit)


@pytest.mark.parametrize(("leaves", "calls"), [(True, "commit one"), (False, "commit one"), (True, "work")])
def test_M1_who_leaves_in_a_round_may_commit_in_its_callback(leaves: bool, calls: str) -> None:
    """Schedule 9004265 of the heartbeat design: the round is given up, and its JoinGroup will never be answered.

    No automatic commit does (`groupspec explain commit-of-who-leaves-in-a-round`).
    """
    heard = Heard(calls=("poll", calls))
    heard.stable()
    heard.requests.rounds.may_come(1_000)
    heard.joins("orders")
    heard.requests.doing = "close" if leaves else ""
    commit = OffsetCommitRequest("billing", 1, "m", None, {})
    if leaves and calls != "work":
        heard.sends(commit)
    else:
        with pytest.raises(AssertionError, match="while JoinGroup is unanswered"):
            heard.sends(commit)


@pytest.mark.parametrize("leaves", [True, False])
def test_D5_what_the_group_says_of_a_round_that_was_given_up_ends_no_coordinator(leaves: bool) -> None:
    """Schedule 9007000: NOT_COORDINATOR to the JoinGroup of who has unsubscribed; it joins anew, and goes on."""
    heard = Heard()
    heard.stable()
    heard.requests.rounds.may_come(1_000)
    join = heard.joins("orders")
    if leaves:
        heard.requests.leaves()
    heard.takes((join, JoinGroupResponse(ErrorCode.NOT_COORDINATOR, -1, "", "", "")))
    if leaves:
        heard.requests.membership_ended()
    heard.takes()
    anew = structs.replace(join_group("orders"), member_id="")
    if not leaves:
        with pytest.raises(AssertionError, match="rules D4, D5"):
            heard.sends(anew)
        return
    heard.takes((heard.sends(anew), JoinGroupResponse(ErrorCode.NONE, 1, heard.assignor, "other", "m")))
    heard.takes((heard.sends(SYNC), SyncGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, b"")))
    heard.sends(anew)


@pytest.mark.parametrize("later", [True, False])
def test_X2_who_has_given_its_coordinator_up_is_not_fenced_by_what_else_has_come_from_it(later: bool) -> None:
    """Schedule 9015954: by what comes later it is, if nobody waited for the Heartbeat, and so it has given up nothing.

    A static member was out for not polling, silently, when its Heartbeat was out of time.
    """
    heard = Heard()
    heard.stable()
    gone = (heard.sends(HEARTBEAT), HeartbeatResponse(ErrorCode.NOT_COORDINATOR))
    commit = heard.sends(OffsetCommitRequest("billing", 1, "m", None, {}))
    fenced = (commit, OffsetCommitResponse({PLACE: ErrorCode.FENCED_INSTANCE_ID}))
    for answers in ((gone,), (fenced,)) if later else ((gone, fenced),):
        heard.takes(*answers)
    assert heard.requests.fenced == later


@pytest.mark.parametrize("asked", [True, False])
def test_J8_metadata_of_a_topic_that_the_application_has_asked_about_may_be_asked_for(asked: bool) -> None:
    """Schedule 291510: a question about a topic that is not subscribed to finds its new leader."""
    heard = Heard()
    heard.stable()
    if asked:
        heard.requests.asking.inquired.add((TopicPartition("payments", 0), -1))
        heard.sends(MetadataRequest(("payments",)), "any")
    else:
        with pytest.raises(AssertionError, match="rule J8"):
            heard.sends(MetadataRequest(("payments",)), "any")


@pytest.mark.parametrize(("asked", "times"), [(False, 2), (True, 4)])
def test_J8_member_and_application_may_each_ask_a_leader_that_is_none_twice(asked: bool, times: int) -> None:
    """Schedule 1000166: each asks again after a backoff of its own. Then somebody has to find out who leads."""
    heard = Heard()
    heard.stable()
    heard.requests.asking.inquired |= {(PLACE, -1)} if asked else {(PLACE, -2)}
    moved = ListOffsetsResponse({PLACE: ListedOffset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)})
    for _ in range(times):
        heard.takes((heard.sends(WHERE, "1"), moved))
    with pytest.raises(AssertionError, match="without Metadata in between"):
        heard.sends(WHERE, "1")


@pytest.mark.parametrize("before", [True, False])
def test_J8_who_asks_for_the_leader_has_asked_in_vain_before_and_that_counts_no_more(before: bool) -> None:
    """Schedule 9006142: partitions are chosen anew while answers are slow; all say the same, and Metadata are here."""
    heard = Heard()
    heard.stable()
    moved = ListOffsetsResponse({PLACE: ListedOffset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)})
    sent = [heard.sends(WHERE, "1") for _ in range(2 if before else 0)]
    heard.takes((heard.sends(MetadataRequest(("orders",)), "any"), MetadataResponse((), ())))
    sent += [heard.sends(WHERE, "1") for _ in range(0 if before else 2)]
    heard.takes(*((number, moved) for number in sent))
    if before:
        heard.sends(WHERE, "1")
    else:
        with pytest.raises(AssertionError, match="without Metadata in between"):
            heard.sends(WHERE, "1")


@pytest.mark.parametrize("assigned", [True, False])
def test_J8_metadata_of_what_is_assigned_may_be_asked_for_before_the_listener_hears_of_it(assigned: bool) -> None:
    """Schedule 9003856 of the heartbeat design: meanwhile the application has chosen other topics."""
    heard = Heard()
    heard.stable(share=(TopicPartition("payments", 0),) if assigned else ())
    if assigned:
        heard.sends(MetadataRequest(("payments",)), "any")
    else:
        with pytest.raises(AssertionError, match="rule J8"):
            heard.sends(MetadataRequest(("payments",)), "any")


@pytest.mark.parametrize("again", [True, False])
def test_J8_what_was_wanted_as_poll_began_may_be_asked_for_until_another_one_begins(again: bool) -> None:
    """Schedule 6005072 of the heartbeat design: a callback in it has chosen something else."""
    heard = Heard()
    heard.stable()
    heard.requests.asking.subscribed = frozenset({"payments"})
    heard.requests.asking.polls(())
    heard.requests.asking.subscribed = frozenset({"orders"})
    if again:
        heard.requests.asking.polls(())
        with pytest.raises(AssertionError, match="rule J8"):
            heard.sends(MetadataRequest(("payments",)), "any")
    else:
        heard.sends(MetadataRequest(("payments",)), "any")


def test_H5_a_heartbeat_that_is_answered_keeps_the_coordinator() -> None:
    heard = Heard()
    heard.stable()
    heard.takes((heard.sends(HEARTBEAT), HeartbeatResponse(ErrorCode.NONE)))
    with pytest.raises(AssertionError, match="rule H5"):
        heard.requests.disconnected(1_000)


@pytest.mark.parametrize("late", [True, False])
def test_H7_who_is_answered_late_may_send_no_other_heartbeat_before(late: bool) -> None:
    """Schedule 1000102: the answer stood behind those of two slow commits, on the same connection."""
    heard = Heard()
    heard.stable()
    beat = heard.sends(HEARTBEAT)
    if not late:
        heard.takes((beat, HeartbeatResponse(ErrorCode.NONE)))
    heard.at_ms += 3 * SETTINGS["heartbeat_interval_ms"] + 100
    if late:
        heard.takes((beat, HeartbeatResponse(ErrorCode.NONE)))
        heard.requests.turned(heard.at_ms)
    else:
        with pytest.raises(AssertionError, match="no Heartbeat for"):
            heard.requests.turned(heard.at_ms)


@pytest.mark.parametrize("fenced", [True, False])
def test_X2_who_is_fenced_learns_nothing_more_of_its_membership(fenced: bool) -> None:
    """Schedule 22927 (heartbeat): the answer to a heartbeat that was sent before that was looked at."""
    heard = Heard()
    heard.stable()
    commit, beat = heard.sends(OffsetCommitRequest("billing", 1, "m", None, {})), heard.sends(HEARTBEAT)
    error = ErrorCode.FENCED_INSTANCE_ID if fenced else ErrorCode.NONE
    heard.takes((commit, OffsetCommitResponse({PLACE: error})))
    heard.takes((beat, HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)))
    assert (heard.requests.fenced, heard.requests.is_lost(heard.at_ms + INTERVAL_MS)) == (fenced, not fenced)


@pytest.mark.parametrize("leaves", [True, False])
def test_L1_an_unsubscribe_that_goes_on_does_so_when_its_membership_ends(leaves: bool) -> None:
    """Schedule 33300: a poll() after it may have nothing to poll for."""
    heard = Heard()
    heard.stable()
    beat = heard.sends(HEARTBEAT)
    if leaves:
        heard.requests.leaves()
    heard.takes((beat, HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)))
    assert heard.requests.leaving is leaves


@pytest.mark.parametrize("own", [True, False])
def test_M1_a_commit_that_was_given_up_tells_its_member_nothing(own: bool) -> None:
    """Schedule 31810: commit() was out of time just before ILLEGAL_GENERATION came; 124438: that was of another one."""
    heard = Heard()
    heard.stable()
    commit = heard.sends(OffsetCommitRequest("billing", 1, "m", None, {PLACE: OffsetAndMetadata(5)}))
    heard.requests.commit_out_of_time(commit - own)
    heard.takes((commit, OffsetCommitResponse({PLACE: ErrorCode.ILLEGAL_GENERATION})))
    heard.takes()
    if own:
        heard.sends(HEARTBEAT)
    else:
        with pytest.raises(AssertionError, match="rules J9, M1"):
            heard.sends(HEARTBEAT)


@pytest.mark.parametrize(("wanted", "is_outdated"), [(ALL, False), (("orders",), True), (("payments", "else"), True)])
def test_Q6_an_assignment_need_not_be_told_of_that_was_not_wanted_for_a_moment(
    wanted: tuple[str, ...], is_outdated: bool
) -> None:
    """Schedule 39202: other topics, and back again in a callback."""
    rounds = Rounds()
    rounds.wants(ALL)
    rounds.begins(ALL, (), 1_000)
    for topics in (wanted, ALL):
        rounds.wants(topics)
    assert rounds.is_outdated is is_outdated
    rounds.begins(ALL, (), 2_000)
    assert not rounds.is_outdated


def test_M3_the_time_of_a_commit_before_a_rebalance_begins_with_what_calls_for_it_first() -> None:
    """Schedule 10976 (heartbeat): when it is over, what is revoked need not be committed."""
    rounds = Rounds()
    rounds.begins(ALL, (), 1_000)
    for at_ms in (2_000, 3_000):
        rounds.may_come(at_ms)
    assert rounds.called_ms == 2_000

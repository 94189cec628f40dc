"""unsubscribe() and close(): commit, callback, LeaveGroup once, and an end within the time allowed."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import (
    Assign,
    CallbackKind,
    Close,
    Closed,
    Commit,
    FetchCommitted,
    Poll,
    RevokePartitions,
    SendRequest,
    Start,
    Subscribe,
    Unsubscribe,
)
from groupspec.impl.core.messages import LeaveGroupRequest, OffsetAndMetadata, OffsetCommitRequest
from groupspec.impl.core.tests.scene import MEMBER, Scene, partitions

P0, P1 = partitions(0, 1)
COOPERATIVE = ("cooperative-sticky",)


def kinds(scene: Scene) -> list[str]:
    """What happened, by name: requests and consumer events in order."""
    return [
        type(o.request).__name__.removesuffix("Request") if isinstance(o, SendRequest) else type(o).__name__
        for o in scene.outputs
    ]


def test_L5_close_commits_revokes_leaves_and_ends_in_this_order() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.close()
    assert scene.describe().leaving
    scene.answer("OffsetCommit")
    scene.revoked()
    assert scene.describe().rebalance == "UNJOINED"
    scene.answer("LeaveGroup")
    assert kinds(scene) == ["OffsetCommit", "RevokePartitions", "LeaveGroup", "CompleteFuture", "Closed"]
    described = scene.describe()
    assert (described.connection, described.heartbeat, described.leaving) == ("DOWN", "STOPPED", False)
    assert (described.member_id, described.owned, described.timers_ms) == ("", (), {})
    assert scene.trace[-1].event == "closed"


def test_L5_close_commits_what_was_read_with_manual_assignment() -> None:
    scene = Scene(enable_auto_commit=True)
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.subscription.positions.seek(P0, 12)
    scene.coordinator_found()
    scene.close()
    assert scene.sent(OffsetCommitRequest)[0].offsets == {P0: OffsetAndMetadata(12)}
    scene.answer("OffsetCommit")
    assert kinds(scene)[-2:] == ["CompleteFuture", "Closed"]
    assert not scene.sent(LeaveGroupRequest)


def test_L5_close_commits_what_the_last_poll_returned() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.subscription._shared.partitions[P0].position = 15  # returned by the last poll
    scene.close()
    assert scene.sent(OffsetCommitRequest)[0].offsets == {P0: OffsetAndMetadata(15)}


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "UNKNOWN_SERVER_ERROR", "NOT_COORDINATOR", "DISCONNECTED"])
def test_L1_whatever_the_answer_to_leave_close_ends(error: str) -> None:
    scene = Scene().stable(0)
    scene.close()
    scene.revoked()
    scene.answer("LeaveGroup", error)
    assert len(scene.seen(Closed)) == 1
    assert len(scene.sent(LeaveGroupRequest)) == 1


def test_D1_an_unanswered_leave_forgets_the_coordinator() -> None:
    scene = Scene().stable(0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    scene.answer("LeaveGroup", "DISCONNECTED")
    assert scene.describe().connection == "INITIALIZED"


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"])
def test_L1_what_a_coordinator_says_to_a_leave_makes_no_difference(error: str) -> None:
    scene = Scene().stable(0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    scene.answer("LeaveGroup", error)
    assert scene.describe().connection == "STABLE"


def test_L2_close_ends_with_its_deadline_when_nobody_answers() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.do(Commit({P0: OffsetAndMetadata(11)}, future_id=1, deadline_ms=60_000))
    scene.close(timeout_ms=1_000)
    scene.pass_ms(1_000)
    assert scene.result(1).error is not None
    scene.revoked()
    assert kinds(scene)[-3:] == ["LeaveGroup", "CompleteFuture", "Closed"]


def test_L2_the_wait_for_the_answer_to_leave_ends_with_the_deadline() -> None:
    scene = Scene().stable(0)
    scene.close(timeout_ms=1_000)
    scene.revoked()
    assert scene.seen(Closed) == []
    scene.pass_ms(1_000)
    assert len(scene.seen(Closed)) == 1


def test_the_leave_of_an_earlier_unsubscribe_does_not_end_a_close() -> None:
    scene = Scene().stable(0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    scene.do(Subscribe(("orders",)))
    scene.do(Poll())
    scene.join_accepted(2)
    scene.sync_accepted(P0)
    scene.assigned()
    scene.close(timeout_ms=0)
    scene.pass_ms(0)
    scene.answer("LeaveGroup")
    assert scene.seen(Closed) == []
    scene.revoked()
    assert len(scene.sent(LeaveGroupRequest)) == 2
    assert len(scene.seen(Closed)) == 1


def test_L1_a_close_without_time_still_leaves() -> None:
    scene = Scene().stable(0)
    scene.close(timeout_ms=0)
    scene.pass_ms(0)
    scene.revoked()
    assert kinds(scene) == ["RevokePartitions", "LeaveGroup", "CompleteFuture", "Closed"]


def test_L2_close_without_any_broker_ends_and_answers_everybody() -> None:
    scene = Scene(enable_auto_commit=True)
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.subscription.positions.seek(P0, 3)
    scene.do(FetchCommitted((P0,), future_id=2, deadline_ms=90_000))
    scene.close(timeout_ms=1_000)
    scene.pass_ms(1_000)
    assert len(scene.seen(Closed)) == 1
    assert type(scene.result(2).error).__name__ == "ConsumerClosedError"
    assert scene.result(999).error is None


def test_L1_a_static_member_does_not_send_leave() -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.close()
    scene.revoked()
    assert kinds(scene) == ["RevokePartitions", "CompleteFuture", "Closed"]


def test_L1_unsubscribe_waits_for_no_assigned_callback_that_is_due() -> None:
    scene = Scene().completing()
    scene.sync_accepted(P0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    assert scene.is_waiting("LeaveGroup")


def test_L1_an_only_pending_member_id_leaves_too() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.do(Unsubscribe(1))
    (leave,) = scene.sent(LeaveGroupRequest)
    assert (leave.member_id, leave.reason) == (MEMBER, "the consumer unsubscribed from all topics")
    assert scene.is_done(1)


def test_L1_an_id_kept_from_a_lost_generation_does_not_leave() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("ILLEGAL_GENERATION")
    scene.do(Unsubscribe(1))
    scene.revoked()
    assert scene.is_done(1)
    assert scene.sent(LeaveGroupRequest) == []
    assert scene.describe().member_id == ""


def test_L1_a_generation_lost_while_leaving_leaves_no_member_to_say_good_bye() -> None:
    scene = Scene().stable(0)
    scene.expire("heartbeat")
    scene.do(Unsubscribe(1))
    scene.answer("Heartbeat", "ILLEGAL_GENERATION")
    scene.revoked()
    assert scene.is_done(1)
    assert scene.sent(LeaveGroupRequest) == []


def test_L1_who_has_joined_again_with_a_kept_id_leaves() -> None:
    scene = Scene().completing()
    scene.answer("SyncGroup", "ILLEGAL_GENERATION")
    assert scene.last_join().member_id == MEMBER
    scene.do(Unsubscribe(1))
    (leave,) = scene.sent(LeaveGroupRequest)
    assert leave.member_id == MEMBER


def test_L1_a_heartbeat_in_flight_does_not_hold_up_the_leave() -> None:
    scene = Scene().stable(0)
    scene.expire("heartbeat")
    scene.do(Unsubscribe(1))
    scene.revoked()
    assert len(scene.sent(LeaveGroupRequest)) == 1


def test_C7_unsubscribe_runs_the_callback_before_anything_is_cleared() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0, 1)
    scene.do(Unsubscribe(1))
    assert (scene.describe().owned, scene.describe().subscribed) == ((P0, P1), True)
    assert scene.sent(LeaveGroupRequest) == []
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.REVOKED
    scene.revoked()
    assert kinds(scene) == ["RevokePartitions", "LeaveGroup", "CompleteFuture"]
    described = scene.describe()
    assert (described.rebalance, described.subscribed, described.leaving) == ("UNJOINED", False, False)


@pytest.mark.parametrize("state", ["PREPARING_REBALANCE", "COMPLETING_REBALANCE"])
def test_leaving_in_the_middle_of_a_round_loses_what_is_still_owned(state: str) -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    if state == "COMPLETING_REBALANCE":
        scene.join_accepted(generation=2)
    assert scene.describe().rebalance == state
    scene.do(Unsubscribe(1))
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST
    scene.revoked()
    assert scene.is_done(1)


def test_leaving_while_the_assigned_callback_runs_revokes() -> None:
    scene = Scene().completing()
    scene.sync_accepted(P0)
    scene.do(Unsubscribe(1))
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.REVOKED
    scene.assigned()
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.revoked()
    assert scene.is_done(1)


def test_C1_leaving_before_the_revocation_has_started_uses_the_callback_that_is_due() -> None:
    scene = Scene().stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(Unsubscribe(1))
    scene.revoked()
    assert len(scene.seen(RevokePartitions)) == 1
    assert scene.apis() == ["Heartbeat", "LeaveGroup"]


def test_close_waits_for_its_commits_also_when_a_revocation_was_due_before_it() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(Commit({P0: OffsetAndMetadata(5)}, 7))
    scene.close()
    scene.revoked()
    assert scene.apis() == ["Heartbeat", "OffsetCommit"]
    scene.answer("OffsetCommit")
    assert scene.apis() == ["Heartbeat", "OffsetCommit", "LeaveGroup"]


def test_L2_leaving_during_a_cooperative_revocation_releases_the_rest_afterwards() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(P0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    assert [r.partitions for r in scene.seen(RevokePartitions)] == [(P1,), (P0,)]
    scene.revoked()
    assert scene.is_done(1)


def test_C2_losing_the_identity_while_leaving_makes_the_callback_a_lost_one_and_there_is_nobody_to_leave() -> None:
    scene = Scene().stable(0)
    scene.expire("heartbeat")
    scene.do(Unsubscribe(1))
    scene.answer("Heartbeat", "UNKNOWN_MEMBER_ID")
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST
    scene.revoked()
    assert scene.is_done(1)
    assert scene.sent(LeaveGroupRequest) == []


def test_L3_answers_of_the_round_do_not_revive_a_member_that_has_left() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.do(Unsubscribe(1))
    scene.join_accepted(generation=4)
    described = scene.describe()
    assert (described.rebalance, described.member_id, described.generation) == ("UNJOINED", "", -1)


def test_leaving_with_nothing_to_leave_is_done_at_once() -> None:
    scene = Scene().start()
    scene.do(Unsubscribe(1))
    assert scene.is_done(1)
    scene.close()
    assert kinds(scene) == ["CompleteFuture", "CompleteFuture", "Closed"]


def test_after_unsubscribe_one_can_subscribe_again() -> None:
    scene = Scene().stable(0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    scene.do(Subscribe(("orders",)))
    scene.poll()
    assert scene.last_join().member_id == ""


def test_L4_a_second_close_joins_the_first() -> None:
    scene = Scene().stable(0)
    scene.close()
    scene.do(Close(1000, scene.now_ms + 5_000))
    scene.revoked()
    scene.answer("LeaveGroup")
    assert scene.is_done(999) and scene.is_done(1000)
    scene.do(Close(1001, scene.now_ms))
    assert scene.result(1001).error is None
    assert len(scene.sent(LeaveGroupRequest)) == 1


def test_after_the_end_everybody_gets_an_answer_and_nothing_happens() -> None:
    scene = Scene().start()
    scene.close()
    scene.do(Commit({P0: OffsetAndMetadata(1)}, future_id=1))
    scene.do(FetchCommitted((P0,), future_id=2, deadline_ms=0))
    scene.do(Unsubscribe(3))
    scene.do(Subscribe(("orders",)))
    scene.do(Poll())
    assert type(scene.result(1).error).__name__ == type(scene.result(2).error).__name__ == "ConsumerClosedError"
    assert scene.result(3).error is None
    assert scene.apis() == []


def test_close_while_unsubscribing_waits_for_it() -> None:
    scene = Scene().stable(0)
    scene.do(Unsubscribe(1))
    scene.close()
    scene.revoked()
    scene.answer("LeaveGroup")
    assert scene.is_done(1) and scene.is_done(999)


def test_close_loses_what_an_identity_lost_during_its_commit_owned() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.close()
    scene.answer("OffsetCommit", "UNKNOWN_MEMBER_ID")
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST
    scene.revoked()
    assert len(scene.seen(Closed)) == 1


def test_close_in_a_round_does_not_commit() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE, enable_auto_commit=True).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.subscription.positions.seek(P0, 12)
    scene.close()
    scene.revoked()
    assert scene.sent(OffsetCommitRequest) == []

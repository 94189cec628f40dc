"""Heartbeats, session and poll interval (KIP-62), and what each answer to a heartbeat does."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import CallbackKind, DisconnectCoordinator, MetadataUpdate, RevokePartitions
from groupspec.impl.core.messages import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest
from groupspec.impl.core.tests.scene import MEMBER, Scene, partitions

GONE = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "DISCONNECTED", "TIMED_OUT"]
COOPERATIVE = ("cooperative-sticky",)


def test_H1_heartbeats_begin_when_the_join_is_accepted_not_when_it_is_synchronised() -> None:
    scene = Scene().preparing()
    assert scene.describe().heartbeat == "DISABLED"
    scene.join_accepted(generation=3)
    assert scene.describe().heartbeat == "IDLE"
    scene.pass_ms(3_000)
    (heartbeat,) = scene.sent(HeartbeatRequest)
    assert (heartbeat.generation, heartbeat.member_id) == (3, MEMBER)


def test_H2_heartbeats_keep_their_interval_measured_from_sending() -> None:
    scene = Scene(heartbeat_interval_ms=1_000).stable(0)
    scene.pass_ms(1_000)
    scene.pass_ms(400)
    scene.answer("Heartbeat")
    scene.pass_ms(599)
    assert len(scene.sent(HeartbeatRequest)) == 1
    scene.pass_ms(1)
    assert len(scene.sent(HeartbeatRequest)) == 2


def test_H2_a_heartbeat_waits_for_no_metadata() -> None:
    scene = Scene(heartbeat_interval_ms=1_000).stable(0)
    scene.coordinator.topics = {}  # so that nobody answers
    scene.do(MetadataUpdate(("orders",)))
    scene.pass_ms(1_000)
    assert scene.is_waiting("Metadata")
    assert len(scene.sent(HeartbeatRequest)) == 1


def test_H7_at_most_one_heartbeat_is_out_and_a_due_one_follows_the_answer() -> None:
    scene = Scene(heartbeat_interval_ms=1_000).stable(0)
    scene.pass_ms(2_500)
    assert (len(scene.sent(HeartbeatRequest)), scene.describe().heartbeat) == (1, "IN_FLIGHT")
    scene.answer("Heartbeat")
    assert len(scene.sent(HeartbeatRequest)) == 2


def test_H3_heartbeats_stop_before_a_join_is_sent() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert (scene.describe().rebalance, scene.describe().heartbeat) == ("PREPARING_REBALANCE", "DISABLED")
    scene.pass_ms(60_000)
    assert len(scene.sent(HeartbeatRequest)) == 1


def test_H1_heartbeats_go_on_while_the_revocation_callback_runs() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.pass_ms(3_000)
    assert len(scene.sent(HeartbeatRequest)) == 2


@pytest.mark.parametrize("error", GONE)
def test_D1_H7_without_a_coordinator_the_heartbeat_is_tried_again_when_it_is_found(error: str) -> None:
    scene = Scene().stable(0)
    scene.heartbeat(error)
    assert (scene.describe().connection, scene.describe().heartbeat) == ("COORDINATOR_DISCOVERY", "IDLE")
    assert scene.describe().generation == 1
    scene.pass_ms(500)
    assert not scene.is_waiting("Heartbeat")
    scene.coordinator_found()
    assert scene.is_waiting("Heartbeat")


def test_H7_a_failed_heartbeat_is_tried_again_after_the_backoff_not_the_interval() -> None:
    scene = Scene(retry_backoff_ms=100).stable(0)
    scene.heartbeat("COORDINATOR_LOAD_IN_PROGRESS")
    scene.pass_ms(100)
    assert scene.is_waiting("Heartbeat")
    assert scene.seen(DisconnectCoordinator) == []


@pytest.mark.parametrize("error", ["GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"])
def test_H4_other_errors_surface_and_heartbeats_go_on(error: str) -> None:
    scene = Scene().stable(0)
    scene.heartbeat(error)
    assert len(scene.errors()) == 1
    assert (scene.describe().rebalance, scene.describe().heartbeat) == ("STABLE", "IDLE")
    scene.pass_ms(100)
    assert scene.is_waiting("Heartbeat")


@pytest.mark.parametrize(("error", "kept"), [("UNKNOWN_MEMBER_ID", ""), ("ILLEGAL_GENERATION", MEMBER)])
def test_J4_losing_the_identity_with_nothing_owned_joins_again_at_once(error: str, kept: str) -> None:
    scene = Scene().completing()
    scene.sync_accepted()
    scene.assigned()
    scene.outputs.clear()
    scene.heartbeat(error)
    assert scene.path[-2:] == ["UNJOINED", "PREPARING_REBALANCE"]
    assert [join.member_id for join in scene.sent(JoinGroupRequest)] == [kept]


def test_J4_illegal_generation_loses_the_partitions_and_keeps_the_member_id() -> None:
    scene = Scene().stable(0, 1)
    scene.heartbeat("ILLEGAL_GENERATION")
    assert scene.seen(RevokePartitions) == [RevokePartitions(partitions(0, 1))]
    scene.revoked()
    assert scene.last_join().member_id == MEMBER


def test_X2_a_fenced_heartbeat_is_reported_and_silences_the_member() -> None:
    scene = Scene(group_instance_id="one").completing()
    scene.sync_accepted()
    scene.assigned()
    scene.heartbeat("FENCED_INSTANCE_ID")
    assert scene.errors() == ["FencedInstanceIdError"]
    scene.outputs.clear()
    scene.pass_ms(60_000)
    assert scene.apis() == []
    scene.poll()
    scene.pass_ms(60_000)
    scene.poll()
    assert (scene.apis(), scene.errors()) == ([], ["FencedInstanceIdError"] * 2)


def test_X2_a_fenced_member_loses_what_it_owned() -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.heartbeat("FENCED_INSTANCE_ID")
    assert [type(o).__name__ for o in scene.outputs if not hasattr(o, "request_id")] == ["Error", "RevokePartitions"]


def test_H5_an_expired_session_forgets_the_coordinator_and_keeps_the_identity() -> None:
    scene = Scene(session_timeout_ms=6_000).stable(0)
    scene.pass_ms(6_000)
    assert scene.describe().connection == "COORDINATOR_DISCOVERY"
    assert (scene.describe().member_id, scene.describe().rebalance) == (MEMBER, "STABLE")
    scene.coordinator_found()
    scene.pass_ms(100)
    assert scene.is_waiting("Heartbeat")


def test_H5_every_sign_of_life_puts_the_session_off() -> None:
    scene = Scene(session_timeout_ms=6_000).stable(0)
    for error in ("NONE", "REBALANCE_IN_PROGRESS", "NONE"):
        scene.pass_ms(3_000)
        scene.answer("Heartbeat", error)
    assert scene.core.timers.deadline_ms("session") == 15_000


def test_the_session_does_not_expire_while_the_coordinator_is_unknown() -> None:
    scene = Scene(session_timeout_ms=6_000).stable(0)
    scene.heartbeat("NOT_COORDINATOR")
    scene.pass_ms(60_000)
    assert len(scene.seen(DisconnectCoordinator)) == 1
    assert not any(event.event == "session_expired" for event in scene.trace)


def test_P1_an_expired_poll_interval_leaves_and_loses_everything() -> None:
    scene = Scene().stable(0, 1)
    scene.expire("poll_interval")
    (leave,) = scene.sent(LeaveGroupRequest)
    assert (leave.member_id, leave.reason) == (MEMBER, "consumer poll timeout has expired.")
    assert (scene.describe().member_id, scene.describe().heartbeat) == ("", "DISABLED")
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST
    scene.poll()
    scene.revoked()
    assert scene.apis() == ["LeaveGroup", "JoinGroup"]


def test_P1_a_static_member_does_not_say_good_bye() -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.expire("poll_interval")
    assert scene.apis() == []
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_P1_after_expiry_with_nothing_owned_the_member_waits_for_a_poll() -> None:
    scene = Scene().completing()
    scene.sync_accepted()
    scene.assigned()
    scene.outputs.clear()
    scene.expire("poll_interval")
    scene.pass_ms(60_000)
    assert (scene.describe().rebalance, scene.apis()) == ("UNJOINED", ["LeaveGroup"])
    scene.poll()
    assert scene.apis() == ["LeaveGroup", "JoinGroup"]


def test_P1_the_poll_interval_counts_from_the_answer_to_join_group_on_while_sync_group_is_unanswered() -> None:
    scene = Scene(max_poll_interval_ms=5_000).completing()
    scene.pass_ms(4_999)
    assert scene.is_waiting("SyncGroup")
    assert scene.sent(LeaveGroupRequest) == []
    scene.pass_ms(1)
    assert [leave.member_id for leave in scene.sent(LeaveGroupRequest)] == [MEMBER]


def test_P1_the_poll_interval_counts_while_positions_are_read() -> None:
    scene = Scene(max_poll_interval_ms=5_000).completing()
    scene.sync_accepted(*partitions(0))
    scene.assigned()
    scene.pass_ms(4_999)
    assert scene.is_waiting("OffsetFetch")
    assert scene.sent(LeaveGroupRequest) == []
    scene.pass_ms(1)
    assert [leave.member_id for leave in scene.sent(LeaveGroupRequest)] == [MEMBER]


def test_P1_expiry_in_the_first_join_does_not_exist() -> None:
    scene = Scene(max_poll_interval_ms=1_000).preparing()
    scene.pass_ms(5_000)
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    assert scene.sent(LeaveGroupRequest) == []


def test_P2_every_poll_puts_the_poll_interval_off() -> None:
    scene = Scene(max_poll_interval_ms=5_000, session_timeout_ms=60_000).stable(0)
    for _ in range(3):
        scene.pass_ms(4_000)
        scene.poll()
    assert scene.sent(LeaveGroupRequest) == []
    scene.pass_ms(5_000)
    assert len(scene.sent(LeaveGroupRequest)) == 1


def test_the_poll_interval_is_judged_only_when_the_coordinator_is_known() -> None:
    scene = Scene(max_poll_interval_ms=5_000).stable(0)
    scene.heartbeat("NOT_COORDINATOR")
    scene.pass_ms(10_000)
    assert scene.sent(LeaveGroupRequest) == []
    scene.coordinator_found()
    assert len(scene.sent(LeaveGroupRequest)) == 1


def test_P2_a_poll_while_the_coordinator_is_unknown_counts() -> None:
    scene = Scene(max_poll_interval_ms=5_000).stable(0)
    scene.heartbeat("NOT_COORDINATOR")
    scene.pass_ms(10_000)
    scene.poll()
    scene.coordinator_found()
    assert scene.sent(LeaveGroupRequest) == []


def test_J9_a_late_heartbeat_error_is_only_a_sign_of_life() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.expire("heartbeat")
    scene.core.membership.enforce_rebalance("test")
    scene.poll()
    scene.join_accepted(generation=2)
    scene.pass_ms(1_000)
    scene.answer("Heartbeat", "UNKNOWN_MEMBER_ID")
    assert (scene.describe().rebalance, scene.describe().generation) == ("COMPLETING_REBALANCE", 2)
    assert scene.core.timers.deadline_ms("session") == scene.now_ms + 45_000


def test_J9_no_answer_at_all_is_no_sign_of_life() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.expire("heartbeat")
    scene.core.membership.enforce_rebalance("test")
    scene.poll()
    scene.join_accepted(generation=2)
    before = scene.core.timers.deadline_ms("session")
    scene.pass_ms(1_000)
    scene.answer("Heartbeat", "TIMED_OUT")
    assert scene.core.timers.deadline_ms("session") == before
    assert scene.describe().connection == "STABLE"


def test_losing_the_identity_before_the_callback_has_started_makes_it_a_lost_one() -> None:
    scene = Scene().stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    callback = scene.subscription.start_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST
    assert len(scene.seen(RevokePartitions)) == 1
    scene.revoked()
    assert scene.path[-2:] == ["UNJOINED", "PREPARING_REBALANCE"]


def test_losing_the_identity_in_a_running_callback_loses_the_rest_afterwards() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(*partitions(0))
    started = scene.subscription.start_callback()
    assert started is not None and started.kind is CallbackKind.REVOKED
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    scene.revoked()
    assert [r.partitions for r in scene.seen(RevokePartitions)] == [partitions(1), partitions(0)]
    second = scene.subscription.pending_callback()
    assert second is not None and second.kind is CallbackKind.LOST
    scene.revoked()
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


def test_losing_the_identity_while_the_assigned_callback_runs_loses_everything_after_it() -> None:
    scene = Scene().completing()
    scene.sync_accepted(*partitions(0))
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    assert (scene.describe().rebalance, scene.describe().heartbeat) == ("ASSIGNING_PARTITIONS", "DISABLED")
    scene.assigned()
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.revoked()
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


def test_J2_a_rebalance_announced_during_the_assigned_callback_follows_it() -> None:
    scene = Scene().completing()
    scene.sync_accepted(*partitions(0))
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "ASSIGNING_PARTITIONS"
    scene.assigned()
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_D5_the_coordinator_is_unknown_before_its_requests_fail() -> None:
    scene = Scene().stable(0)
    scene.expire("heartbeat")
    seen: list[str] = []
    failed = scene.core.heartbeats.coordinator_gone

    def watched(code: object) -> None:
        seen.append(scene.describe().connection)
        failed(code)  # type: ignore[arg-type]

    scene.core.heartbeats.coordinator_gone = watched  # type: ignore[method-assign]
    scene.expire("session")
    assert seen == ["INITIALIZED"]
    assert len(scene.seen(DisconnectCoordinator)) == 1


def test_a_request_that_was_failed_with_the_coordinator_may_still_be_answered_late() -> None:
    scene = Scene().stable(0)
    scene.expire("heartbeat")
    scene.expire("session")
    scene.answer("Heartbeat", "UNKNOWN_MEMBER_ID")
    assert scene.describe().member_id == MEMBER


def test_a_poll_of_which_no_event_has_told_puts_the_poll_interval_off_too() -> None:
    scene = Scene(max_poll_interval_ms=60_000).stable(0)
    scene.poll()
    scene.pass_ms(70)
    scene.subscription.positions.poll_started(quietly_at_ms=scene.now_ms)
    for _ in range(20):
        scene.pass_ms(2_999)
        if scene.is_waiting("Heartbeat"):
            scene.heartbeat()
    scene.pass_ms(60_069 - 70 - 20 * 2_999)
    assert not scene.is_waiting("LeaveGroup")
    scene.pass_ms(1)
    assert scene.is_waiting("LeaveGroup")

"""Promises that no other story here is about: at least one for each rule that would be held by nothing without it.

A story's name carries the rules that it holds. That it holds them is proven elsewhere, by breaking them.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupspec.impl.core.assignors import ASSIGNORS, Subscriber
from groupspec.impl.core.events import (
    COORDINATOR,
    AssignPartitions,
    CallbackStarted,
    Close,
    Commit,
    Fetch,
    PartitionsRevoked,
    Poll,
    RevokePartitions,
    SendRequest,
    Subscribe,
    Unsubscribe,
)
from groupspec.impl.core.messages import (
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.core.partition_state import Buffered
from groupspec.impl.core.tests.scene import MEMBER, Scene, partitions

P0, P1 = partitions(0, 1)
COOPERATIVE = ("cooperative-sticky",)
SAYS_NOTHING = ["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"]
MAX_MS = 10**6


def commit(offset: int = 5) -> Commit:
    return Commit({P0: OffsetAndMetadata(offset)}, 1, 60_000)


def hand_out(scene: Scene, partition: TopicPartition, from_offset: int, to_offset: int) -> None:
    """poll() returns records of this partition."""
    epoch, position, *_ = scene.subscription.positions.fetchable()[partition]
    assert position == from_offset
    records = Buffered(partition, epoch, position, b"...", to_offset)
    assert scene.subscription.positions.buffer(records)
    assert scene.subscription.positions.advance(records, from_offset, to_offset, exhausted=True)


def buffered(scene: Scene) -> Buffered:
    """Records of the first partition, from its position on."""
    epoch, position, *_ = scene.subscription.positions.fetchable()[P0]
    records = Buffered(P0, epoch, position, b"...", position + 10)
    assert scene.subscription.positions.buffer(records)
    return records


# Coordinator
# -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", SAYS_NOTHING)
def test_D1_an_error_that_says_nothing_about_the_coordinator_does_not_forget_it(error: str) -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat(error)
    assert scene.describe().connection == "STABLE"
    assert scene.sent(FindCoordinatorRequest) == []


@pytest.mark.parametrize(
    "error", ["COORDINATOR_NOT_AVAILABLE", "DISCONNECTED", "TIMED_OUT", "GROUP_AUTHORIZATION_FAILED"]
)
def test_D2_however_a_lookup_has_ended_another_one_can_begin(error: str) -> None:
    scene = Scene(retry_backoff_ms=100).start()
    scene.poll()
    scene.answer("FindCoordinator", error)
    scene.pass_ms(100)
    scene.poll()
    assert len(scene.sent(FindCoordinatorRequest)) == 2


def test_D6_every_request_to_the_coordinator_has_a_time_limit() -> None:
    scene = Scene(group_instance_id=None).completing()
    scene.sync_accepted(P0)
    scene.assigned()
    scene.committed_are(10)
    scene.do(commit())
    scene.expire("heartbeat")
    scene.do(Unsubscribe(2))
    scene.revoked()
    sent = [o for o in scene.outputs if isinstance(o, SendRequest) and o.node == COORDINATOR]
    kinds = {type(request.request).__name__.removesuffix("Request") for request in sent}
    assert kinds == {"JoinGroup", "SyncGroup", "OffsetFetch", "OffsetCommit", "Heartbeat", "LeaveGroup"}
    assert all(0 < request.timeout_ms <= MAX_MS for request in sent)


@pytest.mark.parametrize("error", ["DISCONNECTED", "TIMED_OUT"])
def test_D6_a_coordinator_that_is_gone_is_noticed_by_the_heartbeat_alone(error: str) -> None:
    scene = Scene().stable(0)
    scene.pass_ms(3_000)
    scene.answer("Heartbeat", error)
    assert scene.is_waiting("FindCoordinator")


# Rounds
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"])
def test_H4_J2_every_error_about_the_membership_ends_in_another_join(error: str) -> None:
    scene = Scene().stable(0)
    scene.heartbeat(error)
    assert scene.describe().rejoin_needed
    scene.revoked()
    assert len(scene.sent(JoinGroupRequest)) == 1
    scene.answer("JoinGroup", "REBALANCE_IN_PROGRESS")
    assert len(scene.sent(JoinGroupRequest)) == 2


@pytest.mark.parametrize("error", ["DISCONNECTED", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"])
def test_J2_a_join_that_failed_is_followed_by_another(error: str) -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", error)
    assert scene.describe().rejoin_needed
    if scene.is_waiting("FindCoordinator"):
        scene.coordinator_found()
    scene.pass_ms(100)
    assert len(scene.sent(JoinGroupRequest)) == 2


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "DISCONNECTED", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_J4_a_failure_that_says_nothing_about_the_member_keeps_its_id(error: str) -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.last_join().member_id == MEMBER
    scene.answer("JoinGroup", error)
    if scene.is_waiting("FindCoordinator"):
        scene.coordinator_found()
    scene.pass_ms(100)
    assert scene.last_join().member_id == MEMBER


def test_J6_the_same_subscription_has_the_same_bytes() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(1, 0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("JoinGroup", "REBALANCE_IN_PROGRESS")
    first, second = scene.sent(JoinGroupRequest)
    assert first.protocols == second.protocols


def test_S1_a_member_is_not_stable_before_its_sync_has_succeeded() -> None:
    scene = Scene().preparing()
    assert scene.describe().rebalance != "STABLE"
    scene.join_accepted(generation=2)
    assert scene.describe().rebalance != "STABLE"
    scene.answer("SyncGroup", "REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance != "STABLE"


def test_S1_nothing_of_what_was_revoked_is_fetched_or_returned_until_the_sync() -> None:
    scene = Scene().stable(0, 1)
    buffered(scene)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    for step in (scene.revoked, lambda: scene.join_accepted(generation=2)):
        step()
        scene.do(Fetch())
        assert (scene.sent(FetchRequest), scene.subscription.positions.next_buffered()) == ([], None)


def test_C3_J7_no_join_before_the_revocation_that_is_due() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.poll()
    scene.pass_ms(2_000)
    assert (scene.describe().rebalance, scene.describe().owned) == ("REVOKING_PARTITION", (P0,))
    assert scene.sent(JoinGroupRequest) == []
    scene.do(CallbackStarted())
    assert (scene.sent(JoinGroupRequest), scene.describe().owned) == ([], (P0,))
    scene.do(PartitionsRevoked())
    assert (len(scene.sent(JoinGroupRequest)), scene.describe().owned) == (1, ())


def test_K2_rounds_end_when_nothing_is_given_up() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(P0)
    scene.assigned()
    assert (scene.describe().rebalance, scene.describe().rejoin_needed) == ("STABLE", False)
    assert len(scene.sent(JoinGroupRequest)) == 1


def test_K4_after_an_eager_revocation_nothing_is_claimed() -> None:
    from groupspec.impl.core.protocol import decode_subscription

    scene = Scene(partition_assignment_strategy=("range", "cooperative-sticky")).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.revoked()
    claims = [decode_subscription(metadata).owned for _, metadata in scene.last_join().protocols]
    assert claims == [(), ()]


@pytest.mark.parametrize("assignors", [("cooperative-sticky", "range"), ("range", "cooperative-sticky")])
def test_K4_eager_or_cooperative_is_one_fact_whatever_the_order(assignors: tuple[str, ...]) -> None:
    scene = Scene(partition_assignment_strategy=assignors).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.revoked()
    assert scene.describe().owned == ()


def test_K3_what_two_members_claim_belongs_to_the_later_generation_and_on_a_tie_to_nobody() -> None:
    assignor, counts = ASSIGNORS["cooperative-sticky"], {"orders": 2}

    def shares(first: int, second: int) -> dict[str, tuple[object, ...]]:
        members = [Subscriber("a", ("orders",), (P0, P1), first), Subscriber("b", ("orders",), (P0, P1), second)]
        return {name: tuple(share) for name, share in assignor.assign(members, counts).items()}

    assert [len(share) for share in shares(2, 1).values()] == [1, 0]  # the other one is a's, and is withheld from b
    assert [len(share) for share in shares(1, 2).values()] == [0, 1]
    assert [len(share) for share in shares(2, 2).values()] == [0, 0]  # nobody's: withheld, since both believe it theirs


# Heartbeats
# --------------------------------------------------------------------------------------------------------------


def test_H1_an_announced_rebalance_does_not_stop_heartbeats_nor_put_doubt_on_the_session() -> None:
    scene = Scene(heartbeat_interval_ms=1_000, session_timeout_ms=3_000).stable(0)
    for _ in range(5):
        scene.pass_ms(1_000)
        scene.answer("Heartbeat", "REBALANCE_IN_PROGRESS")
    assert len(scene.sent(HeartbeatRequest)) == 5
    assert scene.describe().connection == "STABLE"


def test_H2_a_failed_heartbeat_is_not_the_last_one() -> None:
    scene = Scene(heartbeat_interval_ms=1_000).stable(0)
    scene.pass_ms(1_000)
    scene.answer("Heartbeat", "COORDINATOR_LOAD_IN_PROGRESS")
    scene.pass_ms(1_000)
    assert len(scene.sent(HeartbeatRequest)) == 2


def test_H3_after_every_completed_round_heartbeats_run_again() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    for generation in (2, 3):
        scene.heartbeat("REBALANCE_IN_PROGRESS")
        assert scene.describe().heartbeat == "DISABLED"
        scene.join_accepted(generation=generation)
        scene.sync_accepted(P0)
        scene.assigned()
        assert scene.describe().heartbeat == "IDLE"


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"])
def test_H3_who_is_no_member_any_more_sends_none(error: str) -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.heartbeat(error)
    scene.pass_ms(60_000)
    assert len(scene.sent(HeartbeatRequest)) == 1


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
def test_H3_nor_does_who_hears_so_from_a_commit(error: str) -> None:
    scene = Scene().stable(0)
    scene.do(commit())
    scene.answer("OffsetCommit", error)
    scene.pass_ms(60_000)
    assert not scene.sent(HeartbeatRequest)


def test_P2_no_other_call_counts_as_a_poll() -> None:
    scene = Scene(max_poll_interval_ms=60_000, heartbeat_interval_ms=20_000).stable(0)
    before = scene.core.timers.deadline_ms("poll_interval")
    scene.now_ms += 1_000
    scene.do(commit())
    scene.do(Fetch())
    scene.answer("OffsetCommit")
    assert scene.core.timers.deadline_ms("poll_interval") == before


def test_P2_a_poll_that_only_raises_counts_too() -> None:
    scene = Scene(max_poll_interval_ms=60_000).stable(0)
    before = scene.core.timers.deadline_ms("poll_interval")
    assert before is not None
    scene.now_ms += 1_000
    scene.do(Poll(raises=True))
    assert scene.core.timers.deadline_ms("poll_interval") == before + 1_000


def test_P3_what_was_buffered_before_the_expiry_is_dropped_and_lost_is_told_even_in_a_rebalance() -> None:
    scene = Scene(enable_auto_commit=True).stable(0, 1)
    buffered(scene)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.expire("poll_interval")
    assert scene.sent(LeaveGroupRequest) != []
    callback = scene.subscription.pending_callback()
    assert callback is not None and (callback.kind.value, callback.partitions) == ("lost", (P0, P1))
    assert scene.subscription.positions.next_buffered() is None
    scene.poll()
    scene.revoked()
    assert len(scene.sent(JoinGroupRequest)) == 1


# Callbacks
# ---------------------------------------------------------------------------------------------------------------


def told(scene: Scene) -> list[tuple[str, tuple[object, ...]]]:
    """What the listener would be called with, in order."""
    calls: list[tuple[str, tuple[object, ...]]] = []
    for output in scene.outputs:
        if isinstance(output, AssignPartitions | RevokePartitions):
            calls.append((type(output).__name__[:6], output.partitions))
    return calls


def test_C1_for_each_partition_assigned_and_revoked_alternate() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).completing()
    scene.sync_accepted(P0, P1)
    scene.assigned()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(P0)
    scene.revoked()
    scene.assigned()
    scene.join_accepted(generation=3)
    scene.sync_accepted(P0)
    scene.assigned()
    scene.do(Close(9, scene.now_ms + 1_000))
    assert told(scene) == [
        ("Assign", (P0, P1)),
        ("Revoke", (P1,)),
        ("Assign", ()),
        ("Assign", ()),
        ("Revoke", (P0,)),
    ]


@pytest.mark.parametrize("end", ["poll_interval", "UNKNOWN_MEMBER_ID"])
def test_C1_what_was_assigned_and_is_lost_is_told_exactly_once(end: str) -> None:
    scene = Scene().stable(0, 1)
    if end == "poll_interval":
        scene.expire(end)
        scene.poll()
    else:
        scene.heartbeat(end)
    assert told(scene) == [("Revoke", (P0, P1))]
    scene.revoked()
    assert told(scene) == [("Revoke", (P0, P1))]


def test_C1_C2_C7_close_says_revoked_for_a_member_and_lost_for_who_is_none() -> None:
    member, stranger = Scene().stable(0), Scene().stable(0)
    stranger.core.context.identity = type(stranger.core.context.identity)()
    kinds = []
    for scene in (member, stranger):
        scene.do(Close(9, scene.now_ms + 1_000))
        callback = scene.subscription.pending_callback()
        assert callback is not None and callback.partitions == (P0,)
        kinds.append(callback.kind.value)
    assert kinds == ["revoked", "lost"]


def test_C3_nothing_is_fetched_before_the_assigned_callback_has_returned() -> None:
    scene = Scene().completing()
    scene.sync_accepted(P0)
    scene.do(Fetch())
    assert scene.sent(FetchRequest) == [] and scene.describe().owned == (P0,)
    scene.assigned()
    scene.committed_are(3)
    assert [list(request.offsets) for request in scene.sent(FetchRequest)] == [[P0]]


def test_C6_M1_a_commit_in_the_revoked_callback_carries_the_generation_of_its_round() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(P0)
    scene.do(CallbackStarted())
    scene.do(Commit({P1: OffsetAndMetadata(5)}, 1, 60_000))
    (sent,) = scene.sent(OffsetCommitRequest)
    assert (sent.member_id, sent.generation) == (MEMBER, 2)


def test_C7_L1_unsubscribe_says_good_bye_once_and_after_the_callback() -> None:
    scene = Scene().stable(0)
    scene.do(Unsubscribe(1))
    assert scene.sent(LeaveGroupRequest) == [] and scene.describe().owned == (P0,)
    scene.revoked()
    assert len(scene.sent(LeaveGroupRequest)) == 1


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_L1_close_says_good_bye_whatever_the_protocol(assignor: str) -> None:
    scene = Scene(partition_assignment_strategy=(assignor,)).stable(0)
    scene.close()
    scene.revoked()
    assert len(scene.sent(LeaveGroupRequest)) == 1


# Commits and positions
# ---------------------------------------------------------------------------------------------------


def test_M1_each_commit_carries_the_generation_of_its_own_moment() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(commit())
    scene.answer("OffsetCommit")
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(P0)
    scene.assigned()
    scene.do(Commit({P0: OffsetAndMetadata(6)}, 2, 60_000))
    assert [(c.member_id, c.generation) for c in scene.sent(OffsetCommitRequest)] == [(MEMBER, 1), (MEMBER, 2)]


@pytest.mark.parametrize("error", ["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"])
def test_M2_a_refused_commit_is_told_to_nobody_but_who_made_it(error: str) -> None:
    scene = Scene(enable_auto_commit=True, auto_commit_interval_ms=1_000).stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.pass_ms(1_000)
    scene.answer("OffsetCommit", error)
    assert scene.errors() == []
    assert scene.describe().rejoin_needed


@pytest.mark.parametrize("error", ["NONE", "COORDINATOR_LOAD_IN_PROGRESS", "TOPIC_AUTHORIZATION_FAILED"])
def test_M5_however_an_automatic_commit_has_ended_another_one_follows(error: str) -> None:
    scene = Scene(enable_auto_commit=True, auto_commit_interval_ms=1_000).stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.pass_ms(1_000)
    scene.answer("OffsetCommit", error)
    scene.subscription.positions.seek(P0, 13)
    scene.pass_ms(1_000)
    assert len(scene.sent(OffsetCommitRequest)) == 2


def test_M6_commits_of_one_partition_arrive_in_the_order_of_the_calls() -> None:
    scene = Scene().stable(0)
    for number in (1, 2, 3):
        scene.do(Commit({P0: OffsetAndMetadata(10 + number)}, number))
    for number in (1, 2, 3):
        assert [scene.is_done(n) for n in (1, 2, 3)] == [n < number for n in (1, 2, 3)]
        scene.answer("OffsetCommit")
    assert [c.offsets[P0].offset for c in scene.sent(OffsetCommitRequest)] == [11, 12, 13]


def test_M6_an_automatic_commit_does_not_overtake_one_that_is_on_its_way_to_the_core() -> None:
    """Schedule 8228: the application goes on, and the background thread takes what it had asked for only then."""
    scene = Scene(enable_auto_commit=True).stable(0)
    positions = scene.subscription.positions
    positions.seek(P0, 11)
    asked = Commit(positions.returned_positions(), 1)
    positions.ask_for_commit()
    positions.seek(P0, 13)
    scene.pass_ms(5_000)
    assert scene.sent(OffsetCommitRequest) == []
    scene.do(asked)
    for _ in range(2):
        scene.answer("OffsetCommit")
    scene.pass_ms(5_000)
    assert [c.offsets[P0].offset for c in scene.sent(OffsetCommitRequest)] == [11, 11, 13]


def test_O1_a_partition_that_the_answer_leaves_out_is_asked_for_again() -> None:
    scene = Scene(auto_offset_reset="latest").completing()
    scene.sync_accepted(P0)
    scene.assigned()
    scene.respond("OffsetFetch", OffsetFetchResponse({}))
    assert not scene.is_waiting("ListOffsets")
    scene.pass_ms(100)
    scene.committed_are(4)
    assert scene.describe().partitions[P0].position == 4


def test_O2_a_paused_partition_keeps_its_position() -> None:
    scene = Scene().stable(0)
    scene.subscription.positions.pause([P0])
    assert scene.describe().partitions[P0].position == 10
    scene.subscription.positions.resume([P0])
    assert (scene.describe().partitions[P0].state, scene.subscription.positions.position(P0)) == ("FETCHABLE", 10)


def test_O5_what_waits_to_be_returned_is_not_fetched_again() -> None:
    scene = Scene().stable(0)
    buffered(scene)
    scene.do(Fetch())
    assert scene.sent(FetchRequest) == []


def test_Q5_O3_from_the_announcement_on_an_eager_member_returns_nothing_of_it() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(P0, 12)
    records = buffered(scene)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "PREPARE_REVOCATION"
    scene.do(Fetch())
    assert scene.sent(FetchRequest) == [] and scene.subscription.positions.next_buffered() is None
    assert not scene.subscription.positions.advance(records, 12, 13, exhausted=True)


def test_nothing_is_returned_of_what_is_lost_while_the_assigned_callback_waits() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    buffered(scene)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(2)
    scene.sync_accepted(P0)
    assert scene.describe().rebalance == "ASSIGNING_PARTITIONS"
    assert scene.subscription.positions.next_buffered() is not None
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    assert scene.subscription.positions.next_buffered() is None
    scene.assigned()
    assert scene.seen(RevokePartitions) == [RevokePartitions((P0,))]


def test_L2_at_the_end_of_a_close_everybody_has_an_answer() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.do(Commit({P0: OffsetAndMetadata(5)}, 1))
    scene.do(Commit({P0: OffsetAndMetadata(6)}, 2, MAX_MS))
    scene.close(timeout_ms=500)
    scene.pass_ms(500)
    scene.revoked()
    assert scene.is_done(1) and scene.is_done(2) and scene.is_done(999)


def joining_again(**config: Any) -> Scene:
    """A cooperative member of P0 and P1 has committed P1, joined, and waits for its assignment."""
    scene = Scene(partition_assignment_strategy=COOPERATIVE, enable_auto_commit=True, **config).stable(0, 1)
    scene.subscription.positions.seek(P1, 12)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit")
    scene.join_accepted(generation=2)
    return scene


def committed(scene: Scene) -> list[tuple[int, int | None]]:
    """Of each commit the generation, and where it leaves P1."""
    offsets = [(sent.generation, sent.offsets.get(P1)) for sent in scene.sent(OffsetCommitRequest)]
    return [(generation, None if where is None else where.offset) for generation, where in offsets]


def test_M8_what_was_read_while_the_others_joined_is_committed_before_the_partition_goes() -> None:
    scene = joining_again()
    scene.subscription.positions.seek(P1, 13)
    scene.sync_accepted(P0)
    assert scene.describe().rebalance == "PREPARE_REVOCATION"
    assert scene.subscription.positions.describe()[P1].state == "PENDING_REVOCATION"
    assert scene.seen(RevokePartitions) == []
    scene.answer("OffsetCommit")
    assert committed(scene) == [(1, 12), (2, 13)]
    assert scene.seen(RevokePartitions)[-1].partitions == (P1,)


def test_M8_records_with_the_application_hold_the_commit_and_the_callback_back_until_it_polls() -> None:
    scene = joining_again()
    hand_out(scene, P1, 12, 20)
    scene.sync_accepted(P0)
    assert (scene.describe().rebalance, len(committed(scene))) == ("PREPARE_REVOCATION", 1)
    hand_out(scene, P0, 10, 15)
    scene.poll()
    hand_out(scene, P0, 15, 25)
    scene.poll()
    assert committed(scene) == [(1, 12), (2, 20)]
    scene.answer("OffsetCommit")
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_M8_what_was_read_since_the_commit_was_sent_is_committed_before_a_topic_is_given_up() -> None:
    """Simulation 14542: who waits for that commit reads on, and subscribes to something else before the answer."""
    scene = Scene(partition_assignment_strategy=COOPERATIVE, enable_auto_commit=True).stable(0, 1)
    scene.subscription.positions.seek(P1, 12)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    hand_out(scene, P1, 12, 20)
    scene.do(Subscribe(("bills",)))
    scene.answer("OffsetCommit")
    assert (scene.describe().rebalance, committed(scene)) == ("PREPARE_REVOCATION", [(1, 12)])
    scene.poll()
    scene.answer("OffsetCommit")
    assert committed(scene) == [(1, 12), (1, 20)]
    assert scene.seen(RevokePartitions)[-1].partitions == (P0, P1)


def test_M8_a_commit_that_fails_for_good_does_not_keep_the_partition() -> None:
    scene = joining_again()
    scene.subscription.positions.seek(P1, 13)
    scene.sync_accepted(P0)
    scene.answer("OffsetCommit", "REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_M8_C2_who_loses_the_membership_meanwhile_commits_nothing_and_hears_that_all_is_lost() -> None:
    scene = joining_again()
    scene.subscription.positions.seek(P1, 13)
    scene.sync_accepted(P0)
    scene.answer("OffsetCommit", "UNKNOWN_MEMBER_ID")
    assert scene.seen(RevokePartitions)[-1].partitions == (P0, P1)
    assert len(committed(scene)) == 2


def test_Q4_the_callback_waits_for_the_commit_and_nothing_is_committed_twice() -> None:
    scene = joining_again()
    scene.sync_accepted(P0)
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.revoked()
    assert len(scene.sent(OffsetCommitRequest)) == 1


def test_D8_by_hand_there_is_no_member_and_no_coordinator_without_a_question() -> None:
    from groupspec.impl.core.events import Assign, Start

    scene = Scene(enable_auto_commit=False)
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.coordinator_found()
    scene.committed_are(5)
    scene.core.connection.forget("nobody answers")
    scene.poll()
    scene.pass_ms(10_000)
    assert scene.apis() == ["FindCoordinator"]
    assert scene.describe().heartbeat == "DISABLED"

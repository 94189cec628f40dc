"""JoinGroup and SyncGroup, error by error (Kafka's AbstractCoordinator), and what the leader does."""

from __future__ import annotations

from typing import Any

import pytest

from groupspec.impl.core.events import (
    AssignPartitions,
    CallbackKind,
    CallbackStarted,
    DisconnectCoordinator,
    MetadataUpdate,
    PartitionsRevoked,
    RevokePartitions,
    Subscribe,
)
from groupspec.impl.core.messages import (
    ErrorCode,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.metadata import BEHIND_AT_MOST_MS
from groupspec.impl.core.protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_sticky_user_data,
    encode_subscription,
)
from groupspec.impl.core.tests.scene import MEMBER, Scene, partitions

GONE = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "DISCONNECTED", "TIMED_OUT"]
JOIN_FATAL = [
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_SESSION_TIMEOUT",
    "INVALID_GROUP_ID",
    "GROUP_AUTHORIZATION_FAILED",
    "GROUP_MAX_SIZE_REACHED",
    "UNSUPPORTED_VERSION",
    "ILLEGAL_GENERATION",
    "UNKNOWN_SERVER_ERROR",
]
SYNC_FATAL = [
    "GROUP_AUTHORIZATION_FAILED",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "INCONSISTENT_GROUP_PROTOCOL",
    "UNKNOWN_SERVER_ERROR",
]
COOPERATIVE = ("cooperative-sticky",)


def cooperative_rejoining() -> Scene:
    """A cooperative member that owns partitions, with its second JoinGroup out."""
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    return scene


# JoinGroup -----------------------------------------------------------------------------------------------------------


def test_J3_member_id_required_is_answered_at_once_with_the_id() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    assert [join.member_id for join in scene.sent(JoinGroupRequest)] == ["", MEMBER]
    assert not scene.core.timers.is_armed("join_backoff")
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


def test_J4_rebalance_in_progress_joins_again_at_once_as_the_same_member() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.answer("JoinGroup", "REBALANCE_IN_PROGRESS")
    assert [join.member_id for join in scene.sent(JoinGroupRequest)] == ["", MEMBER, MEMBER]


def test_J4_unknown_member_id_joins_again_at_once_as_nobody() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.answer("JoinGroup", "UNKNOWN_MEMBER_ID")
    assert scene.last_join().member_id == ""
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


def test_K1_unknown_member_id_loses_what_a_cooperative_member_still_owned() -> None:
    scene = cooperative_rejoining()
    scene.answer("JoinGroup", "UNKNOWN_MEMBER_ID")
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.revoked()
    subscription = decode_subscription(scene.last_join().protocols[0][1])
    assert (subscription.owned, subscription.generation) == ((), -1)


def test_D3_a_loading_coordinator_is_asked_again_after_the_backoff() -> None:
    scene = Scene(retry_backoff_ms=100).preparing()
    scene.answer("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS")
    assert scene.describe().connection == "STABLE"
    scene.pass_ms(99)
    assert not scene.is_waiting("JoinGroup")
    scene.pass_ms(1)
    assert scene.is_waiting("JoinGroup")


@pytest.mark.parametrize("error", GONE)
def test_D1_join_without_a_coordinator_finds_it_waits_and_joins_as_the_same_member(error: str) -> None:
    scene = Scene(retry_backoff_ms=100).preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.answer("JoinGroup", error)
    assert scene.describe().connection == "COORDINATOR_DISCOVERY"
    assert len(scene.seen(DisconnectCoordinator)) == 1
    scene.coordinator_found()
    assert not scene.is_waiting("JoinGroup")
    scene.pass_ms(100)
    assert scene.waiting("JoinGroup").request.member_id == MEMBER  # type: ignore[union-attr]


def test_join_waits_for_the_coordinator_even_when_the_backoff_is_over() -> None:
    scene = Scene(retry_backoff_ms=100).preparing()
    scene.answer("JoinGroup", "NOT_COORDINATOR")
    scene.pass_ms(1_000)
    assert not scene.is_waiting("JoinGroup")
    scene.coordinator_found()
    assert scene.is_waiting("JoinGroup")


@pytest.mark.parametrize("error", JOIN_FATAL)
def test_a_refused_join_is_reported_and_tried_again_at_the_next_poll(error: str) -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", error)
    assert len(scene.errors()) == 1
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    scene.pass_ms(60_000)
    assert not scene.is_waiting("JoinGroup")
    scene.poll()
    assert scene.is_waiting("JoinGroup")


def test_X2_a_fenced_join_clears_the_identity_and_each_poll_says_so() -> None:
    scene = Scene(group_instance_id="one").preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.answer("JoinGroup", "FENCED_INSTANCE_ID")
    assert scene.errors() == ["FencedInstanceIdError"]
    assert (scene.describe().rebalance, scene.describe().member_id) == ("UNJOINED", "")
    scene.outputs.clear()
    scene.pass_ms(60_000)
    scene.poll()
    assert (scene.apis(), scene.errors()) == ([], ["FencedInstanceIdError"])


def test_C2_a_fenced_cooperative_member_loses_what_it_owned() -> None:
    scene = cooperative_rejoining()
    scene.answer("JoinGroup", "FENCED_INSTANCE_ID")
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST


def test_a_join_answered_with_a_foreign_protocol_is_refused() -> None:
    scene = Scene().preparing()
    scene.join_accepted(protocol="somebody-elses")
    assert scene.errors() == ["ProtocolError"]
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


# SyncGroup -----------------------------------------------------------------------------------------------------------


def test_J2_sync_rebalance_in_progress_joins_again_at_once_and_keeps_heartbeats_off() -> None:
    scene = Scene().completing()
    scene.answer("SyncGroup", "REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    assert scene.last_join().member_id == MEMBER
    assert scene.describe().heartbeat == "DISABLED"
    assert scene.describe().rejoin_needed


def test_J4_sync_unknown_member_id_clears_everything() -> None:
    scene = Scene().completing()
    scene.answer("SyncGroup", "UNKNOWN_MEMBER_ID")
    assert scene.path[-2:] == ["UNJOINED", "PREPARING_REBALANCE"]
    assert scene.last_join().member_id == ""


def test_J4_sync_illegal_generation_keeps_the_member_id() -> None:
    scene = Scene().completing()
    scene.answer("SyncGroup", "ILLEGAL_GENERATION")
    assert scene.path[-2:] == ["UNJOINED", "PREPARING_REBALANCE"]
    assert (scene.last_join().member_id, scene.describe().generation) == (MEMBER, -1)


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
def test_C2_sync_losing_the_identity_loses_what_a_cooperative_member_owned(error: str) -> None:
    scene = cooperative_rejoining()
    scene.join_accepted(generation=2)
    scene.answer("SyncGroup", error)
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    assert scene.seen(RevokePartitions) == [RevokePartitions(partitions(0, 1))]
    scene.revoked()
    assert scene.path[-3:] == ["PARTITION_REVOKED", "UNJOINED", "PREPARING_REBALANCE"]


@pytest.mark.parametrize("error", GONE)
def test_D1_sync_without_a_coordinator_rejoins_after_backoff_and_lookup(error: str) -> None:
    scene = Scene().completing()
    scene.answer("SyncGroup", error)
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    assert scene.describe().connection == "COORDINATOR_DISCOVERY"
    scene.coordinator_found()
    scene.pass_ms(100)
    assert scene.last_join().member_id == MEMBER


@pytest.mark.parametrize("error", SYNC_FATAL)
def test_a_refused_sync_is_reported_and_the_next_poll_joins(error: str) -> None:
    scene = Scene().completing()
    scene.answer("SyncGroup", error)
    assert len(scene.errors()) == 1
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    assert not scene.is_waiting("JoinGroup")
    scene.poll()
    assert scene.is_waiting("JoinGroup")


def test_a_sync_answer_of_another_protocol_is_refused() -> None:
    scene = Scene().completing()
    scene.respond("SyncGroup", SyncGroupResponse(ErrorCode.NONE, b"", "consumer", "roundrobin"))
    assert scene.errors() == ["ProtocolError"]


def test_an_unreadable_assignment_is_reported_and_the_next_poll_joins() -> None:
    scene = Scene().completing()
    scene.respond("SyncGroup", SyncGroupResponse(ErrorCode.NONE, b"\x00"))
    assert scene.errors() == ["KafkaError"]
    assert scene.describe().owned == ()
    scene.poll()
    assert scene.is_waiting("JoinGroup")


def test_S2_an_empty_assignment_is_a_membership() -> None:
    scene = Scene().completing()
    scene.sync_accepted()
    scene.assigned()
    assert (scene.describe().rebalance, scene.describe().heartbeat) == ("STABLE", "IDLE")
    assert scene.seen(AssignPartitions) == [AssignPartitions(())]


# Changes during a round
# ------------------------------------------------------------------------------------------------


def test_J1_a_subscription_changed_while_joining_only_marks_the_rejoin() -> None:
    scene = Scene({"orders": 2, "bills": 2}).preparing()
    scene.do(Subscribe(("orders", "bills")))
    assert len(scene.sent(JoinGroupRequest)) == 1
    scene.join_accepted()
    scene.sync_accepted(*partitions(0))
    assert scene.describe().rejoin_needed
    scene.assigned()
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_J1_an_assignment_that_no_longer_fits_is_dropped_and_the_member_rejoins() -> None:
    scene = Scene({"orders": 2, "bills": 2}).completing()
    scene.do(Subscribe(("bills",)))
    scene.sync_accepted(*partitions(0))
    scene.revoked()
    assert scene.describe().owned == ()
    assert scene.seen(AssignPartitions) == []
    assert decode_subscription(scene.last_join().protocols[0][1]).topics == ("bills",)


def two_topics(**config: Any) -> Scene:
    """A cooperative member that owns a partition of each of two topics."""
    scene = Scene({"orders": 2, "bills": 2}, partition_assignment_strategy=COOPERATIVE, **config).start()
    scene.do(Subscribe(("orders", "bills")))
    scene.poll()
    scene.coordinator_found()
    scene.join_accepted()
    scene.sync_accepted(*ORDERS, *BILLS)
    scene.assigned()
    scene.committed_are(10)
    scene.path.clear()
    scene.outputs.clear()
    return scene


ORDERS, BILLS = partitions(0), partitions(0, topic="bills")
GIVES_UP_FIRST = ["PREPARE_REVOCATION", "REVOKING_PARTITION", "PARTITION_REVOKED", "PREPARING_REBALANCE"]


def test_Q4_a_cooperative_member_gives_up_unsubscribed_topics_before_it_joins() -> None:
    scene = two_topics()
    scene.do(Subscribe(("bills",)))
    assert [(o.partitions, scene.apis()) for o in scene.seen(RevokePartitions)] == [(ORDERS, [])]
    scene.revoked()
    assert scene.path == GIVES_UP_FIRST
    assert scene.describe().owned == BILLS
    said = decode_subscription(scene.last_join().protocols[0][1])
    assert (said.topics, said.owned) == (("bills",), BILLS)


def test_Q4_what_is_unsubscribed_from_while_the_commit_is_out_goes_before_the_join_too() -> None:
    scene = two_topics(enable_auto_commit=True)
    scene.subscription.positions.seek(ORDERS[0], 12)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(Subscribe(("bills",)))
    assert scene.describe().rebalance == "PREPARE_REVOCATION"
    scene.answer("OffsetCommit")
    scene.revoked()
    assert scene.path == GIVES_UP_FIRST
    assert scene.apis() == ["Heartbeat", "OffsetCommit", "JoinGroup"]


def test_J1_an_unfit_assignment_leaves_a_cooperative_member_what_it_still_wants() -> None:
    scene = two_topics()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(2)
    scene.do(Subscribe(("bills",)))
    scene.path.clear()
    scene.sync_accepted(*ORDERS, *BILLS)
    scene.revoked()
    assert scene.path == ["STABLE", *GIVES_UP_FIRST]
    assert [o.partitions for o in scene.seen(RevokePartitions)] == [ORDERS]
    assert scene.describe().owned == BILLS
    assert scene.seen(AssignPartitions) == []
    assert decode_subscription(scene.last_join().protocols[0][1]).owned == BILLS


def test_J2_a_rebalance_that_begins_without_a_coordinator_goes_on_when_it_is_found() -> None:
    scene = Scene({"orders": 4, "payments": 1}).stable(0)
    scene.heartbeat("NOT_COORDINATOR")
    scene.do(Subscribe(("orders", "payments")))
    scene.coordinator_found()
    scene.revoked()
    assert scene.is_waiting("JoinGroup")


def test_J2_a_subscription_changed_in_the_group_starts_a_rebalance() -> None:
    scene = Scene({"orders": 2, "bills": 2}).stable(0)
    scene.do(Subscribe(("orders",)))
    assert scene.describe().rebalance == "STABLE"
    scene.do(Subscribe(("orders", "bills")))
    assert scene.describe().rebalance == "REVOKING_PARTITION"


# The leader
# ------------------------------------------------------------------------------------------------------------


def joined(member_id: str, *topics: str, owned: tuple[TopicPartition, ...] = (), generation: int = -1) -> JoinedMember:
    return JoinedMember(member_id, None, encode_subscription(Subscription(topics, None, owned, generation)))


def test_S2_the_leader_brings_an_entry_for_every_member() -> None:
    scene = Scene({"orders": 3}).preparing()
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders"), joined("z", "orders"), joined("y", "bills")])
    (sync,) = scene.sent(SyncGroupRequest)
    shares = {member: decode_assignment(data).partitions for member, data in sync.assignments}
    assert shares == {MEMBER: partitions(0, 1), "z": partitions(2), "y": ()}


def test_a_member_that_cannot_be_understood_gets_nothing() -> None:
    scene = Scene({"orders": 1}).preparing()
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders"), JoinedMember("odd", None, b"?")])
    (sync,) = scene.sent(SyncGroupRequest)
    assert {m: decode_assignment(data).partitions for m, data in sync.assignments} == {MEMBER: partitions(0), "odd": ()}


def test_a_leader_that_shall_skip_the_assignment_brings_none() -> None:
    scene = Scene(group_instance_id="one").preparing()
    response = JoinGroupResponse(
        ErrorCode.NONE, 3, "range", MEMBER, MEMBER, (joined(MEMBER, "orders"),), skip_assignment=True
    )
    scene.respond("JoinGroup", response)
    assert scene.sent(SyncGroupRequest)[-1].assignments == ()


def test_a_static_leader_that_comes_back_divides_anew_if_partitions_were_added_meanwhile() -> None:
    settings = {"metadata_max_age_ms": 10_000, "heartbeat_interval_ms": 20_000}
    scene = Scene({"orders": 2}, group_instance_id="one", **settings).preparing()
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders")])
    scene.sync_accepted(*partitions(0, 1))
    scene.assigned()
    scene.expire("poll_interval")
    scene.revoked()
    scene.coordinator.topics = {"orders": 3}
    scene.pass_ms(10_000)
    scene.poll()
    back = JoinGroupResponse(
        ErrorCode.NONE, 1, "range", MEMBER, MEMBER, (joined(MEMBER, "orders"),), skip_assignment=True
    )
    scene.respond("JoinGroup", back)
    assert scene.sent(SyncGroupRequest)[-1].assignments == ()
    scene.sync_accepted(*partitions(0, 1))
    scene.assigned()
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_K2_a_static_member_put_out_over_a_revocation_rejoins_once_more_when_it_comes_back_to_that_generation() -> None:
    """What it gave up is nobody's: the coordinator gives the assignment of the generation to whoever has the id."""
    settings: dict[str, Any] = {"partition_assignment_strategy": ("cooperative-sticky",), "enable_auto_commit": False}
    scene = Scene(group_instance_id="one", **settings).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(2)
    scene.sync_accepted(*partitions(0))
    scene.do(CallbackStarted())
    scene.expire("poll_interval")
    scene.do(PartitionsRevoked())
    scene.revoked()  # what it kept is lost
    scene.poll()
    scene.join_accepted(2)
    scene.sync_accepted(*partitions(0))
    assert not scene.is_waiting("JoinGroup")
    scene.assigned()
    assert scene.is_waiting("JoinGroup")
    assert decode_subscription(scene.last_join().protocols[0][1]).owned == partitions(0)
    scene.join_accepted(2)
    scene.sync_accepted(*partitions(0))
    scene.assigned()
    assert scene.describe().rebalance == "STABLE"
    assert not scene.is_waiting("JoinGroup")  # once: who is given the same again does not ask for ever


def test_who_owns_nothing_names_the_generation_whose_assignment_it_has_dropped() -> None:
    """Else a static member's JoinGroup would be the same again, and so would its answer."""
    scene = Scene({"orders": 2, "bills": 2}, group_instance_id="one").completing(3)
    scene.do(Subscribe(("bills",)))
    scene.sync_accepted(*partitions(0))
    scene.revoked()
    claims = decode_subscription(scene.last_join().protocols[0][1])
    assert (claims.topics, claims.owned, claims.generation) == (("bills",), (), 3)


def test_the_leader_waits_for_metadata_of_topics_that_it_does_not_know() -> None:
    scene = Scene({"orders": 2, "bills": 2}).preparing()
    scene.coordinator.topics = {}  # metadata is not answered any more
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders"), joined("z", "bills")])
    assert not scene.is_waiting("SyncGroup")
    assert scene.describe().rebalance == "COMPLETING_REBALANCE"
    scene.coordinator.topics = {"orders": 2, "bills": 2}
    request = scene.waiting("Metadata").request
    scene.respond("Metadata", scene.coordinator.metadata(request.topics))  # type: ignore[union-attr]
    assert scene.is_waiting("SyncGroup")


def test_a_leader_without_metadata_rejoins_when_the_group_goes_on_without_it() -> None:
    scene = Scene({"orders": 2}).preparing()
    scene.coordinator.topics = {}
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders"), joined("z", "bills")])
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert len(scene.sent(JoinGroupRequest)) == 2


def test_J8_the_leader_rejoins_when_partitions_are_added() -> None:
    scene = Scene({"orders": 2}, metadata_max_age_ms=10_000, heartbeat_interval_ms=20_000).preparing()
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders")])
    scene.sync_accepted(*partitions(0, 1))
    scene.assigned()
    scene.coordinator.topics = {"orders": 3}
    scene.pass_ms(10_000)
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_J8_a_change_during_the_round_is_found_when_it_ends() -> None:
    scene = Scene({"orders": 2}, metadata_max_age_ms=10_000, heartbeat_interval_ms=20_000).preparing()
    scene.join_accepted(leader=MEMBER, members=[joined(MEMBER, "orders")])
    scene.coordinator.topics = {"orders": 3}
    scene.pass_ms(10_000)
    assert scene.describe().rebalance == "COMPLETING_REBALANCE"
    scene.sync_accepted(*partitions(0, 1))
    assert scene.describe().rejoin_needed


def test_a_follower_does_not_watch_metadata() -> None:
    scene = Scene({"orders": 2}, metadata_max_age_ms=10_000, heartbeat_interval_ms=20_000).stable(0)
    scene.coordinator.topics = {"orders": 3}
    scene.pass_ms(10_000)
    assert scene.describe().rebalance == "STABLE"


def test_the_sticky_assignor_remembers_in_its_user_data_what_members_had() -> None:
    scene = Scene({"orders": 3}, partition_assignment_strategy=("sticky",)).stable(1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.revoked()
    mine = scene.last_join().protocols[0][1]
    scene.join_accepted(2, leader=MEMBER, members=[JoinedMember(MEMBER, None, mine), joined("z", "orders")])
    shares = {m: decode_assignment(data).partitions for m, data in scene.sent(SyncGroupRequest)[-1].assignments}
    assert partitions(1)[0] in shares[MEMBER]


def given_out(assignor: str, topic_id: bytes, later_ms: int = 0) -> set[int]:
    """Of a topic that has 2 partitions now, had 4, and of which z claims 2 and 3: what a leader gives to somebody."""
    scene = Scene(
        partition_assignment_strategy=(assignor,),
        heartbeat_interval_ms=2 * BEHIND_AT_MOST_MS,
        session_timeout_ms=3 * BEHIND_AT_MOST_MS,
        max_poll_interval_ms=3 * BEHIND_AT_MOST_MS,
    )
    scene.coordinator.topic_ids["orders"] = b"1" * 16
    scene.stable(0, 1)
    scene.coordinator.topics, scene.coordinator.topic_ids["orders"] = {"orders": 2}, topic_id
    scene.do(MetadataUpdate(("orders",)))
    scene.pass_ms(100 + later_ms)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.revoked()
    claimed = partitions(2, 3)
    theirs = Subscription(("orders",), encode_sticky_user_data(claimed, 1), claimed, 1)
    mine = JoinedMember(MEMBER, None, scene.last_join().protocols[0][1])
    members = [mine, JoinedMember("z", None, encode_subscription(theirs))]
    scene.join_accepted(2, leader=MEMBER, members=members)
    shares = [decode_assignment(data).partitions for _, data in scene.sent(SyncGroupRequest)[-1].assignments]
    return {partition.partition for share in shares for partition in share} - {1}  # which may be on its way to z


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_a_leader_gives_out_nothing_that_a_topic_lacks_which_it_has_seen_made_anew(assignor: str) -> None:
    """With the same id, or after a while, its metadata may be older than those of the leader before it."""
    assert given_out(assignor, b"2" * 16) == {0}
    assert given_out(assignor, b"1" * 16) == {0, 2, 3}
    assert given_out(assignor, b"2" * 16, later_ms=BEHIND_AT_MOST_MS) == {0, 2, 3}


def test_K1_the_generation_of_what_is_owned_is_that_of_the_last_completed_round() -> None:
    scene = cooperative_rejoining()
    scene.join_accepted(generation=2)
    scene.answer("SyncGroup", "REBALANCE_IN_PROGRESS")
    subscription = decode_subscription(scene.last_join().protocols[0][1])
    assert (subscription.owned, subscription.generation) == (partitions(0, 1), 1)


def test_X1_a_static_member_says_its_instance_id_in_every_request() -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.revoked()
    scene.join_accepted(2)
    requests = [sent.request for sent in [*scene.unanswered]] + [scene.last_join()]
    assert all(r.group_instance_id == "one" for r in requests if hasattr(r, "group_instance_id"))


# Answers that leave a member without partitions, and no error ---------------------------------------------------------


def test_a_member_that_the_leader_left_out_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """So it is when the member's own id in the list of members was another one; Java's raises IllegalStateException."""
    scene = Scene().completing()
    scene.respond("SyncGroup", SyncGroupResponse(ErrorCode.NONE, b""))
    assert "The leader of the group has left this member out" in caplog.text


def test_a_share_without_partitions_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    Scene().completing().sync_accepted()
    assert "left this member out" not in caplog.text


def test_a_leader_tells_whose_subscription_it_cannot_read(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene().preparing()
    whole = encode_subscription(Subscription(("orders",)))
    scene.join_accepted(
        leader=MEMBER, members=(JoinedMember(MEMBER, None, whole), JoinedMember("other", None, b"\0\1"))
    )
    assert "Member 'other' gets no partitions: its subscription can't be read" in caplog.text
    assert f"Member {MEMBER!r}" not in caplog.text

"""The paths of the proposal, as deployed clients walk them, literally.

And the states between which the member moves.
"""

from __future__ import annotations

from groupspec.impl.core.events import AssignPartitions, CallbackKind, RevokePartitions
from groupspec.impl.core.messages import JoinGroupRequest, TopicPartition
from groupspec.impl.core.protocol import decode_subscription
from groupspec.impl.core.tests.scene import Scene, partitions

COOPERATIVE = ("cooperative-sticky",)


def test_first_join_goes_the_way_of_the_proposal() -> None:
    scene = Scene().start()
    assert scene.describe().connection == "INITIALIZED"
    scene.poll()
    assert scene.describe().connection == "COORDINATOR_DISCOVERY"
    scene.coordinator_found()
    assert (scene.describe().connection, scene.path) == ("STABLE", ["PREPARING_REBALANCE"])
    scene.join_accepted(generation=7)
    scene.sync_accepted(*partitions(0, 1))
    assert scene.describe().rebalance == "ASSIGNING_PARTITIONS"
    scene.assigned()
    assert scene.path == ["PREPARING_REBALANCE", "COMPLETING_REBALANCE", "ASSIGNING_PARTITIONS", "STABLE"]
    described = scene.describe()
    assert (described.generation, described.owned, described.rejoin_needed) == (7, partitions(0, 1), False)
    assert scene.apis() == ["FindCoordinator", "JoinGroup", "SyncGroup"]


def test_Q4_Q5_eager_path_from_stable_to_stable() -> None:
    scene = Scene(enable_auto_commit=True).stable(0, 1)
    scene.subscription.positions.seek(TopicPartition("orders", 0), 12)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "PREPARE_REVOCATION"
    assert {p.state for p in scene.describe().partitions.values()} == {"PENDING_REVOCATION"}
    assert scene.apis() == ["Heartbeat", "OffsetCommit"]
    scene.answer("OffsetCommit")
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    assert scene.seen(RevokePartitions) == [RevokePartitions(partitions(0, 1))]
    scene.revoked()
    assert (scene.describe().rebalance, scene.describe().owned) == ("PREPARING_REBALANCE", ())
    scene.join_accepted(generation=2)
    scene.sync_accepted(*partitions(0))
    scene.assigned()
    assert scene.path == [
        "PREPARE_REVOCATION",
        "REVOKING_PARTITION",
        "PARTITION_REVOKED",
        "PREPARING_REBALANCE",
        "COMPLETING_REBALANCE",
        "ASSIGNING_PARTITIONS",
        "STABLE",
    ]
    assert scene.apis() == ["Heartbeat", "OffsetCommit", "JoinGroup", "SyncGroup"]


def test_Q4_K2_cooperative_path_with_a_partition_taken_away_needs_two_rounds() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0, 1)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    assert scene.describe().owned == partitions(0, 1)
    scene.join_accepted(generation=2)
    scene.sync_accepted(*partitions(0))
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    assert scene.seen(RevokePartitions) == [RevokePartitions(partitions(1))]
    assert scene.describe().partitions[partitions(0)[0]].state == "FETCHABLE"
    assert scene.describe().partitions[partitions(1)[0]].state == "PENDING_REVOCATION"
    scene.revoked()
    assert scene.describe().owned == partitions(0)
    scene.assigned()
    assert scene.path == [
        "PREPARING_REBALANCE",
        "COMPLETING_REBALANCE",
        "PREPARE_REVOCATION",
        "REVOKING_PARTITION",
        "PARTITION_REVOKED",
        "ASSIGNING_PARTITIONS",
        "STABLE",
        "PREPARING_REBALANCE",
    ]
    assert scene.describe().partitions[partitions(0)[0]].position == 10
    owned = decode_subscription(scene.last_join().protocols[0][1])
    assert (owned.owned, owned.generation) == (partitions(0), 2)


def test_C1_K2_cooperative_path_with_nothing_taken_away_has_no_revocation() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(*partitions(0, 1))
    assert scene.seen(AssignPartitions) == [AssignPartitions(partitions(1))]
    scene.assigned()
    assert scene.path == ["PREPARING_REBALANCE", "COMPLETING_REBALANCE", "ASSIGNING_PARTITIONS", "STABLE"]
    assert not scene.describe().rejoin_needed


def test_Q4_cooperative_member_commits_before_it_joins_and_pauses_nothing() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE, enable_auto_commit=True).stable(0, 1)
    scene.subscription.positions.seek(TopicPartition("orders", 1), 12)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert (scene.describe().rebalance, scene.apis()) == ("STABLE", ["Heartbeat", "OffsetCommit"])
    assert {p.state for p in scene.describe().partitions.values()} == {"FETCHABLE"}
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.apis().count("OffsetCommit") == 1
    scene.answer("OffsetCommit")
    assert scene.apis()[-1] == "JoinGroup"


def test_C2_P3_lost_path_has_no_commit_and_begins_from_unjoined() -> None:
    scene = Scene(enable_auto_commit=True).stable(0, 1)
    scene.subscription.positions.seek(TopicPartition("orders", 0), 12)
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    described = scene.describe()
    assert (described.rebalance, described.member_id, described.heartbeat) == ("REVOKING_PARTITION", "", "DISABLED")
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST and callback.partitions == partitions(0, 1)
    scene.revoked()
    assert scene.path == ["REVOKING_PARTITION", "PARTITION_REVOKED", "UNJOINED", "PREPARING_REBALANCE"]
    assert scene.apis() == ["Heartbeat", "JoinGroup"]
    assert scene.last_join().member_id == ""


def test_C1_eager_revocation_callback_runs_even_if_nothing_is_owned() -> None:
    scene = Scene().completing()
    scene.sync_accepted()
    scene.assigned()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.seen(RevokePartitions) == [RevokePartitions(())]
    scene.revoked()
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


def test_J7_subscribing_alone_sends_nothing() -> None:
    scene = Scene().start()
    assert scene.pass_ms(60_000) == []
    assert scene.apis() == []


def test_J5_the_join_request_lives_longer_than_the_rebalance() -> None:
    ordinary = Scene(max_poll_interval_ms=300_000).preparing()
    assert ordinary.waiting("JoinGroup").timeout_ms == 305_000
    short = Scene(max_poll_interval_ms=1_000, request_timeout_ms=30_000).preparing()
    assert short.waiting("JoinGroup").timeout_ms == 30_000
    endless = Scene(max_poll_interval_ms=2**31 - 1).preparing()
    assert endless.waiting("JoinGroup").timeout_ms == 2**31 - 1


def test_J6_the_subscription_is_canonical_and_protocols_keep_their_order() -> None:
    scene = Scene(partition_assignment_strategy=("roundrobin", "range", "cooperative-sticky"))
    scene.preparing()
    assert [name for name, _ in scene.last_join().protocols] == ["roundrobin", "range", "cooperative-sticky"]
    assert len(scene.sent(JoinGroupRequest)) == 1


def test_K4_one_eager_assignor_makes_the_member_eager() -> None:
    scene = Scene(partition_assignment_strategy=("cooperative-sticky", "range")).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "REVOKING_PARTITION"

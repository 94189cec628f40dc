"""(c) The coordinator announces a rebalance, and a cooperative member gives up only what moves."""

from groupspec.conformance.wire.kit import Kit
from groupspec.conformance.wire.scenario import POLLS_AND_LATE_SYNC, scenario


@scenario(
    rules="D1 D4 J1 J2 J4 J10 S3 H1 H2 H3 H4 P4 C1 C3 C5 M1 M3 M4 M5 M7 O1 O2 O3 K1 K2 K4 W1",
    source="KIP-429; ConsumerCoordinator.onJoinComplete",
    rebalance="cooperative",
    variants=POLLS_AND_LATE_SYNC,
)
def rebalance_cooperative(kit: Kit) -> None:
    """A rebalance takes one partition away: the member joins with what it owns, revokes that one, and joins again.

    It keeps the others throughout: they are not revoked, not looked up again, and poll goes on with their next records.
    JoinGroup says what the member owns; after the round that took something, JoinGroup follows right after the callback.
    """
    kit.stable_member()
    kit.answer_late("JoinGroup", ms=300)
    if kit.variant.sync_late:
        kit.answer_late("SyncGroup", ms=700)
    taken = kit.take_one_partition()
    kit.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    announced = kit.expect_answer("Heartbeat", "REBALANCE_IN_PROGRESS", rule="H2")
    joined = kit.expect_request("JoinGroup", rule="H4", since=announced)
    first = kit.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    kit.expect_event("partitions_revoked", rule="K2", since=joined, partition=taken)
    again = kit.expect_request("JoinGroup", rule="K2", since=first)
    synced = kit.expect_answer("SyncGroup", "NONE", rule="J2", since=again)
    kit.append_records()
    kit.expect_records(rule="O2", since=synced)
    kit.expect_heartbeats(rule="H3", since=synced)
    kit.close()

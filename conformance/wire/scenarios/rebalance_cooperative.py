"""(c) The coordinator announces a rebalance, and a cooperative member gives up only what moves."""

from groupspec.conformance.wire.case import POLLS_AND_LATE_SYNC
from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D1 D4 J1 J2 J4 J10 S3 H1 H2 H3 H4 P4 C1 C3 C5 M1 M3 M4 M5 M7 O1 O2 O3 K1 K2 K4 W1",
    source="KIP-429; ConsumerCoordinator.onJoinComplete",
    rebalance="cooperative",
    variants=POLLS_AND_LATE_SYNC,
)
def rebalance_cooperative(context: ScenarioContext) -> None:
    """A rebalance takes one partition away: the member joins with what it owns, revokes that one, and joins again.

    It keeps the others throughout: they are not revoked, not looked up again, and poll goes on with their next records.
    JoinGroup says what the member owns; after the round that took something, JoinGroup follows right after the
    callback.
    """
    context.stable_member()
    context.broker.answer_late("JoinGroup", ms=300)
    if context.variant.sync_late:
        context.broker.answer_late("SyncGroup", ms=700)
    taken = context.broker.take_one_partition()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    announced = context.expect_answer("Heartbeat", "REBALANCE_IN_PROGRESS", rule="H2")
    joined = context.expect_request("JoinGroup", rule="H4", since=announced)
    first = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_event("partitions_revoked", rule="K2", since=joined, partition=taken)
    again = context.expect_request("JoinGroup", rule="K2", since=first)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=again)
    context.broker.append_records()
    context.expect_records(rule="O2", since=synced)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()

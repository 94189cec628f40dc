"""(b) The coordinator announces a rebalance, and the member gives up everything first."""

from groupspec.conformance.wire.case import POLLS_AND_LATE_SYNC, Variant
from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D1 D4 J1 J2 J4 J10 S1 S2 S3 H1 H2 H3 H4 P4 C1 C3 C5 M1 M3 M4 M5 M7 O3 K4 W1",
    source="KIP-62; AbstractCoordinator.HeartbeatResponseHandler; ConsumerCoordinator.onJoinPrepare",
    variants=(*POLLS_AND_LATE_SYNC, Variant("slow-callback", callback_ms=600, not_judged="H2")),
)
def rebalance_eager(context: ScenarioContext) -> None:
    """A heartbeat is answered REBALANCE_IN_PROGRESS: the member revokes, then joins again with its id.

    Order: the automatic commit (its answer takes a while here), the revoked callback for everything, JoinGroup
    (answered late, as if another member took its time: no heartbeats meanwhile), SyncGroup, the assigned callback,
    heartbeats. From JoinGroup to the end of SyncGroup nothing is fetched, committed or returned, and every poll still
    returns in time.
    """
    context.stable_member()
    context.broker.answer_late("OffsetCommit", ms=150)
    context.broker.answer_late("JoinGroup", ms=300)
    if context.variant.sync_late:
        context.broker.answer_late("SyncGroup", ms=700)
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    announced = context.expect_answer("Heartbeat", "REBALANCE_IN_PROGRESS", rule="H3")
    joined = context.expect_request("JoinGroup", rule="H4", since=announced)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()

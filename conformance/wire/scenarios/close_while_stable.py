"""(g) close() of a member that has nothing else to do, and of one with a heartbeat under way."""

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D4 S3 H3 H7 C1 C5 C7 M1 M4 M5 M7 L1 L2 L3 L5 W1",
    source="KafkaConsumer.close; KAFKA-16639; AbstractCoordinator.maybeLeaveGroup",
    variants=(
        Variant(not_judged="H7 L3"),
        Variant("heartbeat-in-flight", auto_commit=False, held_heartbeat=True, not_judged="M1 M4 M5 M7 L5"),
    ),
)
def close_while_stable(context: ScenarioContext) -> None:
    """close(): the positions are committed, everything is revoked, then one LeaveGroup, and an end in time.

    In the second run a heartbeat is unanswered when close() is called. No second one is sent meanwhile, LeaveGroup does
    not wait for it, and when its answer comes at last, saying that the group rebalances, it revives nothing.
    """
    context.stable_member()
    if context.variant.held_heartbeat:
        before = context.now()
        release = context.broker.hold("Heartbeat", "REBALANCE_IN_PROGRESS")
        waiting = context.expect_request("Heartbeat", rule="H3", since=before)
        context.watch_for_request("Heartbeat", ms=350, since=waiting)
        asked = context.ask_to_close()
        left = context.wait_for_request("LeaveGroup", within_ms=3_000, since=asked)
        release()
        if left is None:
            context.miss("L1", "no LeaveGroup within 3000 ms after close(), while a heartbeat was unanswered")
    else:
        asked = context.ask_to_close()
        context.expect_request("LeaveGroup", rule="L1", since=asked)
    context.expect_event("shutdown_complete", rule="L2", since=asked)

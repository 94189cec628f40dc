"""(d) The coordinator no longer knows the member."""

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D1 D4 J1 J2 J4 S3 H2 H3 H4 C1 C2 C3 C5 M1 M4 M7 O1 O3 W1",
    source="KIP-429 (onPartitionsLost); AbstractCoordinator.HeartbeatResponseHandler",
    variants=(Variant(), Variant("slow-callback", callback_ms=600, not_judged="H2")),
)
def member_unknown(context: ScenarioContext) -> None:
    """A heartbeat is answered UNKNOWN_MEMBER_ID: everything is lost, and the member joins as a new one.

    Not revoked but lost, without a commit: somebody else may own the partitions by now. Heartbeats stop until the
    member has joined again; the coordinator is the same, so it is not looked up.
    """
    context.stable_member()
    context.broker.answer_next("Heartbeat", "UNKNOWN_MEMBER_ID")
    expelled = context.expect_answer("Heartbeat", "UNKNOWN_MEMBER_ID", rule=context.judged("H2", "H3"))
    joined = context.expect_request("JoinGroup", rule="H4", since=expelled)
    if context.offers("lost_callback"):
        context.expect_event("partitions_lost", rule="C2", since=expelled)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()

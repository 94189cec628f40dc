"""(e) The group has another coordinator now."""

from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D1 D2 D3 D4 J4 S3 H2 H4 C1 M1 O3 W1",
    source="AbstractCoordinator.HeartbeatResponseHandler; KIP-580",
    retry_backoff_ms=300,
    timeout_ms=6_000,
)
def coordinator_moved(context: ScenarioContext) -> None:
    """A heartbeat is answered NOT_COORDINATOR: the member finds the new coordinator and goes on as it is.

    Three lookups find nobody (COORDINATOR_NOT_AVAILABLE): the next one comes after the retry backoff. Until one
    succeeds there is no group request at all; then heartbeats go to the new node, with the same member id and
    generation. The session timeout is long enough for all that, and the backoff longer than a lookup may wait behind a
    Fetch.
    """
    context.stable_member()
    context.broker.move_coordinator()
    context.broker.answer_next("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", times=3)
    moved = context.expect_answer("Heartbeat", "NOT_COORDINATOR", rule="H2")
    failed = context.expect_answer("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", rule="D1", since=moved)
    found = context.expect_answer("FindCoordinator", "NONE", rule="D2", since=failed)
    context.expect_heartbeats(rule="H4", since=found)
    context.close()

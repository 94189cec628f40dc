"""(f) The application stops polling, and comes back."""

from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D4 J1 S3 H3 P1 P2 P3 P4 C1 C2 C3 C5 M1 M7 O3 W1",
    source="KIP-62; KIP-345; AbstractCoordinator.HeartbeatThread",
    needs="poll_interval pull",
)
def poll_interval_exceeded(context: ScenarioContext) -> None:
    """First a poll longer than max.poll.interval, which is no offence; then no poll at all, until the member has left.

    Being blocked in poll() is polling. After the last poll the interval passes: one LeaveGroup, no more heartbeats. The
    next poll says that everything is lost, and the member joins again as a new one.
    """
    context.stable_member()
    context.poll(poll_ms=1_500, times=1)
    context.expect_event(
        "poll_returned", rule="P4", since=context.expect_event("poll_started", rule="P2", poll_ms=1_500)
    )
    stopped = context.milestone("stopped polling")
    left = context.wait_for_request("LeaveGroup", within_ms=3_000, since=stopped)
    context.milestone("waited for expiry")
    if left is None:
        context.miss("P1", "no LeaveGroup came within 3000 ms after the last poll (max.poll.interval.ms=1000)")
    context.watch_for_request("Heartbeat", ms=300)
    context.poll()
    joined = context.expect_answer("JoinGroup", "NONE", rule="P3", since=left)
    if context.offers("lost_callback"):
        context.expect_event("partitions_lost", rule="P3", since=left)
    synced = context.expect_answer("SyncGroup", "NONE", rule="P3", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()

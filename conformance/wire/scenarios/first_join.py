"""(a) A new member joins: two JoinGroups, one SyncGroup, and it lives."""

from groupspec.conformance.wire.case import POLLS_AND_LATE_SYNC, Variant
from groupspec.conformance.wire.scenario import scenario
from groupspec.conformance.wire.scenario_context import ScenarioContext


@scenario(
    rules="D2 D4 J1 J2 J3 J6 J7 J10 S2 S3 H1 H2 H3 P4 C1 C3 C5 O1 O3 O6 W1",
    source="KIP-394; KIP-62; AbstractCoordinator.JoinGroupResponseHandler",
    variants=(*POLLS_AND_LATE_SYNC, Variant("one-partition", topic="one", not_judged="S3 H1 C3 O1 O3 O6")),
    retry_backoff_ms=400,
)
def first_join(context: ScenarioContext) -> None:
    """A first join: MEMBER_ID_REQUIRED, then the same JoinGroup with the id that was given.

    The group has another member already. The new one leads, so its SyncGroup has to name both. It may not join before
    the application polls, it must not wait between the two JoinGroups, it heartbeats even while SyncGroup is
    unanswered, and it reads each partition from its committed offset or, where there is none, from the beginning. In
    the run with one partition the other member gets it: the new one is a member all the same, and heartbeats.
    """
    context.broker.other_member_joins()
    context.subscribe()
    if context.offers("join_needs_poll"):
        context.watch_for_request("JoinGroup", ms=300)
    if context.variant.sync_late:
        context.broker.answer_late("SyncGroup", ms=700)
    context.poll()
    required = context.expect_answer("JoinGroup", "MEMBER_ID_REQUIRED", rule="J2")
    joined = context.expect_answer("JoinGroup", "NONE", rule="J3", since=required)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    if context.variant.topic == "orders":
        context.expect_assigned(rule="S3", since=joined)
        context.expect_records(rule="O1", since=joined)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()

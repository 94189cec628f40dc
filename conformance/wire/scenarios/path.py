"""The path of a member: joining, rebalances, a lost membership, a moved coordinator, close()."""

from __future__ import annotations

from groupspec.conformance.wire.case import POLLS_AND_LATE_SYNC, Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import comes_back, ends_between_polls, held_with_short_polls
from groupspec.impl.coordinator.joining import MEMBER_ID_REQUIRED_FROM


@scenario(
    rules="D2 D4 J1 J2 J3 J6 J7 J10 S2 S3 H1 H2 H3 P4 C1 C3 C5 O1 O3 O6 W1",
    source="KIP-394; KIP-62; AbstractCoordinator.JoinGroupResponseHandler",
    variants=(*POLLS_AND_LATE_SYNC, Variant("one-partition", topic="one", not_judged="S3 H1 C3 O1 O3 O6")),
    retry_backoff_ms=400,
)
def first_join(context: ScenarioContext) -> None:
    """A first join: MEMBER_ID_REQUIRED, then the same JoinGroup with the id that was given.

    (A JoinGroup before version 4 makes a member at once.) The group has another member already. The new one leads, so
    its SyncGroup has to name both. It may not join before the application polls, it must not wait between the two
    JoinGroups, it heartbeats even while SyncGroup is unanswered, and it reads each partition from its committed offset
    or, where there is none, from the beginning. Where polls are short its first round ends between two of them. In the
    run with one partition the other member gets it: the new one is a member all the same, and heartbeats.
    """
    context.broker.other_member_joins()
    context.subscribe()
    if context.offers("join_needs_poll"):
        context.watch_for_request("JoinGroup", ms=300)
    if context.variant.sync_late:
        context.broker.answer_late("SyncGroup", ms=700)
    held = held_with_short_polls(context)
    context.poll()
    first = context.expect_request("JoinGroup", rule="J2")
    if first.version >= MEMBER_ID_REQUIRED_FROM:
        required = context.expect_answer("JoinGroup", "MEMBER_ID_REQUIRED", rule="J2", since=first)
        joined = context.expect_answer("JoinGroup", "NONE", rule="J3", since=required)
    else:
        joined = context.expect_answer("JoinGroup", "NONE", rule="J2", since=first)
    ends_between_polls(context, held, joined)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    if context.variant.topic == "orders":
        context.expect_assigned(rule="S3", since=joined)
        context.expect_records(rule="O1", since=joined)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()


@scenario(
    rules="D1 D4 J1 J2 J4 J10 S1 S2 S3 H1 H2 H3 H4 P4 C1 C3 C5 M1 M3 M4 M5 M6 M7 O3 K4 Q5 W1",
    source="KIP-62; AbstractCoordinator.HeartbeatResponseHandler; ConsumerCoordinator.onJoinPrepare",
    variants=(*POLLS_AND_LATE_SYNC, Variant("slow-callback", callback_ms=600, not_judged="H2")),
)
def rebalance_eager(context: ScenarioContext) -> None:
    """A heartbeat is answered REBALANCE_IN_PROGRESS: the member revokes, then joins again with its id.

    Order: the automatic commit (its answer takes a while here), the revoked callback for everything, JoinGroup
    (answered late, as if another member took its time: no heartbeats meanwhile), SyncGroup, the assigned callback,
    heartbeats. From JoinGroup to the end of SyncGroup nothing is fetched, committed or returned, and every poll still
    returns in time. Where polls are short the round ends between two of them.
    """
    context.stable_member()
    context.broker.answer_late("OffsetCommit", ms=150)
    context.broker.answer_late("JoinGroup", ms=300)
    if context.variant.sync_late:
        context.broker.answer_late("SyncGroup", ms=700)
    held = held_with_short_polls(context)
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    announced = context.expect_answer("Heartbeat", "REBALANCE_IN_PROGRESS", rule="H3")
    joined = context.expect_request("JoinGroup", rule="H4", since=announced)
    ends_between_polls(context, held, joined)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()


@scenario(
    rules="D1 D4 J1 J2 J4 J10 S3 H1 H2 H3 H4 P4 C1 C3 C5 M1 M3 M4 M5 M6 M7 O1 O2 O3 K1 K2 K4 Q5 W1",
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
    comes_back(context, joined, expelled, lost="C2", synced="J2")


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
    begun = context.expect_event("poll_started", rule="P2", poll_ms=1_500)
    context.expect_event("poll_returned", rule="P4", since=begun)
    context.milestone("stopped polling")
    left = context.wait_for_request("LeaveGroup", within_ms=3_000, since=begun)  # too soon: rule P2 has that
    context.milestone("waited for expiry")
    if left is None:
        context.miss("P1", "no LeaveGroup came within 3000 ms after the last poll (max.poll.interval.ms=1000)")
    context.watch_for_request("Heartbeat", ms=300)
    context.poll()
    joined = context.expect_answer("JoinGroup", "NONE", rule="P3", since=left)
    comes_back(context, joined, left, lost="P3", synced="P3")


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

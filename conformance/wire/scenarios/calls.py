"""wakeup() and commit() at each point of a member's way, and callbacks that commit or raise."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, is_woken
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import (
    announced_round,
    beats_on,
    becomes_stable,
    held_round,
    hold,
    until_asked,
)

LONG_POLL_MS: Final = 3_000
LATE_ANSWER_MS: Final = 300
FETCHED_AHEAD_MS: Final = 200
TOO_LONG_MS: Final = 1_600
"""Longer than the poll interval."""


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C3 M7 O1 O3 O4 O5 T4 W1",
    source="KAFKA-7194; KAFKA-4569; KafkaConsumer.wakeup; ConsumerNetworkClient.maybeTriggerWakeup",
    needs="wakeup pull",
    variants=tuple(
        Variant(name, point=point, poll_ms=LONG_POLL_MS)
        for name, point in {
            "joining": "JoinGroup",
            "syncing": "SyncGroup",
            "reading-positions": "OffsetFetch",
            "fetching": "Fetch",
        }.items()
    ),
    timeout_ms=6_000,
)
def wakeup_on_the_way(context: ScenarioContext) -> None:
    """A long poll is woken while the answer to a request is still to come: it ends at once, and the next one goes on.

    Nothing is begun anew for it: no second JoinGroup meanwhile, the assignment is applied once, and no record is left
    out.
    """
    since = context.now()
    held = hold(context, context.variant.point)
    context.subscribe()
    context.poll()
    until_asked(context, context.variant.point, since)
    asked = context.wakeup(rule="T4")
    woken = context.expect_woken(rule="T4", since=asked)
    context.watch_for_request("JoinGroup", ms=LATE_ANSWER_MS, since=woken)
    held.release()
    becomes_stable(context, since)


@scenario(
    rules="D4 J1 J2 S3 H3 H4 C1 C3 M1 M7 O3 O4 O5 L1 L2 L5 T4 W1",
    source="KAFKA-16167; KafkaConsumer.wakeup; KafkaConsumer.close; AbstractCoordinator.joinGroupIfNeeded",
    needs="wakeup pull",
    variants=(
        Variant("next-poll", point="poll", not_judged="H4"),
        Variant("rebalancing", point="JoinGroup", poll_ms=LONG_POLL_MS, not_judged="L5"),
        Variant("committing-before-the-round", point="OffsetCommit", poll_ms=LONG_POLL_MS, not_judged="L5"),
        Variant("closing", point="closing", not_judged="H4"),
        Variant("committing", point="committing", auto_commit=False, not_judged="H4 L5"),
    ),
    timeout_ms=6_000,
)
def wakeup_of_a_member(context: ScenarioContext) -> None:
    """A stable member is woken: between two polls, in a poll that rebalances, in a commit, or right before close().

    The poll that rebalances waits for JoinGroup, or for the commit before it: then callbacks are still to be called.

    The next poll ends at once although there are records, and the one after it has them. The commit that nobody waits
    for any more is answered all the same, and nothing else comes to harm. close() is not woken: it commits, and leaves.
    """
    context.stable_member()
    if context.variant.point in ("JoinGroup", "OffsetCommit"):
        held = held_round(context, context.variant.point)
        asked = context.wakeup(rule="T4")
        context.expect_woken(rule="T4", since=asked)
        held.release()
        synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=asked)
        context.expect_assigned(rule="S3", since=synced)
    elif context.variant.point == "committing":
        asked = _woken_in_a_commit(context)
    else:
        context.stop_polling(rule="T4")
        asked = context.wakeup(rule="T4")
    if context.variant.point == "poll":
        since = context.now()
        context.broker.append_records()
        context.watch(FETCHED_AHEAD_MS, "who fetches ahead has them by then", since=since)
        context.poll()
        context.expect_woken(rule="T4", since=asked)
        context.expect_records(rule="O4", since=asked, partitions=context.broker.partitions())
    if context.variant.point != "closing":
        context.expect_heartbeats(rule="H3", since=asked, for_ms=450)
    closing = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=closing)


def _woken_in_a_commit(context: ScenarioContext) -> Entry:
    """The commit is unanswered when it is woken; then it is answered, and another one is made."""
    held = hold(context, "OffsetCommit")
    since = context.commit()
    until_asked(context, "OffsetCommit", since)
    asked = context.wakeup(rule="T4")
    woken = context.expect_woken(rule="T4", since=asked)
    held.release()
    again = context.commit()
    context.expect_answer("OffsetCommit", "NONE", rule="T4", since=woken)
    context.expect_done(protocol.Commit(), rule="T4", since=again)
    return asked


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M1 M2 M7 O3 O4 O5 K1 K4 W1",
    source="KafkaConsumer.commitSync; ConsumerCoordinator.sendOffsetCommitRequest; KIP-429; KAFKA-8487",
    rebalance="cooperative",
    needs="pull",
    variants=(
        Variant("stable", point="", auto_commit=False, not_judged="M2 K4"),
        Variant("joining", point="JoinGroup", auto_commit=False, not_judged="M2"),
        Variant("syncing", point="SyncGroup", auto_commit=False, not_judged="M2"),
    ),
    timeout_ms=6_000,
)
def commit_while_rebalancing(context: ScenarioContext) -> None:
    """A cooperative member commits while a request of the round is unanswered, and again when the round is over.

    In mid-round nothing is sent: whatever it said would be of one generation too few, or too many. The commit fails, or
    waits for the end of the round; the member goes on either way, and the next one is made in the new generation.
    """
    context.stable_member()
    since = context.now()
    if context.variant.point:
        held = held_round(context, context.variant.point)
        asked = context.commit()
        context.watch(LATE_ANSWER_MS, "OffsetCommit in mid-round", since=asked)
        held.release()
        since = context.expect_answer("SyncGroup", "NONE", rule="J2", since=asked)
        context.expect_done(protocol.Commit(), rule="J2", since=asked)
    context.broker.append_records()
    context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
    asked = context.commit()
    context.expect_answer("OffsetCommit", "NONE", rule="M1", since=asked)
    context.expect_done(protocol.Commit(), rule="M1", since=asked)
    beats_on(context, asked)


@scenario(
    rules="D4 J1 J2 S3 H3 H4 C1 C3 C5 M1 M7 O3 L1 L2 C7 W1",
    source="ConsumerRebalanceListener (javadoc: commit in onPartitionsRevoked); KAFKA-4160; kafka-python #1438",
    needs="callback_commit listener",
    variants=(
        Variant("revoked", in_callback=(("partitions_revoked", "commit"),), auto_commit=False),
        Variant("assigned", in_callback=(("partitions_assigned", "commit"),), auto_commit=False),
    ),
    timeout_ms=6_000,
)
def commit_in_a_callback(context: ScenarioContext) -> None:
    """The listener commits, and waits for it, at a rebalance and at close(): it works there, and nothing is begun anew.

    In the revoked callback the member still is one, with the generation that ends; in the assigned one already with the
    one that begins.
    """
    context.stable_member()
    announced_round(context)
    context.expect_heartbeats(rule="H3", since=context.now(), for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 J2 S3 H3 H4 C1 C3 C5 K1 K2 K4 M1 M7 O3 L1 L2 C7 W1",
    source="ConsumerRebalanceListener (javadoc: commit in onPartitionsRevoked); ConsumerCoordinator.onJoinComplete",
    rebalance="cooperative",
    needs="callback_commit listener",
    variants=(Variant(in_callback=(("partitions_revoked", "commit"),), auto_commit=False),),
    timeout_ms=6_000,
)
def commit_in_a_callback_cooperative(context: ScenarioContext) -> None:
    """A round takes one partition away, and the listener commits before it goes: with the generation that began."""
    context.stable_member()
    taken = context.broker.take_one_partition()
    since = context.now()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    joined = context.expect_request("JoinGroup", rule="H4", since=since)
    first = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_event("partitions_revoked", rule="K2", since=joined, partition=taken)
    again = context.expect_request("JoinGroup", rule="K2", since=first)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=again)
    context.expect_heartbeats(rule="H3", since=synced, for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 S3 H3 P1 P2 C1 M1 M7 O3 W1",
    source="KIP-62; librdkafka #4176, #4256",
    needs="poll_interval pull",
    variants=(Variant(auto_commit=False),),
)
def commits_but_does_not_poll(context: ScenarioContext) -> None:
    """The application commits again and again, and polls no more: it has left when max.poll.interval.ms is over."""
    context.stable_member()
    stopped = context.stop_polling(rule="P1")
    context.milestone("stopped polling")
    left = None
    for _ in range(TOO_LONG_MS // LATE_ANSWER_MS):
        context.commit()
        left = left or context.wait_for_request("LeaveGroup", within_ms=LATE_ANSWER_MS, since=stopped)
    context.milestone("waited for expiry")
    if left is None:
        context.miss(
            "P2", f"no LeaveGroup came within {TOO_LONG_MS} ms after the last poll (max.poll.interval.ms=1000)"
        )
    context.close()


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C3 C4 M7 O1 O3 O4 L1 L2 L5 W1",
    source="KAFKA-9620 (PR 8187); KAFKA-16933 (PR 16272); ConsumerCoordinator.onJoinPrepare, onJoinComplete",
    needs="raising_listener listener",
    variants=(
        Variant("assigned", point="assigned", in_callback=(("partitions_assigned", "raise"),)),
        Variant("revoked", point="revoked", in_callback=(("partitions_revoked", "raise"),)),
        Variant("lost", point="lost", in_callback=(("partitions_lost", "raise"), ("partitions_revoked", "raise"))),
        Variant("closing", point="closing", in_callback=(("partitions_revoked", "raise"),), not_judged="O4"),
    ),
    timeout_ms=6_000,
)
def callback_raises(context: ScenarioContext) -> None:
    """A callback raises: poll() says so to the application, and the rebalance goes on, as does close().

    The next poll finds a member that goes on where it was: the partitions are assigned once, from their committed
    offsets, and no record is left out. (A client without a callback for lost partitions raises in revoked.)
    """
    point = context.variant.point
    context.stable_member()
    since = context.now()
    if point == "lost":
        context.broker.answer_next("Heartbeat", "UNKNOWN_MEMBER_ID")
        joined = context.expect_answer("JoinGroup", "NONE", rule="C4", since=since)
        synced = context.expect_answer("SyncGroup", "NONE", rule="C4", since=joined)
        context.expect_assigned(rule="S3", since=joined)
    elif point != "closing":
        synced = announced_round(context)
    if point != "closing":
        context.broker.append_records()
        context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
        context.expect_heartbeats(rule="H3", since=synced, for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 J2 J9 S3 H3 C1 L1 L2 O3 W1",
    source="KAFKA-9823 (PR 8445); ConsumerCoordinator.OffsetCommitResponseHandler (generationUnchanged)",
    needs="wakeup pull",
    variants=(
        Variant("rejoining", point="rejoining", auto_commit=False),
        Variant("as-a-new-member", point="unsubscribed", auto_commit=False),
        Variant("heartbeat-as-a-new-member", point="heartbeat", auto_commit=False),
    ),
    timeout_ms=6_000,
)
def refused_too_late(context: ScenarioContext) -> None:
    """A commit, or a heartbeat, is unanswered when the member joins anew, and then refused: it was of another time.

    It joins anew as it subscribes to another topic besides, or as it unsubscribes and subscribes again. The next answer
    on that connection is that to JoinGroup, and it counts: SyncGroup follows, and no second JoinGroup.
    """
    context.stable_member()
    if context.variant.point == "heartbeat":
        release = context.broker.hold("Heartbeat", "UNKNOWN_MEMBER_ID")
        until_asked(context, "Heartbeat", context.now())
    else:
        release = context.broker.hold("OffsetCommit", "ILLEGAL_GENERATION")
        until_asked(context, "OffsetCommit", context.commit())
        asked = context.wakeup(rule="J2")
        context.reached(is_woken, "a call that is woken", LATE_ANSWER_MS / 100, since=asked)
    joins = context.now()
    if context.variant.point != "rejoining":
        context.expect_done(protocol.Unsubscribe(), rule="L1", since=context.unsubscribe())
        context.wait_for_request("LeaveGroup", within_ms=LATE_ANSWER_MS, since=joins)
        context.subscribe_to(context.variant.topic)
    else:
        context.send_subscribe(context.variant.topic, "one")
    context.poll()
    context.reached(lambda e: e.kind == "request" and e.api == "JoinGroup", "JoinGroup", 3.0, since=joins)
    release()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joins)
    context.expect_assigned(rule="S3", since=joins)
    context.expect_heartbeats(rule="H3", since=synced, for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)

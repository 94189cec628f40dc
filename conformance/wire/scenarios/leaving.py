"""close(), unsubscribe() and commit() at each point of a member's way, also where the coordinator is silent or gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import beats_on, held_round, hold, polls_once, until_asked
from groupspec.impl.broker.actions import CloseConnection, NeverReply

LATE_ANSWER_MS: Final = 300
SHORT_INTERVAL_MS: Final = 300
PATIENT_CLOSE_MS: Final = 10_000
"""A close() without a timeout of its own may try its last commit a few times, a request timeout each."""
OF_GROUP: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup")

BEFORE_MEMBERSHIP: Final = "L1 L5 C7 M1 M4 M5 M7"
"""What nothing can be said of where the client is no member yet."""
POINTS: Final = (
    Variant("looking-up", point="FindCoordinator", not_judged=BEFORE_MEMBERSHIP + " D4 J1 S3 H3 C1 L3"),
    Variant("joining", point="JoinGroup", not_judged="L5 C7 M1 M4 M5 M7 S3 C1 L3"),
    Variant("syncing", point="SyncGroup", not_judged="L5 C1 C7 M1 M4 M5 M7 S3"),
    Variant("reading-positions", point="OffsetFetch", not_judged="L3 L5 M1 M4 M5 M7"),
    Variant("rejoining", point="rejoining", auto_commit=False, not_judged="L5 C7 M1 M4 M5 M7"),
    Variant("committing", point="OffsetCommit", auto_commit_interval_ms=SHORT_INTERVAL_MS, not_judged="L3 L5"),
)
UNANSWERED: Final = (
    Variant(
        "commit-unanswered", point="unanswered", close_within_ms=PATIENT_CLOSE_MS, not_judged="L1 L3 L5 M1 M4 M5 M7"
    ),
    Variant("coordinator-silent", point="silent", auto_commit=False, not_judged="L1 L3 L5 M1 M4 M5 M7"),
    Variant("coordinator-gone", point="gone", auto_commit=False, not_judged="L1 L3 L5 M1 M4 M5 M7"),
)


def _on_the_way(context: ScenarioContext) -> Callable[[], None]:
    """The client waits for the answer to a request that it sends by itself; what is returned has it answered."""
    held = hold(context, context.variant.point)
    before = context.now()
    context.subscribe()
    context.poll()
    until_asked(context, context.variant.point, before)
    return held.release


def _rejoining(context: ScenarioContext) -> Callable[[], None]:
    """The JoinGroup of a member that was told to rejoin."""
    context.stable_member()
    held = hold(context, "JoinGroup")
    before = context.now()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    until_asked(context, "JoinGroup", before)
    return held.release


def _committing(context: ScenarioContext) -> Callable[[], None]:
    """A commit that its timer has sent."""
    context.stable_member()
    held = hold(context, "OffsetCommit")
    before = context.now()
    context.broker.append_records()
    until_asked(context, "OffsetCommit", before)
    return held.release


def _unanswered(context: ScenarioContext) -> Callable[[], None]:
    """The coordinator answers no commit."""
    context.stable_member()
    context.broker.do_always("OffsetCommit", NeverReply(), "it is never answered")
    return _nothing


def _silent(context: ScenarioContext) -> Callable[[], None]:
    """The coordinator answers nothing more."""
    context.stable_member()
    before = context.now()
    for api in OF_GROUP:
        context.broker.do_always(api, NeverReply(), "it is never answered")
    until_asked(context, "Heartbeat", before)
    return _nothing


def _gone(context: ScenarioContext) -> Callable[[], None]:
    """The coordinator hangs up at whatever is asked of the group."""
    context.stable_member()
    before = context.now()
    for api in OF_GROUP:
        context.broker.do_always(api, CloseConnection(), "the connection is closed")
    until_asked(context, "Heartbeat", before)
    return _nothing


_WAY: Final[Mapping[str, Callable[[ScenarioContext], Callable[[], None]]]] = {
    "rejoining": _rejoining,
    "OffsetCommit": _committing,
    "unanswered": _unanswered,
    "silent": _silent,
    "gone": _gone,
}


def _nothing() -> None:
    """There is nothing to be answered later."""


def _get_there(context: ScenarioContext) -> Callable[[], None]:
    return _WAY.get(context.variant.point, _on_the_way)(context)


@scenario(
    rules="D4 J1 S3 H3 C1 C7 M1 M4 M5 M7 L1 L2 L3 L5 W1",
    source="KafkaConsumer.close; KAFKA-16639; KAFKA-19357; AbstractCoordinator.maybeLeaveGroup; KIP-266",
    variants=(*POINTS, *UNANSWERED),
    timeout_ms=6_000,
)
def close_on_the_way(context: ScenarioContext) -> None:
    """close() while the answer to a request is still to come; then that answer comes, and must revive nothing.

    Whoever is a member leaves: LeaveGroup does not wait for the answer. close() ends in time also where the coordinator
    answers nothing at all, or hangs up at each request.
    """
    release = _get_there(context)
    asked = context.ask_to_close()
    context.wait_for_request("LeaveGroup", within_ms=LATE_ANSWER_MS, since=asked)
    release()
    within_ms = context.variant.close_within_ms + 2_000
    context.expect_event("shutdown_complete", rule="L2", since=asked, within_ms=within_ms)


@scenario(
    rules="D4 J1 J2 S3 H3 P4 C1 C7 L1 L3 O1 O3 W1",
    source="KafkaConsumer.unsubscribe; KAFKA-8972; KIP-429; librdkafka 1.7.0 note (unsubscribe)",
    variants=(
        Variant("stable", point="stable"),
        *(
            Variant(each.name, point=each.point, auto_commit=False, not_judged=unseen)
            for each, unseen in zip(POINTS[:5], ("C7 L1 L3", "C7 L1 L3", "C7", "", ""), strict=True)
        ),
    ),
    timeout_ms=6_000,
)
def unsubscribe_on_the_way(context: ScenarioContext) -> None:
    """unsubscribe() while the answer to a request is still to come, and then subscribe() again.

    It gives everything up, leaves the group once, and joins no more by itself, whatever the late answer says. When the
    application subscribes and polls again the client joins as on the first day, and reads on where it is committed.
    """
    if context.variant.point == "stable":
        context.stable_member()
        release = _nothing
    else:
        release = _get_there(context)
    asked = context.unsubscribe()
    context.wait_for_request("LeaveGroup", within_ms=LATE_ANSWER_MS, since=asked)
    release()
    context.expect_done(protocol.Unsubscribe(), rule="L1" if "L1" in context.case.rules else "J2", since=asked)
    context.watch_for_request("JoinGroup", ms=LATE_ANSWER_MS)
    again = context.now()
    context.subscribe_to(context.variant.topic)
    context.broker.append_records()
    context.poll()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=again)
    context.expect_assigned(rule="S3", since=again)
    context.expect_records(rule="O1", since=again, partitions=context.broker.partitions())
    beats_on(context, synced)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C3 K1 K2 K4 O3 L1 L2 L5 C7 M1 M4 M7 W1",
    source="KIP-429; KafkaConsumer.close; ConsumerCoordinator.onJoinComplete, onLeavePrepare",
    rebalance="cooperative",
    needs="pull listener",
    variants=(
        Variant("polling", point="polling"),
        Variant("closing", point="closing", not_judged="K2"),
        Variant("unsubscribing", point="unsubscribing", not_judged="K2 L5"),
    ),
    timeout_ms=6_000,
)
def revoked_between_polls(context: ScenarioContext) -> None:
    """The answer to SyncGroup takes one partition away while the application is between two polls, with records ready.

    What comes next gives that partition up, once, and returns none of its records: the next poll, unsubscribe() or
    close(), which give up the others too.
    """
    context.stable_member()
    taken = context.broker.take_one_partition()
    held = held_round(context, "SyncGroup")
    context.stop_polling(rule="J2")
    since = context.now()
    context.broker.append_records()
    context.watch(LATE_ANSWER_MS, "who fetches ahead has records of what goes", since=since)
    held.release()
    context.watch(LATE_ANSWER_MS, "the answer to SyncGroup has come", since=context.now())
    if context.variant.point == "polling":
        context.poll()
        context.expect_event("partitions_revoked", rule="K2", since=since, partition=taken)
        again = context.expect_request("JoinGroup", rule="K2", since=since)
        polls_once(context, context.expect_answer("SyncGroup", "NONE", rule="J2", since=again))
    elif context.variant.point == "unsubscribing":
        asked = context.unsubscribe()
        context.expect_done(protocol.Unsubscribe(), rule="L1", since=asked)
        context.wait_for_request("LeaveGroup", within_ms=LATE_ANSWER_MS, since=asked)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)

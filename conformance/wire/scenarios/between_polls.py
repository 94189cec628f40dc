"""What the application calls between two polls, when something has happened meanwhile that no poll has told it.

A rebalance is announced, an assignment has come, the membership is lost, the coordinator is unknown, records have been
fetched: each of these, and then each call. The polls of the other families run all the time, so that a call meets what
has happened only after a poll has seen to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, is_request
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import REACHED_WITHIN_S, held_round, hold, reads_on, until_asked
from groupspec.impl.broker.actions import Hold
from groupspec.impl.core.messages import TopicPartition

MEANWHILE_MS: Final = 300
"""Some heartbeats."""
SOUGHT: Final = TopicPartition("orders", 0)
EXPIRES_MS: Final = 1_600
"""More than the poll interval."""


def _announced(context: ScenarioContext) -> Callable[[], None]:
    """A heartbeat says that the group rebalances: the revoked callback is due, or will be."""
    context.stop_polling(rule="H3")
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    return _nothing


def _assigned(context: ScenarioContext) -> Callable[[], None]:
    """SyncGroup is answered: the assigned callback is due."""
    held = held_round(context, "SyncGroup")
    context.stop_polling(rule="H3")
    held.release()
    return _nothing


def _lost(context: ScenarioContext) -> Callable[[], None]:
    """A heartbeat says that the member is not known: the lost callback is due."""
    context.stop_polling(rule="H3")
    context.broker.answer_next("Heartbeat", "UNKNOWN_MEMBER_ID")
    return _nothing


def _moved(context: ScenarioContext) -> Callable[[], None]:
    """A heartbeat says that the coordinator is another one, and no lookup is answered for now."""
    context.stop_polling(rule="H3")
    lookup = Hold()
    context.broker.do_always("FindCoordinator", lookup, "it is answered later")
    context.broker.answer_next("Heartbeat", "NOT_COORDINATOR")
    return lookup.release


def _fetched(context: ScenarioContext) -> Callable[[], None]:
    """Who fetches ahead has records that no poll has returned."""
    context.stop_polling(rule="H3")
    context.broker.append_records()
    return _nothing


def _nothing() -> None:
    """There is nothing to be answered later."""


MEANWHILE: Final[Mapping[str, Callable[[ScenarioContext], Callable[[], None]]]] = {
    "announced": _announced,
    "assigned": _assigned,
    "lost": _lost,
    "moved": _moved,
    "fetched": _fetched,
}


def _joining(context: ScenarioContext) -> Callable[[], None]:
    """JoinGroup is unanswered."""
    return _held(context, "JoinGroup")


def _syncing(context: ScenarioContext) -> Callable[[], None]:
    """SyncGroup is unanswered."""
    return _held(context, "SyncGroup")


def _reading_positions(context: ScenarioContext) -> Callable[[], None]:
    """It is not yet known where what is new begins: to a cooperative member a partition that had been taken away."""
    if context.case.scenario.rebalance == "cooperative":
        context.broker.take_one_partition()
        held_round(context, "SyncGroup").release()
        context.reached(is_request("JoinGroup"), "JoinGroup", REACHED_WITHIN_S, since=context.now())
        context.broker.other_member_leaves()
    return _held(context, "OffsetFetch")


def _committing(context: ScenarioContext) -> Callable[[], None]:
    """An automatic commit is unanswered."""
    held = hold(context, "OffsetCommit")
    since = context.now()
    context.broker.append_records()
    until_asked(context, "OffsetCommit", since)
    context.stop_polling(rule="H3")
    return held.release


def _held(context: ScenarioContext, api: str) -> Callable[[], None]:
    held = held_round(context, api)
    context.stop_polling(rule="H3")
    return held.release


POINTS: Final[Mapping[str, Callable[[ScenarioContext], Callable[[], None]]]] = {
    **MEANWHILE,
    "joining": _joining,
    "syncing": _syncing,
    "reading-positions": _reading_positions,
    "committing": _committing,
}
"""In the midst of what a member does, too."""
NO_TIME: Final = {"announced": "J2 L3", "lost": "J2"}
"""Nothing can be said of a round that close() begins right after; who has left then sends nothing more to be judged."""
GONE: Final = {"announced": "M1 M7", "lost": "L1", "moved": "L1"}
"""There is no membership to leave, or nobody to say it to; or nothing that is committed."""
CALLS: Final[Mapping[str, str]] = {"commit": "", "wakeup": "wakeup", "seek": "seek", "pause": "pause", "subscribe": ""}
"""After which the application polls on; with the feature that it takes."""


def _meanwhile(context: ScenarioContext, *, commits: bool = False) -> tuple[Entry, Callable[[], None]]:
    """The member is stable, and may have committed; its application does not poll, and that has happened: since when.

    Who rebalances without being polled may be through with the round by now.
    """
    context.stable_member()
    if commits:
        context.expect_done(protocol.Commit(), rule="M1", since=context.commit())
    since = context.now()
    release = MEANWHILE[context.variant.point](context)
    context.watch(MEANWHILE_MS, "what has happened has reached the member", since=context.now())
    return since, release


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C7 M1 M4 M7 L1 L2 L3 L5 W1",
    source="KafkaConsumer.close; ConsumerCoordinator.onLeavePrepare; librdkafka #4527 (#4528); bsm/sarama-cluster #64",
    needs="pull",
    variants=tuple(Variant(each, point=each, not_judged=NO_TIME.get(each, "")) for each in MEANWHILE),
    timeout_ms=6_000,
)
def closed_between_polls(context: ScenarioContext) -> None:
    """close() between two polls, when something has happened that no poll has told: it ends, and the member leaves."""
    _, release = _meanwhile(context)
    _closes(context, release)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C7 M1 M4 M7 K1 L1 L2 L3 L5 W1",
    source="KafkaConsumer.close; ConsumerCoordinator.onLeavePrepare; librdkafka #4527 (#4528); KIP-429",
    rebalance="cooperative",
    needs="pull",
    variants=tuple(Variant(each, point=each, not_judged=NO_TIME.get(each, "")) for each in MEANWHILE),
    timeout_ms=6_000,
)
def closed_between_polls_cooperative(context: ScenarioContext) -> None:
    """The same of a cooperative member, of which one partition is taken away in the round, if there is one."""
    if context.variant.point == "assigned":
        context.stable_member()
        context.broker.take_one_partition()
        release = _assigned(context)
        context.watch(MEANWHILE_MS, "what has happened has reached the member", since=context.now())
    else:
        _, release = _meanwhile(context)
    _closes(context, release)


def _closes(context: ScenarioContext, release: Callable[[], None]) -> None:
    asked = context.ask_to_close()
    context.watch(MEANWHILE_MS, "what close() sends", since=asked)
    release()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 S3 H3 C1 C7 M1 M7 L1 L2 L3 O1 O3 W1",
    source="KafkaConsumer.unsubscribe; KAFKA-8972; node-rdkafka #330",
    needs="pull",
    variants=tuple(Variant(each, point=each, auto_commit=False, not_judged=GONE.get(each, "")) for each in MEANWHILE),
    timeout_ms=6_000,
)
def unsubscribed_between_polls(context: ScenarioContext) -> None:
    """The same with unsubscribe(), and subscribe() after it: the member begins as on the first day."""
    _, release = _meanwhile(context)
    asked = context.unsubscribe()
    context.watch(MEANWHILE_MS, "what unsubscribe() sends", since=asked)
    release()
    context.expect_done(protocol.Unsubscribe(), rule="O1", since=asked)
    again = context.now()
    context.subscribe_to(context.variant.topic)
    context.broker.append_records()
    context.poll()
    synced = context.expect_answer("SyncGroup", "NONE", rule="O1", since=again)
    context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _calls_between_polls(call: str, needs: str) -> None:
    """A scenario for each call after which the application polls on."""

    def story(context: ScenarioContext) -> None:
        since, release = _meanwhile(context, commits=call == "commit")
        called = context.now()
        if call == "commit":
            context.commit()
            release()  # or it would not return before its time is over
        elif call == "wakeup":
            context.wakeup(rule="J2")
        elif call == "seek":
            context.seek(SOUGHT, 1, rule="J2")
        elif call == "subscribe":
            context.subscribe_to(context.variant.topic, "one")
        else:
            context.pause([SOUGHT], rule="J2")
        context.poll()
        context.watch(MEANWHILE_MS, "what comes of it", since=called)
        release()
        if call == "pause":
            context.resume([SOUGHT], rule="J2")
        if context.variant.point in ("announced", "lost") or call == "subscribe":
            since = called if call == "subscribe" else since
            context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
        reads_on(context, called)

    story.__name__ = f"{call}_between_polls"
    story.__doc__ = f"""{call}() between two polls, when something has happened that no poll has told; then it polls on.

    The member follows what has happened as it would have without the call, and no record is left out.
    """
    scenario(
        rules="D4 J1 J2 J4 S3 H3 C1 C3 M1 M4 M7 O1 O3 O4 O5 T4 W1" if call == "wakeup" else _RULES,
        source="KafkaConsumer; kafka-python #2555 (#2011); thomhurst/Dekaf #1722; KAFKA-15555; KAFKA-14208",
        needs=f"pull {needs}".strip(),
        variants=tuple(Variant(each, point=each, auto_commit=call != "commit") for each in MEANWHILE),
        timeout_ms=6_000,
    )(story)


_RULES: Final = "D4 J1 J2 J4 S3 H3 C1 C3 M1 M4 M7 O1 O3 O4 O5 W1"
for _call, _needs in CALLS.items():
    _calls_between_polls(_call, _needs)


@scenario(
    rules="D4 J1 J2 S3 H3 P1 P3 C1 C2 M1 M7 O1 W1",
    source="KIP-62; ConsumerCoordinator.onJoinPrepare (the membership is lost: onPartitionsLost); librdkafka #5604",
    needs="poll_interval pull lost_callback listener",
    variants=(Variant("revoked", point="announced"), Variant("assigned", point="assigned")),
)
def expires_with_a_callback_due(context: ScenarioContext) -> None:
    """The poll interval runs out while a callback is due that no poll has run: what is owned is lost, not revoked."""
    context.stable_member()
    MEANWHILE[context.variant.point](context)
    stopped = context.now()
    context.milestone("stopped polling")
    context.watch(EXPIRES_MS, "the poll interval runs out", since=stopped)
    context.milestone("waited for expiry")
    context.poll()
    context.reached(lambda e: e.kind == "request" and e.api == "JoinGroup", "JoinGroup", 3.0, since=context.now())
    context.close()

"""A client over its quota (KIP-219): a broker that answers at once and wants silence, or one that has waited."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, is_request
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext, of_member
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import REACHED_WITHIN_S, beats_on, becomes_stable
from groupspec.impl.broker.actions import DEFAULT, Action, Reply
from groupspec.impl.core.messages import FetchResponse
from groupspec.impl.network.versions import THROTTLED_FROM

THROTTLE_MS: Final = 700
"""Several heartbeat intervals, and a small part of the session timeout."""
LONG_MS: Final = 4_000
"""Longer than a request may take, and over before close() has to be (quota.window.size.seconds is the most there is:
ClientRequestQuotaManager.throttleTime)."""
SURELY_READ_MS: Final = 150
"""After so long who sends anything has read the answer."""
SESSION_MS: Final = 3_000
BEFORE_KIP_219: Final = (("Produce", 5), *((api, first - 1) for api, first in THROTTLED_FROM.items()))
"""The versions of Apache Kafka 1.1."""
NO_RECORDS: Final = Reply(response=FetchResponse({}))
"""As a broker answers who is over its quota: KafkaApis.handleFetchRequest, FetchContext.getThrottledResponse."""


def throttled(context: ScenarioContext, since: Entry) -> Entry:
    """The answer that says it. Raises NoOccasion."""
    said = "an answer that says that the client is over its quota"
    return context.reached(lambda entry: entry.throttle_ms > 0, said, REACHED_WITHIN_S, since=since)


@scenario(
    rules="D4 J1 J2 S3 H3 P4 C1 C3 M1 M7 O1 O3 W1 W2",
    source="KIP-219; KafkaApis.sendResponseMaybeThrottle",
    variants=tuple(
        Variant(name, point=point)
        for name, point in {
            "finding": "FindCoordinator",
            "naming": "JoinGroup",
            "joining": "JoinGroup",
            "syncing": "SyncGroup",
            "reading-positions": "OffsetFetch",
            "asking-where-logs-begin": "ListOffsets",
        }.items()
    ),
    timeout_ms=SESSION_MS,
)
def throttled_on_the_way(context: ScenarioContext) -> None:
    """On its way into the group a client is over its quota: it goes on when that time is over.

    The answer counts as any other: nothing is asked twice, no id and no round is lost.
    """
    since = context.now()
    match = of_member if context.variant.name == "joining" else None
    context.broker.throttle(context.variant.point, THROTTLE_MS, match=match)
    context.subscribe()
    context.poll()
    throttled(context, since)
    becomes_stable(context, since)


@scenario(
    rules="D4 J1 J2 J4 S3 H3 H4 P4 C1 C3 M1 M7 O1 O3 W1 W2",
    source="KIP-219; KafkaApis.handleFetchRequest; KafkaConsumer.commitSync",
    variants=(
        Variant("beating", point="Heartbeat", not_judged="J4 H4"),
        Variant("rebalancing", point="Heartbeat"),
        Variant("fetching", point="Fetch", not_judged="J4 H4"),
        Variant("committing", point="OffsetCommit", auto_commit=False, not_judged="J4 H4"),
    ),
    timeout_ms=SESSION_MS,
)
def throttled_member(context: ScenarioContext) -> None:
    """A member is over its quota: it is silent for that time, stays a member, and goes on where it was.

    What comes late for it is not lost: the JoinGroup of a rebalance that the same answer announced, the records that a
    broker does not send to who is over its quota, the next commit.
    """
    context.stable_member()
    since = context.now()
    answers: dict[str, Action] = {"rebalancing": Reply("REBALANCE_IN_PROGRESS"), "fetching": NO_RECORDS}
    context.broker.throttle(context.variant.point, THROTTLE_MS, answers.get(context.variant.name, DEFAULT))
    if context.variant.name == "committing":
        asked = context.commit()
        context.expect_done(protocol.Commit(), rule="M1", since=asked)
    told = throttled(context, since)
    if context.variant.name == "rebalancing":
        joined = context.expect_request("JoinGroup", rule="H4", since=told)
        context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
        context.expect_assigned(rule="S3", since=joined)
    context.broker.append_records()
    context.expect_records(rule="O1", since=told, partitions=context.broker.partitions())
    if context.variant.name == "committing":
        asked = context.commit()
        context.expect_answer("OffsetCommit", "NONE", rule="M1", since=asked)
        context.expect_done(protocol.Commit(), rule="M1", since=asked)
    beats_on(context, told)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C5 M1 M7 O3 L1 L2 L5 W1 W2",
    source="KIP-219; ConsumerCoordinator.close; ConsumerNetworkClient.awaitPendingRequests, failExpiredRequests",
    variants=(
        Variant("short"),
        Variant("longer-than-a-request", point="long", auto_commit=False, not_judged="L1 L5 M1 M7"),
    ),
    timeout_ms=SESSION_MS,
)
def close_while_throttled(context: ScenarioContext) -> None:
    """close() of a member that is over its quota: it commits and leaves when that time is over, not before.

    Where that takes longer than a request may, it may end without; it ends in time either way.
    """
    context.stable_member()
    since = context.now()
    context.broker.throttle("Heartbeat", LONG_MS if context.variant.point == "long" else THROTTLE_MS)
    told = throttled(context, since)
    context.watch(SURELY_READ_MS, "what is sent too early", since=told)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 J2 S3 H3 P4 C1 C3 M1 M7 O3 W1 W2",
    source="KIP-219, Compatibility; AbstractResponse.shouldClientThrottle",
    variants=tuple(
        Variant(name, point=point, version_caps=BEFORE_KIP_219)
        for name, point in {"joining": "JoinGroup", "syncing": "SyncGroup", "beating": "Heartbeat"}.items()
    ),
    timeout_ms=SESSION_MS,
)
def throttled_by_an_old_broker(context: ScenarioContext) -> None:
    """A broker before KIP-219 holds its answer back for who is over its quota, and says so in it: that was all.

    The client does not wait for the same time again. (One that asks for a newer broker does not join at all.)
    """
    since = context.now()
    if context.variant.name != "beating":
        context.broker.throttle(context.variant.point, THROTTLE_MS)
    context.subscribe()
    context.poll()
    if context.variant.name == "beating":
        context.reached(is_request("Heartbeat"), "a heartbeat", REACHED_WITHIN_S, since=since)
        context.broker.throttle(context.variant.point, THROTTLE_MS)
    told = throttled(context, since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
    context.expect_records(rule="O3", since=synced, partitions=context.broker.partitions())
    beats_on(context, told)

"""Automatic commits that are refused, and the order in which the next ones come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupspec.conformance.history.entry import Entry, is_request
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import reads_on
from groupspec.impl.core.messages import TopicPartition

INTERVAL_MS: Final = 300
MORE_THAN_ENOUGH: Final = 8
"""Tries of a commit before a rebalance: rule M3 leaves it three."""
GOES_ON_WITHIN_MS: Final = 2_000
"""A poll, a callback, and a heartbeat or two."""


@scenario(
    rules="D4 J1 J2 J4 S3 H3 C1 M2 M6 M7 O1 O3 W1",
    source="ConsumerCoordinator.OffsetCommitResponseHandler; KAFKA-8487; kafkajs #1466",
    variants=(
        Variant("rebalancing", point="REBALANCE_IN_PROGRESS", auto_commit_interval_ms=INTERVAL_MS),
        Variant("illegal-generation", point="ILLEGAL_GENERATION", auto_commit_interval_ms=INTERVAL_MS),
        Variant("unknown-member", point="UNKNOWN_MEMBER_ID", auto_commit_interval_ms=INTERVAL_MS),
    ),
    needs="auto_commit",
    timeout_ms=3_000,
)
def commit_refused(context: ScenarioContext) -> None:
    """A timed commit is refused for the member's identity, or for a rebalance: the member joins again and reads on.

    The refusal may be the first word of it, before any heartbeat's. It must not end the client, and nothing is
    committed with an identity that has ended.
    """
    context.stable_member()
    since = context.now()
    context.broker.answer_next("OffsetCommit", context.variant.point)
    context.broker.append_records()
    refused = context.expect_answer("OffsetCommit", context.variant.point, rule="M2", since=since)
    joined = context.expect_request("JoinGroup", rule="M2", since=refused)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    reads_on(context, synced)


@scenario(
    rules="D4 J1 S3 H3 C1 M1 M4 M5 M6 M7 O3 L1 L2 W1",
    source="KAFKA-5730; KAFKA-10337; KAFKA-16103; sarama #2940",
    variants=(Variant(auto_commit_interval_ms=INTERVAL_MS),),
    needs="auto_commit",
    timeout_ms=6_000,
)
def commits_in_order(context: ScenarioContext) -> None:
    """Two commits in a row fail in passing, while the positions go on: an older one is never sent after a newer one."""
    context.stable_member()
    since = context.now()
    context.broker.answer_next("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", times=2)
    for _ in range(3):
        context.broker.append_records()
        context.expect_records(rule="O3", since=since, partitions=context.broker.partitions())
        since = context.expect_request("OffsetCommit", rule="M5", since=since)
    context.expect_answer("OffsetCommit", "NONE", rule="M5", since=since)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M3 M7 O1 O3 W1",
    source="ConsumerCoordinator.onJoinPrepare (a commit that fails ends nothing); KAFKA-13310 (PR 11340); KAFKA-16224",
    variants=(
        Variant(point="GROUP_AUTHORIZATION_FAILED"),
        Variant("missing-topic", point="UNKNOWN_TOPIC_OR_PARTITION"),
    ),
    needs="auto_commit",
    timeout_ms=6_000,
)
def commit_before_the_round_fails(context: ScenarioContext) -> None:
    """The group rebalances, and the commit before it is refused for good: the member joins all the same, and soon.

    In the second run its topic is not there any more, which does not pass either.
    """
    context.stable_member()
    since = context.now()
    context.broker.append_records()
    context.expect_records(rule="O1", since=since, partitions=context.broker.partitions())
    lasts = context.variant.point == "UNKNOWN_TOPIC_OR_PARTITION"
    context.broker.answer_next("OffsetCommit", context.variant.point, times=MORE_THAN_ENOUGH if lasts else 1)
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    joined = joins_though_refused(context, since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    reads_on(context, synced)


def joins_though_refused(context: ScenarioContext, since: Entry) -> Entry:
    """The JoinGroup after a commit that is refused for good; or with it, of a client that does not wait for the answer.

    kafka-python does not where the time of its poll is over.
    """
    asked = context.reached(is_request("OffsetCommit"), "OffsetCommit before JoinGroup", 3.0, since=since)
    context.reached(_is_answered("OffsetCommit", context.variant.point), "its refusal", 3.0, since=asked)
    joined = context.wait_for_request("JoinGroup", within_ms=GOES_ON_WITHIN_MS, since=asked)
    if joined is None:
        context.miss("M3", f"no JoinGroup within {GOES_ON_WITHIN_MS} ms after its commit was refused")
    return joined


def _is_answered(api: str, error: str) -> Callable[[Entry], bool]:
    return lambda entry: (entry.kind, entry.api, entry.error) == ("response", api, error)


@scenario(
    rules="D4 D8 M4 L2 L5 W1",
    source="KafkaConsumer.assign; ConsumerCoordinator.close (maybeAutoCommitOffsetsSync); ConsumerCoordinator.poll",
    needs="assign auto_commit pull",
    timeout_ms=6_000,
)
def closed_without_a_group(context: ScenarioContext) -> None:
    """A consumer whose partitions the application has assigned is closed: it commits where it was, as a member does.

    It joins no group, and has nothing to leave.
    """
    since = context.now()
    context.assign(TopicPartition("orders", number) for number in range(4))
    context.poll()
    context.expect_records_of(context.broker.partitions(), rule="D8", since=since)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)

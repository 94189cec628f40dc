"""Automatic commits that are refused, and the order in which the next ones come."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import reads_on

INTERVAL_MS: Final = 300


@scenario(
    rules="D4 J1 J2 J4 S3 H3 C1 M2 M6 M7 O1 O3 W1",
    source="ConsumerCoordinator.OffsetCommitResponseHandler; KAFKA-8487; kafkajs #1466",
    variants=(
        Variant("rebalancing", point="REBALANCE_IN_PROGRESS", auto_commit_interval_ms=INTERVAL_MS),
        Variant("illegal-generation", point="ILLEGAL_GENERATION", auto_commit_interval_ms=INTERVAL_MS),
        Variant("unknown-member", point="UNKNOWN_MEMBER_ID", auto_commit_interval_ms=INTERVAL_MS),
    ),
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

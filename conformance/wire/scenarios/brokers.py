"""Older brokers: a case for each release of Apache Kafka in `releases.toml`, whose requests end at older versions."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.entry import is_request
from groupspec.conformance.releases import releases
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario

JOINS_WITHIN_S: Final = 6.0


@scenario(
    rules="D4 J1 J2 J4 J10 S2 S3 H3 H4 C1 C3 M1 M7 O1 O3 O4 O5 O6 L1 L2 L3 W1",
    source="KIP-35; KIP-394 (from JoinGroup 4 on); KIP-511; NodeApiVersions.latestUsableVersion",
    variants=tuple(
        Variant(release, version_caps=tuple(sorted(caps.items())), not_judged="L3") for release, caps in releases()
    ),
)
def old_broker(context: ScenarioContext) -> None:
    """A member's whole path with an older broker: join, rebalance, close, each request in a version that it has.

    Before 2.2 no JoinGroup is answered MEMBER_ID_REQUIRED, before 2.3 there is no instance id, before 2.4 LeaveGroup
    names one member. A client that asks for a newer broker may say so and not join at all.
    """
    before = context.now()
    context.subscribe()
    context.poll()
    context.reached(is_request("JoinGroup"), "JoinGroup", JOINS_WITHIN_S, since=before)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2")
    context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    context.expect_heartbeats(rule="H3", since=synced, for_ms=250)
    since = context.now()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    joined = context.expect_request("JoinGroup", rule="H4", since=since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_heartbeats(rule="H3", since=synced, for_ms=250)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)

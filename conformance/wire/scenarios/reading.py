"""Reading: long polls whose answers come late, another leader of a partition, a log that is shorter than it was."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import becomes_stable

LONG_POLL_MS: Final = 3_000
LATE_MS: Final = 700
STEPS: Final = ("JoinGroup", "SyncGroup", "OffsetFetch", "ListOffsets", "Fetch")


@scenario(
    rules="D4 J1 J2 S3 H3 P4 C1 C3 C5 O1 O3 O4 O5 O6 W1",
    source="KAFKA-13310; KIP-266; KafkaConsumer.poll",
    needs="pull",
    variants=tuple(Variant(f"late-{api.lower()}", poll_ms=LONG_POLL_MS, point=api) for api in STEPS),
    timeout_ms=6_000,
)
def long_poll(context: ScenarioContext) -> None:
    """One long poll, and the answer to one step comes late: the poll goes on with what follows, and has the records.

    It does not end without records before its time, and is not deaf to what arrives while it waits.
    """
    context.broker.answer_late(context.variant.point, ms=LATE_MS)
    context.subscribe()
    context.poll()
    becomes_stable(context)


@scenario(
    rules="D4 J1 S3 H2 H3 P4 C1 M7 O1 O3 O4 O5 W1",
    source="KIP-101; KIP-320; Partition.checkCurrentLeaderEpoch; ReplicaManager.readFromLog",
    variants=(Variant("moves", point="moves"), Variant("moves-and-is-cut", point="is-cut")),
    timeout_ms=3_000,
)
def leader_changes(context: ScenarioContext) -> None:
    """Another node leads a partition: the client asks for the topic again, and reads on there.

    In the second run the new leader's log ends six records earlier (an unclean election): what the client does with its
    position then is its policy's affair, but it reads what comes, and goes on with the other partitions.
    """
    context.stable_member()
    if context.variant.point == "is-cut":
        since = context.now()
        context.broker.append_records()
        context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
        context.broker.elect(0, end=6)
    else:
        context.broker.elect(0)
    since = context.now()
    context.broker.append_records()
    context.broker.append_records()
    context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
    context.expect_heartbeats(rule="H3", since=since, for_ms=900)
    context.close()

"""Reading: answers that come late, limits of a poll, logs that are short or have gaps, leaders that change."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.checks.leaders import NAMES_EPOCHS_FROM
from groupspec.conformance.history.entry import has_records, is_event, is_request
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.case_broker import RECORDS
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import IN_HAND_MS, REACHED_WITHIN_S, announced_round, becomes_stable

LONG_POLL_MS: Final = 3_000
LATE_MS: Final = 700
FEW: Final = "max.poll.records"
LED_BY_ANOTHER: Final = "orders-0"
GOES_ON_WITHIN_MS: Final = 2_000
"""Some polls and Fetches."""
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


@scenario(
    rules="D4 J1 J2 S3 H3 H4 C1 M1 M4 M7 O1 O3 O4 O5 L1 L2 L5 W1",
    source="MemoryRecords.filterTo; CompletedFetch.fetchRecords (nextFetchOffset); KIP-98 (control batches)",
    variants=(Variant(not_judged="H4"), Variant("rebalancing", point="rebalancing")),
    timeout_ms=6_000,
)
def log_with_gaps(context: ScenarioContext) -> None:
    """Not every offset has a record: the log is compacted, and has the mark of a transaction.

    The client goes on behind the last offset of each batch, also of one without records, and commits an offset, not how
    many records it was given. In the second run the group rebalances in between, so that it reads on from what it
    committed.
    """
    context.broker.append_with_gaps()
    context.stable_member()
    for _ in range(2):
        since = context.now()
        context.broker.append_with_gaps()
        context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
    if context.variant.point == "rebalancing":
        synced = announced_round(context)
        context.broker.append_with_gaps()
        context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    context.expect_heartbeats(rule="H3", since=since, for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 J2 S3 H3 P5 C1 M1 M4 M7 O1 O3 O4 O5 L1 L2 L5 W1",
    source="KIP-41; FetchCollector.collectFetch; CompletedFetch.fetchRecords (nextFetchOffset)",
    needs="pull max_poll_records",
    variants=(
        Variant(more=((FEW, "4"),), not_judged="L5"),
        Variant("closed-in-a-batch", point="ordinary", more=((FEW, "2"),)),
        Variant("closed-in-a-batch-with-gaps", point="gaps", more=((FEW, "2"),)),
    ),
    timeout_ms=6_000,
)
def few_records_at_a_time(context: ScenarioContext) -> None:
    """A poll may return fewer records than are at hand, also of several partitions: the next polls have the others.

    In the other runs close() comes when a part of a batch has been returned, and commits where the next record may be.
    In the last one not every offset of that batch has a record.
    """
    began = context.now()
    context.stable_member()
    since = context.now()
    if not context.variant.point:
        context.broker.append_records()
        context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
        context.expect_heartbeats(rule="H3", since=since, for_ms=450)
    else:
        for partition in sorted(context.broker.partitions()):
            context.reached(has_records(partition, RECORDS - 1), "the last record", REACHED_WITHIN_S, since=began)
        context.stop_polling(rule="O4")
        since = context.now()
        (context.broker.append_with_gaps if context.variant.point == "gaps" else context.broker.append_records)()
        context.poll(LONG_POLL_MS, times=1)
        context.expect_event("records_consumed", rule="O4", since=since)
        context.reached(is_event("poll_returned"), "the end of a poll", REACHED_WITHIN_S, since=since)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 S3 H3 C1 M7 O1 O3 O4 O5 O8 W1",
    source="KIP-320; Metadata.updateLatestMetadata; rd_kafka_topic_metadata_update",
    variants=(Variant(more=(("metadata.max.age.ms", "300"),)),),
    timeout_ms=6_000,
)
def metadata_is_behind(context: ScenarioContext) -> None:
    """A partition has another leader, the client reads on there, and then brokers are asked that have not heard of it.

    Their Metadata name the former leader, with its epoch. The client knows a later one, and goes on reading there.
    """
    context.broker.elect(0)  # before it nothing is said of epochs
    context.stable_member()
    earlier = context.broker.metadata()
    context.broker.elect(0, again=True)
    since = context.now()
    context.broker.append_records()
    context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
    context.reached(is_request("Metadata"), "Metadata", REACHED_WITHIN_S, since=since)
    context.broker.be_behind(earlier)
    behind = context.now()
    asked = context.reached(is_request("Metadata"), "Metadata", REACHED_WITHIN_S, since=behind)
    context.watch(IN_HAND_MS, "it has heard of the former leader", since=asked)
    since = context.now()
    context.broker.append_records()
    read_on = context.log.wait(has_records(LED_BY_ANOTHER), GOES_ON_WITHIN_MS / 1000, since.at_us)
    if asked.version >= NAMES_EPOCHS_FROM and read_on is None:
        context.miss("O8", f"no record of {LED_BY_ANOTHER} came while brokers were behind")
    context.broker.be_behind({})
    since = context.now()
    context.broker.append_records()
    context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
    context.expect_heartbeats(rule="H3", since=since, for_ms=450)
    context.close()

"""The harness of kafka-python.

Its listener is the blocking one, as in Java, but kafka-python calls it on its I/O thread ("callbacks run on the
consumer's IO event loop": docstring of ConsumerRebalanceListener), so the feature listener_in_poll is not offered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import kafka
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import TopicPartition

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import Partition
from groupspec.conformance.wire.harnesses.base import AnyPartition, Harness, Listener, kafka_settings, main

CLOSE_TIMEOUT_MS = 5_000


class KafkaPython(Harness):
    """KafkaConsumer."""

    client = "kafka-python"
    features = (
        "eager",
        "cooperative",
        "listener",
        "lost_callback",
        "join_needs_poll",
        "pull",
        "poll_interval",
        "auto_commit",
        "static",
        "seek",
        "pause",
        "raising_listener",
        "pattern",
        "close_timeout",
        "callback_seek",
        "max_poll_records",
        "seek_to_beginning",
        "assign",
    )

    def configure(self, command: protocol.Configure) -> None:
        """Make the consumer."""
        assignor = CooperativeStickyAssignor if command.rebalance == "cooperative" else RangePartitionAssignor
        self.consumer = kafka.KafkaConsumer(partition_assignment_strategy=(assignor,), **kafka_settings(command))

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener."""
        self.consumer.subscribe(topics, listener=_Listener(self))

    def subscribe_to_pattern(self, pattern: str) -> None:
        """The same to all topics that match."""
        self.consumer.subscribe(pattern=pattern, listener=_Listener(self))

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Read these, without a subscription."""
        self.consumer.assign([*map(_named, partitions)])

    def poll(self, poll_ms: int) -> Mapping[AnyPartition, Sequence[int]]:
        """One poll."""
        batches = self.consumer.poll(timeout_ms=poll_ms)
        return {partition: [record.offset for record in batch] for partition, batch in batches.items()}

    def seek(self, partition: Partition, offset: int) -> None:
        """Read a partition from this offset on."""
        if offset == protocol.BEGINNING:
            self.consumer.seek_to_beginning(_named(partition))
        else:
            self.consumer.seek(_named(partition), offset)

    def pause(self, partitions: Sequence[Partition]) -> None:
        """Return no records of these."""
        self.consumer.pause(*map(_named, partitions))

    def resume(self, partitions: Sequence[Partition]) -> None:
        """Return records of these again."""
        self.consumer.resume(*map(_named, partitions))

    def close(self) -> None:
        """Close the consumer."""
        self.close_within(CLOSE_TIMEOUT_MS)

    def close_within(self, timeout_ms: int) -> None:
        """The same, within this time."""
        self.consumer.close(timeout_ms=timeout_ms)


def _named(partition: Partition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


class _Listener(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types for mypy to follow
    pass


if __name__ == "__main__":
    main(KafkaPython)

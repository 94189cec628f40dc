"""The harness of the reference implementation.

`--mutant ID` puts one known bug into it first (see groupspec.conformance.mutation).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from groupspec import impl
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import Partition
from groupspec.conformance.wire.harnesses.base import AnyPartition, Harness, Listener, kafka_settings, main
from groupspec.impl import Consumer, TopicPartition, WakeupError
from groupspec.impl.threads.designs import Design

CLOSE_TIMEOUT_MS = 5_000


class Reference(Harness):
    """groupspec.impl.Consumer."""

    client = "reference"
    features = tuple(protocol.FEATURES)
    driver: Design = "background"
    woken_by = (WakeupError,)

    def version(self) -> str:
        """Of groupspec."""
        return str(impl.__version__)

    def configure(self, command: protocol.Configure) -> None:
        """Make the consumer."""
        assignor = "cooperative-sticky" if command.rebalance == "cooperative" else "range"
        self.consumer = Consumer(
            partition_assignment_strategy=(assignor,), driver=self.driver, **kafka_settings(command)
        )

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener."""
        self.consumer.subscribe(topics, Listener(self))

    def subscribe_to_pattern(self, pattern: str) -> None:
        """The same to all topics that match."""
        self.consumer.subscribe(listener=Listener(self), pattern=pattern)

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Read these, without a subscription."""
        self.consumer.assign(map(_named, partitions))

    def poll(self, poll_ms: int) -> Mapping[AnyPartition, Sequence[int]]:
        """One poll."""
        records: dict[AnyPartition, list[int]] = {}
        for record in self.consumer.poll(poll_ms):
            records.setdefault(TopicPartition(record.topic, record.partition), []).append(record.offset)
        return records

    def seek(self, partition: Partition, offset: int) -> None:
        """Read a partition from this offset on."""
        if offset == protocol.BEGINNING:
            self.consumer.seek_to_beginning(_named(partition))
        else:
            self.consumer.seek(_named(partition), offset)

    def pause(self, partitions: Sequence[Partition]) -> None:
        """Return no records of these."""
        self.consumer.pause(map(_named, partitions))

    def resume(self, partitions: Sequence[Partition]) -> None:
        """Return records of these again."""
        self.consumer.resume(map(_named, partitions))

    def wakeup(self) -> None:
        """End the call in progress, or the next one."""
        self.consumer.wakeup()

    def close(self) -> None:
        """Close the consumer."""
        self.close_within(CLOSE_TIMEOUT_MS)

    def close_within(self, timeout_ms: int) -> None:
        """The same, within this time."""
        self.consumer.close(timeout_ms)


def _named(partition: Partition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="The reference behind the harness protocol.")
    arguments.add_argument("--mutant", help="the id of a bug to put in first")
    chosen = arguments.parse_args()
    if chosen.mutant:
        # Only here: the catalogue imports the specification too, and a harness is to start quickly.
        from groupspec.conformance.mutation.catalogue import find
        from groupspec.conformance.mutation.mutant import Seam

        find(chosen.mutant).change(Seam())
    main(Reference)

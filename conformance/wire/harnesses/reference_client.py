"""The harness of the reference implementation.

`--mutant ID` puts one known bug into it first (see groupspec.conformance.mutation); `--trace FILE` writes its own trace
there.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.harnesses._base import Harness, main
from groupspec.conformance.wire.protocol import Partition
from groupspec.impl.consumer import Consumer, RebalanceListener
from groupspec.impl.core.messages import TopicPartition

CLOSE_TIMEOUT_MS = 5_000


class Reference(Harness):
    """groupspec.impl.consumer.Consumer."""

    client = "reference"
    features = (
        "eager",
        "cooperative",
        "listener",
        "lost_callback",
        "listener_in_poll",
        "join_needs_poll",
        "pull",
        "poll_interval",
        "auto_commit",
    )

    def version(self) -> str:
        """Of groupspec."""
        try:
            return version("groupspec")
        except PackageNotFoundError:
            return "source tree"

    def configure(self, settings: protocol.Configure) -> None:
        """Make the consumer."""
        cooperative = settings.rebalance == "cooperative"
        self.consumer = Consumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group_id,
            client_id=settings.client_id,
            partition_assignment_strategy=("cooperative-sticky" if cooperative else "range",),
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            request_timeout_ms=settings.request_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
            enable_auto_commit=settings.auto_commit,
            auto_commit_interval_ms=settings.auto_commit_interval_ms,
            auto_offset_reset=settings.auto_offset_reset,
            fetch_max_wait_ms=settings.fetch_max_wait_ms,
        )

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe, with a listener."""
        self.consumer.subscribe(list(topics), _Listener(self))

    def poll(self, poll_ms: int) -> Mapping[Partition, Sequence[int]]:
        """One poll."""
        records: dict[Partition, list[int]] = {}
        for record in self.consumer.poll(poll_ms):
            records.setdefault(Partition(record.topic, record.partition), []).append(record.offset)
        return records

    def commit(self) -> Mapping[Partition, int]:
        """Commit the positions, and wait."""
        positions = {_plain(partition): self.consumer.position(partition) for partition in self.consumer.assignment()}
        self.consumer.commit()
        return positions

    def assignment(self) -> list[Partition]:
        """What the consumer says that it owns."""
        return sorted(map(_plain, self.consumer.assignment()))

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self.consumer.unsubscribe()

    def close(self) -> None:
        """Close the consumer."""
        self.consumer.close(CLOSE_TIMEOUT_MS)


class _Listener(RebalanceListener):
    def __init__(self, harness: Reference) -> None:
        self._harness = harness

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._harness.assigned(map(_plain, partitions))

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._harness.revoked(map(_plain, partitions))

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self._harness.lost(map(_plain, partitions))


def _plain(partition: TopicPartition) -> Partition:
    return Partition(partition.topic, partition.partition)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="The reference behind the harness protocol.")
    arguments.add_argument("--mutant", help="the id of a bug to put in first")
    chosen = arguments.parse_args()
    if chosen.mutant:
        # Only here: the catalogue imports the specification too, and a harness is to start quickly.
        from groupspec.conformance.mutation.catalogue.on_the_wire import apply

        apply(chosen.mutant)
    main(Reference)

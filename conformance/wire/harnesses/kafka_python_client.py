"""The harness of kafka-python.

Its listener is the blocking one, as in Java, but kafka-python calls it on its I/O thread ("callbacks run on the
consumer's IO event loop": docstring of ConsumerRebalanceListener), so the feature listener_in_poll is not offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import kafka
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.harnesses._base import Harness, main
from groupspec.conformance.wire.protocol import Partition

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
    )

    def version(self) -> str:
        """Of the installed package."""
        return str(kafka.__version__)

    def configure(self, settings: protocol.Configure) -> None:
        """Make the consumer."""
        cooperative = settings.rebalance == "cooperative"
        self.consumer = kafka.KafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group_id,
            client_id=settings.client_id,
            partition_assignment_strategy=(CooperativeStickyAssignor if cooperative else RangePartitionAssignor,),
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
        self.consumer.subscribe(list(topics), listener=_Listener(self))

    def poll(self, poll_ms: int) -> Mapping[Partition, Sequence[int]]:
        """One poll."""
        records = self.consumer.poll(timeout_ms=poll_ms)
        return {Partition(tp.topic, tp.partition): [r.offset for r in batch] for tp, batch in records.items()}

    def commit(self) -> Mapping[Partition, int]:
        """Commit the positions, and wait."""
        positions = {tp: self.consumer.position(tp) for tp in self.consumer.assignment()}
        self.consumer.commit()
        return {Partition(tp.topic, tp.partition): offset for tp, offset in positions.items() if offset is not None}

    def assignment(self) -> list[Partition]:
        """What the consumer says that it owns."""
        return sorted(_plain(self.consumer.assignment()))

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self.consumer.unsubscribe()

    def close(self) -> None:
        """Close the consumer."""
        self.consumer.close(timeout_ms=CLOSE_TIMEOUT_MS)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types for mypy to follow
    def __init__(self, harness: KafkaPython) -> None:
        self._harness = harness

    def on_partitions_assigned(self, assigned: Iterable[kafka.TopicPartition]) -> None:
        self._harness.assigned(_plain(assigned))

    def on_partitions_revoked(self, revoked: Iterable[kafka.TopicPartition]) -> None:
        self._harness.revoked(_plain(revoked))

    def on_partitions_lost(self, lost: Iterable[kafka.TopicPartition]) -> None:
        self._harness.lost(_plain(lost))


def _plain(partitions: Iterable[kafka.TopicPartition]) -> list[Partition]:
    return [Partition(tp.topic, tp.partition) for tp in partitions]


if __name__ == "__main__":
    main(KafkaPython)

"""The harness of confluent-kafka (librdkafka).

librdkafka joins in the background as soon as it is subscribed; its rebalance callbacks are served by poll() and
close(). A poll returns one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, TopicPartition

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.harnesses._base import Harness, main
from groupspec.conformance.wire.protocol import Partition


class ClientError(Exception):
    """An error that librdkafka reported as a message or to its error callback."""


class ConfluentKafka(Harness):
    """confluent_kafka.Consumer."""

    client = "confluent-kafka"
    features = (
        "eager",
        "cooperative",
        "listener",
        "lost_callback",
        "listener_in_poll",
        "pull",
        "poll_interval",
        "auto_commit",
    )

    def version(self) -> str:
        """Of the installed package."""
        return f"{confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})"

    def configure(self, settings: protocol.Configure) -> None:
        """Make the consumer."""
        cooperative = settings.rebalance == "cooperative"
        self.consumer = Consumer(
            {
                "bootstrap.servers": settings.bootstrap,
                "group.id": settings.group_id,
                "client.id": settings.client_id,
                "partition.assignment.strategy": "cooperative-sticky" if cooperative else "range",
                "session.timeout.ms": settings.session_timeout_ms,
                "heartbeat.interval.ms": settings.heartbeat_interval_ms,
                "max.poll.interval.ms": settings.max_poll_interval_ms,
                "socket.timeout.ms": settings.request_timeout_ms,
                "retry.backoff.ms": settings.retry_backoff_ms,
                "enable.auto.commit": settings.auto_commit,
                "auto.commit.interval.ms": settings.auto_commit_interval_ms,
                "auto.offset.reset": settings.auto_offset_reset,
                "fetch.wait.max.ms": settings.fetch_max_wait_ms,
                "error_cb": self._reported,
            }
        )

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe, with a listener."""
        self.consumer.subscribe(
            list(topics),
            on_assign=lambda _, partitions: self.assigned(_plain(partitions)),
            on_revoke=lambda _, partitions: self.revoked(_plain(partitions)),
            on_lost=lambda _, partitions: self.lost(_plain(partitions)),
        )

    def poll(self, poll_ms: int) -> Mapping[Partition, Sequence[int]]:
        """One poll."""
        message = self.consumer.poll(poll_ms / 1000)
        if message is None:
            return {}
        error = message.error()
        if error is not None:
            self._reported(error)
            return {}
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        return {Partition(topic, partition): [offset]}

    def commit(self) -> Mapping[Partition, int]:
        """Commit the positions, and wait."""
        committed = self.consumer.commit(asynchronous=False)
        return {Partition(tp.topic, tp.partition): tp.offset for tp in committed}

    def assignment(self) -> list[Partition]:
        """What the consumer says that it owns."""
        return sorted(_plain(self.consumer.assignment()))

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self.consumer.unsubscribe()

    def close(self) -> None:
        """Close the consumer."""
        self.consumer.close()

    def _reported(self, error: KafkaError) -> None:
        self.error(ClientError(f"{error.name()}: {error.str()}"))


def _plain(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return [Partition(tp.topic, tp.partition) for tp in partitions]


if __name__ == "__main__":
    main(ConfluentKafka)

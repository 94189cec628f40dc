"""A member that is librdkafka's consumer, by way of confluent-kafka."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, TopicPartition

from groupspec.conformance.real_broker.tests.member_protocol import MemberSettings, Read, say_partitions


class ConfluentMember:
    """Subscribes when it is made."""

    def __init__(self, settings: MemberSettings) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": settings.bootstrap,
                "group.id": settings.group,
                "client.id": settings.client_id,
                "partition.assignment.strategy": settings.assignor,
                "session.timeout.ms": settings.session_timeout_ms,
                "heartbeat.interval.ms": settings.heartbeat_interval_ms,
                "max.poll.interval.ms": settings.max_poll_interval_ms,
                "auto.commit.interval.ms": settings.auto_commit_interval_ms,
                "auto.offset.reset": "earliest",
                **({"group.instance.id": settings.instance_id} if settings.instance_id else {}),
            }
        )
        self._consumer.subscribe(
            [settings.topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def poll(self, timeout_ms: int) -> list[Read]:
        """Up to 500 records."""
        read = []
        for message in self._consumer.consume(500, timeout_ms / 1000):
            if message.error() is not None:
                raise KafkaException(message.error())
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert isinstance(value, bytes)
            read.append(Read(partition, offset, value))
        return read

    def positions(self) -> dict[int, int]:
        """Where each partition stands."""
        return {one.partition: one.offset for one in self._consumer.position(self._consumer.assignment())}

    def close(self) -> None:
        """Commits and leaves."""
        self._consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        del consumer
        say_partitions("partitions_assigned", [one.partition for one in partitions])

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        del consumer
        say_partitions("partitions_revoked", [one.partition for one in partitions])

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        del consumer
        say_partitions("partitions_lost", [one.partition for one in partitions])

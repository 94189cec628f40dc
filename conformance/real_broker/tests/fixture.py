"""`RealBroker`: a broker for the length of a `with` block, with what tests ask of it.

It is owned by the process that started it: when that one ends, however it ends, the broker ends too. It also ends
when its lifetime is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.real_broker import instance
from groupspec.conformance.real_broker.jars import KAFKA_VERSION

ANSWER_LIMIT_S: Final = 30
_FLUSH_LIMIT_S: Final = 120
_TURN_S: Final = 0.1


class RealBroker:
    """Apache Kafka on loopback, fresh and empty, its group coordinator ready to answer."""

    def __init__(
        self,
        directory: Path,
        *,
        lifetime_s: float = 600,
        settings: Mapping[str, str] | None = None,
        version: str = KAFKA_VERSION,
        port: int | None = None,
    ) -> None:
        """`directory` is the broker's own; `settings` are more lines for its server.properties."""
        self._directory = directory
        self._lifetime_s = lifetime_s
        self._settings = settings
        self._version = version
        self._port = port
        self._started: instance.Started | None = None

    def __enter__(self) -> RealBroker:
        self._started = instance.start(
            self._directory,
            lifetime_s=self._lifetime_s,
            port=self._port,
            owned=True,
            settings=self._settings,
            version=self._version,
        )
        try:
            self._warm_up()
        except BaseException:
            self._stop(self._started)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._started is not None
        self._stop(self._started)

    def _stop(self, started: instance.Started) -> None:
        instance.stop(self._directory)
        if started.keeper.stdin is not None:
            started.keeper.stdin.close()
        started.keeper.wait(ANSWER_LIMIT_S)

    @property
    def running(self) -> instance.Running:
        """What is known about it; only inside the `with` block."""
        assert self._started is not None, "the broker is up inside the `with` block only"
        return self._started.running

    @property
    def bootstrap(self) -> str:
        """host:port for clients."""
        return self.running.bootstrap

    @property
    def coordinator_log(self) -> Path:
        """What the group coordinator says: the file for `groupspec trace why`."""
        return Path(self.running.coordinator_log)

    def create_topic(self, name: str, partitions: int = 4) -> None:
        """Make a topic, and wait until it is there."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(ANSWER_LIMIT_S)

    def add_partitions(self, topic: str, total: int) -> None:
        """Raise a topic's number of partitions to `total`."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_partitions([NewPartitions(topic, total)]).values():
            future.result(ANSWER_LIMIT_S)

    def produce(self, topic: str, count: int, partitions: int, value: Callable[[int], bytes] | None = None) -> None:
        """Write `count` records round robin over the partitions; the n-th has the value `value(n)`, else the text of n.

        In that order: without idempotence a batch that a topic's new leader refuses is overtaken by the next ones.

        Raises:
            InternalProblem: the broker did not take them all.
        """
        refused: list[str] = []

        def delivered(error: object, message: Message) -> None:
            del message
            if error is not None:
                refused.append(str(error))

        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 20,
                "queue.buffering.max.messages": count + 1,
            }
        )
        for number in range(count):
            body = value(number) if value is not None else str(number).encode()
            producer.produce(topic, body, partition=number % partitions, on_delivery=delivered)
            if number % 10_000 == 0:
                producer.poll(0)
        left = producer.flush(_FLUSH_LIMIT_S)
        if left or refused:
            raise InternalProblem(f"{left} records not delivered, {len(refused)} refused: {refused[:1]}", where=topic)

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        """The group's committed offset of each partition, -1 where there is none."""
        consumer = self._asking(group)
        try:
            asked = [TopicPartition(topic, partition) for partition in range(partitions)]
            answers = consumer.committed(asked, timeout=ANSWER_LIMIT_S)
        finally:
            consumer.close()
        return [max(answer.offset, -1) for answer in answers]

    def end_offsets(self, topic: str, partitions: int) -> list[int]:
        """The offset after the last record of each partition."""
        consumer = self._asking("groupspec-ends")
        try:
            ends = [
                consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ANSWER_LIMIT_S)
                for partition in range(partitions)
            ]
        finally:
            consumer.close()
        return [end for _, end in ends]

    def _asking(self, group: str) -> Consumer:
        """A consumer that never joins; it only asks."""
        return Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "enable.auto.commit": False})

    def _warm_up(self) -> None:
        """The first question about a group makes the broker create its offsets topic; answers are errors until then."""
        until = time.monotonic() + ANSWER_LIMIT_S
        consumer = self._asking("groupspec-warm-up")
        try:
            while True:
                try:
                    consumer.committed([TopicPartition("none", 0)], timeout=ANSWER_LIMIT_S)
                except KafkaException as problem:
                    if time.monotonic() > until:
                        raise InternalProblem(f"the group coordinator did not come up: {problem}") from problem
                    consumer.poll(_TURN_S)  # serves the client's own events meanwhile
                else:
                    return
        finally:
            consumer.close()

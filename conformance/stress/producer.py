"""Numbered records for the topic, at a steady rate, until it is told to stop; and where each of them lies."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Final

from confluent_kafka import KafkaException, Message, Producer

from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.stress.plan import PARTITIONS, TOPIC

TICK_S: Final = 0.05
FLUSH_LIMIT_S: Final = 60.0
JOIN_LIMIT_S: Final = 10.0
ANSWER_LIMIT_S: Final = 5.0


class Records:
    """A thread that produces. Use as a context manager.

    Each record's value is its number; records go round robin over the partitions that there are. It is idempotent, so
    that none is there twice, and in no other order.

    Attributes:
        partitions: How many of the topic there are.
        ends: Partition -> the offset after its last record.
    """

    def __init__(self, bootstrap: str, records_per_second: int) -> None:
        self.partitions = PARTITIONS
        self.ends: dict[int, int] = {}
        self._per_tick = max(1, round(records_per_second * TICK_S))
        self._count = 0
        self._delivered = 0
        self._refused: list[str] = []
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 20,
                "log_level": 0,  # that the broker is away is no news
            }
        )
        self._thread = threading.Thread(target=self._produce, daemon=True, name="producer")

    def __enter__(self) -> Records:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(JOIN_LIMIT_S)

    @property
    def count(self) -> int:
        """How many are in the log."""
        return self._delivered

    def grow(self, partitions: int) -> None:
        """The topic has so many partitions now: records go to the new ones, too, as soon as the producer knows them."""
        until = time.monotonic() + FLUSH_LIMIT_S
        while self._known() < partitions:
            if time.monotonic() > until:
                raise InternalProblem(f"the producer does not hear of partition {partitions - 1}", where=TOPIC)
        self.partitions = partitions

    def _known(self) -> int:
        """How many partitions the producer knows; 0 if nobody can be asked just now."""
        try:
            return len(self._producer.list_topics(TOPIC, timeout=ANSWER_LIMIT_S).topics[TOPIC].partitions)
        except KafkaException:
            return 0

    def finish(self) -> None:
        """No more; returns when all are in the log.

        Raises:
            InternalProblem: some are not.
        """
        self._stop.set()
        self._thread.join(JOIN_LIMIT_S)
        left = self._producer.flush(FLUSH_LIMIT_S)
        if left or self._refused or sum(self.ends.values()) != self._delivered:
            raise InternalProblem(
                f"the producer has {left} records left, {len(self._refused)} were refused ({self._refused[:1]}), "
                f"{self._delivered} lie up to {self.ends}",
                next_step="run it again: without the records that were produced nothing can be judged",
            )

    def _produce(self) -> None:
        next_s = time.monotonic()
        while not self._stop.wait(max(0.0, next_s - time.monotonic())):
            next_s += TICK_S
            for _ in range(self._per_tick):
                partition = self._count % self.partitions
                value = str(self._count).encode()
                self._producer.produce(TOPIC, value, partition=partition, on_delivery=self._note)
                self._count += 1
            self._producer.poll(0)

    def _note(self, error: object, message: Message) -> None:
        if error is not None:
            self._refused.append(str(error))
            return
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        self._delivered += 1
        self.ends[partition] = max(self.ends.get(partition, 0), offset + 1)

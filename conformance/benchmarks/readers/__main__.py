"""One consumer reads a topic in a group of its own, then has nothing to read for a while; prints what that took.

    python -m groupspec.conformance.benchmarks.readers CLIENT BOOTSTRAP TOPIC COUNT IDLE_S

The clocks run from the first records on: what a client takes to start and to join is another figure. Every client asks
for at most 500 records at a time, waits for at most a second, and is otherwise as it comes.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

AT_MOST: Final = 500
WAIT_MS: Final = 1_000
SETTLE_S: Final = 6.0
"""How long a client has nothing to read before that is timed: it has sent its first heartbeat and commit by then."""

LIMIT_S: Final = 100.0
"""Who has not read everything by then is told to be as slow as that; the process ends."""

Poll = Callable[[], int]
"""Takes records, and says how many."""


class Stopwatch:
    """Wall-clock and processor time since it was made."""

    def __init__(self) -> None:
        self._begun, self._busy = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        """On the wall."""
        return time.perf_counter() - self._begun

    def cpu_s(self) -> float:
        """Of this process, all its threads."""
        return time.process_time() - self._busy


class Progress:
    """How far a client has come, and when it is done."""

    def __init__(self, count: int, idle_s: float) -> None:
        self._left, self._idle_s = count, idle_s
        self._watch: Stopwatch | None = None
        self._limit = Stopwatch()  # since the beginning; afterwards since the end of the topic
        self._idle: Stopwatch | None = None
        self._told: dict[str, float] = {}

    def is_done(self, polled: int) -> bool:
        """So many records came with the last poll: whether that was the last one."""
        if self._told:
            return self._has_idled()
        if self._limit.seconds() > LIMIT_S:
            raise TimeoutError(f"{self._left} records are left after {LIMIT_S:.0f} s")
        self._left -= polled
        if self._watch is None:
            self._watch = Stopwatch() if polled else None
        elif self._left <= 0:
            self._told.update(seconds=self._watch.seconds(), cpu_s=self._watch.cpu_s())
            self._limit = Stopwatch()
            return self._idle_s <= 0
        return False

    def _has_idled(self) -> bool:
        if self._idle is None:
            self._idle = Stopwatch() if self._limit.seconds() >= SETTLE_S else None
        elif self._idle.seconds() >= self._idle_s:
            self._told["idle_cpu"] = self._idle.cpu_s() / self._idle.seconds()
            return True
        return False

    def tell(self) -> None:
        """Print it."""
        print(json.dumps(self._told))


@contextmanager
def reference(bootstrap: str, topic: str, group: str, driver: str) -> Iterator[Poll]:
    """The reference implementation, in one of its two designs."""
    from groupspec.impl import Consumer

    with Consumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        driver=driver,  # type: ignore[arg-type]
    ) as consumer:
        yield lambda: len(consumer.poll(WAIT_MS))


@contextmanager
def background(bootstrap: str, topic: str, group: str) -> Iterator[Poll]:
    """The reference with its background thread."""
    with reference(bootstrap, topic, group, "background") as poll:
        yield poll


@contextmanager
def heartbeat(bootstrap: str, topic: str, group: str) -> Iterator[Poll]:
    """The reference with a heartbeat thread."""
    with reference(bootstrap, topic, group, "heartbeat") as poll:
        yield poll


@contextmanager
def kafka_python(bootstrap: str, topic: str, group: str) -> Iterator[Poll]:
    """kafka-python's KafkaConsumer."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest")
    try:
        yield lambda: sum(map(len, consumer.poll(WAIT_MS, max_records=AT_MOST).values()))
    finally:
        consumer.close()


@contextmanager
def confluent(bootstrap: str, topic: str, group: str) -> Iterator[Poll]:
    """confluent-kafka's Consumer, over librdkafka."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        yield lambda: len(consumer.consume(AT_MOST, WAIT_MS / 1000))
    finally:
        consumer.close()


async def aiokafka(bootstrap: str, topic: str, group: str, progress: Progress) -> None:
    """The consumer of aiokafka, in one event loop with what reads from it."""
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest")
    await consumer.start()
    try:
        polled = 0
        while not progress.is_done(polled):
            records: Awaitable[dict[object, list[object]]] = consumer.getmany(timeout_ms=WAIT_MS, max_records=AT_MOST)
            polled = sum(map(len, (await records).values()))
    finally:
        await consumer.stop()


IN_THREADS: Final = {
    "background": background,
    "heartbeat": heartbeat,
    "kafka-python": kafka_python,
    "confluent-kafka": confluent,
}
IN_EVENT_LOOP: Final = {"aiokafka": aiokafka}
NAMES: Final = (*IN_THREADS, *IN_EVENT_LOOP)


def main(client: str, bootstrap: str, topic: str, count: int, idle_s: float) -> None:
    """Read, and tell."""
    progress, group = Progress(count, idle_s), f"reads-{uuid.uuid4()}"
    if client in IN_EVENT_LOOP:
        asyncio.run(IN_EVENT_LOOP[client](bootstrap, topic, group, progress))
    else:
        with IN_THREADS[client](bootstrap, topic, group) as poll:
            polled = 0
            while not progress.is_done(polled):
                polled = poll()
    progress.tell()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))

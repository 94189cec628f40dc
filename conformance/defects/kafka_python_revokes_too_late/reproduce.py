"""kafka-python, cooperative: a commit in on_partitions_revoked leaves out what is being revoked.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs kafka-python, nothing else

A topic of two partitions with 100 records each, CooperativeStickyAssignor, no automatic commits, and a listener that
does what the documentation of ConsumerRebalanceListener recommends: it commits in on_partitions_revoked (by
AsyncConsumerRebalanceListener and commit_async, since a blocking commit() is refused there).

1. `first` reads all 200 records.
2. `second` joins, and one partition moves to it: on_partitions_revoked of `first` is called with it, and commits.
3. One more record is written to each partition. `second` reads.

The first record that `second` reads is to be that one, 100. Exit code 1: it is another: records are read twice, though
their reader could still have committed; 0: it is 100; 4: the story did not come so far.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

LIMIT_S = 30
COUNT = 100
NAME = f"revokes-too-late-{uuid.uuid4().hex[:8]}"


class Committer(AsyncConsumerRebalanceListener):  # type: ignore[misc]
    """Commits when something is revoked."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self.has_committed = threading.Event()

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Commit, the first time that there is something."""
        if revoked and not self.has_committed.is_set():
            still = [one.partition for one in self._consumer.assignment()]
            print(f"first:  on_partitions_revoked({[one.partition for one in revoked]}); assignment() is {still}")
            await self._consumer.commit_async()
            self.has_committed.set()

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Nothing to do."""


def consumer(bootstrap: str, name: str) -> Any:
    """A member of the group."""
    return KafkaConsumer(
        bootstrap_servers=bootstrap,
        client_id=name,
        group_id=NAME,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=300,
        partition_assignment_strategy=[CooperativeStickyAssignor],
    )


def read(member: Any, enough: Callable[[list[Any]], bool]) -> list[Any]:
    """Poll until what was read is enough, or the time is up: the records."""
    found: list[Any] = []
    until = time.monotonic() + LIMIT_S
    while not enough(found) and time.monotonic() < until:
        found += [record for records in member.poll(1_000).values() for record in records]
    return found


def write(producer: Any, count: int) -> None:
    """That many records to each partition."""
    for _ in range(count):
        for partition in (0, 1):
            producer.send(NAME, b"x", partition=partition)
    producer.flush()


def write_when(event: threading.Event, producer: Any, count: int) -> None:
    """The same when that has happened; nothing if it does not."""
    if event.wait(LIMIT_S):
        write(producer, count)


def main(bootstrap: str) -> int:
    """Tell the story; the exit code."""
    KafkaAdminClient(bootstrap_servers=bootstrap).create_topics([NewTopic(NAME, 2, 1)])
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    write(producer, COUNT)
    first, second = consumer(bootstrap, "first"), consumer(bootstrap, "second")
    listener, is_over = Committer(first), threading.Event()
    first.subscribe([NAME], listener=listener)
    second.subscribe([NAME])
    print(f"first:  read {len(read(first, lambda found: len(found) == 2 * COUNT))} records")
    polling = threading.Thread(target=lambda: read(first, lambda _: is_over.is_set()))
    polling.start()
    writing = threading.Thread(target=write_when, args=(listener.has_committed, producer, 1))
    writing.start()
    found = read(second, bool)
    is_over.set()
    polling.join()
    if not (found and listener.has_committed.is_set()):
        print("the story did not come so far")
        return 4
    partition = TopicPartition(NAME, found[0].partition)
    print(f"the committed offset of partition {partition.partition}: {second.committed(partition)}")
    print(f"second: reads it from {found[0].offset}; first had read up to {COUNT - 1} and committed when revoked")
    for member in (first, second):
        member.close()
    return 0 if found[0].offset == COUNT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

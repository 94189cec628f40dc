"""confluent-kafka: poll() that raises what a callback raised loses the record that it had in hand.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs confluent-kafka, nothing else

One partition with ten records, and a consumer whose on_assign raises the first time that it is called: it could not
load its state, say. The application logs what poll() raises, and polls on, until there is nothing more to read; then it
closes, which commits.

The records that poll() returns are to be 0 to 9. Exit code 1: one is missing, and the committed offset is beyond it;
0: none is missing; 4: the story did not come so far.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

LIMIT_S = 30
COUNT = 10
NAME = f"loses-a-record-{uuid.uuid4().hex[:8]}"


class StateNotLoaded(Exception):
    """What on_assign raises the first time."""


def write(bootstrap: str) -> None:
    """The topic, and its records."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(NAME, 1, 1)])[NAME].result(LIMIT_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(COUNT):
        producer.produce(NAME, str(number), partition=0)
    producer.flush(LIMIT_S)


def read(consumer: Consumer) -> Iterator[int | None]:
    """Poll until the last record has come, or the time is up: the offsets. What poll() raises is logged."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        try:
            message = consumer.poll(1)
        except StateNotLoaded as problem:
            print(f"poll() raises: {problem}")
            continue
        if message is not None and message.error() is None:
            yield message.offset()
            if message.offset() == COUNT - 1:
                return


def main(bootstrap: str) -> int:
    """Tell the story; the exit code."""
    write(bootstrap)
    calls = 0

    def on_assign(_: Consumer, partitions: list[TopicPartition]) -> None:
        nonlocal calls
        calls += 1
        print(f"on_assign({[one.partition for one in partitions]})")
        if calls == 1:
            raise StateNotLoaded("the state could not be loaded")

    settings = {"bootstrap.servers": bootstrap, "group.id": NAME, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([NAME], on_assign=on_assign)
    offsets = list(read(consumer))
    consumer.close()
    committed = Consumer(settings).committed([TopicPartition(NAME, 0)], LIMIT_S)[0].offset
    if not (calls and offsets and committed == COUNT):
        print("the story did not come so far")
        return 4
    print(f"poll() returned the records {offsets}; the committed offset is {committed}")
    return 0 if offsets == list(range(COUNT)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

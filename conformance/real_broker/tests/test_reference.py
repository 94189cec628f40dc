"""The reference consumer alone, on Apache Kafka, where it once lost records, stood still, or let partitions starve.

The experiments of a review from outside, made short: an application that raises, a storm of seeks, records of every
codec, one partition with records beside others. What they hold is held in virtual time, too, beside the reference
itself; here real threads, a real broker and the records of another client's producer have their say.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.impl.consumer import Consumer, TopicPartition

pytestmark = pytest.mark.real_broker

BOUND_S = 20.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    with RealBroker(tmp_path_factory.mktemp("broker"), lifetime_s=300) as running:
        yield running


def reader(broker: RealBroker, topic: str, partitions: int, **settings: Any) -> Consumer:
    """Reads these partitions from the beginning, without a group."""
    consumer = Consumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", max_poll_records=2_000, **settings
    )
    consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
    return consumer


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_are_read_as_another_client_wrote_them(broker: RealBroker, codec: str) -> None:
    topic, count = f"codec-{codec}", 500
    broker.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 20})
    for number in range(count):
        producer.produce(topic, value=b"%d " % number * 50)
    assert producer.flush(BOUND_S) == 0
    values: list[bytes | None] = []
    end = time.monotonic() + BOUND_S
    with reader(broker, topic, 1) as consumer:
        while len(values) < count and time.monotonic() < end:
            values += [record.value for record in consumer.poll(500)]
    assert values == [b"%d " % number * 50 for number in range(count)]


def test_M4_an_application_that_raises_loses_nothing(broker: RealBroker) -> None:
    topic, group = "raises", "raises"
    broker.create_topic(topic, 1)
    broker.produce(topic, 500, 1)
    processed = 0

    def process_a_few() -> None:
        nonlocal processed
        with Consumer(
            topic, bootstrap_servers=broker.bootstrap, group_id=group, auto_offset_reset="earliest"
        ) as consumer:
            while True:
                for _ in consumer.poll(1_000):
                    if processed == 3:
                        raise ZeroDivisionError("in the middle of what poll() returned")
                    processed += 1

    with pytest.raises(ZeroDivisionError):
        process_a_few()
    assert broker.committed(group, topic, 1)[0] <= processed


def test_O3_no_partition_stands_still_after_a_storm_of_seeks(broker: RealBroker) -> None:
    topic, count = "storm", 1_000
    broker.create_topic(topic, 2)
    broker.produce(topic, 2 * count, 2)
    drawn = random.Random(1)
    with reader(broker, topic, 2, fetch_max_wait_ms=5) as consumer:
        for _ in range(300):
            partition = TopicPartition(topic, drawn.randrange(2))
            consumer.seek(partition, 0)
            consumer.poll(0)
            consumer.seek(partition, drawn.randrange(count // 2))  # while the fetch from 0 is just being sent
            end = time.monotonic() + BOUND_S
            while not any(record.partition == partition.partition for record in consumer.poll(50)):
                assert time.monotonic() < end, f"nothing comes from {partition} any more"


def test_partitions_share_and_none_waits_for_those_at_their_end(broker: RealBroker) -> None:
    """Four are full and four are empty.

    Fetches of the empty ones do not hold the others up, and no full one starves. Batches are small, and a Fetch brings
    few of them: who has had one turn more than another is hardly ahead.
    """
    topic, count = "shares", 40_000
    broker.create_topic(topic, 8)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 20,
            "batch.size": 16_384,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for number in range(4 * count):
        producer.produce(topic, value=b"x" * 100, partition=number % 4)
    assert producer.flush(BOUND_S) == 0
    read: Counter[int] = Counter()
    with reader(broker, topic, 8, fetch_max_wait_ms=25_000, max_partition_fetch_bytes=65_536) as consumer:
        started = time.monotonic()
        while read.total() < 2 * count:
            read.update(record.partition for record in consumer.poll(1_000))
            assert time.monotonic() < started + BOUND_S, f"a fetch of empty partitions is waited for: {read}"
    assert set(read) == set(range(4))
    assert max(read.values()) <= 1.5 * min(read.values())

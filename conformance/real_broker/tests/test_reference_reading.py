"""What the reference reads of a real log: transactions, times, ends, topics; as other clients wrote it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.impl import Consumer, KafkaTimeoutError, OffsetAndTimestamp, TopicPartition

pytestmark = pytest.mark.real_broker

BOUND_S = 20.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    with RealBroker(tmp_path_factory.mktemp("broker"), lifetime_s=300) as running:
        yield running


def read(consumer: Consumer, count: int) -> list[bytes]:
    """Values, until there are so many, and what comes in a little more time."""
    values: list[bytes] = []
    end = time.monotonic() + BOUND_S
    while len(values) < count and time.monotonic() < end:
        values += [record.value for record in consumer.poll(500)]
    return values + [record.value for record in consumer.poll(300)]


def reader(broker: RealBroker, topic: str, isolation_level: str = "read_uncommitted") -> Consumer:
    consumer = Consumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", isolation_level=isolation_level
    )
    consumer.assign([TopicPartition(topic, 0)])
    return consumer


def transaction(producer: Producer, topic: str, *values: bytes) -> None:
    """Begin one, and write; its end is the caller's."""
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value=value, partition=0)
    assert producer.flush(BOUND_S) == 0


def test_aborted_and_open_transactions_are_held_back_from_a_reader_of_what_is_committed(broker: RealBroker) -> None:
    topic = "transactions"
    partition = TopicPartition(topic, 0)
    broker.create_topic(topic, 1)
    one, other = (Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name}) for name in ("a", "b"))
    one.init_transactions(BOUND_S)
    other.init_transactions(BOUND_S)
    transaction(one, topic, b"aborted 1", b"aborted 2")
    transaction(other, topic, b"committed 1")
    one.abort_transaction(BOUND_S)
    transaction(one, topic, b"committed 2")
    one.commit_transaction(BOUND_S)
    other.commit_transaction(BOUND_S)
    transaction(one, topic, b"aborted 3")
    one.abort_transaction(BOUND_S)
    transaction(other, topic, b"open")
    committed = [b"committed 1", b"committed 2"]
    with reader(broker, topic) as everything, reader(broker, topic, "read_committed") as careful:
        written = [b"aborted 1", b"aborted 2", b"committed 1", b"committed 2", b"aborted 3", b"open"]
        assert read(everything, len(written)) == written
        assert read(careful, len(committed)) == committed
        (stable,), (end,) = (one.end_offsets([partition]).values() for one in (careful, everything))
        assert stable == end - 1
        assert careful.position(partition) == stable  # behind the marks and what was aborted
        assert (careful.highwater(partition), careful.current_lag(partition)) == (end, 0)
        other.commit_transaction(BOUND_S)
        assert read(careful, 1) == [b"open"]


def test_offsets_by_time_and_both_ends(broker: RealBroker) -> None:
    topic, start_ms = "times", 1_700_000_000_000
    partition = TopicPartition(topic, 0)
    broker.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(10):
        producer.produce(topic, value=b"%d" % number, partition=0, timestamp=start_ms + 1_000 * number)
    assert producer.flush(BOUND_S) == 0
    with reader(broker, topic) as consumer:
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 10}
        found = consumer.offsets_for_times({partition: start_ms + 2_500})[partition]
        assert found == OffsetAndTimestamp(3, start_ms + 3_000, 0)
        assert consumer.offsets_for_times({partition: start_ms + 9_001}) == {partition: None}
        consumer.seek(partition, found.offset)
        first = consumer.poll(5_000)[0]
        assert (first.value, first.timestamp, first.timestamp_type, first.leader_epoch) == (b"3", found.timestamp, 0, 0)
        consumer.seek_to_end(partition)
        assert consumer.position(partition) == 10
        consumer.seek_to_beginning()
        assert next(consumer).value == b"0"


def test_by_age_a_partition_begins_at_the_first_young_record_or_at_the_end(broker: RealBroker) -> None:
    topic, now_ms = "ages", int(time.time() * 1_000)
    partition = TopicPartition(topic, 0)
    broker.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for hours in (50, 30, 20, 10):
        producer.produce(topic, value=b"%d" % hours, partition=0, timestamp=now_ms - hours * 3_600_000)
    assert producer.flush(BOUND_S) == 0
    for policy, position in (("P1D", 2), ("PT40H", 1), ("P3D", 0), ("PT1H", 4)):
        with Consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset=f"by_duration:{policy}") as consumer:
            consumer.assign([partition])
            assert (policy, consumer.position(partition)) == (policy, position)


def test_topics_that_exist_and_one_that_does_not(broker: RealBroker) -> None:
    broker.create_topic("three", 3)
    with Consumer(bootstrap_servers=broker.bootstrap, group_id="asks") as consumer:
        assert "three" in consumer.topics()
        assert consumer.partitions_for_topic("three") == {0, 1, 2}
        assert consumer.partitions_for_topic("none-of-these") is None
        assert not {topic for topic in consumer.topics() if topic.startswith("__")}
        with pytest.raises(KafkaTimeoutError):
            consumer.end_offsets([TopicPartition("none-of-these", 0)], timeout_ms=500)


def test_an_iteration_commits_what_it_has_handed_out(broker: RealBroker) -> None:
    topic, group = "iterated", "iterates"
    broker.create_topic(topic, 1)
    broker.produce(topic, 200, 1)
    settings = {"bootstrap_servers": broker.bootstrap, "group_id": group, "auto_offset_reset": "earliest"}
    with Consumer(topic, consumer_timeout_ms=3_000, **settings) as consumer:  # type: ignore[arg-type]
        for number, _ in enumerate(consumer, start=1):
            if number == 50:
                consumer.commit()
                break
        assert consumer.committed([TopicPartition(topic, 0)])[TopicPartition(topic, 0)].offset == 50  # type: ignore[union-attr]
        assert sum(1 for _ in consumer) == 150

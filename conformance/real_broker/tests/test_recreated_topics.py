"""The reference and a topic of a real broker that is deleted and made anew between two polls (rule O7, KIP-516).

Metadata would be asked for again after five minutes: what tells of the new topic is that nothing has the old one's id.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.wire.live.asking import first_that_answers
from groupspec.impl import Consumer, KafkaError, NoOffsetForPartitionError, OffsetAndMetadata, TopicPartition
from groupspec.impl.core.messages import (
    ErrorCode,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from groupspec.impl.threads.designs import DESIGNS, Design

pytestmark = pytest.mark.real_broker

OLD, NEW, MORE = 10, 15, 5
BOUND_S = 60.0
RUNS = [2, pytest.param(20, marks=pytest.mark.nightly)]
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    with RealBroker(tmp_path_factory.mktemp("broker"), lifetime_s=1_800) as running:
        yield running


class Member:
    """Of a group of its own, on a topic of its own that has ten records."""

    def __init__(self, broker: RealBroker, design: Design, policy: str, max_poll_records: int = 500) -> None:
        self.broker = broker
        self.topic = f"anew-{next(_NUMBERS)}"
        self.place = TopicPartition(self.topic, 0)
        broker.create_topic(self.topic, 1)
        self.write("old", OLD)
        self.consumer = Consumer(
            self.topic,
            bootstrap_servers=broker.bootstrap,
            driver=design,
            group_id=self.topic,
            auto_offset_reset=policy,
            max_poll_records=max_poll_records,
            enable_auto_commit=False,
        )

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()

    def write(self, word: str, count: int, start: int = 0) -> None:
        self.broker.produce(self.topic, count, 1, lambda number: f"{word} {start + number}".encode())

    def make_anew(self) -> None:
        """Delete the topic, and make another one of its name as soon as that is free."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        for deleted in admin.delete_topics([self.topic]).values():
            deleted.result(BOUND_S)
        end = time.monotonic() + BOUND_S
        while True:
            try:
                self.broker.create_topic(self.topic, 1)
            except KafkaException:
                assert time.monotonic() < end
            else:
                return

    def read_until(self, happened: Callable[[list[str]], bool]) -> list[str]:
        """Values that polls return."""
        values: list[str] = []
        end = time.monotonic() + BOUND_S
        while not happened(values):
            assert time.monotonic() < end, f"not within {BOUND_S} s; read {values}"
            values += [record.value.decode() for record in self.consumer.poll(200)]
        return values

    def position(self) -> int | None:
        """None while the partition is not assigned: a leader that does not see the topic leaves it out."""
        assigned = self.place in self.consumer.assignment()
        return self.consumer.position(self.place) if assigned else None

    def read(self, count: int) -> list[str]:
        return self.read_until(lambda values: len(values) >= count)


def values(word: str, count: int) -> list[str]:
    return [f"{word} {number}" for number in range(count)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("in_hand", [False, True], ids=["all-read", "batch-in-hand"])
@pytest.mark.parametrize("design", DESIGNS)
def test_O7_all_of_the_new_topic_is_read(broker: RealBroker, design: Design, in_hand: bool, runs: int) -> None:
    for _ in range(runs):
        with Member(broker, design, "earliest", 4 if in_hand else 500) as member:
            assert member.read(4 if in_hand else OLD) == values("old", 4 if in_hand else OLD)
            member.consumer.commit()
            member.make_anew()
            member.write("new", NEW)
            read = member.read_until(lambda values: values[-1:] == [f"new {NEW - 1}"])
            assert [value for value in read if value.startswith("new")] == values("new", NEW)
            member.consumer.commit()
            assert member.consumer.committed([member.place]) == {member.place: OffsetAndMetadata(NEW, "", 0)}


@pytest.mark.parametrize("design", DESIGNS)
def test_O7_latest_begins_at_the_end_of_the_new_topic(broker: RealBroker, design: Design) -> None:
    """That is where it ends when the reference learns of it; what comes later is read to the last."""
    with Member(broker, design, "latest") as member:
        member.read_until(lambda _: member.consumer.assignment() != set())
        member.consumer.seek(member.place, 0)
        assert member.read(OLD) == values("old", OLD)
        member.make_anew()
        member.write("new", NEW)
        read = member.read_until(lambda _: member.position() == NEW)
        member.write("new", MORE, start=NEW)
        read += member.read(MORE)
        assert len(read) >= MORE
        assert read == values("new", NEW + MORE)[-len(read) :]


@pytest.mark.parametrize("design", DESIGNS)
def test_O7_without_a_policy_the_application_chooses(broker: RealBroker, design: Design) -> None:
    with Member(broker, design, "none") as member:
        with pytest.raises(NoOffsetForPartitionError):
            member.read(1)
        member.consumer.seek(member.place, 0)
        assert member.read(OLD) == values("old", OLD)
        member.make_anew()
        member.write("new", NEW)
        with pytest.raises(NoOffsetForPartitionError):
            member.read(1)
        member.consumer.seek(member.place, 3)
        assert member.read(NEW - 3) == values("new", NEW)[3:]


@pytest.mark.parametrize("design", DESIGNS)
def test_O7_what_was_read_of_the_old_topic_is_not_committed_of_the_new_one(broker: RealBroker, design: Design) -> None:
    """It is refused if nobody has told of the new topic yet; else there is nothing to commit, or where that begins."""
    with Member(broker, design, "earliest") as member:
        member.read(OLD)
        member.make_anew()
        member.write("new", NEW)
        with contextlib.suppress(KafkaError):
            member.consumer.commit()
        committed = member.consumer.committed([member.place])[member.place]
        assert committed is None or committed.offset == 0
        assert member.read(NEW) == values("new", NEW)


def test_O7_a_commit_by_id_that_comes_late_is_of_nobody(broker: RealBroker) -> None:
    """In the version that the reference commits in where the broker has it (Kafka 4.2)."""
    with Member(broker, "background", "earliest") as member:
        host, _, port = broker.bootstrap.partition(":")
        line = first_that_answers([(host, int(port))])
        known = line.exchange(MetadataRequest((member.topic,)), 12)
        assert isinstance(known, MetadataResponse)
        old = {member.topic: known.topics[0].topic_id}
        member.make_anew()
        member.write("new", NEW)
        late = OffsetCommitRequest("late", -1, "", None, {member.place: OffsetAndMetadata(OLD)}, old)
        answer = line.exchange(late, 10)
        line.close()
        assert answer == OffsetCommitResponse({member.place: ErrorCode.UNKNOWN_TOPIC_ID})
        assert broker.committed("late", member.topic, 1) == [-1]

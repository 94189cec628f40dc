"""The whole consumer, over sockets, and a topic that was made anew: nobody tells but the answers by id (rule O7).

Metadata is not asked for again before the test is over, unless an answer says that something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from groupspec.impl.broker.actions import Hold
from groupspec.impl.broker.log import WireEvent
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.consumer import Consumer, TopicPartition
from groupspec.impl.core.errors import CommitFailedError, NoOffsetForPartitionError
from groupspec.impl.core.messages import MetadataRequest, OffsetAndMetadata
from groupspec.impl.runtime import ThreadingRuntime
from groupspec.impl.threads.designs import DESIGNS, Design

pytestmark = pytest.mark.realtime

PLACE = TopicPartition("orders", 0)
OLD = [b"old %d" % number for number in range(10)]
NEW = [b"new %d" % number for number in range(15)]
BOUND_MS = 20_000


@pytest.fixture(params=DESIGNS)
def design(request: pytest.FixtureRequest) -> Design:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(1, {PLACE.topic: 1}, lifetime_s=60) as made:
        made.append(PLACE.topic, 0, OLD)
        yield made


def member(broker: ScriptedBroker, design: Design, policy: str = "earliest", max_poll_records: int = 500) -> Consumer:
    return Consumer(
        PLACE.topic,
        bootstrap_servers=broker.bootstrap,
        driver=design,
        group_id="g",
        auto_offset_reset=policy,
        max_poll_records=max_poll_records,
        enable_auto_commit=False,
        retry_backoff_ms=20,
    )


def read(consumer: Consumer, count: int) -> list[bytes]:
    """Values, until there are so many."""
    return read_until(consumer, lambda values: len(values) >= count)


def read_until(consumer: Consumer, happened: Callable[[list[bytes]], bool]) -> list[bytes]:
    runtime, values = ThreadingRuntime(), list[bytes]()
    deadline_ms = runtime.now_ms() + BOUND_MS
    while not happened(values):
        assert runtime.now_ms() < deadline_ms, f"not within {BOUND_MS} ms; read {values}"
        values += [record.value for record in consumer.poll(50)]
    return values


def metadata_requests(broker: ScriptedBroker) -> int:
    return sum(isinstance(event.message, MetadataRequest) for event in broker.events)


def is_commit(event: WireEvent) -> bool:
    return (event.kind, event.api) == ("request", "OffsetCommit")


def test_O7_all_of_the_new_topic_is_read(broker: ScriptedBroker, design: Design) -> None:
    with member(broker, design) as consumer:
        assert read(consumer, len(OLD)) == OLD
        broker.make_anew(PLACE.topic, NEW)
        assert read(consumer, len(NEW)) == NEW


def test_O7_what_is_in_hand_of_the_old_topic_is_read_and_then_all_of_the_new_one(
    broker: ScriptedBroker, design: Design
) -> None:
    with member(broker, design, max_poll_records=4) as consumer:
        first = read(consumer, 4)
        broker.make_anew(PLACE.topic, NEW)
        rest = read_until(consumer, lambda values: values[-1:] == NEW[-1:])
        assert [*first, *rest] in (OLD + NEW, OLD[:4] + NEW, OLD[:8] + NEW)


def test_O7_a_topic_that_is_away_for_a_while(broker: ScriptedBroker, design: Design) -> None:
    with member(broker, design) as consumer:
        read(consumer, len(OLD))
        broker.delete_topic(PLACE.topic)
        asked = metadata_requests(broker)
        assert read_until(consumer, lambda _: metadata_requests(broker) >= asked + 2) == []
        broker.set_partitions(PLACE.topic, 1)
        broker.append(PLACE.topic, 0, NEW)
        assert read(consumer, len(NEW)) == NEW


def test_O7_latest_begins_at_the_end_of_the_new_topic(broker: ScriptedBroker, design: Design) -> None:
    broker.commit("g", {PLACE: 0})
    with member(broker, design, "latest") as consumer:
        read(consumer, len(OLD))
        broker.make_anew(PLACE.topic, NEW)
        assert read_until(consumer, lambda _: consumer.position(PLACE) == len(NEW)) == []
        broker.append(PLACE.topic, 0, [b"last"])
        assert read(consumer, 1) == [b"last"]


def test_O7_without_a_policy_the_application_chooses(broker: ScriptedBroker, design: Design) -> None:
    broker.commit("g", {PLACE: 0})
    with member(broker, design, "none") as consumer:
        read(consumer, len(OLD))
        broker.make_anew(PLACE.topic, NEW)
        with pytest.raises(NoOffsetForPartitionError, match="made anew"):
            read(consumer, 1)
        consumer.seek(PLACE, 3)
        assert read(consumer, 12) == NEW[3:]


def test_O7_a_commit_of_the_old_topic_that_comes_late_commits_nothing_of_the_new_one(
    broker: ScriptedBroker, design: Design
) -> None:
    answers: list[object] = []
    with member(broker, design) as consumer:
        read(consumer, len(OLD))
        held = Hold()
        broker.on_next("OffsetCommit", held)
        consumer.commit_async({PLACE: OffsetAndMetadata(10)}, lambda _, error: answers.append(error))
        read_until(consumer, lambda _: any(map(is_commit, broker.events)))
        broker.make_anew(PLACE.topic, NEW)
        held.release()
        assert read_until(consumer, lambda values: len(values) == len(NEW) and bool(answers)) == NEW
        assert answers != [None]
        assert consumer.committed([PLACE]) == {PLACE: None}
        consumer.commit()
        assert consumer.committed([PLACE]) == {PLACE: OffsetAndMetadata(15)}


def test_O7_a_commit_that_waits_is_refused_when_its_topic_was_made_anew(broker: ScriptedBroker, design: Design) -> None:
    with member(broker, design) as consumer:
        read(consumer, len(OLD))
        broker.make_anew(PLACE.topic, NEW)
        with pytest.raises(CommitFailedError, match="made anew"):
            consumer.commit({PLACE: OffsetAndMetadata(10)})
        assert consumer.committed([PLACE]) == {PLACE: None}

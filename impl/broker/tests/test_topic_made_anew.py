"""A topic is deleted and made anew under its name: every API says so, of whatever the client knew before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from groupspec.impl.broker.actions import Hold
from groupspec.impl.broker.log import WireEvent
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.broker.tests.test_server import BOUND_S, Client
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.network.codec import decode_response
from groupspec.impl.network.topic_ids import TopicIds

pytestmark = pytest.mark.realtime

PLACE = TopicPartition("orders", 0)
BY_NAME, BY_ID = 12, 13


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(1, {"orders": 2}, lifetime_s=60) as broker:
        broker.append("orders", 0, [b"old"] * 10)
        broker.commit("g", {PLACE: 7})
        yield broker


@pytest.fixture
def client(broker: ScriptedBroker) -> Iterator[Client]:
    made = Client(broker)
    yield made
    made.socket.close()


def fetch(offset: int, *, topic: str = "orders", max_wait_ms: int = 0) -> FetchRequest:
    return FetchRequest({TopicPartition(topic, 0): offset}, max_wait_ms, 1, 10_000, 10_000)


def metadata_of(client: Client, topic: str = "orders") -> TopicMetadata:
    answer = client.ask(MetadataRequest((topic,)), 12)
    assert isinstance(answer, MetadataResponse)
    return answer.topics[0]


def requested(api: str) -> Callable[[WireEvent], bool]:
    return lambda event: (event.kind, event.api) == ("request", api)


def errors(answer: object) -> list[ErrorCode]:
    assert isinstance(answer, FetchResponse)
    return [each.error for each in answer.partitions.values()]


def test_it_has_another_id_as_many_partitions_and_nothing_of_the_old_one(
    broker: ScriptedBroker, client: Client
) -> None:
    before = metadata_of(client)
    broker.make_anew("orders", [b"new"] * 3)
    after = metadata_of(client)
    assert before.topic_id != after.topic_id != bytes(16)
    assert after.partitions == before.partitions
    listed = client.ask(ListOffsetsRequest({PLACE: -1}), 5)
    assert isinstance(listed, ListOffsetsResponse)
    assert listed.offsets[PLACE].offset == 3
    fetched = client.ask(fetch(0), BY_NAME)
    assert isinstance(fetched, FetchResponse)
    assert b"new" in fetched.partitions[PLACE].record_bytes
    assert errors(client.ask(fetch(10), BY_NAME)) == [ErrorCode.OFFSET_OUT_OF_RANGE]


def test_what_was_committed_of_it_is_gone_wherever_the_group_goes(broker: ScriptedBroker, client: Client) -> None:
    broker.commit("h", {PLACE: 4})
    broker.make_anew("orders")
    broker.commit("h", {PLACE: 1})
    for _ in range(2):
        for group, offset in (("g", -1), ("h", 1)):
            fetched = client.ask(OffsetFetchRequest(group, (PLACE,)), 8)
            assert isinstance(fetched, OffsetFetchResponse)
            assert fetched.offsets[PLACE].offset == offset
        broker.coordinator = 1  # it reads the log again


def test_nothing_has_its_old_id(broker: ScriptedBroker, client: Client) -> None:
    old = UUID(bytes=metadata_of(client).topic_id)
    broker.make_anew("orders", [b"new"] * 20)
    stranger = TopicPartition(f"?{old.hex}", 0)
    assert errors(client.ask(fetch(10, topic=stranger.topic), BY_ID)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    committed = client.ask(OffsetCommitRequest("g", -1, "", None, {stranger: OffsetAndMetadata(9)}), 10)
    assert committed == OffsetCommitResponse({stranger: ErrorCode.UNKNOWN_TOPIC_ID})
    asked = client.ask(OffsetFetchRequest("g", (stranger,)), 10)
    assert isinstance(asked, OffsetFetchResponse)
    assert asked.offsets[stranger].error is ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("version", "error"), [(BY_NAME, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (BY_ID, ErrorCode.UNKNOWN_TOPIC_ID)]
)
def test_a_fetch_that_waits_for_records_was_about_the_old_one(
    version: int, error: ErrorCode, broker: ScriptedBroker, client: Client
) -> None:
    """As Kafka's delayed Fetch, which the deletion completes: never with records of the new topic."""
    client.send(fetch(10, max_wait_ms=8_000), version)
    broker.wait_for(requested("Fetch"), BOUND_S, "the fetch")
    broker.make_anew("orders", [b"new"] * 20)
    frame = client.receive()
    assert frame is not None
    assert errors(decode_response("Fetch", version, frame)[1]) == [error]


@pytest.mark.parametrize(("version", "error"), [(9, ErrorCode.NONE), (10, ErrorCode.UNKNOWN_TOPIC_ID)])
def test_a_commit_that_comes_late_is_of_whoever_has_the_name_or_of_nobody_by_its_id(
    version: int, error: ErrorCode, broker: ScriptedBroker, client: Client
) -> None:
    held = Hold()
    broker.on_next("OffsetCommit", held)
    client.send(OffsetCommitRequest("g", -1, "", None, {PLACE: OffsetAndMetadata(9)}), version)
    broker.wait_for(requested("OffsetCommit"), BOUND_S, "the commit")
    broker.make_anew("orders")
    held.release()
    frame = client.receive()
    assert frame is not None
    answer = decode_response("OffsetCommit", version, frame)[1]
    assert isinstance(answer, OffsetCommitResponse)
    assert list(answer.errors.values()) == [error]


def test_a_topic_that_is_away_has_no_id_and_comes_back_with_another(broker: ScriptedBroker, client: Client) -> None:
    before = metadata_of(client)
    broker.delete_topic("orders")
    away = metadata_of(client)
    assert (away.error, away.topic_id) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, bytes(16))
    assert errors(client.ask(fetch(10), BY_NAME)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    broker.set_partitions("orders", 2)
    assert metadata_of(client).topic_id not in (before.topic_id, bytes(16))
    with pytest.raises(KeyError):
        broker.delete_topic("payments")


def test_an_id_follows_from_the_name_and_from_how_often_it_was_made_anew() -> None:
    ids, same = TopicIds(["orders"]), TopicIds(["orders"])
    first = ids.id_of("orders")
    assert first == same.id_of("orders")
    for each in (ids, same):
        each.remove("orders")
        each.add("orders")
    assert first != ids.id_of("orders") == same.id_of("orders")
    assert (ids.name_of(first), ids.name_of(ids.id_of("orders"))) == (f"?{first.hex}", "orders")

"""The recording proxy: a client stays behind it, nothing is changed, everything is written down, and an end is told."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from groupspec.conformance.history.entry import Entry, is_request
from groupspec.conformance.history.message_json import to_json
from groupspec.conformance.wire.live import tap as taps
from groupspec.conformance.wire.live.asking import first_that_answers
from groupspec.conformance.wire.live.notes import Line, Notes
from groupspec.conformance.wire.live.tap import CUT_OFF, Tap, told
from groupspec.conformance.wire.live.tests.cluster import PARTITIONS, RECORDS, TOPIC, addresses, cluster
from groupspec.conformance.wire.log import Log
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.messages import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    Request,
    TopicPartition,
)
from groupspec.impl.network.codec import api_of, decode_response, encode_request, encode_response
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.records import COMMIT_MARK, Gaps, NewRecord, decode_records, encode_records
from groupspec.impl.network.versions import CLIENT_VERSIONS

pytestmark = pytest.mark.realtime
WITHIN_S = 10.0


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with cluster() as one:
        yield one


def tap_of(broker: ScriptedBroker, log: Log) -> Tap:
    def lost(why: str) -> None:
        log.note("lost", why)
        log.end(why)

    return Tap(addresses(broker), log.append, lost)


def answers(log: Log, api: str) -> list[Entry]:
    return [entry for entry in log.in_order() if entry.kind == "response" and entry.api == api]


def test_a_consumer_stays_behind_it_and_reads_what_there_is(broker: ScriptedBroker) -> None:
    log = Log()
    with tap_of(broker, log) as tap:
        read = 0
        with Consumer(TOPIC, bootstrap_servers=tap.bootstrap, group_id="g", auto_offset_reset="earliest") as consumer:
            while read < PARTITIONS * RECORDS:
                read += len(consumer.poll(timeout_ms=200))
    assert tap.problem == ""
    at_broker = [event for event in broker.log.events if event.kind == "request"]
    on_tap = [entry for entry in log.in_order() if entry.kind == "request"]
    assert [entry.api for entry in on_tap].count("Fetch") == [event.api for event in at_broker].count("Fetch")
    fetches = answers(log, "Fetch")
    assert {entry.node for entry in fetches} == {1, 2}, "a node is spoken to past the tap"
    kept = [
        record
        for entry in fetches
        if isinstance(entry.message, FetchResponse)
        for where, part in entry.message.partitions.items()
        for record in decode_records(where, part.record_bytes).records
    ]
    assert {record.offset for record in kept} == set(range(RECORDS))
    assert not any(record.key or record.value for record in kept), "somebody's records are kept"
    [found] = {entry.message for entry in answers(log, "FindCoordinator")}
    assert isinstance(found, FindCoordinatorResponse)
    assert f"{found.host}:{found.port}" not in broker.bootstrap.split(",")
    assert all(to_json(entry.message) for entry in on_tap if entry.api != "ApiVersions")


ASKED = FetchRequest({TopicPartition(TOPIC, 0): 0}, max_wait_ms=100, min_bytes=1, max_bytes=9, max_partition_bytes=9)
GAPPED = encode_records([NewRecord(b"whose", b"it is")] * 2, 5, gaps=Gaps((0, 3), 7))
MARK = encode_records([COMMIT_MARK], 12, gaps=Gaps((0,), 1, control=True))


@pytest.mark.parametrize(
    ("record_bytes", "offsets", "behind"),
    [(GAPPED + MARK, [5, 8], 13), (MARK, [], 13), (b"", [], 0), (bytes(80), [], 0), (GAPPED[:30], [], 0)],
    ids=["gaps", "a mark alone", "none", "damaged", "cut off"],
)
def test_which_offsets_have_a_record_is_kept_and_what_records_say_is_not(
    record_bytes: bytes, offsets: list[int], behind: int
) -> None:
    where, log = TopicPartition(TOPIC, 0), Log()
    notes, line = Notes(log.append, print, lambda address: address), Line(1, ("127.0.0.1", 9092))
    notes.request(line, encode_request(ASKED, 4, 1, "a"))
    notes.answer(line, encode_response(FetchResponse({where: FetchedPartition(record_bytes, 13)}), 4, 1))
    [entry] = answers(log, "Fetch")
    assert isinstance(entry.message, FetchResponse)
    kept = decode_records(where, entry.message.partitions[where].record_bytes)
    assert ([record.offset for record in kept.records], kept.next_offset) == (offsets, behind)
    assert not any(record.key or record.value for record in kept.records)


def test_each_node_has_a_proxy_of_its_own(broker: ScriptedBroker) -> None:
    with tap_of(broker, Log()) as tap:
        host, _, port = tap.bootstrap.partition(":")
        line = first_that_answers([(host, int(port))])
        answer = line.exchange(MetadataRequest((TOPIC,)), 9)
        line.close()
    assert isinstance(answer, MetadataResponse)
    named = {told((each.host, each.port)) for each in answer.brokers}
    assert len(named) == 2
    assert tap.bootstrap in named, "the first node has two"
    assert not named & set(broker.bootstrap.split(","))


def test_requests_of_one_number_have_the_answers_in_their_order(broker: ScriptedBroker) -> None:
    log = Log()
    lookup = FindCoordinatorRequest("g")
    requests: list[Request] = [lookup, MetadataRequest((TOPIC,)), lookup]
    frames = [encode_request(request, CLIENT_VERSIONS[api_of(request)].highest, 7, "alike") for request in requests]
    with tap_of(broker, log) as tap:
        host, _, port = tap.bootstrap.partition(":")
        with socket.create_connection((host, int(port)), WITHIN_S) as connection:
            connection.sendall(b"".join(map(framed, frames)))
            answered = frames_of(connection, len(frames))
        assert log.wait(lambda each: each.kind == "disconnect", WITHIN_S) is not None
    assert [entry.api for entry in log.in_order() if entry.kind == "response"] == [api_of(each) for each in requests]
    for request, frame in zip(requests, answered, strict=True):
        number, answer = decode_response(api_of(request), CLIENT_VERSIONS[api_of(request)].highest, frame)
        assert (number, api_of(request)) == (7, type(answer).__name__.removesuffix("Response"))


def frames_of(connection: socket.socket, count: int) -> list[bytes]:
    """So many frames that come."""
    reader, found = FrameReader(), list[bytes]()
    while len(found) < count:
        found += reader.feed(connection.recv(65_536))
    return found


def test_what_is_no_request_is_garbage(broker: ScriptedBroker) -> None:
    log = Log()
    with tap_of(broker, log) as tap:
        host, _, port = tap.bootstrap.partition(":")
        with socket.create_connection((host, int(port)), WITHIN_S) as connection:
            connection.sendall(b"\0\0\0\x08half")
        entry = log.wait(lambda each: each.kind == "garbage", WITHIN_S)
    assert entry is not None
    assert entry.text == CUT_OFF


def test_a_broker_that_dies_is_told_with_its_address(broker: ScriptedBroker) -> None:
    log = Log()
    with tap_of(broker, log) as tap:
        host, _, port = tap.bootstrap.partition(":")
        line = first_that_answers([(host, int(port))])
        log.wait(is_request("ApiVersions"), WITHIN_S)
        broker.close()
        lost = log.wait(lambda each: each.kind == "lost", WITHIN_S)
        line.close()
    assert lost is not None
    assert told(addresses(broker)[0]) in lost.text
    assert tap.problem == lost.text


def test_a_connection_that_the_broker_closes_is_no_death(broker: ScriptedBroker) -> None:
    log = Log()
    with tap_of(broker, log) as tap:
        host, _, port = tap.bootstrap.partition(":")
        line = first_that_answers([(host, int(port))])
        broker.disconnect()
        assert log.wait(lambda each: each.kind == "disconnect", WITHIN_S) is not None
        line.close()
        again = first_that_answers([(host, int(port))])
        again.close()
    assert tap.problem == ""


def test_a_cluster_of_too_many_brokers_is_told_as_that(broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would have a port of its own, until the system has none."""
    log = Log()
    with tap_of(broker, log) as tap:
        monkeypatch.setattr(taps, "MOST_BROKERS", 1)
        monkeypatch.setattr(socket, "create_server", _no_ports)
        assert _told_of_a_third(tap, log).startswith("more than 1 brokers were named")


def test_a_kit_without_ports_does_not_blame_the_broker(broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    with tap_of(broker, log) as tap:
        monkeypatch.setattr(socket, "create_server", _no_ports)
        assert "the kit has no port for the broker at 127.0.0.1:1: Too many open files" in _told_of_a_third(tap, log)


def _no_ports(*_: object) -> None:
    raise OSError(24, "Too many open files")


def _told_of_a_third(tap: Tap, log: Log) -> str:
    """What is told when an answer names one more broker."""
    tap._notes.answer = lambda line, frame: tap._proxy(("127.0.0.1", 1))  # type: ignore[assignment,method-assign,return-value]
    host, _, port = tap.bootstrap.partition(":")
    with socket.create_connection((host, int(port)), WITHIN_S) as connection:
        connection.sendall(framed(encode_request(MetadataRequest(()), 4, 1, "c")))
        lost = log.wait(lambda each: each.kind == "lost", WITHIN_S)
    assert lost is not None
    return lost.text

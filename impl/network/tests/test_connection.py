"""A connection without its socket: versions first, answers in order, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from groupspec.impl.core.events import ANY_NODE, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    ApiVersionsRequest,
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    Request,
    Response,
    TopicPartition,
)
from groupspec.impl.network.answers import error_code
from groupspec.impl.network.codec import Answer, decode_request, encode_response
from groupspec.impl.network.connection import Connection, Phase
from groupspec.impl.network.errors import CodecError, MalformedMessage
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import API_VERSIONS, ApiVersionsResponse, VersionRange, Versions

HEARTBEAT = HeartbeatRequest("g", 1, "m", None)
FETCH = FetchRequest({TopicPartition("orders", 0): 3}, max_wait_ms=100, min_bytes=1, max_bytes=9, max_partition_bytes=9)
LEAVE = LeaveGroupRequest("g", "m", None, "closed")
OK = HeartbeatResponse(ErrorCode.NONE)


def send(request_id: int, request: Request = HEARTBEAT) -> SendRequest:
    return SendRequest(request_id, ANY_NODE, request, 1_000)


class Peer:
    """The other side of one connection."""

    def __init__(self) -> None:
        self.connection = Connection("client", setup_deadline_ms=10_000, frame_limit=10_000)

    def requests(self) -> list[tuple[int, Request]]:
        """Correlation ids and requests that have come."""
        frames = list(FrameReader().feed(bytes(self.connection.outgoing)))
        self.connection.outgoing.clear()
        return [(header.correlation_id, request) for header, request in map(decode_request, frames)]

    def answer(self, answer: Answer, correlation_id: int, version: int) -> None:
        self.receive(encode_response(answer, version, correlation_id))

    def receive(self, frame: bytes, now_ms: int = 0) -> None:
        self.connection.received(framed(frame), now_ms)

    def ready(self, versions: Versions = API_VERSIONS) -> Connection:
        self.connection.connected()
        [(correlation_id, request)] = self.requests()
        assert request == ApiVersionsRequest()
        self.answer(ApiVersionsResponse(versions), correlation_id, 0)
        return self.connection


KNOWN = {"orders": bytes(range(16))}
NAMED = TopicIds()
NAMED.learn("orders", UUID(bytes=KNOWN["orders"]))


@pytest.mark.parametrize(
    ("known", "highest", "version"), [(KNOWN, 18, 18), ({}, 18, 12), ({"payments": bytes(16)}, 18, 12), (KNOWN, 12, 12)]
)
def test_topics_have_their_ids_where_both_sides_know_them_and_else_their_names(
    known: dict[str, bytes], highest: int, version: int
) -> None:
    """As Java's FetchRequest.Builder: one topic without an id, and all have their names."""
    peer = Peer()
    connection = peer.ready({**API_VERSIONS, "Fetch": VersionRange(4, highest)})
    connection.submit(send(1, replace(FETCH, topic_ids=known)), 1_000)
    (frame,) = FrameReader().feed(bytes(connection.outgoing))
    header, request = decode_request(frame, NAMED)
    assert (header.version, request) == (version, FETCH)
    answer = FetchResponse({TopicPartition("orders", 0): FetchedPartition(b"", 7)})
    peer.receive(encode_response(answer, version, header.correlation_id, topic_ids=NAMED))
    (received,) = connection.take_answers()
    assert isinstance(received.response, FetchResponse)
    assert list(received.response.partitions) == [TopicPartition("orders", 0)]


def test_nothing_is_sent_before_the_versions_are_known() -> None:
    peer = Peer()
    peer.connection.submit(send(1), 1_000)
    assert not peer.connection.outgoing
    peer.ready()
    [(correlation_id, request)] = peer.requests()
    assert request == HEARTBEAT
    peer.answer(OK, correlation_id, 4)
    assert peer.connection.take_answers() == [ResponseReceived(1, OK)]
    assert peer.connection.take_answers() == []


def test_answers_belong_to_requests_in_their_order() -> None:
    peer = Peer()
    connection = peer.ready()
    connection.submit(send(1), 1_000)
    connection.submit(send(2), 1_000)
    first, second = (correlation_id for correlation_id, _ in peer.requests())
    peer.answer(OK, first, 4)
    peer.answer(HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS), second, 4)
    assert [answer.request_id for answer in connection.take_answers()] == [1, 2]


def test_another_correlation_id_than_the_next_one_ends_the_connection() -> None:
    peer = Peer()
    connection = peer.ready()
    connection.submit(send(1), 1_000)
    connection.submit(send(2), 1_000)
    second = peer.requests()[1][0]
    with pytest.raises(MalformedMessage, match="the next one here is"):
        peer.answer(OK, second, 4)
    assert [request.request_id for request in connection.take_unanswered()] == [1, 2]
    assert connection.take_unanswered() == []


def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    peer = Peer()
    peer.ready()
    with pytest.raises(MalformedMessage, match="no answer was expected"):
        peer.answer(OK, 1, 4)


def test_the_version_is_the_highest_that_both_speak() -> None:
    peer = Peer()
    connection = peer.ready({**API_VERSIONS, "Heartbeat": VersionRange(0, 2)})
    connection.submit(send(1, HeartbeatRequest("g", 1, "m", "instance")), 1_000)
    assert peer.requests()[0][1] == HeartbeatRequest("g", 1, "m", None)  # version 2 knows no instances


def test_a_broker_without_the_api_is_answered_for() -> None:
    connection = Peer().ready({"Fetch": VersionRange(4, 12)})
    connection.submit(send(1), 1_000)
    assert connection.take_answers() == [ResponseReceived(1, HeartbeatResponse(ErrorCode.UNSUPPORTED_VERSION))]


def test_a_static_member_does_not_join_as_a_dynamic_one_on_an_old_broker() -> None:
    peer = Peer()
    connection = peer.ready({"JoinGroup": VersionRange(0, 4)})
    connection.submit(send(1, JoinGroupRequest("g", 1, 1, "", "instance", (("range", b""),))), 1_000)
    [answer] = connection.take_answers()
    assert isinstance(answer.response, JoinGroupResponse)
    assert answer.response.error is ErrorCode.UNSUPPORTED_VERSION
    assert peer.requests() == []


def test_an_error_code_from_the_future_is_told_by_its_number() -> None:
    peer = Peer()
    connection = peer.ready()
    connection.submit(send(1), 1_000)
    peer.answer(HeartbeatResponse(error_code(999)), peer.requests()[0][0], 4)
    assert connection.take_answers() == [ResponseReceived(1, HeartbeatResponse(ErrorCode(999)))]


def test_a_broker_that_refuses_to_name_its_versions_is_of_no_use() -> None:
    peer = Peer()
    peer.connection.connected()
    with pytest.raises(CodecError, match="UNSUPPORTED_VERSION"):
        peer.answer(ApiVersionsResponse({}, ErrorCode.UNSUPPORTED_VERSION), peer.requests()[0][0], 0)


def test_a_late_answer_spoils_the_connection_and_a_request_not_yet_sent_does_not() -> None:
    peer = Peer()
    peer.connection.submit(send(1), 500)
    assert peer.connection.next_deadline_ms() == 500
    assert not peer.connection.is_spoilt(500)
    assert [request.request_id for request in peer.connection.take_expired(500)] == [1]
    connection = peer.ready()
    connection.submit(send(2), 1_000)
    connection.submit(send(3), 2_000)
    assert not connection.is_spoilt(999)
    assert connection.is_spoilt(1_000)
    assert [request.request_id for request in connection.take_expired(1_000)] == [2]
    assert [request.request_id for request in connection.take_unanswered()] == [3]


def test_D6_J2_what_waits_for_a_connection_that_cannot_be_made_is_told() -> None:
    connection = Peer().connection
    connection.submit(send(1, JoinGroupRequest("g", 1, 1, "", None, (("range", b""),))), 1_000)
    connection.submit(send(2), 1_000)
    assert [request.request_id for request in connection.take_unanswered()] == [1, 2]


def test_a_connection_that_does_not_get_ready_in_time_is_spoilt() -> None:
    peer = Peer()
    peer.connection.connected()
    assert peer.connection.phase is Phase.NEGOTIATING
    assert peer.connection.next_deadline_ms() == 10_000
    assert peer.connection.is_spoilt(10_000)


def throttled(correlation_id: int, answer: Answer = OK, version: int = 4) -> bytes:
    """An answer that asks for half a second of silence."""
    return encode_response(answer, version, correlation_id, throttle_time_ms=500)


@pytest.mark.parametrize(
    ("asked", "answer", "version", "then"),
    [(HEARTBEAT, OK, 4, LEAVE), (FETCH, FetchResponse({}), 12, FETCH)],
    ids=["LeaveGroup", "Fetch"],
)
def test_W2_who_is_throttled_sends_nothing_until_that_is_over(
    asked: Request, answer: Response, version: int, then: Request
) -> None:
    peer = Peer()
    connection = peer.ready({**API_VERSIONS, "Fetch": VersionRange(4, 12)})
    connection.submit(send(1, asked), 9_000)
    [(correlation_id, _)] = peer.requests()
    peer.receive(throttled(correlation_id, answer, version), now_ms=1_000)
    assert connection.take_answers() == [ResponseReceived(1, answer, throttle_time_ms=500)]

    connection.submit(send(2, then), 9_000)
    assert not connection.is_ready
    assert connection.next_deadline_ms() == 1_500
    connection.throttle_over(1_499)
    assert peer.requests() == []
    connection.throttle_over(1_500)
    assert [request for _, request in peer.requests()] == [then]
    assert connection.is_ready


def test_W2_a_broker_of_before_has_waited_itself() -> None:
    peer = Peer()
    connection = peer.ready({**API_VERSIONS, "Heartbeat": VersionRange(0, 1)})
    connection.submit(send(1), 9_000)
    [(correlation_id, _)] = peer.requests()
    peer.receive(throttled(correlation_id, version=1))
    assert connection.is_ready


def test_what_is_out_when_the_client_is_throttled_has_no_longer_for_its_answer() -> None:
    """Java's has (InFlightRequests.hasExpiredRequest)."""
    peer = Peer()
    connection = peer.ready()
    connection.submit(send(1), 9_000)
    connection.submit(send(2), 900)
    [(correlation_id, _), _] = peer.requests()
    peer.receive(throttled(correlation_id), now_ms=800)
    assert connection.next_deadline_ms() == 900
    assert connection.is_spoilt(900)
    assert [request.request_id for request in connection.take_expired(900)] == [2]


def test_a_request_may_run_out_of_time_while_the_client_is_throttled() -> None:
    peer = Peer()
    connection = peer.ready()
    connection.submit(send(1), 9_000)
    [(correlation_id, _)] = peer.requests()
    peer.receive(throttled(correlation_id))
    connection.submit(send(2), 400)
    assert [request.request_id for request in connection.take_expired(400)] == [2]
    assert not connection.is_spoilt(400)


STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "answer", "wait"]), st.sampled_from([1, 2, 50])), min_size=20, max_size=40
)
FOR_LONG_MS = 1_000_000


@given(STEPS)
def test_W2_each_request_goes_out_as_soon_as_no_throttle_holds_it_back(steps: Sequence[tuple[str, int]]) -> None:
    """However short or long they are (kafkajs 1532: after a very brief one nothing was sent any more)."""
    peer = Peer()
    connection = peer.ready()
    now_ms = until_ms = 0
    waiting: list[int] = []
    unanswered: list[int] = []
    for number, (what, ms) in enumerate(steps):
        if what == "send":
            connection.submit(SendRequest(number, ANY_NODE, HEARTBEAT, FOR_LONG_MS), now_ms + FOR_LONG_MS)
            waiting.append(number)
        elif what == "answer" and unanswered:
            peer.receive(encode_response(OK, 4, unanswered.pop(0), throttle_time_ms=ms), now_ms)
            until_ms = max(until_ms, now_ms + ms)
        elif what == "wait":
            now_ms += ms
        if (connection.next_deadline_ms() or 0) <= now_ms:  # then a transport looks
            connection.throttle_over(now_ms)
        arrived = [correlation_id for correlation_id, _ in peer.requests()]
        assert len(arrived) == (len(waiting) if now_ms >= until_ms else 0)
        waiting = waiting[len(arrived) :]
        unanswered += arrived

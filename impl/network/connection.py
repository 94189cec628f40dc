"""One connection to a broker, without its socket: versions agreed on first, then requests, answered in order.

A broker answers in the order of the requests, so an answer with another correlation id than the next expected one means
that nothing on this connection can be trusted any more. The same holds for a request whose time is up: its answer may
still come and would stand before all others. Both end the connection; the transport tells whoever else waits.

An answer may say that the client is over its quota: for so long nothing is sent (rule W2, as Java's NetworkClient).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Final

from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import ApiVersionsRequest, ErrorCode, JoinGroupRequest, Request, Response
from groupspec.impl.network.answers import answer_with_error
from groupspec.impl.network.codec import api_of, decode_response, encode_request, ids_in, throttle_time_ms
from groupspec.impl.network.errors import CodecError, MalformedMessage, UnencodableMessage, UnknownErrorCode
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import BY_NAME, CLIENT_VERSIONS, ApiVersionsResponse, negotiate

STATIC_MEMBERS_FROM: Final = 5
"""The first JoinGroup version that knows group.instance.id (KIP-345)."""


class Phase(Enum):
    """How far a connection has come."""

    CONNECTING = "connecting"
    NEGOTIATING = "negotiating"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class _Expected:
    """An answer that is to come. `request` None: the handshake's. `topic_ids`: those in the request."""

    correlation_id: int
    api: str
    version: int
    request: SendRequest | None
    deadline_ms: int
    topic_ids: TopicIds


class Connection:
    """Bytes in, answers out; requests in, bytes out."""

    def __init__(self, client_id: str, setup_deadline_ms: int, frame_limit: int) -> None:
        self.phase = Phase.CONNECTING
        self.outgoing = bytearray()
        self._client_id = client_id
        self._setup_deadline_ms = setup_deadline_ms
        self._throttled_until_ms: int | None = None
        self._frames = FrameReader(frame_limit)
        self._versions: dict[str, int] = {}
        self._versions_by_name: dict[str, int] = {}
        self._queued: list[tuple[SendRequest, int]] = []
        self._expected: deque[_Expected] = deque()
        self._next_correlation_id = 1
        self._answers: list[ResponseReceived] = []

    @property
    def load(self) -> int:
        """How many requests wait here."""
        return len(self._queued) + len(self._expected)

    @property
    def is_ready(self) -> bool:
        """Whether a request is sent at once."""
        return self.phase is Phase.READY and self._throttled_until_ms is None

    def connected(self) -> None:
        """The socket is connected: ask for the other side's versions, in the oldest form, which every broker reads."""
        self.phase = Phase.NEGOTIATING
        self._write(ApiVersionsRequest(), 0, None, self._setup_deadline_ms, TopicIds())

    def submit(self, request: SendRequest, deadline_ms: int) -> None:
        """Send this as soon as the versions are known, and the client is not throttled."""
        if self.is_ready:
            self._send(request, deadline_ms)
        else:
            self._queued.append((request, deadline_ms))

    def received(self, data: bytes | memoryview, now_ms: int) -> None:
        """Bytes from the broker. Raises CodecError if they end this connection; answers before that are kept."""
        for frame in self._frames.feed(data):
            self._answer(frame, now_ms)

    def throttle_over(self, now_ms: int) -> None:
        """Send what has waited for the end of a throttle time, if that is over."""
        if self._throttled_until_ms is not None and self._throttled_until_ms <= now_ms:
            self._throttled_until_ms = None
            self._send_queued()

    def take_answers(self) -> list[ResponseReceived]:
        """The answers since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def take_unanswered(self) -> list[SendRequest]:
        """The end of this connection: all requests that it owes an answer, oldest first. Each is returned once."""
        unanswered = [e.request for e in self._expected if e.request] + [request for request, _ in self._queued]
        self._expected.clear()
        self._queued.clear()
        return unanswered

    def take_unsent(self) -> list[tuple[SendRequest, int]]:
        """Requests that the other side can't have seen, with their deadlines: they may go elsewhere instead."""
        unsent, self._queued = self._queued, []
        return unsent

    def take_expired(self, now_ms: int) -> list[SendRequest]:
        """Requests whose time is up. See `is_spoilt` for what that means for the connection."""
        expired = [request for request, deadline_ms in self._queued if deadline_ms <= now_ms]
        self._queued = [queued for queued in self._queued if queued[1] > now_ms]
        late = [expected for expected in self._expected if expected.deadline_ms <= now_ms]
        self._expected = deque(expected for expected in self._expected if expected.deadline_ms > now_ms)
        return [expected.request for expected in late if expected.request] + expired

    def is_spoilt(self, now_ms: int) -> bool:
        """Whether an answer that was due has not come, or the connection did not get ready in time."""
        overdue = any(expected.deadline_ms <= now_ms for expected in self._expected)
        return overdue or (self.phase is not Phase.READY and self._setup_deadline_ms <= now_ms)

    def next_deadline_ms(self) -> int | None:
        """When time is up for the first of its requests, for a throttle, or for the connection itself."""
        deadlines = [expected.deadline_ms for expected in self._expected]
        deadlines += [deadline_ms for _, deadline_ms in self._queued]
        if self._throttled_until_ms is not None and self._queued:
            deadlines.append(self._throttled_until_ms)
        if self.phase is not Phase.READY:
            deadlines.append(self._setup_deadline_ms)
        return min(deadlines, default=None)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _send(self, request: SendRequest, deadline_ms: int) -> None:
        topic_ids = ids_in(request.request)
        versions = self._versions_by_name if topic_ids is None else self._versions
        version = versions.get(api_of(request.request))
        if version is None or _can_not_say(request.request, version):
            self._reply(request, answer_with_error(request.request, ErrorCode.UNSUPPORTED_VERSION))
            return
        try:
            self._write(request.request, version, request, deadline_ms, topic_ids or TopicIds())
        except UnencodableMessage:
            self._reply(request, answer_with_error(request.request, ErrorCode.INVALID_REQUEST))

    def _write(
        self, message: Request, version: int, request: SendRequest | None, deadline_ms: int, topic_ids: TopicIds
    ) -> None:
        correlation_id = self._next_correlation_id
        self.outgoing += framed(encode_request(message, version, correlation_id, self._client_id, topic_ids))
        self._next_correlation_id = correlation_id % (2**31 - 1) + 1
        self._expected.append(_Expected(correlation_id, api_of(message), version, request, deadline_ms, topic_ids))

    def _answer(self, frame: bytes, now_ms: int) -> None:
        if not self._expected:
            raise MalformedMessage(f"{len(frame)} bytes came, and no answer was expected")
        expected = self._expected[0]
        try:
            correlation_id, response = decode_response(expected.api, expected.version, frame, expected.topic_ids)
        except UnknownErrorCode as problem:
            if expected.request is None:
                raise
            correlation_id = problem.correlation_id
            response = answer_with_error(expected.request.request, ErrorCode(problem.code))
        if correlation_id != expected.correlation_id:
            raise MalformedMessage(
                f"an answer with correlation id {correlation_id}; the next one here is {expected.correlation_id}"
            )
        self._expected.popleft()
        if duration_ms := throttle_time_ms(expected.api, expected.version, frame):
            self._throttled_until_ms = max(self._throttled_until_ms or 0, now_ms + duration_ms)
        if isinstance(response, ApiVersionsResponse):
            self._negotiated(response)
        elif expected.request is not None:
            self._answers.append(ResponseReceived(expected.request.request_id, response, duration_ms))

    def _negotiated(self, response: ApiVersionsResponse) -> None:
        if response.error is not ErrorCode.NONE:
            raise CodecError(f"the broker refused to name its versions: {response.error.name}")
        self._versions = negotiate(CLIENT_VERSIONS, response.versions)
        self._versions_by_name = negotiate(BY_NAME, response.versions)
        self.phase = Phase.READY
        self._send_queued()

    def _send_queued(self) -> None:
        for request, deadline_ms in self.take_unsent():
            self._send(request, deadline_ms)

    def _reply(self, request: SendRequest, answer: Response | ApiVersionsResponse) -> None:
        assert not isinstance(answer, ApiVersionsResponse)
        self._answers.append(ResponseReceived(request.request_id, answer))


def _can_not_say(request: Request, version: int) -> bool:
    """Whether the version has no words for what matters: leaving it out would mean something else."""
    return (
        isinstance(request, JoinGroupRequest)
        and request.group_instance_id is not None
        and version < STATIC_MEMBERS_FROM
    )

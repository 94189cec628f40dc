"""Connections in memory over which bytes go: the client's half is the reference's own, the broker's that of a release.

A world without sockets hands messages over as they are. In some of its runs they go through one of these instead: the
versions are agreed on, each message is written and read in its version, an answer may tell the client to hold back
(KIP-219), and the broker closes a connection on which nothing has been under way for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

from msgspec import structs

from groupspec.conformance.releases import releases
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import Request, Response
from groupspec.impl.network.codec import api_of, decode_request, encode_response, ids_in, read_header
from groupspec.impl.network.connection import Connection
from groupspec.impl.network.errors import RequestHeader
from groupspec.impl.network.frames import DEFAULT_LIMIT, FrameReader, framed
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import (
    API_VERSIONS,
    BY_NAME,
    THROTTLED_FROM,
    ApiVersionsResponse,
    VersionRange,
    Versions,
)

NEWEST: Final = "newest"
"""Speaks every version that the reference knows."""

LATER: Final = "later"
"""Speaks newer versions, too, and no more those of before `KEPT`, as 4.0 does of those of before 2.1 (KIP-896)."""

KEPT: Final = "2.8"
"""The last one in which everything names topics by their names."""

NEVER_MS: Final = 1_000_000_000


@cache
def spoken() -> Mapping[str, Versions]:
    """What brokers speak, by release, the oldest first."""
    found: dict[str, Versions] = {}
    for release, caps in releases():
        found[release] = {api: each.capped(caps[api]) for api, each in API_VERSIONS.items()}
    found[NEWEST] = API_VERSIONS
    kept = found[KEPT]
    found[LATER] = {api: VersionRange(kept[api].highest, each.highest + 2) for api, each in API_VERSIONS.items()}
    return MappingProxyType(found)


@dataclass(frozen=True, slots=True)
class Brokers:
    """How the brokers of a run are.

    Attributes:
        releases: Those that the connections meet, in turn: a broker that is connected to anew may be a newer one.
        throttles: API -> how long (ms) each of its first answers tells the client to hold back; 0: it does not.
        closes_ms: They close a connection on which nothing has been under way for so long (connections.max.idle.ms);
            every other time the client does not know yet as it sends. 0: never.
        ends_held: Whether the first connection that holds its client back ends meanwhile.
    """

    releases: tuple[str, ...] = (NEWEST,)
    throttles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    closes_ms: int = 0
    ends_held: bool = False

    def __str__(self) -> str:
        held = "; ".join(f"{api}: {', '.join(map(str, some))} ms" for api, some in self.throttles.items())
        closes = f", close what was idle for {self.closes_ms:,} ms" if self.closes_ms else ""
        closes += ", and the first connection that is throttled" * self.ends_held
        return f"brokers of {', '.join(self.releases)}; throttled by {held or 'none'}{closes}"


class Throttles:
    """What is left of the throttle times of a run."""

    def __init__(self, brokers: Brokers) -> None:
        self._left = {api: list(some) for api, some in brokers.throttles.items()}

    def next_ms(self, api: str) -> int:
        """Of the next answer of this API."""
        left = self._left.get(api)
        return left.pop(0) if left else 0

    def end(self) -> None:
        """No client is over its quota any more."""
        self._left.clear()


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A request that has reached the broker. `read`: what that one has found in its bytes."""

    request: SendRequest
    header: RequestHeader
    topic_ids: TopicIds
    read: Request


class EncodedConnection:
    """One of them, from the moment when its versions are agreed on.

    Attributes:
        used_ms: When something was last under way.
        is_silent: Whether its broker has left a request without an answer, so that no later one gets any.
    """

    def __init__(self, speaks: Versions, now_ms: int) -> None:
        self._speaks = speaks
        self._client = Connection("member", NEVER_MS, DEFAULT_LIMIT)
        self._frames = FrameReader()
        self._unwritten: deque[SendRequest] = deque()
        self._refused: list[ResponseReceived] = []
        self._under_way: dict[int, _UnderWay] = {}
        self._quiet_until_ms = 0
        self.used_ms = now_ms
        self.is_silent = False
        self._client.connected()
        [hello] = self._frames.feed(bytes(self._client.outgoing))
        self._client.outgoing.clear()
        header = read_header(hello)
        named = encode_response(ApiVersionsResponse(speaks), header.version, header.correlation_id)
        self._client.received(framed(named), now_ms)

    def send(self, request: SendRequest, deadline_ms: int, now_ms: int) -> list[SendRequest]:
        """Take a request; what reaches the broker at once. Raises AssertionError if it must not go out so, or yet."""
        self._unwritten.append(request)
        self._client.submit(request, deadline_ms)
        written = self._written(now_ms)
        due_ms = self._client.next_deadline_ms()
        is_woken = not self._unwritten or (due_ms is not None and due_ms <= self._quiet_until_ms)
        assert is_woken, f"{api_of(request.request)} is held back, and nothing looks at it when that is over (rule W2)"
        return written

    def throttle_over(self, now_ms: int) -> list[SendRequest]:
        """What reaches the broker now, if a time to hold back is over."""
        self._client.throttle_over(now_ms)
        return self._written(now_ms)

    def answer(self, request_id: int, response: Response, throttle_ms: int, now_ms: int) -> list[ResponseReceived]:
        """The broker answers: what the client reads of it."""
        each = self._under_way.pop(request_id)
        header = each.header
        data = encode_response(
            response,
            header.version,
            header.correlation_id,
            header.api,
            each.request.request,
            each.topic_ids,
            throttle_ms,
        )
        self.used_ms = now_ms
        if throttle_ms and header.version >= THROTTLED_FROM[header.api]:
            self._quiet_until_ms = max(self._quiet_until_ms, now_ms + throttle_ms)
        self._client.received(framed(data), now_ms)
        return self._client.take_answers()

    def refused(self) -> list[ResponseReceived]:
        """What the client's half has answered itself: there is no version in which that can be said."""
        refused, self._refused = self._refused, []
        return refused

    def expires(self, now_ms: int) -> bool:
        """Forget what is out of time; whether the broker owes an answer that is late, which ends a connection."""
        is_spoilt = self._client.is_spoilt(now_ms)
        for expired in self._client.take_expired(now_ms):
            self._under_way.pop(expired.request_id, None)
            self._is_not_written(expired.request_id)
        return is_spoilt

    def ends(self) -> list[SendRequest]:
        """It is no more: the requests that it owes an answer. AssertionError if nobody would answer for one of them."""
        owed = [*self._under_way, *(one.request_id for one in self._unwritten)]
        self._under_way.clear()
        self._unwritten.clear()
        unanswered = self._client.take_unanswered()
        lost = set(owed) - {one.request_id for one in unanswered}
        assert not lost, f"a connection ends, and requests {sorted(lost)} that waited for it never do (rule D6)"
        return unanswered

    def has_written(self, request_id: int) -> bool:
        """Whether this one has reached the broker, and has no answer yet."""
        return request_id in self._under_way

    def as_read(self, request_id: int) -> tuple[Request, int]:
        """Of a request that has reached the broker: what that one has read, by name or by id, and its version."""
        each = self._under_way[request_id]
        ids, version = getattr(each.request.request, "topic_ids", {}), each.header.version
        if ids and version > BY_NAME[each.header.api].highest:
            return structs.replace(each.read, topic_ids=ids), version
        return each.read, version

    def is_idle(self, for_ms: int, now_ms: int) -> bool:
        """Whether nothing has been under way for so long."""
        return not (self._under_way or self._unwritten) and now_ms - self.used_ms >= for_ms

    def _is_not_written(self, request_id: int) -> None:
        self._unwritten = deque(one for one in self._unwritten if one.request_id != request_id)

    def _written(self, now_ms: int) -> list[SendRequest]:
        """Requests that the client's half has turned into bytes, each of which has to be as the broker takes it."""
        for answer in self._client.take_answers():
            self._is_not_written(answer.request_id)
            self._refused.append(answer)
        frames = list(self._frames.feed(bytes(self._client.outgoing)))
        self._client.outgoing.clear()
        return [self._arrived(frame, now_ms) for frame in frames]

    def _arrived(self, frame: bytes, now_ms: int) -> SendRequest:
        header = read_header(frame)
        request = self._unwritten.popleft()
        assert api_of(request.request) == header.api, f"{header.api} goes out before {api_of(request.request)}"
        assert header.version in self._speaks.get(header.api, ()), (
            f"{header.api} version {header.version}, and the broker speaks {self._speaks.get(header.api)} (rule W1)"
        )
        assert now_ms >= self._quiet_until_ms, (
            f"{header.api} {self._quiet_until_ms - now_ms} ms before the throttle time is over (rule W2)"
        )
        topic_ids = ids_in(request.request) or TopicIds()
        _, read = decode_request(frame, topic_ids)
        self.used_ms = now_ms
        self._under_way[request.request_id] = _UnderWay(request, header, topic_ids, read)
        return request

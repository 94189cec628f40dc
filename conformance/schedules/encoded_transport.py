"""The racing network whose messages are bytes: brokers of some releases, that throttle and close idle connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import cycle
from typing import ClassVar

from groupspec.conformance.encoded_connections import Brokers, EncodedConnection, Throttles, spoken
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.requests import Requests
from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import ErrorCode, NoAnswer, Response
from groupspec.impl.scheduling import ScheduledRuntime
from groupspec.impl.scripted import api_of


class EncodedTransport(RacingTransport):
    """Its connections are `EncodedConnection`s. `holds_back`: is told from when to when a throttle time lasts."""

    SHARED_FIELDS: ClassVar = ("closed",)

    def __init__(
        self, runtime: ScheduledRuntime, requests: Requests, breaks: Iterable[tuple[str, int]], brokers: Brokers
    ) -> None:
        super().__init__(runtime, requests, breaks)
        self._brokers = brokers
        self._releases = cycle(brokers.releases)
        self._throttles = Throttles(brokers)
        self._connections: dict[str | int, EncodedConnection] = {}
        self._knows_of_end, self._ends_held = True, brokers.ends_held
        self._written: dict[str | int, deque[SendRequest]] = {}  # by node, in the order of their bytes
        self.holds_back: Callable[[int, int], None] = lambda _, __: None

    def disconnect_coordinator(self) -> None:
        """See Transport."""
        super().disconnect_coordinator()
        self._connections.pop(COORDINATOR, None)

    def answer(self, request_id: int, response: Response) -> None:
        """See MemoryTransport. What the client reads of it, if the connection is still there."""
        with self._told, self._news:
            found = [c for c in self._connections.values() if c.has_written(request_id)]
            if not found or request_id not in self._waiting:
                return
            if isinstance(response, NoAnswer):
                self._break(found[0], response.error)
            else:
                self._answered(found[0], request_id, response)
            self._news.notify_all()

    def _answered(self, connection: EncodedConnection, request_id: int, response: Response) -> None:
        now_ms = self._runtime.now_ms()
        throttle_ms = self._throttles.next_ms(api_of(self._waiting[request_id].sent.request))
        self._takes(connection.answer(request_id, response, throttle_ms, now_ms))
        if throttle_ms:
            self.holds_back(now_ms, now_ms + throttle_ms)
            happens = self._ends_meanwhile if self._ends_held else self._throttle_over
            self._ends_held = False
            self._runtime.thread(partial(happens, connection, throttle_ms), "throttle").start()

    def _ends_meanwhile(self, connection: EncodedConnection, throttle_ms: int) -> None:
        self._runtime.sleep_ms(throttle_ms // 2)
        with self._told, self._news:
            self._break(connection, ErrorCode.DISCONNECTED)
            self._news.notify_all()

    def _throttle_over(self, connection: EncodedConnection, throttle_ms: int) -> None:
        self._runtime.sleep_ms(throttle_ms)
        with self._told:
            self._arrive(connection.throttle_over(self._runtime.now_ms()))

    def _goes_out(self, request: SendRequest, now_ms: int) -> None:
        with self._told:
            later_ms = self._runtime.now_ms()  # than the member has looked at the clock, if timers race
            connection = self._connection(request, later_ms)
            if connection is None:
                self._takes([ResponseReceived(request.request_id, NoAnswer(ErrorCode.DISCONNECTED))])
            else:
                self._arrive(connection.send(request, now_ms + request.timeout_ms, later_ms))
                self._takes(connection.refused())

    def _arrive(self, written: Sequence[SendRequest]) -> None:
        for request in written:
            self._written.setdefault(request.node, deque()).append(request)
        for request in written:
            self._arrives(request)

    def _connection(self, request: SendRequest, now_ms: int) -> EncodedConnection | None:
        """Where it goes; None: the broker has closed the connection, and the client learns of it only now."""
        connection = self._connections.get(request.node)
        if connection is not None and self._brokers.closes_ms and connection.is_idle(self._brokers.closes_ms, now_ms):
            self._knows_of_end = not self._knows_of_end
            del self._connections[request.node]
            if not self._knows_of_end:
                return None
            connection = None
        if connection is None:
            connection = self._connections[request.node] = EncodedConnection(spoken()[next(self._releases)], now_ms)
        return connection

    def _expire(self) -> None:
        super()._expire()
        now_ms = self._runtime.now_ms()
        for connection in [each for each in self._connections.values() if each.expires(now_ms)]:
            self._break(connection, ErrorCode.DISCONNECTED)

    def _break(self, connection: EncodedConnection, error: ErrorCode) -> None:
        """All that is under way on a connection ends with it."""
        self._connections = {node: each for node, each in self._connections.items() if each is not connection}
        self._takes(ResponseReceived(request.request_id, NoAnswer(error)) for request in connection.ends())

    def _takes(self, answers: Iterable[ResponseReceived]) -> None:
        for received in answers:
            if self._waiting.pop(received.request_id, None) is not None:
                self._ready.append(received)

    def _first(self, request: SendRequest) -> SendRequest:
        return self._written[request.node].popleft()

    def _waits_for(self, request: SendRequest) -> bool:
        found = [c for c in self._connections.values() if c.has_written(request.request_id)]
        return super()._waits_for(request) and bool(found) and not found[0].is_silent

    def _is_silent(self, request: SendRequest) -> None:
        for connection in self._connections.values():
            connection.is_silent = connection.is_silent or connection.has_written(request.request_id)

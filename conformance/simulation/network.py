"""The network between members and brokers: slow, torn, silent, and never telling how far a request has come.

A broker deals with one request of a connection at a time, and answers in order, as Kafka's does. When a connection
breaks, what had been sent may still arrive; its answer never does: so a request that is sent again is there twice.
A connection is a stream: once it has lost something, nothing that was sent after it arrives either, in that direction,
until the process gives it up and opens another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from groupspec.conformance.simulation.cluster import VERSION, Cluster
from groupspec.conformance.simulation.loop import Event, Loop
from groupspec.conformance.simulation.plan import Plan
from groupspec.impl.core import messages
from groupspec.impl.core.events import ANY_NODE, COORDINATOR, SendRequest
from groupspec.impl.core.messages import ErrorCode, NoAnswer, Request, Response
from groupspec.impl.scripted import ScriptedCoordinator, api_of

REFUSED_AFTER_MS: Final = 5
LATE_MS: Final = 20_000


class Peer(Protocol):
    """A process with connections."""

    name: str

    def answered(self, request_id: int, response: Response, throttle_ms: int = 0) -> None:
        """An answer has come, or there will be none; and for so long nothing more goes over its connection."""

    def happens(self, what: Callable[[], None]) -> None:
        """Something happens to this process: later, if it stands still; never, if it has ended."""


class Witness(Protocol):
    """Who sees everything that happens at the brokers."""

    def sent(self, peer: Peer, request: SendRequest, node: int) -> None:
        """A request leaves a process."""

    def served(self, peer: Peer, request: SendRequest, response: Response, is_stale: bool) -> None:
        """A broker has answered; `is_stale`: over a connection that is broken."""

    def received(self, peer: Peer, request: SendRequest, response: Response) -> None:
        """The answer, or that there is none, has come to the process."""

    def held_back(self, peer: Peer) -> None:
        """An answer has told the process to send nothing for a while."""

    def sent_when_closed(self, peer: Peer) -> None:
        """A request goes over a connection that its broker has closed, which the process does not know yet."""

    def breaks(self, wrong: AssertionError) -> None:
        """A request goes out as it must not."""


class Connection:
    """One process and one broker."""

    def __init__(self, node: int, key: str | int) -> None:
        self.node = node
        self.key = key
        self.is_broken = False
        self.still_delivers = False
        self.has_lost_request = False
        self.has_lost_answer = False
        self.arrival_ms = 0
        self.delivery_ms = 0
        self.is_busy = False
        self.queue: deque[SendRequest] = deque()


class Pending:
    """A request that waits for its answer."""

    __slots__ = ("connection", "request", "timeout")

    def __init__(self, request: SendRequest, connection: Connection, timeout: Event) -> None:
        self.request, self.connection, self.timeout = request, connection, timeout


class Link:
    """All connections of one process, and what is wrong with them now.

    Attributes:
        slow_until_ms, silent_until_ms, cut_off_until_ms: The network is slow, or carries nothing, or nothing to and
            from the coordinator.
        losses: (API, what of its next request is lost: "request lost", "answer lost", "answer late").
        throttles: (API, for how long its next answer tells the process to hold back), where bytes can tell it.
    """

    def __init__(self, peer: Peer, loop: Loop, cluster: Cluster, witness: Witness, plan: Plan) -> None:
        self._peer, self._loop, self._cluster, self._witness = peer, loop, cluster, witness
        self._random = Random(f"network {plan.seed} {peer.name}")
        low_ms, high_ms = plan.delay_ms
        self._delays_ms = range(low_ms, high_ms + 1)
        self._connections: dict[str | int, Connection] = {}
        self._pending: dict[int, Pending] = {}
        self._turn = 0
        self.coordinator_node = 0
        self.slow_until_ms = self.silent_until_ms = self.cut_off_until_ms = 0
        self.losses: list[tuple[str, str]] = []
        self.throttles: list[tuple[str, int]] = []
        self.errors: list[tuple[str, ErrorCode, int]] = []

    # The process's side ----------------------------------------------------------------------------------------------

    def send(self, request: SendRequest) -> None:
        """A request leaves the process."""
        now_ms = self._loop.now_ms
        connection = self._connection(request.node)
        self._witness.sent(self._peer, request, connection.node)
        if connection.node in self._cluster.down or connection.is_broken:
            number = request.request_id
            self._loop.after(REFUSED_AFTER_MS, lambda: self._no_answer([number], ErrorCode.DISCONNECTED))
            timeout = Event(now_ms, lambda: None)
        else:
            timeout = self._loop.after(request.timeout_ms, lambda: self._timed_out(request.request_id))
            self._goes_out(connection, request)
        self._pending[request.request_id] = Pending(request, connection, timeout)

    def connect_coordinator(self, node: int) -> None:
        """From now on it is this one."""
        self.coordinator_node = node

    def disconnect_coordinator(self) -> None:
        """The core has given up everything that is under way there."""
        if (connection := self._connections.get(COORDINATOR)) is not None:
            self._cut(connection)
        for number in [n for n, one in self._pending.items() if one.request.node == COORDINATOR]:
            self._pending.pop(number).timeout.cancel()

    def break_all(self, node: int | None = None) -> None:
        """All connections break, or those to one broker."""
        for connection in [c for c in self._connections.values() if node in (None, c.node)]:
            self._break(connection)

    def calm(self) -> None:
        """Nothing is wrong any more."""
        self.slow_until_ms = self.silent_until_ms = self.cut_off_until_ms = 0
        self.losses.clear()
        self.throttles.clear()
        self.errors.clear()

    def has_sent(self, *apis: str) -> bool:
        """Whether a request of these APIs waits for its answer."""
        return any(api_of(one.request.request) in apis for one in self._pending.values())

    @property
    def has_lost(self) -> bool:
        """Whether a connection has lost something, and the process waits for the answer."""
        return any(one.has_lost_request or one.has_lost_answer for one in self._connections.values())

    def _connection(self, key: str | int) -> Connection:
        node = self.coordinator_node if key == COORDINATOR else key
        if key == ANY_NODE:
            key = node = self._any_of([n for n in range(1, 4) if n not in self._cluster.down] or [1])
        connection = self._connections.get(key)
        if connection is None or connection.node != node:
            assert isinstance(node, int)
            connection = self._connections[key] = Connection(node, key)
        return connection

    def _any_of(self, nodes: list[int]) -> int:
        self._turn += 1
        return nodes[self._turn % len(nodes)]

    def _goes_out(self, connection: Connection, request: SendRequest) -> None:
        connection.arrival_ms = max(connection.arrival_ms, self._loop.now_ms + self._delay())
        is_lost = self._is_silent(connection) or self._loses(request.request, "request lost")
        connection.has_lost_request = connection.has_lost_request or is_lost
        if not connection.has_lost_request:
            self._loop.at(connection.arrival_ms, lambda: self._arrive(connection, request))

    def _delay(self) -> int:
        delay_ms = self._random.choice(self._delays_ms)
        return delay_ms * 50 + 200 if self._loop.now_ms < self.slow_until_ms else delay_ms

    def _is_silent(self, connection: Connection) -> bool:
        now_ms = self._loop.now_ms
        cut_off = now_ms < self.cut_off_until_ms and connection.node == self._cluster.coordinator
        return cut_off or now_ms < self.silent_until_ms

    def _loses(self, request: Request, what: str) -> bool:
        if not self.losses or (loss := (api_of(request), what)) not in self.losses:
            return False
        self.losses.remove(loss)
        return True

    # Ends without an answer ------------------------------------------------------------------------------------------

    def _timed_out(self, number: int) -> None:
        if (pending := self._pending.get(number)) is not None:
            self._no_answer([number], ErrorCode.TIMED_OUT)
            self._break(pending.connection)

    def _break(self, connection: Connection) -> None:
        self._cut(connection)
        under_way = [n for n, one in self._pending.items() if one.connection is connection]
        self._no_answer(under_way, ErrorCode.DISCONNECTED)

    def _cut(self, connection: Connection) -> None:
        connection.is_broken = True
        connection.still_delivers = self._random.random() < 0.5
        if self._connections.get(connection.key) is connection:
            del self._connections[connection.key]

    def _no_answer(self, numbers: list[int], error: ErrorCode) -> None:
        for number in numbers:
            self._peer.happens(lambda number=number: self._receive(number, NoAnswer(error)))  # type: ignore[misc]

    def _receive(self, number: int, response: Response, throttle_ms: int = 0) -> None:
        if (pending := self._pending.pop(number, None)) is not None:
            pending.timeout.cancel()
            self._witness.received(self._peer, pending.request, response)
            self._peer.answered(number, response, throttle_ms)

    # The broker's side -----------------------------------------------------------------------------------------------

    def _arrive(self, connection: Connection, request: SendRequest) -> None:
        if (connection.is_broken and not connection.still_delivers) or connection.node in self._cluster.down:
            return
        if connection.is_busy:
            connection.queue.append(request)
        else:
            self._serve(connection, request)

    def _serve(self, connection: Connection, request: SendRequest) -> None:
        connection.is_busy = True
        error = self._error(request.request)
        if error is not None:
            self._reply(connection, request, ScriptedCoordinator().answer(request.request, error))
            return
        read, version = self._read(connection, request)
        name = self._peer.name.partition(".")[0]
        self._cluster.receive(
            read, connection.node, name, lambda response: self._reply(connection, request, response), version
        )

    def _read(self, connection: Connection, request: SendRequest) -> tuple[Request, int]:
        """What the broker is asked, and in which version."""
        return request.request, VERSION

    def _error(self, request: Request) -> ErrorCode | None:
        for entry in self.errors:
            api, error, until_ms = entry
            if api == api_of(request):
                if self._loop.now_ms >= until_ms:
                    self.errors.remove(entry)
                return error
        return None

    def _reply(self, connection: Connection, request: SendRequest, response: Response) -> None:
        self._witness.served(self._peer, request, response, connection.is_broken)
        connection.is_busy = False
        if connection.node not in self._cluster.down and not connection.is_broken:
            self._deliver(connection, request, response)
        if connection.queue and not connection.is_busy:
            self._serve(connection, connection.queue.popleft())

    def _deliver(self, connection: Connection, request: SendRequest, response: Response) -> None:
        if self._is_silent(connection) or connection.has_lost_answer:
            connection.has_lost_answer = True
            return
        if self._loses(request.request, "answer lost"):
            connection.has_lost_answer = True
            if self._random.random() < 0.5:  # the connection is reset at once; otherwise the request times out
                self._loop.after(self._delay(), lambda: self._break(connection))
            return
        late_ms = LATE_MS if self._loses(request.request, "answer late") else 0
        connection.delivery_ms = max(connection.delivery_ms, self._loop.now_ms + self._delay() + late_ms)
        self._loop.at(connection.delivery_ms, lambda: self._delivered(connection, request.request_id, response))

    def _delivered(self, connection: Connection, number: int, response: Response) -> None:
        """A process that stands still finds the answer when it goes on; if it gives the connection up first, never."""
        if not connection.is_broken:
            self._peer.happens(lambda: self._receive(number, response))


def error_of(response: Response) -> ErrorCode:
    """The error that an answer tells, its partitions' included."""
    if isinstance(response, messages.OffsetCommitResponse):
        return next((error for error in response.errors.values() if error), response.error)
    if isinstance(response, messages.OffsetFetchResponse):
        return next((offset.error for offset in response.offsets.values() if offset.error), response.error)
    return getattr(response, "error", ErrorCode.NONE)

"""The network behind a consumer: non-blocking sockets, one connection per broker and one more for the coordinator.

All calls come from one thread, the one that drives the core; only `wake` may come from any. Brokers are found by asking
any of the bootstrap servers: every Metadata answer that passes through tells where the nodes are. The coordinator has a
connection of its own, so that no heartbeat ever waits behind a long Fetch.

A request ends with its answer, or with `NoAnswer`: TIMED_OUT if its own time is up, which also closes its connection;
DISCONNECTED for everything else that a closed connection takes with it. After a failure, a broker is left alone for a
while that doubles with each further failure; requests for it wait, as far as their time allows.

A host name may have several addresses ("localhost" on a machine with IPv6 has two). All are tried in turn, each for its
part of the time that a connection has to come about; after a failure another one is the first (as Java's
ClusterConnectionStates).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from groupspec.impl.core.events import ANY_NODE, COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import ErrorCode, MetadataResponse, NoAnswer
from groupspec.impl.journal import Journal
from groupspec.impl.network.connection import Connection, Phase
from groupspec.impl.network.errors import CodecError
from groupspec.impl.network.frames import DEFAULT_LIMIT

_READ_SIZE: Final = 1024 * 1024

Address = tuple[str, int]
_Target = tuple[int, int, int, str, Any]  # as from getaddrinfo


_LATE: Final = {
    Phase.CONNECTING: "no connection in time",
    Phase.NEGOTIATING: "the versions that it speaks were not named in time",
    Phase.READY: "a request was not answered in time",
}
"""What has taken too long, by how far a connection had come."""


def _named(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_bootstrap(servers: str | Sequence[str]) -> list[Address]:
    """Addresses out of "host:port,host:port", or of a list of such. Raises ValueError with the one that is wrong."""
    if not isinstance(servers, str | Iterable):
        raise ValueError(f"bootstrap_servers={servers!r}: must be a text, or a list of texts, of the form host:port")
    texts = servers.split(",") if isinstance(servers, str) else list(servers)
    addresses = []
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"bootstrap_servers has {text!r}: must be a text, host:port, for example localhost:9092")
        host, colon, port = text.strip().rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(f"bootstrap_servers has {text.strip()!r}: must be host:port, for example localhost:9092")
        addresses.append((host.strip("[]"), int(port)))
    if not addresses:
        raise ValueError("bootstrap_servers is empty: name at least one broker as host:port")
    return addresses


@dataclass(frozen=True, slots=True)
class SocketSettings:
    """How connections are made: Kafka's settings of these names, see `groupspec.impl.core.config`."""

    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    socket_connection_setup_timeout_ms: int = 10_000
    receive_buffer_bytes: int = -1
    send_buffer_bytes: int = -1

    def pause_ms(self, failures: int) -> int:
        """How long to leave a broker alone after one more failure than these in a row."""
        return min(self.reconnect_backoff_ms << min(failures, 32), self.reconnect_backoff_max_ms)

    def prepare(self, made: socket.socket) -> None:
        """Make a new socket as they say; -1 leaves a buffer as the operating system has it."""
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, size in ((socket.SO_RCVBUF, self.receive_buffer_bytes), (socket.SO_SNDBUF, self.send_buffer_bytes)):
            if size >= 0:
                made.setsockopt(socket.SOL_SOCKET, option, size)


@dataclass
class _Backoff:
    failures: int = 0
    until_ms: int = 0


@dataclass
class _Link:
    """A connection and its socket. Without a socket it waits for the end of a backoff."""

    address: Address
    for_coordinator: bool
    connection: Connection
    socket: socket.socket | None = None
    tried: set[Address] = field(default_factory=set)
    targets: list[_Target] = field(default_factory=list)  # the host's addresses that are left to try
    next_target_ms: int = 0  # when to go on to the next one, if this one does not answer
    watched: int = 0  # for what the selector watches the socket

    def is_trying_targets(self) -> bool:
        """Whether the host has another address, if this one does not answer."""
        return self.socket is not None and bool(self.targets) and self.connection.phase is Phase.CONNECTING


class SocketTransport:
    """The Transport of `groupspec.impl.core.transport`, over TCP. `now_ms` is the clock of the driver."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        client_id: str,
        now_ms: Callable[[], int],
        *,
        frame_limit: int = DEFAULT_LIMIT,
        journal: Journal | None = None,
        settings: SocketSettings | None = None,
    ) -> None:
        self._settings = settings or SocketSettings()
        self._journal = journal or Journal(client_id)
        self._bootstrap = parse_bootstrap(bootstrap_servers)
        self._client_id = client_id
        self._now_ms = now_ms
        self._frame_limit = frame_limit
        self._selector = selectors.DefaultSelector()
        self._links: dict[Address, _Link] = {}
        self._coordinator: _Link | None = None
        self._coordinator_address: Address | None = None
        self._nodes: dict[int, Address] = {}
        self._backoffs: dict[Address, _Backoff] = {}
        self._next_bootstrap = 0
        self._answers: list[ResponseReceived] = []
        self._read_buffer = memoryview(bytearray(_READ_SIZE))
        self._wake_sent = False  # set by whoever wakes; cleared by the thread that polls, before it returns
        self._waker, self._woken = socket.socketpair()
        for end in (self._waker, self._woken):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._closed = False

    # What the driver calls -------------------------------------------------------------------------------------------

    def connect_coordinator(self, node_id: int, host: str, port: int) -> None:
        """From now on requests to COORDINATOR go there, over a connection that nothing else uses."""
        self._nodes[node_id] = (host, port)
        if self._coordinator_address != (host, port):
            self.disconnect_coordinator()
        self._coordinator_address = (host, port)

    def disconnect_coordinator(self) -> None:
        """Close that connection; requests under way on it are dropped without a word."""
        self._coordinator_address = None
        if self._coordinator is not None:
            self._drop(self._coordinator)

    def send(self, request: SendRequest, now_ms: int) -> None:
        """Queue a request; never blocks."""
        link = self._link_for(request)
        if link is None:
            self._no_answer(request, ErrorCode.DISCONNECTED)
        else:
            link.connection.submit(request, now_ms + request.timeout_ms)
            self._collect(link)

    def poll(self, timeout_ms: int) -> list[ResponseReceived]:
        """Move bytes until there is an answer, `wake` is called, or the time is up."""
        end_ms = self._now_ms() + timeout_ms
        woken = False
        while True:
            now_ms = self._now_ms()
            self._open_due(now_ms)
            self._expire(now_ms)
            self._write_queued()
            wait_ms = 0 if self._answers or woken else self._wait_ms(now_ms, end_ms)
            woken = self._move_bytes(wait_ms) or woken
            if self._answers or woken or self._now_ms() >= end_ms:
                answers, self._answers = self._answers, []
                return answers

    def wake(self) -> None:
        """Let the current poll, or the next one, return at once. May be called from any thread.

        Each byte costs both threads a turn: none is sent while one is on its way.
        """
        if self._wake_sent:
            return
        self._wake_sent = True
        # A full pipe wakes as well as one more byte would; a closed one belongs to a transport that nobody polls.
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")

    def close(self, timeout_ms: int) -> None:
        """Send what is queued, then close everything. Does nothing the second time.

        What can be sent without waiting is sent in any case; for what can't, it waits at most `timeout_ms`.
        """
        if self._closed:
            return
        self._closed = True
        end_ms = self._now_ms() + timeout_ms
        self._write_queued()
        while any(link.connection.outgoing for link in self._all_links()) and self._now_ms() < end_ms:
            self._move_bytes(min(10, end_ms - self._now_ms()))
        for link in self._all_links():
            self._drop(link)
        self._selector.close()
        self._waker.close()
        self._woken.close()

    # Which connection ------------------------------------------------------------------------------------------------

    def _link_for(self, request: SendRequest) -> _Link | None:
        if self._closed:
            return None
        if request.node == COORDINATOR:
            if self._coordinator is None and self._coordinator_address is not None:
                self._coordinator = self._new_link(self._coordinator_address, for_coordinator=True)
            return self._coordinator
        if request.node == ANY_NODE:
            return self._any_link()
        address = self._nodes.get(request.node) if isinstance(request.node, int) else None
        return None if address is None else self._link_to(address)

    def _any_link(self) -> _Link:
        """The least busy connection that works; else one that may; else a new one."""
        ready = [link for link in self._links.values() if link.connection.is_ready]
        candidates = ready or list(self._links.values())
        if candidates:
            return min(candidates, key=lambda link: link.connection.load)
        return self._link_to(self._another_address(set()) or self._bootstrap[0])

    def _another_address(self, tried: set[Address]) -> Address | None:
        """The next broker to try: first those that did not fail lately, the bootstrap servers in turn."""
        turn = self._next_bootstrap
        self._next_bootstrap = (turn + 1) % len(self._bootstrap)
        known = [*self._bootstrap[turn:], *self._bootstrap[:turn], *self._nodes.values()]
        fresh = [address for address in known if address not in tried]
        return min(fresh, key=self._backoff_until, default=None)

    def _backoff_until(self, address: Address) -> int:
        backoff = self._backoffs.get(address)
        return 0 if backoff is None or backoff.until_ms <= self._now_ms() else backoff.until_ms

    def _link_to(self, address: Address) -> _Link:
        if address not in self._links:
            self._links[address] = self._new_link(address)
        return self._links[address]

    def _new_link(self, address: Address, *, for_coordinator: bool = False) -> _Link:
        starts_ms = max(self._now_ms(), self._backoff_until(address))
        connection = Connection(
            self._client_id, starts_ms + self._settings.socket_connection_setup_timeout_ms, self._frame_limit
        )
        return _Link(address, for_coordinator, connection)

    def _all_links(self) -> list[_Link]:
        return [*self._links.values(), *([self._coordinator] if self._coordinator else [])]

    # Time ------------------------------------------------------------------------------------------------------------

    def _wait_ms(self, now_ms: int, end_ms: int) -> int:
        moments = [end_ms]
        for link in self._all_links():
            deadline_ms = link.connection.next_deadline_ms()
            if deadline_ms is not None:
                moments.append(deadline_ms)
            if link.socket is None:
                moments.append(self._backoff_until(link.address))
            elif link.is_trying_targets():
                moments.append(link.next_target_ms)
        return max(0, min(moments) - now_ms)

    def _open_due(self, now_ms: int) -> None:
        for link in self._all_links():
            if link.socket is None and self._backoff_until(link.address) <= now_ms:
                self._open(link)

    def _expire(self, now_ms: int) -> None:
        for link in self._all_links():
            link.connection.throttle_over(now_ms)
            spoilt = link.connection.is_spoilt(now_ms)
            for request in link.connection.take_expired(now_ms):
                self._no_answer(request, ErrorCode.TIMED_OUT)
            if spoilt:
                self._fail(link, TimeoutError(_LATE[link.connection.phase]))
            elif link.is_trying_targets() and link.next_target_ms <= now_ms:
                self._connect_next(link, TimeoutError(_LATE[Phase.CONNECTING]))

    # Sockets ---------------------------------------------------------------------------------------------------------

    def _open(self, link: _Link) -> None:
        link.tried.add(link.address)
        try:
            # A host name is looked up here, which blocks; brokers are named by address, or by a name that is cached.
            found: list[_Target] = list(socket.getaddrinfo(*link.address, type=socket.SOCK_STREAM))
        except OSError as problem:
            self._fail(link, problem)
            return
        backoff = self._backoffs.get(link.address)
        first = backoff.failures % len(found) if backoff is not None else 0
        link.targets = found[first:] + found[:first]
        self._connect_next(link, OSError("the host has no address"))

    def _connect_next(self, link: _Link, problem: Exception) -> None:
        """Try the next address; if there is none left the connection has failed, with the last problem."""
        self._close_socket(link)
        while link.targets:
            limit_ms = self._settings.socket_connection_setup_timeout_ms
            link.next_target_ms = self._now_ms() + limit_ms // (2 * len(link.targets))
            family, kind, protocol, _, target = link.targets.pop(0)
            try:
                link.socket = socket.socket(family, kind, protocol)
                self._settings.prepare(link.socket)
                with contextlib.suppress(BlockingIOError):
                    link.socket.connect(target)
                link.watched = selectors.EVENT_READ | selectors.EVENT_WRITE
                self._selector.register(link.socket, link.watched, link)
            except OSError as refused:
                self._close_socket(link)
                problem = refused
            else:
                return
        self._fail(link, problem)

    def _move_bytes(self, wait_ms: int) -> bool:
        """Wait for sockets, and read and write what they allow; whether `wake` was called."""
        self._watch_for_writing()
        woken = False
        for key, events in self._selector.select(wait_ms / 1000):
            link = key.data
            if link is None:
                woken = True
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(4096)
                self._wake_sent = False
            elif link.socket is not None:
                self._move_bytes_of(link, events)
        return woken

    def _write_queued(self) -> None:
        """At once: mostly there is room, so that nothing has to wait for the selector."""
        for link in self._all_links():
            if link.connection.outgoing and link.connection.phase is not Phase.CONNECTING:
                self._move_bytes_of(link, 0)

    def _watch_for_writing(self) -> None:
        for link in self._all_links():
            if link.socket is not None:
                wants = link.connection.phase is Phase.CONNECTING or bool(link.connection.outgoing)
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wants else 0)
                if events != link.watched:
                    link.watched = events
                    self._selector.modify(link.socket, events, link)

    def _move_bytes_of(self, link: _Link, events: int) -> None:
        assert link.socket is not None
        try:
            if link.connection.phase is Phase.CONNECTING:
                error = link.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    raise OSError(error, os.strerror(error))
                if events & selectors.EVENT_WRITE:
                    link.connection.connected()
            if events & selectors.EVENT_READ:
                self._read(link)
            if link.connection.outgoing:
                del link.connection.outgoing[: link.socket.send(link.connection.outgoing)]
        except BlockingIOError:
            return
        except (OSError, CodecError) as problem:
            self._collect(link)
            if link.connection.phase is Phase.CONNECTING:
                self._connect_next(link, problem)
            else:
                self._fail(link, problem)

    def _read(self, link: _Link) -> None:
        assert link.socket is not None
        count = link.socket.recv_into(self._read_buffer)
        if not count:
            raise ConnectionResetError("the broker closed the connection")
        link.connection.received(self._read_buffer[:count], self._now_ms())
        self._collect(link)

    def _collect(self, link: _Link) -> None:
        """Take the answers; learn from them where the brokers are, and that this one works."""
        for answer in link.connection.take_answers():
            if isinstance(answer.response, MetadataResponse):
                for broker in answer.response.brokers:
                    self._nodes[broker.node_id] = (broker.host, broker.port)
            self._answers.append(answer)
        if link.connection.phase is Phase.READY and self._backoffs.pop(link.address, None) is not None:
            self._journal.over(__name__, f"Connected to {_named(link.address)}", link.address)

    # Ends ------------------------------------------------------------------------------------------------------------

    def _fail(self, link: _Link, problem: Exception) -> None:
        """The connection has failed: back off, fail its requests, retry elsewhere what may be retried."""
        self._say_why(link, problem)
        unsent = [] if link.for_coordinator else link.connection.take_unsent()
        self._drop(link)
        backoff = self._backoffs.setdefault(link.address, _Backoff())
        backoff.until_ms = self._now_ms() + self._settings.pause_ms(backoff.failures)
        backoff.failures += 1
        for request in link.connection.take_unanswered():
            self._no_answer(request, ErrorCode.DISCONNECTED)
        for request, deadline_ms in unsent:
            self._try_elsewhere(request, deadline_ms, link.tried)

    def _say_why(self, link: _Link, problem: Exception) -> None:
        """Once in a while; that a connection which worked was closed is no trouble as long as the next one works."""
        place, phase = _named(link.address), link.connection.phase
        if phase is Phase.READY and not isinstance(problem, CodecError):
            self._journal.say(__name__, f"Connection to {place} ended: {problem}")
            return
        text = f"Can't connect to {place}: {problem}"
        if phase is not Phase.CONNECTING:
            text = (
                f"{place} does not answer as a Kafka broker does (is it one, on a listener without TLS or SASL?): "
                f"{problem}"
            )
        self._journal.seldom(__name__, f"{text}. Trying again", self._now_ms(), link.address)

    def _try_elsewhere(self, request: SendRequest, deadline_ms: int, tried: set[Address]) -> None:
        """A request to any node goes on to the next one, until all were tried."""
        address = self._another_address(tried) if request.node == ANY_NODE else None
        if address is None:
            self._no_answer(request, ErrorCode.DISCONNECTED)
            return
        link = self._link_to(address)
        link.tried |= tried
        link.connection.submit(request, deadline_ms)
        self._collect(link)

    def _close_socket(self, link: _Link) -> None:
        if link.socket is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(link.socket)
            link.socket.close()
            link.socket = None

    def _drop(self, link: _Link) -> None:
        self._close_socket(link)
        if link is self._coordinator:
            self._coordinator = None
        elif self._links.get(link.address) is link:
            del self._links[link.address]

    def _no_answer(self, request: SendRequest, error: ErrorCode) -> None:
        self._answers.append(ResponseReceived(request.request_id, NoAnswer(error)))

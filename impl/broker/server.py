"""A TCP broker that behaves well unless a script says otherwise: every client under test talks to it.

It runs in a thread of its own, with an asyncio loop, one port of 127.0.0.1 for each node. From outside it is read
through its log and driven through its script (`groupspec.impl.broker.actions`). Each connection has one task that reads
and logs requests as they come, and one that answers them in order: as with a real broker, what a connection sends while
a request waits is waiting behind it, and other connections notice nothing.

It ends by itself after a stated lifetime. What goes wrong inside it is not swallowed: whoever waits, or closes it, gets
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, Self, TypeVar

from groupspec.impl.broker.actions import (
    Action,
    CloseConnection,
    Default,
    Hold,
    NeverReply,
    RawBytes,
    Reply,
    ReplyAfter,
    Throttle,
)
from groupspec.impl.broker.controls import CUT, REFUSES, Controls
from groupspec.impl.broker.coordinators import Answers
from groupspec.impl.broker.held_answers import HeldAnswers
from groupspec.impl.broker.log import BrokerFailure, Kind, WireEvent, WireLog
from groupspec.impl.broker.one_client import OneClient
from groupspec.impl.broker.ticks import Ticks
from groupspec.impl.broker.topics import is_worth_answering
from groupspec.impl.coordinator.context import Caller, GroupRequest
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import Broker, ErrorCode, FetchRequest, FetchResponse, Request, TopicPartition
from groupspec.impl.network.answers import error_of
from groupspec.impl.network.codec import Answer, decode_request, encode_response
from groupspec.impl.network.errors import CodecError, RequestHeader, UnservedRequest
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.records import Gaps, NewRecord
from groupspec.impl.network.versions import THROTTLED_FROM, ApiVersionsResponse

HOST: Final = "127.0.0.1"
DEFAULT_LIFETIME_S: Final = 300.0
FRAME_LIMIT: Final = 16 * 1024 * 1024
_STARTUP_S: Final = 10.0
_READ_SIZE: Final = 64 * 1024
_RAW_KEPT: Final = 1024
_AnyRequest = TypeVar("_AnyRequest", bound=Request)
_NO_LINGER: Final = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: close() resets the connection."""


@dataclass
class _Connection:
    """One client's connection to one node."""

    number: int
    node: int
    writer: asyncio.StreamWriter
    waiting: asyncio.Queue[tuple[WireEvent, Request]] = field(default_factory=asyncio.Queue)
    client_id: str = ""


class ScriptedBroker(Controls):
    """The broker. Use it as a context manager; all methods may be called from any thread.

    `topics` are names and partition counts. `version_caps` are highest versions by API. `lifetime_s` is how long it
    lives at most. Nodes have the ids 1 to `nodes`; node 1 coordinates all groups until `coordinator` says otherwise.

    Groups are kept by `groupspec.impl.coordinator`. With `groups`, its settings, they have any number of members, and
    an error that a script makes the broker say is said only. Without, a group has one client at a time, is the script's
    to change, and follows what the script says (`groupspec.impl.broker.one_client`).
    """

    def __init__(
        self,
        nodes: int = 2,
        topics: Mapping[str, int] | None = None,
        *,
        version_caps: Mapping[str, int] | None = None,
        lifetime_s: float = DEFAULT_LIFETIME_S,
        groups: Settings | None = None,
    ) -> None:
        log = WireLog(threading.Condition(), _now_us)
        super().__init__(nodes, topics or {}, version_caps or {}, threading.RLock(), log, groups)
        self._held: HeldAnswers | None = None
        self._lifetime_s = lifetime_s
        self._connections: dict[int, _Connection] = {}
        self._servers: dict[int, asyncio.Server] = {}  # by node, of those that accept connections
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._appended: asyncio.Event | None = None
        self._deletions: list[tuple[int, str]] = []  # of topics: when, and which
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._ticks = Ticks(_now_us())
        self._thread = threading.Thread(target=self._run, name="scripted-broker", daemon=True)

    # Life ------------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except BrokerFailure:
            if kind is None:
                raise

    def start(self) -> None:
        """Listen on all nodes. Raises BrokerFailure if that is impossible."""
        self._thread.start()
        if not self._started.wait(_STARTUP_S):
            raise BrokerFailure(f"the broker did not start within {_STARTUP_S} s")
        self.log.raise_failure()

    def close(self) -> None:
        """Close all connections and ports, and wait for the thread. Raises BrokerFailure if anything broke inside."""
        loop, stop = self._loop, self._stop
        if loop is not None and stop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile: that is what was wanted
                loop.call_soon_threadsafe(stop.set)
        if self._thread.ident is not None:
            self._thread.join(_STARTUP_S)
        self.log.raise_failure()

    def stalls_us(self) -> Sequence[tuple[int, int]]:
        """Start and end of each time in which the loop stood still, and stamped afterwards what had arrived."""
        return self._ticks.stalls_us()

    # What needs the loop ----------------------------------------------------------------------------------------------

    def append(self, topic: str, partition: int, records: Sequence[NewRecord | bytes], gaps: Gaps | None = None) -> int:
        """Append records as one batch (plain bytes are values); returns the first offset of it.

        `gaps`: which of its offsets have a record, if not one after the other.
        """
        where = TopicPartition(topic, partition)
        new = [record if isinstance(record, NewRecord) else NewRecord(record) for record in records]
        with self._lock:
            first = self._cluster.topics.end_of(where)
            if new or gaps is not None:
                self._cluster.topics.append(where, new, gaps)
        self._in_loop(self._wake_fetches)
        return first

    def delete_topic(self, topic: str) -> None:
        """The topic is gone, with its id, its records and what was committed of it. KeyError if there is none."""
        with self._lock:
            answers = self._cluster.delete_topic(topic, _now_ms())
            self._deletions.append((self.note(f"topic {topic} is deleted").at_us, topic))
        self._deliver(answers)
        self._in_loop(self._wake_fetches)

    def make_anew(self, topic: str, records: Sequence[NewRecord | bytes] = ()) -> None:
        """Delete the topic, and create another one of its name, with these records in each partition: all at once."""
        with self._lock:
            partitions = self.partitions_of(topic)
            self.delete_topic(topic)
            self.set_partitions(topic, partitions)
            for number in range(partitions):
                self.append(topic, number, records)

    def elect(self, topic: str, partition: int, node: int, end: int | None = None) -> None:
        """Another node leads this partition from now on, as one more leader epoch; `end`: where its log ends, if short.

        Raises KeyError, and ValueError if there is no such node, or no batch that ends there.
        """
        with self._lock:
            self._cluster.topics.elect(TopicPartition(topic, partition), node, end)
        self.note(f"node {node} leads {topic}-{partition}" + ("" if end is None else f", with nothing from {end} on"))
        self._in_loop(self._wake_fetches)

    def disconnect(self, node: int | None = None, client_id: str | None = None) -> None:
        """Close the connections to this node, of this client, or all."""

        def close() -> None:
            for connection in list(self._connections.values()):
                if node in (None, connection.node) and client_id in (None, connection.client_id):
                    connection.writer.close()

        self._in_loop(close)

    def refuse_connections(self, node: int) -> None:
        """Nothing listens on this node's port, and its connections are closed: until `accept_connections`."""
        self.note(REFUSES.format(node=node))

        def close() -> None:
            if (server := self._servers.pop(node, None)) is not None:
                server.close()

        self._in_loop(close)
        self.disconnect(node)

    def accept_connections(self, node: int) -> None:
        """It listens again, at the same port. Another program that has taken it meanwhile breaks the broker."""
        self.note(f"node {node} accepts connections again")
        self._in_loop(lambda: self._begin(self._listen(node, self._cluster.addresses[node - 1].port)))

    def _in_loop(self, work: Callable[[], None]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: nothing is left to work on
                self._loop.call_soon_threadsafe(work)

    # The thread ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:
            self.log.fail(failure)
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._fail_in_loop)
        self._appended = asyncio.Event()
        self._stop = asyncio.Event()
        self._ticks = Ticks(_now_us())
        self._tasks.add(self._loop.create_task(self._tick()))
        self._held = HeldAnswers(self._cluster.groups, self._lock, _now_ms)
        self._begin(self._held.run_timers())
        try:
            for node in range(1, self._nodes + 1):
                server = await self._listen(node, 0)
                self._cluster.addresses.append(Broker(node, HOST, server.sockets[0].getsockname()[1]))
            self._started.set()
            try:
                await asyncio.wait_for(self._stop.wait(), self._lifetime_s)
            except TimeoutError:
                self.log.fail(TimeoutError(f"the broker's lifetime of {self._lifetime_s} s is over"))
        finally:
            for server in self._servers.values():
                server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, node: int, port: int) -> asyncio.Server:
        self._servers[node] = await asyncio.start_server(self._accept(node), HOST, port)
        return self._servers[node]

    def _begin(self, work: Coroutine[Any, Any, object]) -> None:
        """A task of the broker's own: what goes wrong in it is the broker's failure."""
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._failed_task)
        self._tasks.add(task)

    def _fail_in_loop(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What a transport or a callback raises, asyncio itself would only log."""
        self.log.fail(context.get("exception") or RuntimeError(context["message"]))

    def _failed_task(self, task: asyncio.Task[object]) -> None:
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self.log.fail(failure)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._ticks.tick(_now_us()) / 1e6)

    def _accept(self, node: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve_connection(node, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return connected

    async def _serve_connection(self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(next(self._numbers), node, writer)
        self._connections[connection.number] = connection
        self._log(connection, "connect")
        answering = asyncio.get_running_loop().create_task(self._answer_all(connection))
        reading = asyncio.get_running_loop().create_task(self._read_all(connection, reader))
        try:
            await asyncio.wait({answering, reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            reading.cancel()
            outcomes = await asyncio.gather(answering, reading, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, Exception) and not isinstance(outcome, OSError):
                    self.log.fail(outcome)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._connections[connection.number]
            self._log(connection, "disconnect")

    # Reading ---------------------------------------------------------------------------------------------------------

    async def _read_all(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        """Log and queue requests until the end of the stream, or until it makes no sense any more."""
        frames = FrameReader(FRAME_LIMIT)
        raw = b""
        try:
            while data := await reader.read(_READ_SIZE):
                raw = data
                for frame in frames.feed(data):
                    raw = frame
                    self._take(connection, frame)
        except CodecError as problem:
            self._log(connection, "garbage", raw=raw[:_RAW_KEPT], text=str(problem))
            return
        if frames.unfinished:
            why = "the connection ended in the middle of a frame"
            self._log(connection, "garbage", raw=frames.unfinished[:_RAW_KEPT], text=why)

    def _take(self, connection: _Connection, frame: bytes) -> None:
        """One frame: a request in a version served here, or CodecError; other ApiVersions are answered (KIP-511)."""
        try:
            with self._lock:
                header, request = decode_request(frame, self._cluster.topic_ids)
            served = self._cluster.versions[header.api]
            if header.version not in served:
                raise UnservedRequest(header, f"served are versions {served}")
        except UnservedRequest as problem:
            if problem.header.api != "ApiVersions":
                raise
            connection.client_id = problem.header.client_id or connection.client_id
            event = self._log(connection, "request", problem.header, raw=frame)
            answer = ApiVersionsResponse(self._cluster.advertised().versions, ErrorCode.UNSUPPORTED_VERSION)
            self._write(connection, replace(event, version=0), answer, encode_response(answer, 0, event.correlation_id))
            return
        connection.client_id = header.client_id or ""
        event = self._log(connection, "request", header, message=request, raw=frame)
        connection.waiting.put_nowait((event, request))

    def _log(
        self, connection: _Connection, kind: Kind, request: RequestHeader | WireEvent | None = None, **fields: Any
    ) -> WireEvent:
        """Something that happened on this connection, maybe because of this request."""
        if request is not None:
            fields |= {"api": request.api, "version": request.version, "correlation_id": request.correlation_id}
        where = {"node": connection.node, "connection": connection.number, "client_id": connection.client_id}
        return self.log.add(kind, **where, **fields)

    # Answering -------------------------------------------------------------------------------------------------------

    async def _answer_all(self, connection: _Connection) -> None:
        """Answer in order. Ends, and with it the connection, when a script wants it closed."""
        while True:
            event, request = await connection.waiting.get()
            if not await self._carry_out(self.action_for(event), connection, event, request):
                return
            await connection.writer.drain()

    async def _carry_out(self, action: Action, connection: _Connection, event: WireEvent, request: Request) -> bool:
        """Do what the script says; False if the connection is to be closed."""
        throttle_ms = 0
        while isinstance(action, ReplyAfter | Hold | Throttle):
            if isinstance(action, Throttle):
                throttle_ms = action.duration_ms
            else:
                with self._parked(request):
                    await self._delay(action)
            action = action.then
        if isinstance(action, NeverReply):
            self._log(connection, "note", event, text=f"this {event.api} is never answered")
            with self._parked(request):
                await asyncio.Event().wait()
        if isinstance(action, CloseConnection):
            await self._cut(action, connection, event, request)
            return False
        if isinstance(action, RawBytes):
            self._log(connection, "sent_raw", event, raw=action.data)
            connection.writer.write(action.data)
            await connection.writer.drain()
            return not action.close
        if isinstance(action, Reply):
            answer = action.response or self._refuse(request, action.code, event)
        elif isinstance(action, Default):
            answer = await self._default(request, event)
        else:
            raise TypeError(f"the script wants {action!r} for {event}: no such action")
        answers_at_once = self._cluster.versions[event.api].highest >= THROTTLED_FROM.get(event.api, 0)
        if throttle_ms and not answers_at_once:
            with self._parked(request):
                await asyncio.sleep(throttle_ms / 1000)
        with self._lock:
            data = encode_response(
                answer,
                event.version,
                event.correlation_id,
                api=event.api,
                request=request,
                topic_ids=self._cluster.topic_ids,
                throttle_time_ms=throttle_ms,
            )
        self._write(connection, event, answer, data, throttle_ms)
        if throttle_ms and answers_at_once:
            await asyncio.sleep(throttle_ms / 1000)
        return True

    async def _cut(self, action: CloseConnection, connection: _Connection, event: WireEvent, request: Request) -> None:
        """What there is to do before the connection is closed."""
        if action.applied:
            await self._default(request, event)
        if action.reset:
            connection.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        effect = "had its effect" if action.applied else "had no effect"
        self._log(connection, "note", event, text=f"{CUT}: this {event.api} {effect}")

    @contextlib.contextmanager
    def _parked(self, request: Request) -> Iterator[None]:
        """While a member's request waits, its session does not end."""
        groups = self._cluster.groups
        if isinstance(groups, OneClient) and isinstance(request, GroupRequest):
            with groups.held(request):
                yield
        else:
            yield

    async def _delay(self, action: ReplyAfter | Hold) -> None:
        if isinstance(action, ReplyAfter):
            await asyncio.sleep(action.delay_ms / 1000)
            return
        released = asyncio.Event()
        action.on_release(lambda: self._in_loop(released.set))
        await released.wait()

    def _refuse(self, request: Request, error: ErrorCode, event: WireEvent) -> Answer:
        groups = self._cluster.groups
        if not isinstance(groups, OneClient) or not isinstance(request, GroupRequest):
            return self._cluster.refuse(request, error)
        with self._lock:
            caller = Caller(event.version, event.client_id)
            answer, others = groups.refuse(request, error, caller, _now_ms())
        self._deliver(others)
        return answer

    def _deliver(self, answers: Answers) -> None:
        held = self._held
        if held is not None:
            self._in_loop(lambda: held.deliver(answers))

    async def _default(self, request: Request, event: WireEvent) -> Answer:
        if isinstance(request, GroupRequest):
            assert self._held is not None
            with self._lock:
                request = self._as_ids_are(request, event)
            return await self._held.ask(request, event.node, Caller(event.version, event.client_id))
        deadline_ms = _now_ms() + request.max_wait_ms if isinstance(request, FetchRequest) else 0
        while True:
            appended = self._appended
            assert appended is not None
            with self._lock:
                request = self._as_ids_are(request, event)
                answer = self._cluster.answer(request, event.node, self._deleted_since(event))
            left_ms = deadline_ms - _now_ms()
            if not isinstance(request, FetchRequest) or not isinstance(answer, FetchResponse):
                return answer
            if left_ms <= 0 or is_worth_answering(answer, request.min_bytes):
                return answer
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(appended.wait(), left_ms / 1000)

    def _as_ids_are(self, request: _AnyRequest, event: WireEvent) -> _AnyRequest:
        """What a request says now: while it waited the id by which it names a topic may have become nobody's."""
        if not self._deleted_since(event):
            return request
        now = decode_request(event.raw, self._cluster.topic_ids)[1]
        assert isinstance(now, type(request))
        return now

    def _deleted_since(self, event: WireEvent) -> set[str]:
        return {topic for deleted_us, topic in self._deletions if deleted_us >= event.at_us}

    def _wake_fetches(self) -> None:
        if self._appended is not None:
            self._appended.set()
            self._appended = asyncio.Event()

    def _write(
        self, connection: _Connection, request: WireEvent, answer: Answer, data: bytes, throttle_ms: int = 0
    ) -> None:
        told = {"message": answer, "error": error_of(answer).name, "throttle_ms": throttle_ms, "raw": data}
        self._log(connection, "response", request, **told)
        connection.writer.write(framed(data))


def _now_us() -> int:
    return time.monotonic_ns() // 1000


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000

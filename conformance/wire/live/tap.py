"""A recording proxy before each broker of a cluster: it forwards every frame, and writes it down decoded.

A client that is given the proxy's address stays behind it: where an answer names brokers, each has the address of a
proxy of its own on loopback. Nothing else is changed, held back or added. (From a broker that is newer than the kit a
client is told only of versions that the kit can read.)
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.live.notes import Line, Notes
from groupspec.conformance.wire.log import now_us
from groupspec.impl.broker.ticks import Ticks
from groupspec.impl.network.addresses import Address
from groupspec.impl.network.errors import CodecError
from groupspec.impl.network.frames import FrameReader, framed

HOST: Final = "127.0.0.1"
READ_SIZE: Final = 64 * 1024
CONNECT_WITHIN_S: Final = 5.0
ANSWER_WITHIN_S: Final = 10.0
MOST_BROKERS: Final = 300
"""Each has a proxy with a port of its own, and each connection takes two files; processes often may have 1,024."""
CUT_OFF: Final = "the connection ended in the middle of a frame"


class NoProxyError(Exception):
    """There is no port for one more broker, or no sense in one."""


class Tap:
    """The proxies of one client, or of all who connect. Use as a context manager; its thread ends with the block.

    Args:
        addresses: Of brokers of the cluster, as bootstrap.servers has them.
        take: Gets every entry; called in the tap's thread.
        lost: Is told once, in that thread, why nothing more can be recorded.
        port: Where the proxy of the first address listens; 0: anywhere.
    """

    def __init__(
        self, addresses: Sequence[Address], take: Callable[[Entry], None], lost: Callable[[str], None], port: int = 0
    ) -> None:
        self._notes = Notes(take, self._give_up, lambda address: (HOST, self._proxy(address)))
        self._lost = lost
        self._problem = ""
        self._proxies: dict[Address, int] = {}
        self._numbers = 0
        self._ticks = Ticks(now_us())
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="tap")
        for number, address in enumerate(addresses):
            self._proxy(address, 0 if number else port)
        self._first = tuple(addresses)

    def __enter__(self) -> Tap:
        self._loop.call_soon(lambda: self._spawn(self._tick()))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(ANSWER_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_WITHIN_S)
        self._loop.close()

    @property
    def bootstrap(self) -> str:
        """For bootstrap.servers."""
        return ",".join(f"{HOST}:{self._proxies[address]}" for address in self._first)

    @property
    def problem(self) -> str:
        """Why nothing more can be recorded; "" as long as it can."""
        return self._problem

    def stalls_us(self) -> Sequence[tuple[int, int]]:
        """When the loop stood still: start and end."""
        return self._ticks.stalls_us()

    # The loop's thread ------------------------------------------------------------------------------------------------

    async def _end(self) -> None:
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._ticks.tick(now_us()) / 1e6)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        failure = None if task.cancelled() else task.exception()
        if isinstance(failure, NoProxyError):
            self._give_up(str(failure))
        elif failure is not None:
            self._give_up(f"the recording proxy broke: {failure!r}")

    def _give_up(self, problem: str) -> None:
        if not self._problem:
            self._problem = problem
            self._lost(problem)

    def _proxy(self, address: Address, port: int = 0) -> int:
        """The port of the proxy before this address. The socket listens at once; who connects waits for the loop."""
        if address not in self._proxies:
            if len(self._proxies) >= MOST_BROKERS:
                raise NoProxyError(
                    f"more than {MOST_BROKERS} brokers were named: the kit opens a port for each of them"
                )
            listening = self._listening(address, port)
            self._proxies[address] = listening.getsockname()[1]
            self._loop.call_soon_threadsafe(lambda: self._spawn(self._listen(listening, address)))
        return self._proxies[address]

    def _listening(self, address: Address, port: int) -> socket.socket:
        try:
            return socket.create_server((HOST, port))
        except OSError as problem:
            if not self._proxies:  # the port that was asked for
                raise
            raise NoProxyError(
                f"the kit has no port for the broker at {told(address)}: {problem.strerror}"
            ) from problem

    async def _listen(self, listening: socket.socket, address: Address) -> None:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._spawn(self._serve(address, reader, writer))

        server = await asyncio.start_server(connected, sock=listening)
        try:
            await server.serve_forever()
        finally:
            server.close()

    async def _serve(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        self._numbers += 1
        line = Line(self._numbers, address)
        self._notes.happened(line, "connect")
        back = writer
        try:
            there, back = await asyncio.wait_for(asyncio.open_connection(*address), CONNECT_WITHIN_S)
            asking = self._spawn(self._forward_requests(line, reader, back))
            answering = self._spawn(self._forward_answers(line, there, writer))
            await asyncio.wait({asking, answering}, return_when=asyncio.FIRST_COMPLETED)
            by_broker = answering.done()  # a client may have ended it as well: both ends can come at once
            asking.cancel()
            answering.cancel()
            if by_broker:
                await self._require_alive(address)
        except (OSError, TimeoutError) as problem:
            self._give_up(f"the broker at {told(address)} cannot be reached any more: {str(problem) or 'no answer'}")
        finally:
            for one in (writer, back):
                one.transport.abort()
            self._notes.happened(line, "disconnect")

    async def _require_alive(self, address: Address) -> None:
        """A broker may close a connection; one that takes none any more is gone. Raises OSError, TimeoutError."""
        _, writer = await asyncio.wait_for(asyncio.open_connection(*address), CONNECT_WITHIN_S)
        writer.transport.abort()

    # One connection ---------------------------------------------------------------------------------------------------

    async def _forward_requests(self, line: Line, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        with contextlib.suppress(OSError):
            while data := await reader.read(READ_SIZE):
                try:
                    for frame in frames.feed(data):
                        self._notes.request(line, frame)
                        back.write(framed(frame))
                except CodecError as problem:
                    self._notes.happened(line, "garbage", str(problem))
                    return
                await back.drain()
        if frames.unfinished:
            self._notes.happened(line, "garbage", CUT_OFF)

    async def _forward_answers(self, line: Line, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        with contextlib.suppress(OSError):
            while data := await there.read(READ_SIZE):
                for frame in frames.feed(data):
                    writer.write(framed(self._notes.answer(line, frame)))
                await writer.drain()


def told(address: Address) -> str:
    """As bootstrap.servers has it."""
    return f"{address[0]}:{address[1]}"

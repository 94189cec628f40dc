"""The network between one member and the brokers: a TCP proxy for each, that can cut, hold back and delay.

It forwards bytes and reads none of them: a broker has a listener for each member, whose advertised address is the
proxy's, so that every connection of the member comes here.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, Final, Literal, TypeVar

CHUNK: Final = 65_536
ANSWER_LIMIT_S: Final = 10.0
Result = TypeVar("Result")


class Network:
    """The thread that all proxies work in. Use as a context manager; all connections end with the block."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="proxies")
        self._proxies: list[Proxy] = []

    def __enter__(self) -> Network:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_LIMIT_S)
        self._loop.close()

    def way(self, ports: Iterable[tuple[int, int]]) -> Way:
        """A member's way to all brokers, by the ports of each proxy."""
        return Way([self.proxy(*each) for each in ports])

    def proxy(self, port: int, broker_port: int) -> Proxy:
        """A proxy on 127.0.0.1:`port` for the broker's listener at `broker_port`."""
        proxy = Proxy(self, port, broker_port)
        self.do(proxy.listen())
        self._proxies.append(proxy)
        return proxy

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Have the thread do this, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_LIMIT_S)

    async def _end(self) -> None:
        for proxy in self._proxies:
            await proxy.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Way:
    """One member's way to the brokers: what is done to it is done to all of its proxies."""

    def __init__(self, proxies: list[Proxy]) -> None:
        self._proxies = proxies

    @property
    def bootstrap(self) -> str:
        """Where the member connects to: host:port, with commas in between."""
        return ",".join(f"127.0.0.1:{proxy.port}" for proxy in self._proxies)

    def open(self) -> None:
        """All is well (again)."""
        for proxy in self._proxies:
            proxy.open()

    def cut(self) -> None:
        """Every connection breaks; new ones are accepted, and break at once."""
        for proxy in self._proxies:
            proxy.cut()

    def stall(self) -> None:
        """Bytes wait until it is open again."""
        for proxy in self._proxies:
            proxy.stall()

    def delay(self, delay_ms: int) -> None:
        """Every piece of data waits for so long."""
        for proxy in self._proxies:
            proxy.delay(delay_ms)


class Proxy:
    """One member's way to one broker."""

    def __init__(self, network: Network, port: int, broker_port: int) -> None:
        self.port = port
        self._network = network
        self._broker_port = broker_port
        self._mode: Literal["open", "cut", "stalled"] = "open"
        self._delay_s = 0.0
        self._flows = asyncio.Event()
        self._flows.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def open(self) -> None:
        """All is well (again)."""
        self._network.do(self._set("open", 0.0))

    def cut(self) -> None:
        """Every connection breaks; new ones are accepted, and break at once."""
        self._network.do(self._set("cut", 0.0))

    def stall(self) -> None:
        """Bytes wait here until it is open again."""
        self._network.do(self._set("stalled", 0.0))

    def delay(self, delay_ms: int) -> None:
        """Every piece of data waits here for so long."""
        self._network.do(self._set("open", delay_ms / 1000))

    async def listen(self) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def close(self) -> None:
        """End all of them."""
        if self._server is not None:
            self._server.close()
        self._break_all()

    async def _set(self, mode: Literal["open", "cut", "stalled"], delay_s: float) -> None:
        self._mode, self._delay_s = mode, delay_s
        if mode == "cut":
            self._break_all()
        if mode == "stalled":
            self._flows.clear()
        else:
            self._flows.set()

    def _break_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode == "cut":
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._broker_port)
        except OSError:  # the broker is down
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
        finally:
            for one in (writer, back):
                one.transport.abort()
                self._writers.discard(one)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Bytes in one direction, until either end is gone; then the other direction ends, too."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._flows.wait()
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

"""Hundreds of groups at once on a real broker: a request for each of them, then all answers that come, and so on.

Every request has a connection of its own, so that one that waits holds up nobody. That a request is not answered is
known when later ones are: a broker with one thread for its requests takes them in the order in which they arrive.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.differential.drawing import Draws
from groupspec.conformance.differential.history import History, Move
from groupspec.conformance.differential.reference import next_sent
from groupspec.impl.coordinator.context import GroupResponse
from groupspec.impl.core import messages
from groupspec.impl.network.codec import api_of, decode_response, encode_request
from groupspec.impl.network.frames import FrameReader, framed

ONE_AFTER_THE_OTHER: Final = {
    "num.network.threads": "1",
    "num.io.threads": "1",
    "group.coordinator.threads": "1",
    "group.coordinator.append.linger.ms": "0",
}
"""Settings of a broker that takes requests in the order in which they arrive."""
_STRANGER: Final = messages.HeartbeatRequest("nobody's", 1, "nobody", None)
_PROBES: Final = 3
_AT_ONCE: Final = 30
_QUIET_S: Final = 0.01
_ANSWER_S: Final = 30.0


@dataclass(eq=False)
class _Line:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    frames: FrameReader = field(default_factory=FrameReader)

    def write(self, data: bytes) -> None:
        """Send a request."""
        self.writer.write(framed(data))

    async def read(self) -> bytes:
        """The answer, however late. Raises ConnectionError if the broker closes the connection."""
        while True:
            received = await self.reader.read(65_536)
            if not received:
                raise ConnectionError("the broker has closed the connection")
            for frame in self.frames.feed(received):
                return frame


@dataclass(eq=False)
class WireGroup:
    """One group on the broker, and what draws its requests."""

    drawer: Draws
    history: History = field(default_factory=History)
    waiting: set[asyncio.Task[None]] = field(default_factory=set)


class Wire:
    """The brokers' other side, on `ports` of a host: node 1, 2, ... Times are milliseconds since it was made.

    `quiet_s`: how long it is waited after each turn for answers that nothing else tells of.
    """

    def __init__(self, *ports: int, host: str = "127.0.0.1", quiet_s: float = _QUIET_S) -> None:
        self._ports = ports
        self._host = host
        self._quiet_s = quiet_s
        self._idle: list[list[_Line]] = [[] for _ in ports]
        self._all: list[_Line] = []
        self._probes: list[_Line] = []
        self._coordinator = 1
        self._began_s = time.monotonic()

    async def run(self, groups: Sequence[WireGroup], steps: int, step_ms: int) -> None:
        """So many requests for each group, one in each turn, every `step_ms`; 0: as fast as it goes."""
        if not self._probes:
            self._probes = [await self._line(node) for node in range(1, len(self._ports) + 1)]
        began_ms = self._now_ms()
        for turn in range(1, steps + 1):
            if step_ms:
                await asyncio.sleep(max(began_ms + turn * step_ms - self._now_ms(), 0) / 1_000)
            for first in range(0, len(groups), _AT_ONCE):
                some = groups[first : first + _AT_ONCE]
                for group in some:
                    await self._send(group)
                await self._quiet(some)

    async def moved(self, groups: Sequence[WireGroup], node: int) -> None:
        """All groups have moved to this node, while no request was under way that is answered at once."""
        self._coordinator = node
        await self._quiet([])
        for group in groups:
            group.history.moves.append(Move(len(group.history.sent), self._now_ms(), node))

    async def finish(self, groups: Sequence[WireGroup], last_ms: int) -> None:
        """Wait for answers until `last_ms` have passed; what is unanswered then never is."""
        await asyncio.sleep(last_ms / 1_000)
        for group in groups:
            group.history.ends_at_ms = self._now_ms()
            for task in list(group.waiting):
                task.cancel()
        await asyncio.gather(*(task for group in groups for task in group.waiting), return_exceptions=True)

    async def close(self) -> None:
        """End all connections."""
        for line in self._all:
            line.writer.close()
        for line in self._all:
            with contextlib.suppress(OSError):
                await line.writer.wait_closed()

    async def _send(self, group: WireGroup) -> None:
        sent = next_sent(group.drawer, self._now_ms(), self._coordinator)
        idle = self._idle[sent.node - 1]
        line = idle.pop() if idle else await self._line(sent.node)
        group.history.sent.append(sent)
        line.write(encode_request(sent.request, sent.caller.version, sent.handle, sent.caller.client_id))

        async def answered() -> None:
            frame = await line.read()
            response = decode_response(api_of(sent.request), sent.caller.version, frame)[1]
            assert isinstance(response, GroupResponse)
            group.history.answer(sent.handle, response, self._now_ms())
            group.drawer.learn(sent.handle, response)
            idle.append(line)

        task = asyncio.get_running_loop().create_task(answered())
        group.waiting.add(task)
        task.add_done_callback(group.waiting.discard)

    async def _quiet(self, groups: Sequence[WireGroup]) -> None:
        """What the brokers answer by themselves has been answered; when each group's last request had been handled."""
        for _ in range(_PROBES):
            await self._probe()
        handled_by_ms = self._now_ms()
        for group in groups:
            handle = group.history.sent[-1].handle
            group.history.handled_by_ms[handle] = group.history.answered_at_ms.get(handle, handled_by_ms)
        await asyncio.sleep(self._quiet_s)
        await self._probe()
        for task in [task for group in groups for task in group.waiting if task.done()]:
            task.result()

    async def _probe(self) -> None:
        for probe in self._probes:
            probe.write(encode_request(_STRANGER, 4, 1, "probe"))
            await asyncio.wait_for(probe.read(), _ANSWER_S)

    async def _line(self, node: int) -> _Line:
        line = _Line(*await asyncio.open_connection(self._host, self._ports[node - 1]))
        self._all.append(line)
        return line

    def _now_ms(self) -> int:
        return int((time.monotonic() - self._began_s) * 1_000)

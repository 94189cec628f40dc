"""The reference's harness as a thread of this process, in the place of `HarnessProcess`."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Iterator, Sequence

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.harness_process import MAX_EVENTS_PER_SECOND, Ending
from groupspec.conformance.wire.harnesses.base import Sink, stamped
from groupspec.conformance.wire.harnesses.reference_client import Reference
from groupspec.conformance.wire.log import Log, now_us
from groupspec.impl.threads.designs import Design


class HarnessThread:
    """A running harness. Use as a context manager. What `HarnessProcess` has, as far as a run asks for it."""

    pid = 0

    def __init__(self, _: Sequence[str], log: Log, design: Design) -> None:
        self._log = log
        self._design: Design = design
        self._said: list[str] = []
        self._commands: queue.Queue[protocol.AnyCommand] = queue.Queue()
        self._second_us, self._events_in_second = 0, 0
        self.ending: Ending | None = None
        threading.Thread(target=self._run, name="harness").start()

    def __enter__(self) -> HarnessThread:
        return self

    def __exit__(self, *_: object) -> None:
        """It goes with the process."""

    def send(self, command: protocol.AnyCommand) -> None:
        """One command."""
        self._log.note("command", protocol.encode(command).decode())
        self._commands.put(command)

    def stderr_tail(self) -> str:
        """What ended it, if something did."""
        return "\n".join(self._said)

    def say(self, event: protocol.Event) -> None:
        """An event of the harness, as the kit would read it."""
        line = protocol.encode(stamped(event))
        told = protocol.decode_event(line)
        self._log.append(Entry(told.at_us or now_us(), "client", protocol.name_of(type(told)), line.decode(), told))
        self._count()

    def _run(self) -> None:
        code = 1
        try:
            code = _Here(self, self._commands, self._design).run()
        except Flood as flood:
            self.ending = Ending(None, str(flood))
        except Exception:
            self._said.append(traceback.format_exc())
        self.ending = self.ending or Ending(code)
        self._log.note("client_ended", self.ending.describe())
        self._log.end(self.ending.describe())

    def _count(self) -> None:
        """A flood ends the run, as that of a process does."""
        if now_us() - self._second_us >= 1_000_000:
            self._second_us, self._events_in_second = now_us(), 0
        self._events_in_second += 1
        if self._events_in_second > MAX_EVENTS_PER_SECOND:
            raise Flood(f"more than {MAX_EVENTS_PER_SECOND} events within a second")


class _Here(Reference):
    """The reference's harness, whose commands come from a queue."""

    def __init__(self, output: Sink, commands: queue.Queue[protocol.AnyCommand], design: Design) -> None:
        super().__init__(output)
        self.driver = design
        self._given = commands

    def commands(self) -> Iterator[protocol.AnyCommand]:
        while True:
            yield self._given.get()


class Flood(BaseException):
    """The harness says more than a kit could read."""

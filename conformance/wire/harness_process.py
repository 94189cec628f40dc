"""One harness in its own process: started, spoken to, listened to, and always ended, even when the kit is killed.

Whatever the harness does, the kit goes on: a crash, a hang, a flood of output, a line that is not JSON each become a
reason in the log. The process leads a process group of its own, so that what it started is ended with it; the group is
addressed by the process's id, never by name.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.conformance import tied
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.log import Log, now_us

MAX_LINE_BYTES: Final = 256 * 1024
MAX_BYTES_PER_SECOND: Final = 4 * 1024 * 1024
MAX_EVENTS_PER_SECOND: Final = 5_000
STDERR_LINES_KEPT: Final = 40
EXIT_WAIT_S: Final = 2.0


@dataclass(frozen=True)
class Ending:
    """How the process ended. `broken` says how it broke the harness protocol, "" if it did not."""

    exit_code: int | None
    broken: str = ""

    def describe(self) -> str:
        """For a verdict's reason."""
        if self.broken:
            return f"the harness broke its protocol: {self.broken}"
        if self.exit_code is None:
            return "the client's process closed its output and did not end"
        if self.exit_code < 0:
            return f"the client's process was ended by {signal.Signals(-self.exit_code).name}"
        return f"the client's process ended with exit code {self.exit_code}"


class HarnessProcess:
    """A running harness. Use as a context manager; leaving it ends the process."""

    def __init__(self, command: Sequence[str], log: Log, events_per_second: int = MAX_EVENTS_PER_SECOND) -> None:
        """Start it. More events than that in a second break the protocol.

        Raises:
            OSError: the command cannot be started.
        """
        self._log = log
        self._events_per_second = events_per_second
        self._started_us = now_us()
        pipe = subprocess.PIPE
        self._process = tied.start(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self._broken = ""
        self._bytes_in_second = self._events_in_second = 0
        self._second = 0.0
        self.ending: Ending | None = None
        name = f"harness-{self._process.pid}"
        self._stderr_reader = threading.Thread(target=self._read_stderr, daemon=True, name=f"{name}-stderr")
        self._reader = threading.Thread(target=self._read, daemon=True, name=name)
        self._stderr_reader.start()
        self._reader.start()

    def __enter__(self) -> HarnessProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The process's id, which is also its group's."""
        return self._process.pid

    def send(self, command: protocol.AnyCommand) -> None:
        """Write one command; a harness that is gone is noticed by the reader, not here."""
        self.send_line(protocol.encode(command))

    def send_line(self, line: bytes) -> None:
        """Write a line as it is."""
        self._log.note("command", line.decode())
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def end_input(self) -> None:
        """Close its stdin, as the kit's death would."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def stderr_tail(self) -> str:
        """The last lines of its stderr."""
        return "\n".join(self._stderr)

    def kill(self) -> None:
        """End the process and everything that it started, and wait for it."""
        tied.end(self._process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_WAIT_S)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        for reader, stream in ((self._reader, self._process.stdout), (self._stderr_reader, self._process.stderr)):
            reader.join(EXIT_WAIT_S)
            if stream is not None and not reader.is_alive():  # else somebody who left the group has the pipe
                stream.close()

    # Reading, in threads of their own ---------------------------------------------------------------------------------

    def _read(self) -> None:
        """Takes events from stdout until it ends, or the harness breaks the protocol."""
        assert self._process.stdout is not None
        while not self._broken and (line := self._process.stdout.readline(MAX_LINE_BYTES)):
            self._count(len(line))
            if len(line) == MAX_LINE_BYTES:
                self._broken = f"a line of more than {MAX_LINE_BYTES} bytes on stdout"
            elif line.endswith(b"\n") and line.strip():
                self._take_event(line[:-1])
        if self._broken:
            tied.end(self._process)
        exit_code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            exit_code = self._process.wait(EXIT_WAIT_S)
        self._stderr_reader.join(EXIT_WAIT_S)
        self.ending = Ending(exit_code, self._broken)
        self._log.note("client_ended", self.ending.describe())
        self._log.end(self.ending.describe())

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(MAX_LINE_BYTES):
            self._stderr.append(line.decode(errors="replace").rstrip("\n")[:1000])

    def _take_event(self, line: bytes) -> None:
        try:
            event = protocol.decode_event(line)
        except protocol.BrokenLine as problem:
            self._broken = f"not an event: {problem}"
            return
        at_us = now_us()
        if event.at_us is not None and self._started_us <= event.at_us <= at_us:
            at_us = event.at_us
        name = protocol.name_of(type(event))
        self._log.append(Entry(at_us, "client", name, line.decode(errors="replace"), event=event))

    def _count(self, new_bytes: int) -> None:
        """A flood ends the run: nothing could be judged from it, and memory is finite."""
        if time.monotonic() - self._second >= 1.0:
            self._second = time.monotonic()
            self._bytes_in_second = self._events_in_second = 0
        self._bytes_in_second += new_bytes
        self._events_in_second += 1
        if self._bytes_in_second > MAX_BYTES_PER_SECOND:
            self._broken = f"stdout was flooded: more than {MAX_BYTES_PER_SECOND} bytes within a second"
        elif self._events_in_second > self._events_per_second:
            self._broken = f"stdout was flooded: more than {self._events_per_second} lines within a second"

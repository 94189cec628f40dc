"""Writes the trace events of a member as NDJSON lines.

Whoever records (the reference through its `trace` hook, the wire kit from its broker's log) hands over events that have
the fields of `TraceEvent`; the recorder adds the run and the source. Calls must not overlap: the caller holds a lock
if events come from several threads.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, Self
from uuid import uuid4

import msgspec

from groupspec.conformance.traces.schema import SourceName, TraceLine
from groupspec.impl.trace import TraceEvent

_ENCODER: Final = msgspec.json.Encoder()


class Recorder:
    """Turns events of one run into lines.

    A client id that starts a second time while the recorder lives (its `config` event comes again) goes on counting
    where it had stopped. `process` tells apart what recorders in several processes write under one client id (see
    `schema`).
    """

    def __init__(self, run: str, source: SourceName, write: Callable[[bytes], object], process: str = "") -> None:
        self.run = run
        self.process = process
        self.source = source
        self._write = write
        self._first: dict[tuple[str, str], int] = {}
        self._next: dict[tuple[str, str], int] = {}

    def __call__(self, event: TraceEvent) -> None:
        """Writes one line, in one piece.

        Raises:
            msgspec.ValidationError: the event breaks the schema; nothing was written.
        """
        self._write(_ENCODER.encode(self.line(event)) + b"\n")

    def line(self, event: TraceEvent) -> TraceLine:
        """The event as a line of the schema; counts it as recorded."""
        member = (event.group, event.member)
        if event.event == "config":
            self._first[member] = self._next.get(member, 0)
        seq = self._first.get(member, 0) + event.seq
        self._next[member] = seq + 1
        fields = msgspec.structs.asdict(event)
        fields |= {"v": 1, "run": self.run, "seq": seq, "source": self.source, "process": self.process}
        detail = fields.pop("detail")
        if detail:
            fields["detail"] = msgspec.Raw(_ENCODER.encode(detail))
        return msgspec.convert(fields, TraceLine)


def this_process() -> str:
    """A name that no other recorder has: host, process, and a number drawn now, since process ids come again."""
    return f"{platform.node()}:{os.getpid()}:{uuid4().hex[:8]}"


class FileRecorder:
    """A recorder that writes a file, or goes on with one; use it in a `with` block.

    Each line is flushed, so that a process that is killed loses at most the line it was writing.
    """

    def __init__(self, file: Path, run: str, source: SourceName, process: str | None = None) -> None:
        self._file: BinaryIO = file.open("ab")
        self.record = Recorder(run, source, self._write, this_process() if process is None else process)

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.close()

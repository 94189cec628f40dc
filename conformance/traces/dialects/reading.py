"""From paths to events: find the log files, decode them, name their dialect, parse what is supported.

A folder stands for every file in it, since rotated logs lie side by side. Text is UTF-8, or UTF-16 with its mark; bytes
that are not valid are shown as escapes and never stop the reading. Compressed logs (.gz) are read as they are.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces.dialects import DIALECTS
from groupspec.conformance.traces.dialects.base import Clock, Dialect, LogEvent, ParsedLog

_SAMPLE_LINES: Final = 5000
_LEAST_SCORE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that gave no events, and why: a dialect that is known and not supported, or nothing we know."""

    file: str
    dialect: str
    why: str


@dataclass(slots=True)
class Logs:
    """Everything that was read: the accounts of the files, those left out, and all events in the order of time."""

    parsed: dict[str, ParsedLog] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    events: list[LogEvent] = field(default_factory=list)

    def groups(self) -> dict[str, int]:
        """Each group that the logs name, with its number of events."""
        counted: dict[str, int] = {}
        for event in self.events:
            if event.group:
                counted[event.group] = counted.get(event.group, 0) + 1
        return counted


def read_logs(paths: Sequence[Path], clock: Clock) -> Logs:
    """Read every file in `paths`; folders stand for the files in them, a file named twice is read once.

    Raises:
        UsageProblem: a path does not exist or cannot be read, or none of the files is a log that we can use.
    """
    logs = Logs()
    for file in _files(paths):
        _read_one(file, clock, logs)
    if not logs.parsed:
        raise UsageProblem(
            "none of the files is a log that can be explained",
            where="; ".join(f"{left.file}: {left.why}" for left in logs.skipped),
            allowed=supported(),
            next_step="pass the log of the broker that coordinates the group",
        )
    # Stable: lines of one file keep their order where the clock shows the same millisecond, or went back.
    logs.events.sort(key=lambda event: event.at_ms)
    return logs


def supported() -> list[str]:
    """The dialects that can be explained."""
    return [dialect.name for dialect in DIALECTS if dialect.parse("", (), Clock()) is not None]


def recognise(lines: Sequence[str]) -> Dialect | None:
    """The dialect that most of the lines look like; None when they look like none of those known."""
    scores = [(dialect.sniff(lines), dialect) for dialect in DIALECTS]
    best, dialect = max(scores, key=lambda scored: scored[0])
    return dialect if best >= _LEAST_SCORE else None


def _files(paths: Sequence[Path]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise UsageProblem("there is no such file or folder", where=str(path), next_step="check the path")
        inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        if not inside:
            raise UsageProblem("the folder has no files", where=str(path), next_step="pass the log file itself")
        for file in inside:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _read_one(file: Path, clock: Clock, logs: Logs) -> None:
    name = str(file)
    try:
        with _opened(file) as lines:
            sample = list(islice(lines, _SAMPLE_LINES))
            if not any(line.strip() for line in sample):
                logs.skipped.append(Skipped(name, "", "the file is empty"))
                return
            dialect = recognise(sample)
            if dialect is None:
                logs.skipped.append(Skipped(name, "", "not a log of a kind that is known"))
                return
            parsed = dialect.parse(name, _chain(sample, lines), clock)
    except NotTextError as problem:
        logs.skipped.append(Skipped(name, "", str(problem)))
        return
    except (OSError, EOFError, zlib.error) as problem:
        raise UsageProblem(
            f"cannot read the log: {problem}",
            where=name,
            next_step="check permissions, or unpack the file and look at it",
        ) from problem
    if parsed is None:
        logs.skipped.append(Skipped(name, dialect.name, f"recognised as {dialect.name}; not supported yet"))
        return
    logs.parsed[name] = parsed
    logs.events.extend(parsed.events)


def _chain(sample: list[str], rest: Iterator[str]) -> Iterator[str]:
    yield from sample
    yield from rest


class NotTextError(Exception):
    """The file's first bytes are not text."""


@contextmanager
def _opened(file: Path) -> Iterator[Iterator[str]]:
    """The file's lines, decoded and unpacked."""
    with file.open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        with gzip.open(raw) if packed else raw as stream:
            head = stream.peek(4096)[:4096]
            yield iter(io.TextIOWrapper(stream, encoding=_encoding(head), errors="backslashreplace"))


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head:
        raise NotTextError(
            "not a text file (it has zero bytes); UTF-16 without its mark must be converted to UTF-8 first"
        )
    return "utf-8-sig"

"""From paths to events: find the log files, decode them, name their dialect, parse what is supported.

A folder stands for every file in it, since rotated logs lie side by side. Text is UTF-8, or UTF-16 with its mark; bytes
that are not valid are shown as escapes and never stop the reading. Logs packed by gzip are read as they are; other
packings are named and refused. A path `-` is standard input.

The same lines often come twice: a copy beside its .gz, `kubectl logs` again, two collectors, one file behind itself in
a stream. A line of the group with the same time and message that another file holds too, or the same file before its
times went back, counts once. Else two equal lines are two.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from groupspec.conformance.errors import InconclusiveProblem, UsageProblem
from groupspec.conformance.outside import MOST_TIMES, lines_of, too_many_times
from groupspec.conformance.traces.dialects import DIALECTS
from groupspec.conformance.traces.dialects.base import Dialect, LogEvent, ParsedLog
from groupspec.conformance.traces.dialects.times import Clock

_SAMPLE_LINES: Final = 5000
_SAMPLE_CHARACTERS: Final = 16 * 1024 * 1024
_MIN_SCORE: Final = 0.05
_LINES_BETWEEN_WORDS: Final = 10_000
_MIB: Final = 1 << 20
_EMPTY: Final = "the file is empty"
UNKNOWN: Final = "not a log of a kind that is known"
_JSON_LAYOUTS: Final = {
    re.compile(r"\s*\[\s*(?:\{|$)"): "a JSON array; of JSON one object a line is read: jq -c '.[]' FILE",
    re.compile(r"\s*\{\s*$"): "JSON objects over several lines; one object a line is read: jq -c . FILE",
}
"""How the first line begins, and what is to be done."""
_NO_TIME: Final = (
    "no date and time that can be read, and without them there is no order: Kafka's own layout `[%d] %p %m (%c)%n` "
    "prints both, or let the collector put its time stamp in front"
)
STANDARD_INPUT: Final = Path("-")
_GZIP: Final = b"\x1f\x8b"
_OTHER_PACKINGS: Final = {
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd FILE"),
    b"BZh": ("bzip2", "bunzip2 FILE"),
    b"\xfd7zXZ\x00": ("xz", "unxz FILE"),
    b"\x04\x22\x4d\x18": ("lz4", "unlz4 FILE"),
    b"PK\x03\x04": ("zip", "unzip FILE"),
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that gave no events, and why: a dialect that is known and not supported, or nothing we know."""

    file: str
    dialect: str
    why: str
    unreadable: bool = False
    """Whether the file could not be read, so that it may be a log of the coordinator."""


@dataclass(slots=True)
class Logs:
    """Everything that was read.

    The accounts of the files, those left out, and the group's events in the order of time. `repeated` lines of the
    group were found a second time, and count once.
    """

    parsed: dict[str, ParsedLog] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    events: list[LogEvent] = field(default_factory=list)
    repeated: int = 0

    def groups(self) -> Counter[str]:
        """Each group that the logs name, with its number of events."""
        return sum((parsed.groups for parsed in self.parsed.values()), Counter())

    def doubts(self) -> list[str]:
        """Why the logs may not have told everything about the group; nothing: they have."""
        doubts = []
        untimed = sum(parsed.without_time for parsed in self.parsed.values())
        if untimed:
            doubts.append(f"{untimed} coordinator line(s) that may concern the group have {_NO_TIME}")
        unread = sum(parsed.in_doubt for parsed in self.parsed.values()) - untimed
        if unread:
            doubts.append(f"{unread} coordinator line(s) that may concern the group were not understood")
        doubts += [f"{file} ends early: {parsed.cut_off}" for file, parsed in self.parsed.items() if parsed.cut_off]
        return doubts + [f"{left.file}: {left.why}" for left in self.skipped if left.unreadable]


def log_files(paths: Sequence[Path]) -> list[Path]:
    """The files that `paths` stand for: folders for the files in them, a file named twice once; `-` stays what it is.

    Raises:
        UsageProblem: a path does not exist, or a folder is empty.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if path == STANDARD_INPUT:
            found[path] = path
            continue
        if not path.exists():
            raise UsageProblem(
                "there is no such file or folder", where=str(path), next_step="check the path; - is standard input"
            )
        inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        if not inside:
            raise UsageProblem("the folder has no files", where=str(path), next_step="pass the log file itself")
        for file in inside:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def size_bytes(files: Iterable[Path]) -> int:
    """How much there is to read, as it lies on the disk; of standard input and pipes nobody knows."""
    return sum(file.stat().st_size for file in files if file != STANDARD_INPUT)


def read_logs(
    files: Sequence[Path],
    clock: Clock,
    group: str | None = None,
    megabytes_read: Callable[[int], None] = lambda _: None,
) -> Logs:
    """Read every file; a broker's log is kept only as far as it concerns the group (None: all groups).

    `megabytes_read` is told of each MiB of a file (as it lies on the disk) that is done.

    Raises:
        UsageProblem: none of the files is a log that we can use.
        InconclusiveProblem: the same, but one is empty: a log that was rotated just now.
    """
    logs = Logs()
    for file in files:
        _read_one(file, clock, group, logs, megabytes_read)
    if not logs.parsed:
        just_rotated = any(left.why == _EMPTY for left in logs.skipped)
        raise (InconclusiveProblem if just_rotated else UsageProblem)(
            "a log is empty, and there is no other that can be explained"
            if just_rotated
            else "none of the files is a log that can be explained",
            where="; ".join(f"{left.file}: {left.why}" for left in logs.skipped),
            allowed=supported(),
            next_step="pass the log of the broker that coordinates the group",
        )
    logs.events, logs.repeated = _merged([parsed.events for parsed in logs.parsed.values()])
    return logs


def _merged(by_file: Collection[list[LogEvent]]) -> tuple[list[LogEvent], int]:
    """The events of all files in the order of time, each once, and how many were found a second time.

    What is a copy is told by time, broker and message: what stands around the message depends on the collector. It may
    be in another file, or behind a step back in time (`cat a.log a.log`).
    """
    merged: list[LogEvent] = []
    kept: Counter[tuple[int, str, str]] = Counter()
    # The file that begins first, and of copies the fullest: lines of one millisecond then keep the order of the log.
    for events in sorted(filter(None, by_file), key=lambda events: (events[0].at_ms, -len(events))):
        here: Counter[tuple[int, str, str]] = Counter()
        before_ms = events[0].at_ms
        for event in events:
            if event.at_ms < before_ms:
                here.clear()
            before_ms = event.at_ms
            line = event.at_ms, event.source, event.place.text
            here[line] += 1
            if here[line] > kept[line]:
                kept[line] += 1
                merged.append(event)
    # Stable: lines of one file keep their order where the clock shows the same millisecond, or went back.
    merged.sort(key=lambda event: event.at_ms)
    return merged, sum(map(len, by_file)) - len(merged)


def supported() -> list[str]:
    """The dialects that can be explained."""
    return [dialect.name for dialect in DIALECTS if dialect.parse("", (), Clock()) is not None]


def recognise(lines: Sequence[str]) -> Dialect | None:
    """The dialect that most of the lines look like; None when they look like none of those known."""
    scores = [(dialect.sniff(lines), dialect) for dialect in DIALECTS]
    best, dialect = max(scores, key=lambda scored: scored[0])
    return dialect if best >= _MIN_SCORE else None


def _read_one(file: Path, clock: Clock, group: str | None, logs: Logs, megabytes_read: Callable[[int], None]) -> None:
    name = "(standard input)" if file == STANDARD_INPUT else str(file)
    faults: list[str] = []
    try:
        written = datetime.now(UTC) if file == STANDARD_INPUT else datetime.fromtimestamp(file.stat().st_mtime, UTC)
        with _opened(file, faults, megabytes_read) as lines:
            sample = list(_sample(lines))
            if not any(line.strip() for line in sample):
                logs.skipped.append(Skipped(name, "", faults[0] if faults else _EMPTY, bool(faults)))
                return
            dialect = recognise(sample)
            if dialect is None:
                logs.skipped.append(Skipped(name, "", UNKNOWN))
                return
            if layout := _unread_json(sample):
                logs.skipped.append(Skipped(name, dialect.name, layout, unreadable=True))
                return
            parsed = dialect.parse(name, chain(sample, lines), replace(clock, latest=written), group)
    except NotTextError as problem:
        logs.skipped.append(Skipped(name, "", str(problem), unreadable=isinstance(problem, OtherPackingError)))
        return
    except OSError as problem:
        logs.skipped.append(Skipped(name, "", f"cannot be read: {problem.strerror or problem}", unreadable=True))
        return
    if parsed is None:
        why = f"recognised as {dialect.name}; not used here: `groupspec explain` reads single lines"
        logs.skipped.append(Skipped(name, dialect.name, why))
        return
    parsed.cut_off = "; ".join(faults)
    logs.parsed[name] = parsed


def _sample(lines: Iterator[str]) -> Iterator[str]:
    """The first lines; fewer of long ones, as they are all held at once."""
    left = _SAMPLE_CHARACTERS
    for line in islice(lines, _SAMPLE_LINES):
        yield line
        left -= len(line)
        if left < 0:
            return


def _unread_json(lines: Sequence[str]) -> str:
    """What is to be done if these are lines of JSON, and not an object each; "": they are not."""
    begin = next(filter(str.strip, lines))
    return next((what for form, what in _JSON_LAYOUTS.items() if form.match(begin)), "")


class NotTextError(Exception):
    """The file's first bytes are not text."""


class OtherPackingError(NotTextError):
    """The file is packed, and not by gzip: it may be a log."""


@contextmanager
def _opened(file: Path, faults: list[str], megabytes_read: Callable[[int], None]) -> Iterator[Iterator[str]]:
    """The file's lines, decoded and unpacked; what ends them early goes to `faults`."""
    with open(0, "rb", closefd=False) if file == STANDARD_INPUT else file.open("rb") as raw:
        begin = raw.peek(8)
        for mark, (packing, unpack) in _OTHER_PACKINGS.items():
            if begin.startswith(mark):
                raise OtherPackingError(f"packed by {packing}, and only gzip is read; unpack it first: {unpack}")
        with gzip.open(raw) if begin.startswith(_GZIP) else raw as stream:
            try:
                head = stream.peek(4096)[:4096]
            except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
                faults.append(f"cannot be unpacked: {problem}")
                yield iter(())
                return
            text = io.TextIOWrapper(stream, encoding=_encoding(head), errors="backslashreplace")
            yield _watched(text, raw, faults, megabytes_read)


def _watched(text: TextIO, raw: BinaryIO, faults: list[str], megabytes_read: Callable[[int], None]) -> Iterator[str]:
    """The lines, with a word every MiB; a truncated archive gives those before the break."""
    told = characters = looked = 0
    sized = raw.seekable()
    try:
        for number, line in enumerate(lines_of(text)):
            characters += len(line)
            if sized and (number % _LINES_BETWEEN_WORDS == 0 or characters - looked > _MIB):
                looked = characters
                now = raw.tell() // _MIB
                megabytes_read(now - told)
                told = now
                if too_many_times(raw.tell(), characters):
                    faults.append(f"more than {MOST_TIMES} times the file's size comes out of it: no log")
                    return
            yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        faults.append(str(problem))


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head:
        raise NotTextError(
            "not a text file (it has zero bytes); UTF-16 without its mark must be converted to UTF-8 first"
        )
    return "utf-8-sig"

"""Reading traces: files are cut into chunks, chunks become Arrow tables of events and lists of quarantined lines.

A chunk is a range of bytes of an NDJSON file, and owns the lines that *begin* in it; so chunks can be read by anybody
in any order, and a file gives the same events however it was cut. Small chunks are packed together, since each table
costs something; a gzip file is one chunk, for it can only be read from its start, and becomes several tables. Both
engines, the local one and Spark, read through here. A reader knows the numbers of lines within its chunk only;
`numbered` adds what lies before.

Lines are decoded one by one: all lines of a chunk in one call (msgspec's `decode_lines`) are no faster once each has
been checked to be one object on one line. Arrow's JSON reader is not used: it is no faster either once its result has
been validated, it reads objects that stand on two lines or share one, and some bad input crashes it.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from groupspec.conformance.outside import MOST_LINE_BYTES, lines_of
from groupspec.conformance.traces.gunzip import unpacked_lines
from groupspec.conformance.traces.inputs import Input, Kind, LeftOut, find_files
from groupspec.conformance.traces.parquet import ARROW_SCHEMA, opened, rows_as_lines
from groupspec.conformance.traces.quarantine import BadLine, Quarantined, excerpt, parse_line
from groupspec.conformance.traces.schema import EVENT_CODES, TraceLine

CHUNK_BYTES: Final = 16 * 1024 * 1024
_ROW_WEIGHT: Final = 256
_MIN_TASK_BYTES: Final = 1024 * 1024
# What a compressed byte weighs when files are packed into tasks; our traces shrink 10 to 20 times.
_GZIP_RATIO: Final = 8

Progress = Callable[[str, int, int], None]
"""Called with (what is done, how many, of how many) while work goes on: ("read", 3, 16)."""


class Chunk(msgspec.Struct, frozen=True, order=True):
    """Part of a file: bytes [start, end) of NDJSON, all of a gzip file, or row groups [start, end) of Parquet.

    `weight`: about how many bytes of NDJSON it holds.
    """

    path: str
    kind: Kind
    start: int
    end: int
    weight: int


class ChunkReport(msgspec.Struct):
    """What became of the lines of a chunk, or of a part of one.

    path         the file
    start        where in the file the chunk begins; only the order means something
    part         which part of the chunk it is
    lines        all lines that begin in it
    blank        those of them that hold nothing
    quarantined  the lines that are no events, numbered from 1 for the part's first
    """

    path: str
    start: int
    part: int = 0
    lines: int = 0
    blank: int = 0
    quarantined: list[Quarantined] = []

    def quarantine(self, problem: BadLine, line: bytes) -> None:
        """The last line is no event."""
        self.quarantined.append(Quarantined(self.path, self.lines, problem.reason, problem.problem, excerpt(line)))


class Parsed(msgspec.Struct, frozen=True):
    """What chunks held: events, and a report of each."""

    events: pa.Table
    reports: list[ChunkReport]


class Plan(msgspec.Struct, frozen=True):
    """What is to be read, as tasks of about the same size, and what lies beside it."""

    tasks: list[list[Chunk]]
    left_out: list[LeftOut]


def no_progress(what: str, done: int, of: int) -> None:
    """Reports no progress."""


def numbered(reports: Iterable[ChunkReport]) -> list[Quarantined]:
    """The quarantined lines of all chunks, numbered from 1 for their file's first line.

    Needs the reports of whole files.
    """
    found: list[Quarantined] = []
    before: dict[str, int] = {}
    for report in sorted(reports, key=attrgetter("path", "start", "part")):
        first = before.get(report.path, 0)
        found += (msgspec.structs.replace(line, line=first + line.line) for line in report.quarantined)
        before[report.path] = first + report.lines
    return sorted(found)


# How files are cut, and chunks packed


def plan_all(paths: Sequence[Path], tasks: int = 0) -> Plan:
    """All trace files under these paths, cut and packed into at least so many tasks, if they are not tiny."""
    found = find_files(paths)
    chunks = plan(found.files)
    share = sum(chunk.weight for chunk in chunks) // max(tasks, 1)
    return Plan(pack(chunks, min(CHUNK_BYTES, max(share, _MIN_TASK_BYTES))), found.left_out)


def plan(files: Sequence[Input], chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """All chunks of these files. Raises UsageProblem for a file named .parquet that is none."""
    return [chunk for file in files for chunk in _plan_file(file, chunk_bytes)]


def _plan_file(file: Input, chunk_bytes: int) -> Iterator[Chunk]:
    path = str(file.path)
    if file.kind == "parquet":
        found = opened(file.path)
        for group in range(found.num_row_groups):
            weight = found.metadata.row_group(group).num_rows * _ROW_WEIGHT
            yield Chunk(path, file.kind, group, group + 1, weight)
        return
    size = file.path.stat().st_size
    if file.kind == "gzip":
        yield Chunk(path, file.kind, 0, size, size * _GZIP_RATIO)
        return
    for start in range(0, size, chunk_bytes):
        end = min(start + chunk_bytes, size)
        yield Chunk(path, file.kind, start, end, end - start)


def pack(chunks: Sequence[Chunk], most: int = CHUNK_BYTES) -> list[list[Chunk]]:
    """The chunks in order, so many together that they weigh no more than `most`; one that is heavier stays alone."""
    packs: list[list[Chunk]] = []
    weight = most
    for chunk in chunks:
        if not packs or weight + chunk.weight > most:
            packs.append([])
            weight = 0
        packs[-1].append(chunk)
        weight += chunk.weight
    return packs


# Parsing


def parse(chunks: Iterable[Chunk]) -> Iterator[Parsed]:
    """The events and quarantined lines of these chunks, a few chunks' worth of memory at a time."""
    events: list[TraceLine] = []
    reports: list[ChunkReport] = []
    size = 0
    for chunk in chunks:
        report = ChunkReport(chunk.path, chunk.start)
        reports.append(report)
        for line in _lines(chunk):
            if size >= CHUNK_BYTES:
                yield Parsed(to_table(events), reports)
                report = ChunkReport(chunk.path, chunk.start, report.part + 1)
                events, reports, size = [], [report], 0
            report.lines += 1
            if isinstance(line, BadLine):
                report.quarantine(line, line.line)
                continue
            size += len(line)
            try:
                events.append(parse_line(line))
            except BadLine as problem:
                if line.strip():
                    report.quarantine(problem, line)
                else:
                    report.blank += 1
    if reports:
        yield Parsed(to_table(events), reports)


def parse_all(tasks: Sequence[Sequence[Chunk]], progress: Progress = no_progress) -> list[Parsed]:
    """Parses chunks with all processors: Arrow's reader works without Python's lock."""
    parsed: list[Parsed] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, parts in enumerate(pool.map(lambda task: list(parse(task)), tasks), start=1):
            parsed += parts
            progress("read", done, len(tasks))
    return parsed


def _lines(chunk: Chunk) -> Iterator[bytes | BadLine]:
    """All lines that begin inside the chunk; what is known not to be an event already comes as BadLine."""
    if chunk.kind == "parquet":
        yield from rows_as_lines(Path(chunk.path), chunk.start, chunk.end)
    elif chunk.kind == "gzip":
        mark = codecs.BOM_UTF8
        for unpacked in unpacked_lines(Path(chunk.path)):
            yield unpacked.removeprefix(mark) if isinstance(unpacked, bytes) else BadLine(*unpacked)
            mark = b""
    else:
        with Path(chunk.path).open("rb") as file:
            file.seek(max(chunk.start - 1, 0))
            # The rest of a line that began earlier, just the line end if one begins exactly here; or the first line.
            line = file.readline(MOST_LINE_BYTES)
            if chunk.start == 0:
                yield line.removeprefix(codecs.BOM_UTF8)
            position = file.tell()
            for line in lines_of(file):
                if position >= chunk.end:
                    return
                position += len(line)
                yield line


def to_table(lines: Sequence[TraceLine]) -> pa.Table:
    """Events as an Arrow table of ARROW_SCHEMA."""
    made: dict[str, list[object]] = {
        "event_code": [EVENT_CODES[line.event] for line in lines],
        "detail": [None if line.detail is msgspec.UNSET else _detail_text(line.detail) for line in lines],
    }
    columns = (
        _column(field.type, made.get(field.name) or list(map(attrgetter(field.name), lines))) for field in ARROW_SCHEMA
    )
    return pa.Table.from_arrays(list(columns), schema=ARROW_SCHEMA)


def _column(kind: pa.DataType, values: list[object]) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, type=kind.value_type).dictionary_encode()
    return pa.array(values, type=kind)


def _detail_text(detail: msgspec.Raw) -> str | None:
    text = bytes(detail).decode()
    return None if text == "null" else text

"""Reading traces: files are cut into chunks, chunks become Arrow tables of events and lists of quarantined lines.

A chunk is a range of bytes of an NDJSON file, and owns the lines that *begin* in it; so chunks can be read by anybody
in any order, and a file gives the same events however it was cut. Small chunks are packed together, since each table
costs something; a gzip file is one chunk, for it can only be read from its start, and becomes several tables. Both
engines, the local one and Spark, read through here. A reader knows the numbers of lines within its chunk only;
`numbered` adds what lies before.

Two ways lead to the same events. The fast one decodes and validates all lines of a chunk in one call; it fails if one
line is no event. Then the chunk is halved, until the bad lines are among few, and these are read one by one to find out
what is wrong with each. The test `test_fast_and_exact_agree` holds the two together. (Arrow's JSON reader is not used:
it is no faster once its result has been validated, it reads objects that stand on two lines or share one, and some bad
input crashes it.)
"""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces.arrow_schema import ARROW_SCHEMA
from groupspec.conformance.traces.gunzip import Damage, unpack
from groupspec.conformance.traces.inputs import Input, Kind, LeftOut, find_files, lone_bucket
from groupspec.conformance.traces.quarantine import BadLine, Quarantined, check_detail, excerpt, parse_line
from groupspec.conformance.traces.schema import EVENT_CODES, TraceLine

CHUNK_BYTES: Final = 16 * 1024 * 1024
EXACT_BYTES: Final = 32 * 1024
ROW_GROUP_ROWS: Final = 65_536
BUCKET_KEY: Final = b"groupspec.trace.bucket"
"""In the metadata of a Parquet file: it is a bucket of a layout (see `layout`)."""
_LINES: Final = msgspec.json.Decoder(TraceLine)
_ROW_WEIGHT: Final = 256
_MIN_TASK_BYTES: Final = 1024 * 1024
_GZIP_RATIO: Final = (
    8  # what a compressed byte weighs when files are packed into tasks; our traces shrink 10 to 20 times
)


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


class ChunkReport(msgspec.Struct, frozen=True):
    """What became of the lines of a chunk, or of a part of one.

    path         the file
    start        where in the file it begins; only the order means something
    lines        all lines that begin in it, blank ones too
    quarantined  the lines that are no events, numbered from 1 for the chunk's first
    """

    path: str
    start: int
    lines: int
    quarantined: list[Quarantined]


class Parsed(msgspec.Struct, frozen=True):
    """What chunks held: events, and a report of each. `lines` is the sum of events and quarantined lines."""

    events: pa.Table
    lines: int
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
    for report in sorted(reports, key=lambda report: (report.path, report.start)):
        first = before.get(report.path, 0)
        found += (msgspec.structs.replace(line, line=first + line.line) for line in report.quarantined)
        before[report.path] = first + report.lines
    return sorted(found)


# How files are cut, and chunks packed
# ---------------------------------------------------------------------------------------


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
        opened = parquet_file(file.path)
        for group in range(opened.num_row_groups):
            weight = opened.metadata.row_group(group).num_rows * _ROW_WEIGHT
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


def parquet_file(file: Path) -> pq.ParquetFile:
    """The opened Parquet file, its columns checked. Raises UsageProblem for anything that is no trace table."""
    try:
        opened = pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageProblem(
            what=f"not a readable Parquet file: {error}",
            where=str(file),
            allowed="Parquet files as written by `groupspec trace ingest`",
            next_step="ingest the NDJSON again, or leave this file out",
        ) from error
    missing = [name for name in ARROW_SCHEMA.names if name not in opened.schema_arrow.names]
    if missing:
        raise UsageProblem(
            what=f"a Parquet file that is no trace table: it lacks the columns {', '.join(missing)}",
            where=str(file),
            allowed=f"the columns {', '.join(ARROW_SCHEMA.names)}",
            next_step="ingest the NDJSON with `groupspec trace ingest`",
        )
    if BUCKET_KEY in (opened.schema_arrow.metadata or {}):
        raise lone_bucket(file)
    return opened


# Parsing
# ----------------------------------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """Some whole lines of a chunk.

    `ends_file`: the file ends here; `damage`: because what follows cannot be unpacked.
    """

    data: bytes
    ends_file: bool
    damage: Damage | None = None


def parse(chunks: Iterable[Chunk]) -> Iterator[Parsed]:
    """The events and quarantined lines of these chunks, a few chunks' worth of memory at a time."""
    good: list[list[TraceLine]] = []
    reports: list[ChunkReport] = []
    read = 0
    for chunk in chunks:
        for number, block in enumerate(_blocks(chunk)):
            events, report = _parse_block(chunk, chunk.start + number, block)
            good += events
            reports.append(report)
            read += len(block.data)
            if read >= CHUNK_BYTES:
                yield _parsed(good, reports)
                good, reports, read = [], [], 0
        if chunk.kind == "parquet":
            rows, report = _parse_rows(chunk)
            good.append(rows)
            reports.append(report)
            read += chunk.weight
    if reports:
        yield _parsed(good, reports)


def parse_all(tasks: Sequence[Sequence[Chunk]], progress: Progress = no_progress) -> list[Parsed]:
    """Parses chunks with all processors: Arrow's reader works without Python's lock."""
    parsed: list[Parsed] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, parts in enumerate(pool.map(lambda task: list(parse(task)), tasks), start=1):
            parsed += parts
            progress("read", done, len(tasks))
    return parsed


def _parsed(good: list[list[TraceLine]], reports: list[ChunkReport]) -> Parsed:
    events = [line for lines in good for line in lines]
    return Parsed(to_table(events), len(events) + sum(len(report.quarantined) for report in reports), reports)


def _blocks(chunk: Chunk) -> Iterator[_Block]:
    if chunk.kind == "ndjson":
        yield _read_lines(chunk)
    elif chunk.kind == "gzip":
        yield from _unpack_lines(chunk)


def _read_lines(chunk: Chunk) -> _Block:
    """All lines that begin inside the chunk."""
    with Path(chunk.path).open("rb") as file:
        if chunk.start > 0:
            file.seek(chunk.start - 1)
            file.readline()  # the rest of a line that began earlier; just the line end if one begins exactly here
        start = file.tell()
        if start >= chunk.end:
            return _Block(b"", False)
        data = file.read(chunk.end - start)
        if not data.endswith(b"\n"):
            data += file.readline()
        ends_file = file.tell() == file.seek(0, io.SEEK_END)
    return _Block(data.removeprefix(codecs.BOM_UTF8) if chunk.start == 0 else data, ends_file)


def _unpack_lines(chunk: Chunk) -> Iterator[_Block]:
    """The lines of a gzip file, about as many at a time as a chunk has.

    Last those before the damage, if there is any.
    """
    pieces: list[bytes] = []
    size = 0
    prefix = codecs.BOM_UTF8
    damage: Damage | None = None
    with Path(chunk.path).open("rb") as file:
        for piece in unpack(file):
            if isinstance(piece, Damage):
                damage = piece
                break
            pieces.append(piece)
            size += len(piece)
            if size >= CHUNK_BYTES and b"\n" in piece:
                data = b"".join(pieces)
                end = data.rindex(b"\n") + 1
                yield _Block(data[:end].removeprefix(prefix), False)
                pieces, size, prefix = [data[end:]], len(data) - end, b""
    yield _Block(b"".join(pieces).removeprefix(prefix), True, damage)


class _Lines:
    """A block's lines, and their numbers."""

    def __init__(self, chunk: Chunk, block: _Block) -> None:
        self.path = chunk.path
        self.data, self._ends_file, self.damage = block
        self.good: list[list[TraceLine]] = []
        self.bad: list[Quarantined] = []
        self._counted = (0, 1)  # a position, and the number of the line that begins there

    def number_at(self, position: int) -> int:
        """The number of the line that begins here, from 1. Positions must not decrease: each line is counted once."""
        before, number = self._counted
        self._counted = (position, number + self.data.count(b"\n", before, position))
        return self._counted[1]

    def ends_file(self, position: int) -> bool:
        """Whether the file ends here, in the middle of a line."""
        return self._ends_file and position == len(self.data) and not self.data.endswith(b"\n")

    def quarantine(self, position: int, problem: BadLine, line: bytes) -> None:
        """The line that begins here is no event."""
        number = self.number_at(position)
        self.bad.append(Quarantined(self.path, number, problem.reason, problem.problem, excerpt(line)))


def _parse_block(chunk: Chunk, start: int, block: _Block) -> tuple[list[list[TraceLine]], ChunkReport]:
    lines = _Lines(chunk, block)
    count = block.data.count(b"\n") + (not block.data.endswith(b"\n") and bool(block.data))
    _parse_lines(lines, 0, len(block.data))
    if block.damage is not None and not (lines.bad and lines.bad[-1].reason == block.damage.reason):
        count += 1
        lines.bad.append(Quarantined(chunk.path, count, *block.damage, text=""))
    return lines.good, ChunkReport(chunk.path, start, count, lines.bad)


def _parse_lines(lines: _Lines, start: int, end: int) -> None:
    """Lines [start, end) of a block: fast if that is possible, in halves if not, exactly when few are left."""
    events = decode_all(lines.data[start:end])
    if events is not None:
        lines.good.append(events)
    elif end - start <= EXACT_BYTES or (middle := lines.data.find(b"\n", (start + end) // 2, end) + 1) in (0, end):
        _parse_exactly(lines, start, end)
    else:
        _parse_lines(lines, start, middle)
        _parse_lines(lines, middle, end)


def decode_all(data: bytes) -> list[TraceLine] | None:
    """All lines as events, in one call; None when one of them is none."""
    if not (data.isascii() or _is_utf8(data)):
        return None
    try:
        events = _LINES.decode_lines(data)
        if not _one_event_a_line(data, len(events)):
            return None
        for event in events:
            if event.detail is not msgspec.UNSET or event.event == "config":
                check_detail(event)
    except (msgspec.DecodeError, UnicodeDecodeError, BadLine):
        return None
    return events


def _one_event_a_line(data: bytes, count: int) -> bool:
    """The decoder also takes two objects on one line, or one on two: each line must begin and end with a brace."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    begun = data.count(b"\n{") + data.startswith(b"{")
    ended = data.count(b"}\n") + data.count(b"}\r\n") + data.endswith(b"}")
    return lines == begun == ended == count


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parse_exactly(lines: _Lines, start: int, end: int) -> None:
    good: list[TraceLine] = []
    position = start
    for line in io.BytesIO(lines.data[start:end]):
        begin, position = position, position + len(line)
        if not line.strip():
            continue
        cut_off = lines.ends_file(position)
        try:
            good.append(parse_line(line, at_end_of_file=cut_off))
        except BadLine as found:
            damage = lines.damage if cut_off else None
            lines.quarantine(begin, found if damage is None else BadLine(*damage), line)
    lines.good.append(good)


def to_table(lines: Sequence[TraceLine]) -> pa.Table:
    """Events as an Arrow table of ARROW_SCHEMA."""
    columns: dict[str, list[object]] = {
        "run": [line.run for line in lines],
        "group": [line.group for line in lines],
        "member": [line.member for line in lines],
        "seq": [line.seq for line in lines],
        "at_us": [line.at_us for line in lines],
        "source": [line.source for line in lines],
        "event": [line.event for line in lines],
        "event_code": [EVENT_CODES[line.event] for line in lines],
        "error": [line.error for line in lines],
        "generation": [line.generation for line in lines],
        "member_id": [line.member_id for line in lines],
        "partitions": [line.partitions for line in lines],
        "process": [line.process for line in lines],
        "detail": [_detail_text(line.detail) for line in lines],
    }
    return pa.Table.from_arrays(
        [_column(field.type, columns[field.name]) for field in ARROW_SCHEMA], schema=ARROW_SCHEMA
    )


def _column(kind: pa.DataType, values: list[object]) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, type=kind.value_type).dictionary_encode()
    return pa.array(values, type=kind)


def _detail_text(detail: msgspec.Raw | msgspec.UnsetType) -> str | None:
    text = "null" if detail is msgspec.UNSET else bytes(detail).decode()
    return None if text == "null" else text


def _parse_rows(chunk: Chunk) -> tuple[list[TraceLine], ChunkReport]:
    """Rows of a Parquet file, each held to the same schema as a line; a bad row's number is its line."""
    opened = parquet_file(Path(chunk.path))
    rows = opened.read_row_groups(list(range(chunk.start, chunk.end)), columns=ARROW_SCHEMA.names).to_pylist()
    good: list[TraceLine] = []
    bad: list[Quarantined] = []
    for number, row in enumerate(rows, start=1):
        code, text = row.pop("event_code"), row.pop("detail")
        if text is not None:
            row["detail"] = msgspec.Raw(text)
        line = msgspec.json.encode({"v": 1, **row})
        try:
            if EVENT_CODES.get(row["event"]) != code:
                raise BadLine("bad_value", f"event {row['event']!r} has the code {code}")
            good.append(parse_line(line))
        except BadLine as problem:
            bad.append(Quarantined(chunk.path, number, problem.reason, problem.problem, excerpt(line)))
    return good, ChunkReport(chunk.path, chunk.start, len(rows), bad)

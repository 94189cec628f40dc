"""Reading traces: files are cut into chunks, a chunk becomes an Arrow table of events and a list of quarantined lines.

A chunk is a range of bytes of an NDJSON file, and owns the lines that *begin* in it; so chunks can be read by anybody in any
order, and a file gives the same events however it was cut. Both engines, the local one and Spark, read through here.

Two ways lead to the same events. The fast one decodes and validates all lines of a chunk in one call; it fails if one line is
no event. Then the chunk is halved, until the bad lines are among few, and these are read one by one to find out what is wrong
with each. The test `test_fast_and_exact_agree` holds the two together. (Arrow's JSON reader is not used: it is no faster once
its result has been validated, it reads objects that stand on two lines or share one, and some bad input crashes it.)
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces.quarantine import BadLine, Quarantined, check_detail, excerpt, parse_line
from groupspec.conformance.traces.schema import ARROW_SCHEMA, EVENT_CODES, TraceLine, plain

CHUNK_BYTES: Final = 16 * 1024 * 1024
EXACT_BYTES: Final = 32 * 1024
ROW_GROUP_ROWS: Final = 65_536
NDJSON_SUFFIXES: Final = (".ndjson", ".jsonl", ".json")
_LINES: Final = msgspec.json.Decoder(TraceLine)
PARQUET_SUFFIX: Final = ".parquet"


class Chunk(msgspec.Struct, frozen=True, order=True):
    """Part of a file: bytes [start, end) of NDJSON, or row groups [start, end) of Parquet."""

    path: str
    kind: Literal["ndjson", "parquet"]
    start: int
    end: int


class Parsed(msgspec.Struct, frozen=True):
    """What a chunk held: events, and lines that are none. `lines` is their sum (blank lines not counted)."""

    events: pa.Table
    quarantined: list[Quarantined]
    lines: int


# Which files, and how they are cut ---------------------------------------------------------------------------------------


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The trace files among these paths; folders are searched. Raises UsageProblem for a path that cannot be read."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if _is_trace_file(file)]
            if not inside:
                raise UsageProblem(
                    what="no trace files in this folder",
                    where=str(path),
                    allowed=f"files named *{', *'.join((*NDJSON_SUFFIXES, PARQUET_SUFFIX))}",
                    next_step="name the folder that holds the traces, or the files themselves",
                )
            found += inside
        else:
            _check_readable(path)
            found.append(path)
    return sorted(set(found))


def _is_trace_file(file: Path) -> bool:
    hidden = file.name.startswith((".", "_"))
    return file.is_file() and not hidden and file.suffix in (*NDJSON_SUFFIXES, PARQUET_SUFFIX)


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise UsageProblem(
            what=f"cannot read the trace: {error.strerror}",
            where=str(path),
            allowed="an NDJSON or Parquet file, or a folder of them",
            next_step="check the path and its permissions",
        ) from error


def plan(files: Sequence[Path], chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """All chunks of these files. Raises UsageProblem for a file named .parquet that is none."""
    return [chunk for file in files for chunk in _plan_file(file, chunk_bytes)]


def _plan_file(file: Path, chunk_bytes: int) -> Iterator[Chunk]:
    if file.suffix == PARQUET_SUFFIX:
        for group in range(parquet_file(file).num_row_groups):
            yield Chunk(path=str(file), kind="parquet", start=group, end=group + 1)
        return
    size = file.stat().st_size
    for start in range(0, size, chunk_bytes):
        yield Chunk(path=str(file), kind="ndjson", start=start, end=min(start + chunk_bytes, size))


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
    return opened


# Parsing a chunk ---------------------------------------------------------------------------------------------------------


def parse_chunk(chunk: Chunk) -> Parsed:
    """The chunk's events and its quarantined lines."""
    if chunk.kind == "parquet":
        return _parse_rows(chunk)
    data, ends_file = _read_lines(chunk)
    tables: list[pa.Table] = []
    bad: list[Quarantined] = []
    lines = _Lines(chunk, data, ends_file)
    _parse_lines(lines, 0, len(data), tables, bad)
    events = pa.concat_tables(tables).unify_dictionaries() if tables else ARROW_SCHEMA.empty_table()
    return Parsed(events=events, quarantined=sorted(bad), lines=events.num_rows + len(bad))


def _read_lines(chunk: Chunk) -> tuple[bytes, bool]:
    """The bytes of all lines that begin inside the chunk, and whether the file ends with them."""
    with Path(chunk.path).open("rb") as file:
        if chunk.start > 0:
            file.seek(chunk.start - 1)
            file.readline()  # the rest of a line that began earlier; just the line end if one begins exactly here
        start = file.tell()
        if start >= chunk.end:
            return b"", False
        data = file.read(chunk.end - start)
        if not data.endswith(b"\n"):
            data += file.readline()
        ends_file = file.tell() == file.seek(0, io.SEEK_END)
    return (data.removeprefix(codecs.BOM_UTF8) if chunk.start == 0 else data), ends_file


class _Lines:
    """A chunk's lines, and where they stand in their file."""

    def __init__(self, chunk: Chunk, data: bytes, ends_file: bool) -> None:
        self.chunk = chunk
        self.data = data
        self._ends_file = ends_file
        self._first: int | None = None

    def number_at(self, position: int) -> int:
        """The number of the line that begins here, from 1; the file's start is counted only when a line must be named."""
        if self._first is None:
            self._first = 1 + _lines_before(self.chunk)
        return self._first + self.data.count(b"\n", 0, position)

    def ends_file(self, position: int) -> bool:
        """Whether the file ends here, in the middle of a line."""
        return self._ends_file and position == len(self.data) and not self.data.endswith(b"\n")


def _parse_lines(lines: _Lines, start: int, end: int, tables: list[pa.Table], bad: list[Quarantined]) -> None:
    """Lines [start, end) of a chunk: fast if that is possible, in halves if not, exactly when few are left."""
    events = decode_all(lines.data[start:end])
    if events is not None:
        tables.append(to_table(events))
    elif end - start <= EXACT_BYTES or (middle := lines.data.find(b"\n", (start + end) // 2, end) + 1) in (0, end):
        _parse_exactly(lines, start, end, tables, bad)
    else:
        _parse_lines(lines, start, middle, tables, bad)
        _parse_lines(lines, middle, end, tables, bad)


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


def _parse_exactly(lines: _Lines, start: int, end: int, tables: list[pa.Table], bad: list[Quarantined]) -> None:
    good: list[TraceLine] = []
    position = start
    for line in io.BytesIO(lines.data[start:end]):
        begin, position = position, position + len(line)
        if not line.strip():
            continue
        try:
            good.append(parse_line(line, at_end_of_file=lines.ends_file(position)))
        except BadLine as problem:
            number = lines.number_at(begin)
            bad.append(Quarantined(lines.chunk.path, number, problem.reason, problem.problem, excerpt(line)))
    tables.append(to_table(good))


def _lines_before(chunk: Chunk) -> int:
    """How many lines of the file come before the chunk's first: counted only when a line must be named."""
    if chunk.start == 0:
        return 0
    count = 0
    with Path(chunk.path).open("rb") as file:
        left = chunk.start
        while left > 0:
            block = file.read(min(left, CHUNK_BYTES))
            count += block.count(b"\n")
            left -= len(block)
        file.seek(chunk.start - 1)
        began_earlier = file.read(1) != b"\n"
    return count + int(began_earlier)


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
    array = pa.array(values, type=plain(kind))
    return array.dictionary_encode() if pa.types.is_dictionary(kind) else array


def _detail_text(detail: msgspec.Raw | msgspec.UnsetType) -> str | None:
    text = "null" if detail is msgspec.UNSET else bytes(detail).decode()
    return None if text == "null" else text


def _parse_rows(chunk: Chunk) -> Parsed:
    """Rows of a Parquet file, each held to the same schema as a line; a bad row's number is its line."""
    opened = parquet_file(Path(chunk.path))
    first = sum(opened.metadata.row_group(group).num_rows for group in range(chunk.start))
    rows = opened.read_row_groups(list(range(chunk.start, chunk.end)), columns=ARROW_SCHEMA.names).to_pylist()
    good: list[TraceLine] = []
    bad: list[Quarantined] = []
    for index, row in enumerate(rows, start=first + 1):
        code, text = row.pop("event_code"), row.pop("detail")
        if text is not None:
            row["detail"] = msgspec.Raw(text)
        line = msgspec.json.encode({"v": 1, **row})
        try:
            if EVENT_CODES.get(row["event"]) != code:
                raise BadLine("bad_value", f"event {row['event']!r} has the code {code}")
            good.append(parse_line(line))
        except BadLine as problem:
            bad.append(Quarantined(chunk.path, index, problem.reason, problem.problem, excerpt(line)))
    return Parsed(events=to_table(good), quarantined=bad, lines=len(rows))

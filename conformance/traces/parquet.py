"""Traces as Parquet files: the columns of one, and how one from outside is read.

Nothing that a Parquet file says of itself is believed: its columns have the kinds of the schema before a row is read,
strings stay in their dictionaries until it is known how long they are, and rows become lines, which are held to the
schema as those of NDJSON are. What Arrow cannot read of a row group is damage, as in a packed file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.outside import MOST_TIMES, too_many_times
from groupspec.conformance.traces.inputs import lone_bucket
from groupspec.conformance.traces.quarantine import BadLine
from groupspec.conformance.traces.schema import ADDED, EVENT_CODES, VERSION

# Strings are dictionary encoded: a trace repeats few of them very often.
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())

ARROW_SCHEMA: Final = pa.schema(
    [
        pa.field("run", _TEXT, nullable=False),
        pa.field("group", _TEXT, nullable=False),
        pa.field("member", _TEXT, nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("at_us", pa.int64(), nullable=False),
        pa.field("source", _TEXT, nullable=False),
        pa.field("event", _TEXT, nullable=False),
        pa.field("event_code", pa.int8(), nullable=False),
        pa.field("error", _TEXT, nullable=True),
        pa.field("generation", pa.int32(), nullable=False),
        pa.field("member_id", _TEXT, nullable=False),
        pa.field("partitions", pa.list_(pa.string()), nullable=False),
        pa.field("process", _TEXT, nullable=False),
        pa.field("throttle_time_ms", pa.int32(), nullable=False),
        pa.field("detail", pa.string(), nullable=True),
    ],
    metadata={"groupspec.trace.version": str(VERSION)},
)
"""The trace schema as the columns of a Parquet file (`schema` says what they mean)."""

ROW_GROUP_ROWS: Final = 65_536
BUCKET_KEY: Final = b"groupspec.trace.bucket"
"""In the metadata of a Parquet file: it is a bucket of a layout (see `layout`)."""
_BATCH_ROWS: Final = 4_096
_UNREADABLE: Final = (pa.ArrowException, OSError, UnicodeDecodeError)


def opened(file: Path) -> pq.ParquetFile:
    """The opened Parquet file, its columns checked. Raises UsageProblem for anything that is no trace table."""
    try:
        schema = pq.ParquetFile(file).schema
        leaves = map(schema.column, range(len(schema)))
        found = pq.ParquetFile(
            file, read_dictionary=[leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        )
        columns = {field.name: _kind(field.type) for field in found.schema_arrow}
    except _UNREADABLE as error:
        raise UsageProblem(
            what=f"not a readable Parquet file: {error}",
            where=str(file),
            allowed="Parquet files as written by `groupspec trace ingest`",
            next_step="ingest the NDJSON again, or leave this file out",
        ) from error
    missing = [name for name in ARROW_SCHEMA.names if name not in (*columns, *ADDED)]
    if missing:
        raise _no_trace_table(file, f"it lacks the columns {', '.join(missing)}")
    other = [name for name, kind in _KINDS.items() if columns.get(name, kind) not in (kind, "null")]
    if other:
        raise _no_trace_table(file, "; ".join(f"{name} holds {columns[name]}, not {_KINDS[name]}" for name in other))
    if BUCKET_KEY in (found.schema_arrow.metadata or {}):
        raise lone_bucket(file)
    return found


def _no_trace_table(file: Path, why: str) -> UsageProblem:
    return UsageProblem(
        what=f"a Parquet file that is no trace table: {why}",
        where=str(file),
        allowed=f"the columns {', '.join(ARROW_SCHEMA.names)}",
        next_step="ingest the NDJSON with `groupspec trace ingest`",
    )


def _kind(kind: pa.DataType) -> str:
    """What Python makes of a column's values; text however it is stored, integers of any width."""
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"lists of {_kind(kind.value_type)}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "integers" if pa.types.is_integer(kind) else str(kind)


_KINDS: Final = {field.name: _kind(field.type) for field in ARROW_SCHEMA}


def rows_as_lines(file: Path, start: int, end: int) -> Iterator[bytes | BadLine]:
    """Rows of the row groups [start, end) as lines of NDJSON; a row that cannot be one, and damage, as BadLine."""
    found = opened(file)
    names = [name for name in ARROW_SCHEMA.names if name in found.schema_arrow.names]
    size, unpacked = file.stat().st_size, 0
    try:
        for batch in found.iter_batches(_BATCH_ROWS, range(start, end), names):
            unpacked += sum(_text_bytes(column) for column in batch.columns)
            if too_many_times(size, unpacked):
                yield BadLine("damaged", f"more than {MOST_TIMES} times the file's size comes out of it: no trace")
                return
            yield from map(_as_line, batch.to_pylist())
    except _UNREADABLE as error:
        yield BadLine("damaged", f"Arrow cannot read on in this part of the file, and what follows is lost: {error}")


def _text_bytes(column: pa.Array) -> int:
    """How long all texts of a column are together, before any of them is made."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.flatten()
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _as_line(row: dict[str, object]) -> bytes | BadLine:
    code, text = row.pop("event_code"), row.pop("detail")
    if isinstance(text, str):
        row["detail"] = msgspec.Raw(text.encode())
    line = msgspec.json.encode({"v": 1, **row}) + b"\n"
    right = EVENT_CODES.get(str(row["event"])) == code
    return line if right else BadLine("bad_value", f"event {row['event']!r} has the code {code}", line)

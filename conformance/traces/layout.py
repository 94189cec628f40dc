"""The layout of ingested traces: whole groups in one file, each member's events in order.

    OUT/bucket-00000.parquet …   one file a bucket; a bucket is a hash of (run, group), so a file holds whole groups
    OUT/_quarantine.parquet      the lines that are no events, each with its reason
    OUT/_layout.json             the marker: what the ingest read, and of each file its events, bytes and checksum

The folder appears whole or not at all (see `workspace`), and is read only as its marker describes it: a bucket that is
missing, too many, changed, or of another ingest is an error and never a smaller answer.

Rows are sorted by (run, group, member, process, seq), and rows that agree on these by all the rest, so that the order
does not depend on which file a line came from; the same traces give the same bytes, whichever engine wrote them. The
bucket is a CRC-32 and not Python's `hash`, which differs between processes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.outside import contents, decoded
from groupspec.conformance.traces.inputs import LAYOUT_FILE, LeftOut
from groupspec.conformance.traces.parquet import ARROW_SCHEMA, BUCKET_KEY, ROW_GROUP_ROWS
from groupspec.conformance.traces.quarantine import Quarantined, count_reasons
from groupspec.conformance.traces.schema import LAYOUT_VERSION, READ_LAYOUTS

QUARANTINE_FILE: Final = "_quarantine.parquet"

Ints = npt.NDArray[np.int64]

_BUCKET_SCHEMA: Final = pa.schema(
    [
        field.with_type(field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in ARROW_SCHEMA
    ],
    metadata={**(ARROW_SCHEMA.metadata or {}), BUCKET_KEY: b"1"},
)


class Written(msgspec.Struct, frozen=True):
    """A file of the layout as it was written. `rows`: events, or quarantined lines."""

    name: str
    rows: int
    bytes: int
    crc32: int


class Layout(msgspec.Struct, frozen=True):
    """What a finished ingest says about itself."""

    layout_version: int
    buckets: int
    lines: int
    events: int
    quarantined: dict[str, int]
    left_out: list[LeftOut]
    files: list[Written]
    quarantine: Written


_LAYOUT: Final = msgspec.json.Decoder(Layout)


def bucket_of(run: str, group: str, buckets: int) -> int:
    """Which bucket holds this group."""
    return zlib.crc32(f"{run}\0{group}".encode()) % buckets


def bucket_file(bucket: int) -> str:
    """The file name of a bucket."""
    return f"bucket-{bucket:05d}.parquet"


# Splitting and sorting


def split(events: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket that has any."""
    if events.num_rows == 0:
        return
    _, first, group_of_row = np.unique(_keys(events, "run", "group"), return_index=True, return_inverse=True)
    groups = events.select(["run", "group"]).take(pa.array(first)).to_pylist()
    bucket_of_group = np.array([bucket_of(group["run"], group["group"], buckets) for group in groups])
    for bucket in np.unique(bucket_of_group).tolist():
        yield bucket, events.take(pa.array(np.flatnonzero((bucket_of_group == bucket)[group_of_row])))


def sort(events: pa.Table) -> pa.Table:
    """The rows in the layout's order."""
    if events.num_rows == 0:
        return events
    events = events.unify_dictionaries().combine_chunks()
    keys, seqs = _keys(events, "run", "group", "member", "process"), events["seq"].to_numpy()
    order = np.lexsort((seqs, keys))
    # Rows with the same member and number are a defect to report; here they only get one order of their own.
    same = np.flatnonzero((keys[order[1:]] == keys[order[:-1]]) & (seqs[order[1:]] == seqs[order[:-1]]))
    tied = np.union1d(same, same + 1)
    contents = [_content(row) for row in events.take(pa.array(order[tied])).to_pylist()]
    rows = order[tied].tolist()
    ranked = sorted(range(len(rows)), key=lambda place: (keys[rows[place]], seqs[rows[place]], contents[place]))
    order[tied] = order[tied][ranked]
    return events.take(pa.array(order))


def _content(row: dict[str, object]) -> tuple[str, ...]:
    return tuple("" if value is None else json.dumps(value) for value in row.values())


def _keys(events: pa.Table, *columns: str) -> Ints:
    """One number a row, in the order of these columns."""
    key: Ints = np.zeros(events.num_rows, np.int64)
    for name in columns:
        column = events[name].chunk(0)
        ranks = np.empty(len(column.dictionary), np.int64)
        ranks[pc.sort_indices(column.dictionary).to_numpy()] = np.arange(len(ranks))
        key = key * len(ranks) + ranks[column.indices.to_numpy(zero_copy_only=False)]
        # Renumbered each time: products of three large dictionaries would not fit.
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return key


# Writing and reading


def write_bucket(path: Path, events: pa.Table) -> Written:
    """One bucket's rows, already sorted. As plain text: Parquet's own dictionaries depend on nothing but the rows."""
    rows = events.cast(_BUCKET_SCHEMA)
    pq.write_table(rows, path, compression="zstd", compression_level=1, row_group_size=ROW_GROUP_ROWS)
    return _written(path, events.num_rows)


def _written(path: Path, rows: int) -> Written:
    return Written(path.name, rows, path.stat().st_size, checksum(path))


def checksum(path: Path) -> int:
    """The CRC-32 of a file's bytes."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(1024 * 1024):
            crc = zlib.crc32(block, crc)
    return crc


def _write_quarantine(folder: Path, quarantined: Sequence[Quarantined]) -> Written:
    columns = {name: [getattr(line, name) for line in sorted(quarantined)] for name in Quarantined.__struct_fields__}
    schema = pa.schema([(name, pa.int64() if name == "line" else pa.string()) for name in columns])
    pq.write_table(pa.table(columns, schema=schema), folder / QUARANTINE_FILE, compression="zstd")
    return _written(folder / QUARANTINE_FILE, len(quarantined))


def read_quarantine(folder: Path, layout: Layout) -> list[Quarantined]:
    """The quarantined lines of a layout. Raises UsageProblem when the file is not the one that was written."""
    verify(folder / layout.quarantine.name, layout.quarantine)
    return [Quarantined(**row) for row in pq.read_table(folder / QUARANTINE_FILE).to_pylist()]


def write_marker(
    folder: Path,
    buckets: int,
    lines: int,
    files: Sequence[Written],
    quarantined: Sequence[Quarantined],
    left_out: Sequence[LeftOut],
) -> Layout:
    """Writes the quarantine and the marker that makes the folder a layout."""
    layout = Layout(
        layout_version=LAYOUT_VERSION,
        buckets=buckets,
        lines=lines,
        events=sum(file.rows for file in files),
        quarantined=count_reasons(quarantined),
        left_out=sorted(left_out),
        files=sorted(files, key=lambda file: file.name),
        quarantine=_write_quarantine(folder, quarantined),
    )
    (folder / LAYOUT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(layout)) + b"\n")
    return layout


# Trusting a layout


def read_layout(folder: Path) -> Layout | None:
    """The layout in this folder; None if the folder is not one.

    Raises:
        UsageProblem: it is of another version, or the files beside the marker are not those that it names.
    """
    marker = folder / LAYOUT_FILE
    if not marker.is_file():
        return None
    layout = _decode(marker)
    listed = {file.name for file in layout.files}
    there = {file.name for file in folder.glob("bucket-*.parquet")}
    if lost := sorted(listed - there):
        raise _unusable(marker, f"the layout lacks its files {', '.join(lost)}")
    if added := sorted(there - listed):
        raise _unusable(marker, f"the folder holds buckets that are not of this layout: {', '.join(added)}")
    for file in (*layout.files, layout.quarantine):
        _check_size(folder / file.name, file)
    rows = sum(file.rows for file in layout.files)
    if not layout.events == rows == layout.lines - layout.quarantine.rows:
        raise _unusable(
            marker,
            f"the layout's counts disagree: {layout.lines:,} lines read, {layout.events:,} events, "
            f"{rows:,} in its buckets, {layout.quarantine.rows:,} lines in quarantine",
        )
    return layout


def _decode(marker: Path) -> Layout:
    try:
        content = contents(marker)
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        version = msgspec.json.decode(fields.get("layout_version", fields.get("trace_version", b"")), type=int)
        if version not in READ_LAYOUTS:
            raise _unusable(marker, f"a layout of version {version}")
        return decoded(_LAYOUT.decode, content)
    except (ValueError, OSError, zlib.error) as error:
        raise _unusable(marker, f"the layout's marker cannot be read: {error}") from error


def verify(path: Path, file: Written) -> None:
    """Whether this is the file that the ingest wrote. Raises UsageProblem if not."""
    _check_size(path, file)
    if checksum(path) != file.crc32:
        raise _unusable(path, "the file is not the one that the ingest wrote: its checksum is another")


def _check_size(path: Path, file: Written) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unusable(path, f"a file of the layout cannot be read: {error.strerror}") from error
    if size != file.bytes:
        raise _unusable(
            path, f"the file is not the one that the ingest wrote: {size:,} bytes instead of {file.bytes:,}"
        )


def _unusable(place: Path, what: str) -> UsageProblem:
    return UsageProblem(
        what=what,
        where=str(place),
        allowed=f"a folder as `groupspec trace ingest` left it, layout version {' or '.join(map(str, READ_LAYOUTS))}",
        next_step="ingest the traces again into a new folder",
    )

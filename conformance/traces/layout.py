"""The layout of ingested traces: whole groups in one file, each member's events in order.

    OUT/bucket-00000.parquet …   one file a bucket; a bucket is a hash of (run, group), so a file holds whole groups
    OUT/_quarantine.parquet      the lines that are no events, each with its reason
    OUT/_layout.json             written last: a folder without it is not a layout, whatever else it holds

Rows are sorted by (run, group, member, process, seq), and rows that agree on these by all the rest, so that the order does not
depend on which file a line came from. The bucket is a CRC-32 and not Python's `hash`, which differs between processes.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
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
from groupspec.conformance.traces.quarantine import Quarantined
from groupspec.conformance.traces.reading import ROW_GROUP_ROWS
from groupspec.conformance.traces.schema import LAYOUT_VERSION

LAYOUT_FILE: Final = "_layout.json"
QUARANTINE_FILE: Final = "_quarantine.parquet"
DEFAULT_BUCKETS: Final = 16

Ints = npt.NDArray[np.int64]


class Layout(msgspec.Struct, frozen=True):
    """What a finished ingest says about itself."""

    trace_version: int
    buckets: int
    lines: int
    events: int
    quarantined: dict[str, int]
    files: list[str]

    def paths(self, folder: Path) -> list[Path]:
        """The bucket files, with their folder."""
        return [folder / name for name in self.files]


def bucket_of(run: str, group: str, buckets: int) -> int:
    """Which bucket holds this group."""
    return zlib.crc32(f"{run}\0{group}".encode()) % buckets


def bucket_file(bucket: int) -> str:
    """The file name of a bucket."""
    return f"bucket-{bucket:05d}.parquet"


# Splitting and sorting ---------------------------------------------------------------------------------------------------


def split(events: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket that has any."""
    if events.num_rows == 0:
        return
    runs, groups = _names(events, "run"), _names(events, "group")
    pairs = _codes(events, "run") * len(groups) + _codes(events, "group")
    distinct, inverse = np.unique(pairs, return_inverse=True)
    bucket_of_pair = np.array([bucket_of(runs[p // len(groups)], groups[p % len(groups)], buckets) for p in distinct])
    row_buckets = bucket_of_pair[inverse]
    order = np.argsort(row_buckets, kind="stable")
    ordered = events.take(pa.array(order))
    bounds = np.searchsorted(row_buckets[order], np.arange(buckets + 1))
    for bucket in range(buckets):
        if bounds[bucket] < bounds[bucket + 1]:
            yield bucket, ordered.slice(bounds[bucket], bounds[bucket + 1] - bounds[bucket])


def sort(events: pa.Table) -> pa.Table:
    """The rows in the layout's order."""
    if events.num_rows == 0:
        return events
    events = events.unify_dictionaries().combine_chunks()
    keys = _member_keys(events)
    seqs = events["seq"].to_numpy()
    order = np.lexsort((seqs, keys))
    _settle_ties(events, order, keys, seqs)
    return events.take(pa.array(order))


def _member_keys(events: pa.Table) -> Ints:
    """One number a row, in the order of (run, group, member, process)."""
    key: Ints = np.zeros(events.num_rows, np.int64)
    for name in ("run", "group", "member", "process"):
        names = _dictionary(events, name)
        ranks = np.empty(len(names), np.int64)
        ranks[pc.sort_indices(names).to_numpy()] = np.arange(len(names))
        key = key * len(names) + ranks[_codes(events, name)]
        # Renumbered each time: products of three large dictionaries would not fit.
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return key


def _settle_ties(events: pa.Table, order: Ints, keys: Ints, seqs: Ints) -> None:
    """Rows with the same member and number are a defect to report; here they only get one order of their own."""
    same = (keys[order[1:]] == keys[order[:-1]]) & (seqs[order[1:]] == seqs[order[:-1]])
    position = 0
    ties = np.flatnonzero(same)
    while position < len(ties):
        first = last = ties[position]
        while position < len(ties) and ties[position] == last:
            last += 1
            position += 1
        rows = events.take(pa.array(order[first : last + 1])).to_pylist()
        order[first : last + 1] = order[first : last + 1][sorted(range(len(rows)), key=lambda row: _content(rows[row]))]


def _content(row: dict[str, object]) -> tuple[str, ...]:
    return tuple("" if value is None else json.dumps(value) for value in row.values())


def _dictionary(events: pa.Table, name: str) -> pa.Array:
    return events[name].chunk(0).dictionary


def _names(events: pa.Table, name: str) -> list[str]:
    return [str(value) for value in _dictionary(events, name).to_pylist()]


def _codes(events: pa.Table, name: str) -> Ints:
    codes: Ints = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in events[name].chunks])
    return codes.astype(np.int64)


# Writing and reading -----------------------------------------------------------------------------------------------------


def write_bucket(path: Path, events: pa.Table) -> None:
    """One bucket's rows, already sorted."""
    pq.write_table(events, path, compression="zstd", compression_level=1, row_group_size=ROW_GROUP_ROWS)


def write_quarantine(folder: Path, quarantined: Sequence[Quarantined]) -> None:
    """The quarantined lines, sorted by place."""
    columns = {name: [getattr(line, name) for line in sorted(quarantined)] for name in Quarantined.__struct_fields__}
    schema = pa.schema([(name, pa.int64() if name == "line" else pa.string()) for name in columns])
    pq.write_table(pa.table(columns, schema=schema), folder / QUARANTINE_FILE, compression="zstd")


def read_quarantine(folder: Path) -> list[Quarantined]:
    """The quarantined lines of a layout."""
    return [Quarantined(**row) for row in pq.read_table(folder / QUARANTINE_FILE).to_pylist()]


def finish(folder: Path, buckets: int, lines: int, events: int, quarantined: Sequence[Quarantined]) -> Layout:
    """Writes the quarantine and the marker that makes the folder a layout."""
    write_quarantine(folder, quarantined)
    layout = Layout(
        trace_version=LAYOUT_VERSION,
        buckets=buckets,
        lines=lines,
        events=events,
        quarantined=dict(sorted(Counter(line.reason for line in quarantined).items())),
        files=sorted(file.name for file in folder.glob("bucket-*.parquet")),
    )
    (folder / LAYOUT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(layout)) + b"\n")
    return layout


def read_layout(folder: Path) -> Layout | None:
    """The layout in this folder; None if the folder is not one. Raises UsageProblem for one of another version."""
    marker = folder / LAYOUT_FILE
    if not marker.is_file():
        return None
    try:
        layout = msgspec.json.decode(marker.read_bytes(), type=Layout)
    except msgspec.DecodeError as error:
        raise _unusable(marker, f"the layout's marker cannot be read: {error}") from error
    if layout.trace_version != LAYOUT_VERSION:
        raise _unusable(marker, f"a layout of trace schema version {layout.trace_version}")
    lost = [name for name in layout.files if not (folder / name).is_file()]
    if lost:
        raise _unusable(marker, f"the layout lacks its files {', '.join(lost)}")
    return layout


def _unusable(marker: Path, what: str) -> UsageProblem:
    return UsageProblem(
        what=what,
        where=str(marker),
        allowed=f"a folder written by `groupspec trace ingest`, layout version {LAYOUT_VERSION}",
        next_step="ingest the traces again into a new folder",
    )


def new_folder(folder: Path) -> Path:
    """Makes the folder for a new layout. Raises UsageProblem when something is in it already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageProblem(
            what="the output folder is not empty",
            where=str(folder),
            allowed="a new or an empty folder: mixing two ingests would count events twice",
            next_step="name another folder with --out, or remove this one",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageProblem(
            what=f"cannot make the output folder: {error.strerror}",
            where=str(folder),
            allowed="a folder that can be written",
            next_step="name another folder with --out",
        ) from error
    return folder

"""The local engine: ingest and check on one machine, without Spark.

It does what the Spark engine does, with the same parts in the same order (chunks, buckets, sort, kernel), so both give the same
violations whatever the files, their order or their number. On one machine it is the faster of the two; Spark is for what does
not fit on one.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from groupspec.conformance.errors import InternalProblem, UsageProblem
from groupspec.conformance.traces import layout
from groupspec.conformance.traces.columns import TableChecker
from groupspec.conformance.traces.projection_cache import load
from groupspec.conformance.traces.quarantine import Quarantined
from groupspec.conformance.traces.reading import Chunk, Parsed, find_files, parse_chunk, plan
from groupspec.conformance.traces.schema import ARROW_SCHEMA
from groupspec.conformance.traces.trace_rules import Violation

BATCH_ROWS: Final = 65_536

Progress = Callable[[int, int], None]
"""Called with (done, of) while work goes on."""


class FileVerdict(msgspec.Struct, frozen=True):
    """What the kernel says about one bucket, or about everything together."""

    events: int
    members: int
    unjudged_members: int
    groups: int
    violations: list[Violation]


class Verdict(msgspec.Struct, frozen=True):
    """The result of a check. `violations` are sorted by place."""

    events: int
    members: int
    unjudged_members: int
    groups: int
    quarantined: dict[str, int]
    quarantine: list[Quarantined]
    violations: list[Violation]
    seconds: float


def no_progress(done: int, of: int) -> None:
    """Tells nobody."""


# Checking ----------------------------------------------------------------------------------------------------------------


def check_tables(tables: Iterable[pa.Table]) -> FileVerdict:
    """Runs the kernel over tables that come in the layout's order and hold whole groups."""
    checker = TableChecker(load())
    for table in tables:
        checker.check(table)
    violations = checker.finish()
    count = checker.count
    return FileVerdict(count.events, count.members, count.unjudged_members, checker.groups, violations)


def check_bucket(file: Path, batch_rows: int = BATCH_ROWS) -> FileVerdict:
    """Checks one bucket file, batch by batch."""
    opened = pq.ParquetFile(file, read_dictionary=[f.name for f in ARROW_SCHEMA if pa.types.is_dictionary(f.type)])
    batches = opened.iter_batches(batch_size=batch_rows)
    return check_tables(pa.Table.from_batches([batch]) for batch in batches)


def combine(files: Sequence[FileVerdict], quarantine: Sequence[Quarantined], seconds: float) -> Verdict:
    """One verdict out of those of all buckets."""
    return Verdict(
        events=sum(file.events for file in files),
        members=sum(file.members for file in files),
        unjudged_members=sum(file.unjudged_members for file in files),
        groups=sum(file.groups for file in files),
        quarantined=dict(sorted(Counter(line.reason for line in quarantine).items())),
        quarantine=sorted(quarantine),
        violations=sorted(violation for file in files for violation in file.violations),
        seconds=seconds,
    )


def check(paths: Sequence[Path], progress: Progress = no_progress) -> Verdict:
    """Checks trace files, folders of them, or an ingested layout.

    Raises UsageProblem for what cannot be read.
    """
    started = time.perf_counter()
    if (ingested := single_layout(paths)) is not None:
        folder, found = ingested
        files = found.paths(folder)
        verdicts = [_told(check_bucket(file), progress, done, len(files)) for done, file in enumerate(files, 1)]
        return combine(verdicts, layout.read_quarantine(folder), time.perf_counter() - started)
    parsed = parse(plan_all(paths), progress)
    events = pa.concat_tables([part.events for part in parsed]) if parsed else ARROW_SCHEMA.empty_table()
    ordered = layout.sort(events)
    verdict = check_tables(ordered.slice(at, BATCH_ROWS) for at in range(0, ordered.num_rows, BATCH_ROWS))
    quarantine = [line for part in parsed for line in part.quarantined]
    return combine([verdict], quarantine, time.perf_counter() - started)


def _told(verdict: FileVerdict, progress: Progress, done: int, of: int) -> FileVerdict:
    progress(done, of)
    return verdict


def single_layout(paths: Sequence[Path]) -> tuple[Path, layout.Layout] | None:
    """The layout, if the paths are one. Raises UsageProblem when a layout is mixed with anything else."""
    layouts = [(path, found) for path in paths if (found := layout.read_layout(path)) is not None]
    if not layouts:
        return None
    if len(paths) > 1:
        raise UsageProblem(
            what="an ingested layout together with other paths",
            where=str(layouts[0][0]),
            allowed="one layout alone, or any number of trace files and folders",
            next_step="ingest everything together into one layout, then check that",
        )
    return layouts[0]


def plan_all(paths: Sequence[Path]) -> list[Chunk]:
    """The chunks of all trace files under these paths."""
    return plan(find_files(paths))


def parse(chunks: Sequence[Chunk], progress: Progress = no_progress) -> list[Parsed]:
    """Parses chunks with all processors: Arrow's reader works without Python's lock."""
    parsed = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, part in enumerate(pool.map(parse_chunk, chunks), start=1):
            parsed.append(part)
            progress(done, len(chunks))
    return parsed


# Ingesting ---------------------------------------------------------------------------------------------------------------


def ingest(
    paths: Sequence[Path], out: Path, buckets: int = layout.DEFAULT_BUCKETS, progress: Progress = no_progress
) -> layout.Layout:
    """Writes the layout of these traces into a new folder. Raises UsageProblem for what cannot be read or written."""
    chunks = plan_all(paths)
    layout.new_folder(out)
    parsed = parse(chunks, progress)
    by_bucket: dict[int, list[pa.Table]] = {}
    for part in parsed:
        for bucket, rows in layout.split(part.events, buckets):
            by_bucket.setdefault(bucket, []).append(rows)
    events = 0
    for bucket, tables in sorted(by_bucket.items()):
        ordered = layout.sort(pa.concat_tables(tables))
        layout.write_bucket(out / layout.bucket_file(bucket), ordered)
        events += ordered.num_rows
    quarantine = [line for part in parsed for line in part.quarantined]
    return finish_ingest(out, buckets, sum(part.lines for part in parsed), events, quarantine)


def finish_ingest(out: Path, buckets: int, lines: int, events: int, quarantine: Sequence[Quarantined]) -> layout.Layout:
    """Ends an ingest, if every line that was read is accounted for."""
    if lines != events + len(quarantine):
        raise InternalProblem(
            what=f"{lines} lines were read, but {events} events and {len(quarantine)} quarantined lines were written",
            where=str(out),
            allowed="every line is an event or is in quarantine",
            next_step="keep the input and report this: it is a defect of groupspec",
        )
    return layout.finish(out, buckets, lines, events, quarantine)

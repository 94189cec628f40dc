"""The local engine: ingest and check on one machine, without Spark.

It does what the Spark engine does, with the same parts in the same order (chunks, buckets, sort, check), so both give
the same violations whatever the files, their order or their number. On one machine it is the faster of the two; Spark
is for what does not fit on one.

The way of a line, module by module: `reading` finds it in a chunk of a file, `quarantine` says what is wrong with one
that is no event, `layout` sorts events into groups and members, `columns` makes numbers of them, `columnar` judges a
member, `group_checks` a group as a whole, and `combine` puts the verdict together.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from groupspec.conformance.errors import InternalProblem, UsageProblem
from groupspec.conformance.traces import inputs, layout
from groupspec.conformance.traces.columns import TableChecker
from groupspec.conformance.traces.inputs import DEFAULT_BUCKETS, LeftOut
from groupspec.conformance.traces.limits import machine_limits
from groupspec.conformance.traces.parquet import ARROW_SCHEMA
from groupspec.conformance.traces.projection_cache import load
from groupspec.conformance.traces.quarantine import Quarantined, count_reasons
from groupspec.conformance.traces.reading import ChunkReport, Progress, no_progress, numbered, parse_all, plan_all
from groupspec.conformance.traces.trace_rules import KINDS, Violation
from groupspec.conformance.traces.workspace import Workspace, workspace

BATCH_ROWS: Final = 65_536


class FileVerdict(msgspec.Struct, frozen=True):
    """What the columnar checker says about one bucket, or about everything together."""

    events: int
    members: int
    unjudged_members: int
    groups: int
    found: list[Violation]
    sources: list[str]


class Verdict(msgspec.Struct, frozen=True):
    """The result of a check, each list sorted by place.

    violations  what clients, or their coordinators, did against a rule of the specification
    recording   what is wrong with the recording, and was not judged for it
    notices     what no rule forbids, and an operator should know
    sources     who recorded what was read: what they do not show was not judged
    """

    events: int
    members: int
    unjudged_members: int
    groups: int
    quarantined: dict[str, int]
    quarantine: list[Quarantined]
    left_out: list[LeftOut]
    violations: list[Violation]
    recording: list[Violation]
    notices: list[Violation]
    sources: list[str]
    seconds: float

    @property
    def incomplete(self) -> bool:
        """Whether something was not read that may have held events: then finding nothing proves nothing."""
        return bool(self.quarantine) or any(left.reason in inputs.INCOMPLETE for left in self.left_out)

    @property
    def found(self) -> list[Violation]:
        """All three together, by place."""
        return sorted([*self.violations, *self.recording, *self.notices])


# Checking


def check_tables(tables: Iterable[pa.Table]) -> FileVerdict:
    """Runs the columnar checker over tables that come in the layout's order and hold whole groups."""
    checker = TableChecker(load())
    for table in tables:
        checker.check(table)
    sizes = (checker.events, len(checker.members), checker.unjudged_members, checker.groups)
    return FileVerdict(*sizes, checker.finish(), sorted(checker.sources))


def check_bucket(file: Path, batch_rows: int = BATCH_ROWS, written: layout.Written | None = None) -> FileVerdict:
    """Checks one bucket file, batch by batch. Raises UsageProblem if it is not the file that was `written`."""
    if written is not None:
        layout.verify(file, written)
    opened = pq.ParquetFile(file, read_dictionary=[f.name for f in ARROW_SCHEMA if pa.types.is_dictionary(f.type)])
    batches = opened.iter_batches(batch_size=batch_rows)
    return check_tables(pa.Table.from_batches([batch]) for batch in batches)


def combine(
    files: Sequence[FileVerdict], quarantine: Sequence[Quarantined], left_out: Sequence[LeftOut], seconds: float
) -> Verdict:
    """One verdict out of those of all buckets."""
    found = sorted(one for file in files for one in file.found)
    of_kind = {kind: [one for one in found if KINDS[one.rule] == kind] for kind in ("violation", "recording", "notice")}
    return Verdict(
        events=sum(file.events for file in files),
        members=sum(file.members for file in files),
        unjudged_members=sum(file.unjudged_members for file in files),
        groups=sum(file.groups for file in files),
        quarantined=count_reasons(quarantine),
        quarantine=sorted(quarantine),
        left_out=sorted(left_out),
        violations=of_kind["violation"],
        recording=of_kind["recording"],
        notices=of_kind["notice"],
        sources=sorted({source for file in files for source in file.sources}),
        seconds=seconds,
    )


def check(paths: Sequence[Path], progress: Progress = no_progress) -> Verdict:
    """Checks trace files, folders of them, or an ingested layout.

    Raises:
        UsageProblem: a path cannot be read, a layout is not as its ingest left it, or memory runs out.
    """
    started = time.perf_counter()
    with machine_limits("checking", paths[0]):
        if (ingested := single_layout(paths)) is not None:
            return _check_layout(*ingested, progress, started)
        found = plan_all(paths)
        parsed = parse_all(found.tasks, progress)
        events = pa.concat_tables([part.events for part in parsed]) if parsed else ARROW_SCHEMA.empty_table()
        ordered = layout.sort(events)
        verdict = check_tables(ordered.slice(at, BATCH_ROWS) for at in range(0, ordered.num_rows, BATCH_ROWS))
        quarantine = numbered(report for part in parsed for report in part.reports)
        return combine([verdict], quarantine, found.left_out, time.perf_counter() - started)


def _check_layout(folder: Path, found: layout.Layout, progress: Progress, started: float) -> Verdict:
    verdicts = []
    for done, file in enumerate(found.files, start=1):
        verdicts.append(check_bucket(folder / file.name, written=file))
        progress("checked", done, len(found.files))
    return combine(verdicts, layout.read_quarantine(folder, found), found.left_out, time.perf_counter() - started)


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


# Ingesting


def ingest(
    paths: Sequence[Path], out: Path, buckets: int = DEFAULT_BUCKETS, progress: Progress = no_progress
) -> layout.Layout:
    """Writes the layout of these traces into a new folder, which appears when it is whole.

    Raises:
        UsageProblem: something cannot be read or written, another ingest into the folder is running, or memory runs
            out.
    """
    with machine_limits("ingesting", out):
        found = plan_all(paths)
        with workspace(out) as space:
            parsed = parse_all(found.tasks, progress)
            by_bucket: dict[int, list[pa.Table]] = {}
            for part in parsed:
                for bucket, rows in layout.split(part.events, buckets):
                    by_bucket.setdefault(bucket, []).append(rows)
            files = []
            for bucket in sorted(by_bucket):
                ordered = layout.sort(pa.concat_tables(by_bucket.pop(bucket)))
                files.append(layout.write_bucket(space.layout / layout.bucket_file(bucket), ordered))
                progress("written", bucket + 1, buckets)
            reports = [report for part in parsed for report in part.reports]
            return finish_ingest(space, buckets, files, reports, found.left_out, progress)


def finish_ingest(
    space: Workspace,
    buckets: int,
    files: Sequence[layout.Written],
    reports: Sequence[ChunkReport],
    left_out: Sequence[LeftOut],
    progress: Progress = no_progress,
) -> layout.Layout:
    """Ends an ingest, if every line that was read is accounted for: marker, then the rename."""
    events = sum(file.rows for file in files)
    lines = sum(report.lines - report.blank for report in reports)
    quarantine = numbered(reports)
    if lines != events + len(quarantine):
        raise InternalProblem(
            what=f"{lines} lines were read, but {events} events and {len(quarantine)} quarantined lines were written",
            where=str(space.out),
            allowed="every line is an event or is in quarantine",
            next_step="keep the input and report this: it is a defect of groupspec",
        )
    made = layout.write_marker(space.layout, buckets, lines, files, quarantine, left_out)
    progress("marked", 1, 1)
    space.publish()
    progress("published", 1, 1)
    return made

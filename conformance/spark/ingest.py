"""Ingestion on Spark: chunks are parsed, their rows shuffled by bucket, sorted, and written as the bucketed layout.

Spark moves the rows, but never sees one: a task parses some chunks, cuts them by bucket, and hands each piece on as one
compressed Arrow stream. Rows that go through Spark one by one must be turned from Arrow into the JVM's rows and back,
and that is what a pipeline in Python spends its time on. The shuffle then carries some hundred large values instead of
millions of small ones, and the task that gets a bucket sorts and writes it with Arrow.

All tasks read the input and write the output folder by path: on several machines that is a shared file system. The
commit is the driver's: each attempt of a task writes files of its own name, Spark hands over the results of one attempt
of each task, and only the files in these results are moved into the layout. What failed, was tried again or ran twice
leaves its files behind in the workspace. The driver then counts: every line that was read is an event in a bucket or a
line in quarantine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.spark.failures import in_driver, in_task
from groupspec.conformance.traces import layout
from groupspec.conformance.traces.engine import finish_ingest
from groupspec.conformance.traces.inputs import DEFAULT_BUCKETS
from groupspec.conformance.traces.reading import Chunk, ChunkReport, Parsed, Progress, no_progress, parse, plan_all
from groupspec.conformance.traces.workspace import Workspace, workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A piece: rows of one bucket, or (bucket REPORT) what the parsing of some chunks is to report.
REPORT: Final = -1
_PIECE: Final = "bucket int, content binary"
_ENCODER: Final = msgspec.msgpack.Encoder()

WriteBucket = Callable[[Path, pa.Table], layout.Written]


class Reports(msgspec.Struct):
    """What the tasks report: what became of the lines, and the file that an attempt wrote for each bucket."""

    chunks: list[ChunkReport] = []
    buckets: dict[int, layout.Written] = {}


def ingest(
    spark: SparkSession,
    paths: Sequence[Path],
    out: Path,
    buckets: int = DEFAULT_BUCKETS,
    partitions: int | None = None,
    progress: Progress = no_progress,
    write: WriteBucket = layout.write_bucket,
) -> layout.Layout:
    """Writes the layout of these traces into a new folder, which appears when it is whole.

    `partitions`: into how many tasks the sorting and writing is cut. `write`: what writes a bucket, in the tasks.

    Raises:
        UsageProblem: something cannot be read or written, another ingest into the folder is running, or memory runs
            out.
    """
    out = out.resolve()
    with in_driver("ingesting", out):
        found = plan_all([path.resolve() for path in paths], 2 * spark.sparkContext.defaultParallelism)
        with workspace(out) as space:
            progress("planned", 0, len(found.tasks))
            reports = Reports()
            if found.tasks:
                pieces = _pieces(spark, found.tasks, buckets)
                reports = _run(pieces, space.attempts, buckets, partitions, write)
            progress("written", len(reports.buckets), buckets)
            files = _commit(space, reports, progress)
            return finish_ingest(space, buckets, files, reports.chunks, found.left_out, progress)


def _commit(space: Workspace, reports: Reports, progress: Progress) -> list[layout.Written]:
    """Moves the files of the attempts that count into the layout, under their names there."""
    files = []
    for bucket, file in sorted(reports.buckets.items()):
        name = layout.bucket_file(bucket)
        (space.attempts / file.name).rename(space.layout / name)
        files.append(msgspec.structs.replace(file, name=name))
        progress("committed", len(files), len(reports.buckets))
    return files


def _pieces(spark: SparkSession, tasks: Sequence[Sequence[Chunk]], buckets: int) -> DataFrame:
    encoded = spark.sparkContext.broadcast([_ENCODER.encode(task) for task in tasks])
    # Lambdas, because Spark sends nested functions by value. A row of the range is a task's number, and a task of
    # Spark.
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    return numbers.mapInArrow(lambda batches: _parse_tasks(batches, encoded.value, buckets), _PIECE)


def _parse_tasks(batches: Iterator[pa.RecordBatch], tasks: list[bytes], buckets: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            chunks = msgspec.msgpack.decode(tasks[number], type=list[Chunk])
            with in_task("parsing", Path(chunks[0].path)):
                for parsed in parse(chunks):
                    yield from _cut(parsed, buckets)


def _cut(parsed: Parsed, buckets: int) -> Iterator[pa.RecordBatch]:
    """The pieces of some chunks, and their report."""
    for bucket, rows in layout.split(parsed.events, buckets):
        yield _piece(bucket, _to_stream(rows))
    yield _piece(REPORT, _ENCODER.encode(parsed.reports))


def _piece(bucket: int, content: bytes) -> pa.RecordBatch:
    return pa.record_batch({"bucket": pa.array([bucket], pa.int32()), "content": pa.array([content], pa.binary())})


def _to_stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=True)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows.combine_chunks())
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _run(pieces: DataFrame, attempts: Path, buckets: int, partitions: int | None, write: WriteBucket) -> Reports:
    """Shuffles the pieces, writes the buckets, and gathers the reports."""
    folder = str(attempts)
    tasks = partitions or min(buckets, 2 * pieces.sparkSession.sparkContext.defaultParallelism)
    spread = pieces.repartition(tasks, "bucket")
    reports = Reports()
    for bucket, content in spread.mapInArrow(lambda batches: _write_buckets(batches, folder, write), _PIECE).collect():
        if bucket == REPORT:
            reports.chunks += msgspec.msgpack.decode(bytes(content), type=list[ChunkReport])
        elif bucket in reports.buckets:
            raise InternalProblem(
                what=f"two tasks of Spark report bucket {bucket}",
                where=folder,
                allowed="each bucket comes from one attempt of one task",
                next_step="keep the input and report this: it is a defect of groupspec",
            )
        else:
            reports.buckets[bucket] = msgspec.msgpack.decode(bytes(content), type=layout.Written)
    return reports


def _write_buckets(batches: Iterator[pa.RecordBatch], folder: str, write: WriteBucket) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "this runs in a task of Spark"
    by_bucket: dict[int, list[pa.Table]] = {}
    with in_task("ingesting", Path(folder)):
        for batch in batches:
            for bucket, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                if bucket == REPORT:
                    yield _piece(REPORT, content.as_py())
                else:
                    by_bucket.setdefault(bucket, []).append(pa.ipc.open_stream(content.as_buffer()).read_all())
        for bucket in sorted(by_bucket):
            events = layout.sort(pa.concat_tables(by_bucket.pop(bucket)))
            name = f"{bucket:05d}.attempt-{context.taskAttemptId()}.parquet"
            yield _piece(bucket, _ENCODER.encode(write(Path(folder) / name, events)))

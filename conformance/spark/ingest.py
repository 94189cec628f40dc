"""Ingestion on Spark: chunks are parsed, their rows shuffled by bucket, sorted, and written as the bucketed layout.

Spark moves the rows, but never sees one: a task parses a whole chunk, cuts it by bucket, and hands each piece on as one
compressed Arrow stream. Rows that go through Spark one by one must be turned from Arrow into the JVM's rows and back, and
that is what a pipeline in Python spends its time on. The shuffle then carries some hundred large values instead of millions
of small ones, and the task that gets a bucket sorts and writes it with Arrow.

All tasks read the input and write the output folder by path: on several machines that is a shared file system. A task that runs
twice writes the same file under the same name. The layout's marker is written by the driver, after it has counted: every line
that was read is an event in a bucket or a line in quarantine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from groupspec.conformance.traces import layout
from groupspec.conformance.traces.engine import finish_ingest, plan_all
from groupspec.conformance.traces.quarantine import Quarantined
from groupspec.conformance.traces.reading import Chunk, parse_chunk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A piece: rows of one bucket, or (bucket REPORT) what a chunk's parsing is to report.
REPORT: Final = -1
_PIECE: Final = "bucket int, content binary"
_ENCODER: Final = msgspec.msgpack.Encoder()


class ChunkReport(msgspec.Struct, frozen=True):
    """What became of one chunk's lines."""

    lines: int
    quarantined: list[Quarantined]


class BucketReport(msgspec.Struct, frozen=True):
    """What was written for one bucket."""

    events: int


class Reports(msgspec.Struct):
    """The sum of all reports."""

    lines: int = 0
    events: int = 0
    quarantined: list[Quarantined] = []


def ingest(
    spark: SparkSession,
    paths: Sequence[Path],
    out: Path,
    buckets: int = layout.DEFAULT_BUCKETS,
    partitions: int | None = None,
) -> layout.Layout:
    """Writes the layout of these traces into a new folder.

    `partitions`: into how many tasks the sorting and writing is cut. Raises UsageProblem for what cannot be read or written.
    """
    chunks = plan_all(paths)
    layout.new_folder(out)
    reports = _run(_pieces(spark, chunks, buckets), out.resolve(), buckets, partitions) if chunks else Reports()
    return finish_ingest(out, buckets, reports.lines, reports.events, reports.quarantined)


def _pieces(spark: SparkSession, chunks: Sequence[Chunk], buckets: int) -> DataFrame:
    encoded = [(_ENCODER.encode(chunk),) for chunk in chunks]
    # One chunk a task at most, so that the processors are kept busy to the end.
    frame = spark.createDataFrame(encoded, "chunk binary").repartition(len(chunks))
    # A lambda, because Spark sends nested functions by value: this one holds a name and a number.
    return frame.mapInArrow(lambda batches: _parse_chunks(batches, buckets), _PIECE)


def _parse_chunks(batches: Iterator[pa.RecordBatch], buckets: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for content in batch.column(0).to_pylist():
            yield from _parse(msgspec.msgpack.decode(content, type=Chunk), buckets)


def _parse(chunk: Chunk, buckets: int) -> Iterator[pa.RecordBatch]:
    """The pieces of one chunk, and its report."""
    parsed = parse_chunk(chunk)
    for bucket, rows in layout.split(parsed.events, buckets):
        yield _piece(bucket, _to_stream(rows))
    yield _piece(REPORT, _ENCODER.encode(ChunkReport(parsed.lines, parsed.quarantined)))


def _piece(bucket: int, content: bytes) -> pa.RecordBatch:
    return pa.record_batch({"bucket": pa.array([bucket], pa.int32()), "content": pa.array([content], pa.binary())})


def _to_stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=True)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows.combine_chunks())
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _run(pieces: DataFrame, out: Path, buckets: int, partitions: int | None) -> Reports:
    """Shuffles the pieces, writes the buckets, and sums the reports up."""
    folder = str(out)
    tasks = partitions or min(buckets, 2 * pieces.sparkSession.sparkContext.defaultParallelism)
    spread = pieces.repartition(tasks, "bucket")
    return _sum(spread.mapInArrow(lambda batches: _write_buckets(batches, folder), _PIECE).collect())


def _write_buckets(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    by_bucket: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for bucket, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            if bucket == REPORT:
                yield _piece(REPORT, content.as_py())
            else:
                by_bucket.setdefault(bucket, []).append(pa.ipc.open_stream(content.as_buffer()).read_all())
    for bucket in sorted(by_bucket):
        events = layout.sort(pa.concat_tables(by_bucket.pop(bucket)))
        layout.write_bucket(Path(folder) / layout.bucket_file(bucket), events)
        yield _piece(bucket, _ENCODER.encode(BucketReport(events.num_rows)))


def _sum(rows: Iterable[tuple[int, bytes]]) -> Reports:
    reports = Reports()
    for bucket, content in rows:
        if bucket == REPORT:
            chunk = msgspec.msgpack.decode(bytes(content), type=ChunkReport)
            reports.lines += chunk.lines
            reports.quarantined += chunk.quarantined
        else:
            reports.events += msgspec.msgpack.decode(bytes(content), type=BucketReport).events
    return reports

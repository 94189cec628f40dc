"""The check on Spark: each task gets the paths of buckets, reads them itself, and runs the kernel.

Only paths go out and only violations come back; no event passes through the JVM. A bucket holds whole groups, so the rule about
a group (T-TWO-OWNERS) is judged by the same task.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from groupspec.conformance.spark.ingest import ingest
from groupspec.conformance.traces import layout
from groupspec.conformance.traces.engine import FileVerdict, Verdict, check_bucket, combine, single_layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(spark: SparkSession, paths: Sequence[Path], buckets: int = layout.DEFAULT_BUCKETS) -> Verdict:
    """Checks an ingested layout, or ingests trace files into a temporary one first.

    Raises UsageProblem for what cannot be read.
    """
    started = time.perf_counter()
    if (ingested := single_layout(paths)) is not None:
        return check_layout(spark, *ingested, started)
    with tempfile.TemporaryDirectory(prefix="groupspec-layout-") as folder:
        made = ingest(spark, paths, Path(folder) / "layout", buckets)
        return check_layout(spark, Path(folder) / "layout", made, started)


def check_layout(spark: SparkSession, folder: Path, found: layout.Layout, started: float) -> Verdict:
    """Checks the buckets of a layout. `started`: where the seconds are counted from (time.perf_counter)."""
    files = [str(path.resolve()) for path in found.paths(folder)]
    verdicts = [msgspec.msgpack.decode(content, type=FileVerdict) for content in _check_files(spark, files)]
    return combine(verdicts, layout.read_quarantine(folder), time.perf_counter() - started)


def _check_files(spark: SparkSession, files: Sequence[str]) -> list[bytes]:
    if not files:
        return []

    tasks = min(len(files), 2 * spark.sparkContext.defaultParallelism)
    frame = spark.createDataFrame([(file,) for file in files], "file string").repartition(tasks)
    return [bytes(row[0]) for row in frame.mapInArrow(_judge, "verdict binary").collect()]


def _judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for file in batch.column(0).to_pylist():
            verdict = msgspec.msgpack.encode(check_bucket(Path(file)))
            yield pa.record_batch({"verdict": pa.array([verdict], pa.binary())})

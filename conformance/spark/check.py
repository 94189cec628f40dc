"""The check on Spark: each task gets the paths of buckets, reads them itself, and runs the columnar checker.

Only paths go out and only violations come back; no event passes through the JVM. A bucket holds whole groups, so the
rule about a group (T-TWO-OWNERS) is judged by the same task.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark.failures import in_driver, in_task
from groupspec.conformance.spark.ingest import ingest
from groupspec.conformance.traces import layout
from groupspec.conformance.traces.engine import FileVerdict, Verdict, check_bucket, combine, single_layout
from groupspec.conformance.traces.inputs import DEFAULT_BUCKETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(spark: SparkSession, paths: Sequence[Path], buckets: int = DEFAULT_BUCKETS) -> Verdict:
    """Checks an ingested layout, or ingests trace files into a temporary one first.

    Raises:
        UsageProblem: a path cannot be read, a layout is not as its ingest left it, or memory runs out; or the traces
            would have to be ingested into a folder of this machine that Spark's other machines do not see.
    """
    started = time.perf_counter()
    if (ingested := single_layout(paths)) is not None:
        return check_layout(spark, *ingested, started)
    master = spark.sparkContext.master or ""
    if not master.startswith("local"):
        raise UsageProblem(
            what="traces that are not ingested can be checked on this machine's Spark only",
            where=f"--master {master}",
            allowed="an ingested layout in a folder that all machines of the cluster see",
            next_step="run `groupspec trace ingest` with the same --master first, then check the folder that it made",
        )
    with tempfile.TemporaryDirectory(prefix="groupspec-layout-") as folder:
        made = ingest(spark, paths, Path(folder) / "layout", buckets)
        return check_layout(spark, Path(folder) / "layout", made, started)


def check_layout(spark: SparkSession, folder: Path, found: layout.Layout, started: float) -> Verdict:
    """Checks the buckets of a layout. `started`: where the seconds are counted from (time.perf_counter)."""
    folder = folder.resolve()
    with in_driver("checking", folder):
        verdicts = _check_files(spark, folder, found.files)
        quarantine = layout.read_quarantine(folder, found)
    return combine(verdicts, quarantine, found.left_out, time.perf_counter() - started)


def _check_files(spark: SparkSession, folder: Path, files: Sequence[layout.Written]) -> list[FileVerdict]:
    if not files:
        return []
    encoded = [(msgspec.msgpack.encode(file),) for file in files]
    tasks = min(len(files), 2 * spark.sparkContext.defaultParallelism)
    frame = spark.createDataFrame(encoded, "file binary").repartition(tasks)
    place = str(folder)
    rows = frame.mapInArrow(lambda batches: _judge(batches, place), "verdict binary").collect()
    return [msgspec.msgpack.decode(bytes(row[0]), type=FileVerdict) for row in rows]


def _judge(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for content in batch.column(0).to_pylist():
            file = msgspec.msgpack.decode(content, type=layout.Written)
            with in_task("checking", Path(folder) / file.name):
                verdict = check_bucket(Path(folder) / file.name, written=file)
            yield pa.record_batch({"verdict": pa.array([msgspec.msgpack.encode(verdict)], pa.binary())})

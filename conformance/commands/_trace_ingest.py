"""`groupspec trace ingest`: sort traces by group into bucketed Parquet, with quarantine."""

from __future__ import annotations

import time
from pathlib import Path

import click

from groupspec.conformance.commands._common import Steps, json_option, progress, results, write_json
from groupspec.conformance.errors import EXIT_OK
from groupspec.conformance.traces import engine as local
from groupspec.conformance.traces.layout import DEFAULT_BUCKETS, Layout
from groupspec.conformance.traces.quarantine import REASONS


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="A new folder to write to.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="spark", show_default=True)
@click.option("--buckets", type=click.IntRange(1, 99_999), default=DEFAULT_BUCKETS, show_default=True)
@json_option
def ingest(paths: tuple[Path, ...], out: Path, engine: str, buckets: int, json_file: Path | None) -> int:
    """Read traces (NDJSON or Parquet files, or folders of them), and write them sorted by group into DIR.

    A line that is no event goes into quarantine, with its reason, file and line: DIR/_quarantine.parquet.

    Example: groupspec trace ingest recordings/ --out ingested

    Exit code 0, also when lines were quarantined; 2 when a path cannot be read or DIR is not empty.
    """
    started = time.perf_counter()
    with progress("ingesting") as steps:
        layout = _ingest(list(paths), out, engine, buckets, steps)
    seconds = time.perf_counter() - started
    _show(layout, out, seconds)
    write_json(
        "trace-ingest",
        {
            "engine": engine,
            "out": str(out),
            "lines": layout.lines,
            "events": layout.events,
            "buckets": layout.buckets,
            "files": layout.files,
            "quarantined": layout.quarantined,
            "seconds": seconds,
        },
        json_file,
    )
    return EXIT_OK


def _ingest(paths: list[Path], out: Path, engine: str, buckets: int, steps: Steps) -> Layout:
    if engine == "local":
        return local.ingest(paths, out, buckets)
    local.plan_all(paths)  # a path that cannot be read is said before Spark starts
    from groupspec.conformance.spark import ingest as on_spark
    from groupspec.conformance.spark.session import session

    steps.now("starting Spark")
    with session() as spark:
        steps.now("ingesting on Spark")
        return on_spark.ingest(spark, paths, out, buckets)


def _show(layout: Layout, out: Path, seconds: float) -> None:
    console = results()
    console.print(f"{layout.events:,} events in {len(layout.files)} files under {out}, {seconds:.1f} s", markup=False)
    show_quarantine(layout.quarantined)


def show_quarantine(quarantined: dict[str, int]) -> None:
    """One line for each reason, most frequent first."""
    for reason, count in sorted(quarantined.items(), key=lambda entry: -entry[1]):
        explanation = next((text for known, text in REASONS.items() if known == reason), "")
        results().print(f"{count:,} lines quarantined: {reason} ({explanation})", markup=False)

"""`groupspec trace ingest`: sort traces by group into bucketed Parquet, with quarantine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groupspec.conformance.commands._common import Steps, json_option, progress, results, write_json
from groupspec.conformance.errors import EXIT_OK, UsageProblem
from groupspec.conformance.traces import inputs
from groupspec.conformance.traces.inputs import DEFAULT_BUCKETS
from groupspec.conformance.traces.quarantine import REASONS
from groupspec.conformance.traces.workspace import check_target

if TYPE_CHECKING:
    from groupspec.conformance.traces.layout import Layout


def master_option(function: Callable[..., int]) -> Callable[..., int]:
    """Adds `--master URL`."""
    words = (
        "Spark's master, with --engine spark: local[N], spark://HOST:PORT, ... [default: all processors of this "
        "machine]"
    )
    return click.option("--master", metavar="URL", help=words)(function)


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--out", required=True, metavar="DIR", help="A new folder to write to.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="spark", show_default=True)
@master_option
@click.option("--buckets", type=click.IntRange(1, 99_999), default=DEFAULT_BUCKETS, show_default=True)
@json_option
def ingest(
    paths: tuple[str, ...], out: str, engine: str, master: str | None, buckets: int, json_file: Path | None
) -> int:
    """Read traces, and write them sorted by group into DIR.

    PATH is an NDJSON file (also .gz), a Parquet file, a folder of them, or a pattern.

    DIR appears when it is whole, and not at all when the ingest is killed or fails. A line that is no event goes into
    quarantine, with its reason, file and line: DIR/_quarantine.parquet. What was left out of folders is counted by
    reason.

    Example: groupspec trace ingest recordings/ --out ingested

    Exit code 0, also when lines were quarantined; 2 when a path cannot be read, DIR is not empty or cannot be written,
    or another ingest into DIR is running.
    """
    started = time.perf_counter()
    target = inputs.local_path(out)
    with progress("ingesting") as steps:
        layout = _ingest(inputs.named(paths), target, engine, master, buckets, steps)
    seconds = time.perf_counter() - started
    _show(layout, target, seconds)
    write_json(
        "trace-ingest",
        {
            "engine": engine,
            "out": str(target),
            "lines": layout.lines,
            "events": layout.events,
            "buckets": layout.buckets,
            "files": [file.name for file in layout.files],
            "quarantined": layout.quarantined,
            "left_out": msgspec.to_builtins(layout.left_out),
            "seconds": seconds,
        },
        json_file,
    )
    return EXIT_OK


def _ingest(paths: list[Path], out: Path, engine: str, master: str | None, buckets: int, steps: Steps) -> Layout:
    def told(what: str, done: int, of: int) -> None:
        steps.now(f"ingesting: {what} {done} of {of}")

    refuse_master_without_spark(engine, master)
    from groupspec.conformance.traces import engine as local  # only here: --help needs no extra
    from groupspec.conformance.traces import reading

    if engine == "local":
        return local.ingest(paths, out, buckets, told)
    check_target(out)  # what cannot be read or written is said before Spark starts
    reading.plan_all(paths)
    from groupspec.conformance.spark import ingest as on_spark
    from groupspec.conformance.spark.session import session

    steps.now("starting Spark")
    with session(master) as spark:
        steps.now("ingesting on Spark")
        return on_spark.ingest(spark, paths, out, buckets, progress=told)


def refuse_master_without_spark(engine: str, master: str | None) -> None:
    """Raises UsageProblem for a master that nobody would ask."""
    if master is not None and engine != "spark":
        raise UsageProblem(
            what="--master is for Spark only",
            where=f"--engine {engine} --master {master}",
            allowed="--master with --engine spark",
            next_step="add --engine spark, or leave --master out",
        )


def _show(layout: Layout, out: Path, seconds: float) -> None:
    console = results()
    console.print(f"{layout.events:,} events in {len(layout.files)} files under {out}, {seconds:.1f} s", markup=False)
    show_quarantine(layout.quarantined)
    show_left_out(layout.left_out)


def show_quarantine(quarantined: dict[str, int]) -> None:
    """One line for each reason, most frequent first."""
    for reason, count in sorted(quarantined.items(), key=lambda entry: -entry[1]):
        explanation = next((text for known, text in REASONS.items() if known == reason), "")
        results().print(f"{count:,} lines quarantined: {reason} ({explanation})", markup=False)


def show_left_out(left_out: Sequence[inputs.LeftOut]) -> None:
    """One line for each reason why files of a folder were not read."""
    for line in inputs.told(left_out):
        results().print(line, markup=False)

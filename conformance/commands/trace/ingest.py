"""`groupspec trace ingest`: sort traces by group into bucketed Parquet, with quarantine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.commands.trace._engine import engine_options, not_read, on_spark
from groupspec.conformance.traces import inputs
from groupspec.conformance.traces.inputs import DEFAULT_BUCKETS
from groupspec.conformance.traces.workspace import check_target

if TYPE_CHECKING:
    from groupspec.conformance.traces.layout import Layout


@click.command("ingest")
@engine_options("spark")
@click.option("--out", required=True, metavar="DIR", help="A new folder to write to.")
@click.option("--buckets", type=click.IntRange(1, 99_999), default=DEFAULT_BUCKETS)
@json_option
def command(paths: list[Path], out: str, engine: str, master: str | None, buckets: int) -> None:
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
    with Steps("ingesting") as steps:
        layout = _ingest(paths, target, engine, master, buckets, steps)
    seconds = time.perf_counter() - started
    say(
        f"{layout.events:,} events in {len(layout.files)} files under {target}, {seconds:.1f} s",
        *not_read(layout.quarantined),
        *inputs.told(layout.left_out),
    )
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
    )


def _ingest(paths: list[Path], out: Path, engine: str, master: str | None, buckets: int, steps: Steps) -> Layout:
    def told(what: str, done: int, of: int) -> None:
        steps.now(f"ingesting: {what} {done} of {of}")

    from groupspec.conformance.traces import engine as local  # only here: --help needs no extra
    from groupspec.conformance.traces import reading

    if engine == "local":
        return local.ingest(paths, out, buckets, told)
    check_target(out)  # what cannot be read or written is said before Spark starts
    reading.plan_all(paths)
    from groupspec.conformance.spark import ingest

    with on_spark(master, "ingesting", steps) as spark:
        return ingest.ingest(spark, paths, out, buckets, progress=told)

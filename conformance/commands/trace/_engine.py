"""What `groupspec trace ingest` and `trace check` share: PATHs, the engine that reads them, and what was not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from groupspec.conformance.commands._common import Steps
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces import inputs
from groupspec.conformance.traces.quarantine import REASONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def engine_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `PATH... --engine local|spark --master URL`; the command gets the paths with their patterns matched."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        engines = click.Choice(["local", "spark"])
        # eager: it is known when --master is looked at
        engine = click.option("--engine", type=engines, default=default, is_eager=True)
        master = click.option(
            "--master",
            metavar="URL",
            callback=_for_spark_only,
            show_default="this machine, all processors",
            help="Spark's master, with --engine spark: local[N], spark://HOST:PORT, ...",
        )
        paths = click.argument(
            "paths", nargs=-1, required=True, metavar="PATH…", callback=lambda *given: inputs.named(given[2])
        )
        return paths(engine(master(function)))

    return add


def _for_spark_only(context: click.Context, option: click.Parameter, master: str | None) -> str | None:
    engine = context.params["engine"]
    if master is not None and engine != "spark":
        raise UsageProblem(
            what="--master is for Spark only",
            where=f"--engine {engine} --master {master}",
            allowed="--master with --engine spark",
            next_step="add --engine spark, or leave --master out",
        )
    return master


@contextmanager
def on_spark(master: str | None, what: str, steps: Steps) -> Iterator[SparkSession]:
    """A session of Spark; the bar says that it starts, then what it does."""
    from groupspec.conformance.spark.session import session

    steps.now("starting Spark")
    with session(master) as spark:
        steps.now(f"{what} on Spark")
        yield spark


def not_read(quarantined: Mapping[str, int]) -> list[str]:
    """A line for each reason why lines were quarantined, most frequent first."""
    meanings: Mapping[str, str] = dict(REASONS.items())
    most_first = sorted(quarantined.items(), key=lambda entry: -entry[1])
    return [f"{count:,} lines quarantined: {reason} ({meanings.get(reason, '')})" for reason, count in most_first]

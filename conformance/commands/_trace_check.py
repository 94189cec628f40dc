"""`groupspec trace check`: which rules do recorded traces break?"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from groupspec.conformance.commands._common import Steps, json_option, progress, results, write_json
from groupspec.conformance.commands._trace_ingest import (
    master_option,
    refuse_master_without_spark,
    show_left_out,
    show_quarantine,
)
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK
from groupspec.conformance.traces import engine as local
from groupspec.conformance.traces import inputs
from groupspec.conformance.traces.engine import Verdict
from groupspec.conformance.traces.trace_rules import RULES

MOST_SHOWN = 50


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@master_option
@json_option
def check(paths: tuple[str, ...], engine: str, master: str | None, json_file: Path | None) -> int:
    """Check traces: NDJSON (also .gz) or Parquet files, folders of them, or a folder written by `groupspec trace ingest`.

    Each violation names the rule, the member, the event's number, and the state that the member was in. Of a folder the
    traces are read, and what else lies there is counted; a file that is named is read, whatever it is.

    Example: groupspec trace check recordings/ --json verdict.json

    Exit code 0: no rule is broken, and every event was read. 1: a rule is broken. 2: a path cannot be read, or a layout is
    not as its ingest left it. 4: none was found broken, but lines were quarantined or files left out that may hold events, or
    there are no events at all.
    """
    with progress("checking") as steps:
        verdict = _check(inputs.named(paths), engine, master, steps)
    _show(verdict)
    write_json("trace-check", as_json(verdict, engine), json_file)
    if verdict.violations:
        return EXIT_CONFORMANCE_FAILURE
    return EXIT_OK if verdict.events and not verdict.incomplete else EXIT_INCONCLUSIVE


def _check(paths: list[Path], engine: str, master: str | None, steps: Steps) -> Verdict:
    refuse_master_without_spark(engine, master)
    if engine == "local":
        return local.check(paths)
    if local.single_layout(paths) is None:
        local.plan_all(paths)  # a path that cannot be read is said before Spark starts
    from groupspec.conformance.spark import check as on_spark
    from groupspec.conformance.spark.session import session

    steps.now("starting Spark")
    with session(master) as spark:
        steps.now("checking on Spark")
        return on_spark.check(spark, paths)


def as_json(verdict: Verdict, engine: str) -> dict[str, object]:
    """The result in the shape of its JSON Schema."""
    data: dict[str, object] = msgspec.to_builtins(verdict)
    return {"engine": engine, **data}


def _show(verdict: Verdict) -> None:
    console = results()
    for violation in verdict.violations[:MOST_SHOWN]:
        rule = next(rule for rule in RULES if rule.id == violation.rule)
        held = f" (checks {', '.join(rule.spec_rules)})" if rule.spec_rules else ""
        where = f"run {violation.run}, group {violation.group}, member {violation.member}, event {violation.seq}"
        console.print(f"{violation.rule}{held}: {violation.detail}", markup=False)
        console.print(f"    {where}: {violation.event} in rebalance.{violation.state or '(not known)'}", markup=False)
    if len(verdict.violations) > MOST_SHOWN:
        console.print(
            f"... and {len(verdict.violations) - MOST_SHOWN:,} more: --json FILE has all of them", markup=False
        )
    console.print(
        f"{verdict.events:,} events of {verdict.members:,} members in {verdict.groups:,} groups: "
        f"{len(verdict.violations):,} violations, {verdict.seconds:.1f} s",
        markup=False,
    )
    if verdict.unjudged_members:
        console.print(
            f"{verdict.unjudged_members:,} members do not begin with a config event: their states and timers were not judged",
            markup=False,
        )
    show_quarantine(verdict.quarantined)
    for line in verdict.quarantine[:MOST_SHOWN]:
        console.print(f"    {line.file}:{line.line}: {line.reason}: {line.problem}", markup=False)
    show_left_out(verdict.left_out)
    if verdict.incomplete and not verdict.violations:
        console.print(
            "not everything was read, so that no violation was found proves nothing: exit code 4", markup=False
        )

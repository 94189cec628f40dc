"""`groupspec trace check`: which rules do recorded traces break?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
from groupspec.conformance.judges import judged_by
from groupspec.conformance.traces import inputs
from groupspec.conformance.traces.dialects.reading import recognise, supported
from groupspec.conformance.traces.trace_rules import RULES, Violation

if TYPE_CHECKING:
    from groupspec.conformance.traces.engine import Verdict
    from groupspec.conformance.traces.quarantine import Quarantined

MAX_SHOWN = 50
SAMPLE_LINES = 5000


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@master_option
@json_option
def check(paths: tuple[str, ...], engine: str, master: str | None, json_file: Path | None) -> int:
    """Check traces.

    NDJSON (also .gz) or Parquet files, folders of them, or a folder written by `groupspec trace ingest`.

    A violation: the client broke a rule of the specification; it names the rule, the member, the event's number, and
    the state that the member was in. A fault of the recording (lines lost or doubled, clocks that were set) says
    nothing about the client. A notice is worth a look, and no rule forbids it.

    Of a folder the traces are read, and what else lies there is counted; a file that is named is read, whatever it is.

    Example: groupspec trace check recordings/ --json verdict.json

    Exit code 0: no rule is broken, and every event was read. 1: a rule is broken. 2: a path cannot be read, or a layout
    is not as its ingest left it. 4: none was found broken, but the recording is faulty, lines were quarantined, files
    left out that may hold events, or there are no events at all.
    """
    with progress("checking") as steps:
        verdict = _check(inputs.named(paths), engine, master, steps)
    _show(verdict)
    write_json("trace-check", as_json(verdict, engine), json_file)
    if verdict.violations:
        return EXIT_CONFORMANCE_FAILURE
    complete = verdict.events and not verdict.incomplete and not verdict.recording
    return EXIT_OK if complete else EXIT_INCONCLUSIVE


def _check(paths: list[Path], engine: str, master: str | None, steps: Steps) -> Verdict:
    refuse_master_without_spark(engine, master)
    from groupspec.conformance.traces import engine as local  # only here: --help needs no extra
    from groupspec.conformance.traces import reading

    if engine == "local":
        return local.check(paths)
    if local.single_layout(paths) is None:
        reading.plan_all(paths)  # a path that cannot be read is said before Spark starts
    from groupspec.conformance.spark import check as on_spark
    from groupspec.conformance.spark.session import session

    steps.now("starting Spark")
    with session(master) as spark:
        steps.now("checking on Spark")
        return on_spark.check(spark, paths)


def as_json(verdict: Verdict, engine: str) -> dict[str, object]:
    """The result in the shape of its JSON Schema."""
    data: dict[str, object] = msgspec.to_builtins(verdict)
    judged, not_judged = judged_by(verdict.sources)
    return {"engine": engine, **data, "judged_rules": judged, "not_judged_rules": not_judged}


def _show(verdict: Verdict) -> None:
    console = results()
    _list(verdict.violations)
    if verdict.notices:
        console.print("Worth a look; no rule forbids it:", markup=False)
        _list(verdict.notices)
    if verdict.recording:
        console.print("Faults of the recording, which say nothing about the client:", markup=False)
        _list(verdict.recording)
    console.print(
        f"{verdict.events:,} events of {verdict.members:,} members in {verdict.groups:,} groups: "
        f"{len(verdict.violations):,} violations, {len(verdict.recording):,} faults of the recording, "
        f"{len(verdict.notices):,} notices, {verdict.seconds:.1f} s",
        markup=False,
    )
    judged, not_judged = judged_by(verdict.sources)
    if judged:
        console.print(f"judged, as far as traces show it: {' '.join(judged)}", markup=False)
        console.print(f"not judged here, but by `groupspec conform`: {' '.join(not_judged)}", markup=False)
    if verdict.unjudged_members:
        console.print(
            f"{verdict.unjudged_members:,} members do not begin with a config event: their states and timers "
            "were not judged",
            markup=False,
        )
    show_quarantine(verdict.quarantined)
    for line in verdict.quarantine[:MAX_SHOWN]:
        console.print(f"    {line.file}:{line.line}: {line.reason}: {line.problem}", markup=False)
    for told in _logs_among(verdict.quarantine):
        console.print(told, markup=False)
    show_left_out(verdict.left_out)
    if verdict.incomplete and not verdict.violations:
        console.print(
            "not everything was read, so that no violation was found proves nothing: exit code 4", markup=False
        )


def _logs_among(quarantine: Sequence[Quarantined]) -> list[str]:
    """What to do with files that are logs and no traces."""
    texts: dict[str, list[str]] = {}
    for line in quarantine:
        texts.setdefault(line.file, []).append(line.text)
    found = {file: recognise(lines[:SAMPLE_LINES]) for file, lines in texts.items()}
    return [
        f"{file} is a {dialect.name}, and no trace"
        + (f": groupspec trace why GROUP {file}" if dialect.name in supported() else "")
        for file, dialect in found.items()
        if dialect is not None
    ]


def _list(found: Sequence[Violation]) -> None:
    console = results()
    for one in found[:MAX_SHOWN]:
        rule = next(rule for rule in RULES if rule.id == one.rule)
        held = f" (checks {', '.join(rule.spec_rules)})" if rule.spec_rules else ""
        member = f"{one.member} ({one.process})" if one.process else one.member
        console.print(f"{one.rule}{held}: {one.detail}", markup=False)
        console.print(
            f"    run {one.run}, group {one.group}, member {member}, event {one.seq}: "
            f"{one.event} in rebalance.{one.state or '(not known)'}",
            markup=False,
        )
    if len(found) > MAX_SHOWN:
        console.print(f"... and {len(found) - MAX_SHOWN:,} more: --json FILE has all of them", markup=False)

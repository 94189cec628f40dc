"""`groupspec trace check`: which rules do recorded traces break?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.commands.trace._engine import engine_options, not_read, on_spark
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK
from groupspec.conformance.judges import judged_by
from groupspec.conformance.traces import inputs
from groupspec.conformance.traces.dialects.reading import recognise, supported
from groupspec.conformance.traces.trace_rules import RULES, Violation, levels

if TYPE_CHECKING:
    from groupspec.conformance.traces.engine import Verdict
    from groupspec.conformance.traces.quarantine import Quarantined

MAX_SHOWN = 50
SAMPLE_LINES = 5000


@click.command("check")
@engine_options("local")
@json_option
def command(paths: list[Path], engine: str, master: str | None) -> int:
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
    with Steps("checking") as steps:
        verdict = _check(paths, engine, master, steps)
    judged, not_judged = judged_by(verdict.sources)
    say(*_lines(verdict, judged, not_judged))
    data = msgspec.to_builtins(verdict)
    write_json("trace-check", {"engine": engine, **data, "judged_rules": judged, "not_judged_rules": not_judged})
    if verdict.violations:
        return EXIT_CONFORMANCE_FAILURE
    complete = verdict.events and not verdict.incomplete and not verdict.recording
    return EXIT_OK if complete else EXIT_INCONCLUSIVE


def _check(paths: list[Path], engine: str, master: str | None, steps: Steps) -> Verdict:
    from groupspec.conformance.traces import engine as local  # only here: --help needs no extra
    from groupspec.conformance.traces import reading

    if engine == "local":
        return local.check(paths)
    if local.single_layout(paths) is None:
        reading.plan_all(paths)  # a path that cannot be read is said before Spark starts
    from groupspec.conformance.spark import check

    with on_spark(master, "checking", steps) as spark:
        return check.check(spark, paths)


def _lines(verdict: Verdict, judged: Sequence[str], not_judged: Sequence[str]) -> Iterator[str]:
    yield from _violations(verdict.violations)
    if verdict.notices:
        yield "Worth a look; no rule forbids it:"
        yield from _violations(verdict.notices)
    if verdict.recording:
        yield "Faults of the recording, which say nothing about the client:"
        yield from _violations(verdict.recording)
    yield (
        f"{verdict.events:,} events of {verdict.members:,} members in {verdict.groups:,} groups: "
        f"{len(verdict.violations):,} violations, {len(verdict.recording):,} faults of the recording, "
        f"{len(verdict.notices):,} notices, {verdict.seconds:.1f} s"
    )
    if judged:
        yield f"judged, as far as traces show it: {' '.join(judged)}"
        yield f"not judged here, but by `groupspec conform`: {' '.join(not_judged)}"
    if verdict.unjudged_members:
        yield (
            f"{verdict.unjudged_members:,} members do not begin with a config event: their states and timers "
            "were not judged"
        )
    logs = _logs_among(verdict.quarantine)
    yield from logs.values()
    yield from not_read(verdict.quarantined)
    for line in [line for line in verdict.quarantine if line.file not in logs][:MAX_SHOWN]:
        yield f"    {line.file}:{line.line}: {line.reason}: {line.problem}"
    yield from inputs.told(verdict.left_out)
    if verdict.incomplete and not verdict.violations:
        yield "not everything was read, so that no violation was found proves nothing: exit code 4"


def _violations(found: Sequence[Violation]) -> Iterator[str]:
    for one in found[:MAX_SHOWN]:
        rule = next(rule for rule in RULES if rule.id == one.rule)
        held = f" (checks {levels(rule.spec_rules)})" if rule.spec_rules else ""
        member = f"{one.member} ({one.process})" if one.process else one.member
        yield f"{one.rule}{held}: {one.detail}"
        yield (
            f"    run {one.run}, group {one.group}, member {member}, event {one.seq}: "
            f"{one.event} in rebalance.{one.state or '(not known)'}"
        )
    if len(found) > MAX_SHOWN:
        yield f"... and {len(found) - MAX_SHOWN:,} more: --json FILE has all of them"


def _logs_among(quarantine: Sequence[Quarantined]) -> dict[str, str]:
    """What to do with files that are logs and no traces, by file."""
    texts: dict[str, list[str]] = {}
    for line in quarantine:
        texts.setdefault(line.file, []).append(line.text)
    found = {file: recognise(lines[:SAMPLE_LINES]) for file, lines in texts.items()}
    return {
        file: f"{file} is a {dialect.name}, and no trace"
        + (f": groupspec trace why GROUP {file}" if dialect.name in supported() else "")
        for file, dialect in found.items()
        if dialect is not None
    }

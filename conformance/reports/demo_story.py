"""What the demo found: its results read back, the page made of them, the summary in ten lines, and the exit code.

Other clients may fail as they like: that is what the demo shows. The reference may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from groupspec.conformance.errors import (
    EXIT_CONFORMANCE_FAILURE,
    EXIT_INCONCLUSIVE,
    EXIT_INTERNAL,
    EXIT_OK,
    EXIT_USAGE,
    UsageProblem,
)
from groupspec.conformance.reports.demo_parts import LOG_GROUP, Outcome
from groupspec.conformance.reports.html import ReportStep, Results
from groupspec.conformance.reports.inputs import Conform, Generated, TraceCheck, Why, read
from groupspec.conformance.reports.verdicts import client_totals
from groupspec.conformance.wire.client_builds import BUILDS

REFERENCE: Final = "reference"
LOG_SOURCE: Final = (
    "Its log was recorded on a real Apache Kafka broker (conformance/traces/captures): two Java consumers, "
    "one of which "
    "stopped polling for a while."
)
Read = TypeVar("Read")


class Pictures(msgspec.Struct, frozen=True):
    """`render --json`."""

    files: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What the parts wrote; None where one has no result."""

    pictures: Pictures | None
    conform: Conform | None
    generated: Mapping[str, Generated]
    traces: TraceCheck | None
    why: Why | None


def gather(out: Path, outcomes: Mapping[str, Outcome]) -> tuple[Found, dict[str, Outcome]]:
    """Reads the results; a part whose result cannot be read has failed after all."""
    judged = dict(outcomes)

    def result(part: str, kind: type[Read]) -> Read | None:
        if part not in judged or judged[part].status != "ok":
            return None
        try:
            return read(out / f"{part}.json", kind)
        except UsageProblem as problem:
            before = judged[part]
            judged[part] = Outcome(before.part, "failed", EXIT_INTERNAL, before.seconds, before.command, problem.what)
            return None

    suites = {driver: result(driver, Generated) for driver in ("core", "background")}
    found = Found(
        pictures=result("pictures", Pictures),
        conform=result("wire", Conform),
        generated={driver: suite for driver, suite in suites.items() if suite is not None},
        traces=result("traces", TraceCheck),
        why=result("log", Why),
    )
    return found, judged


def page(out: Path, found: Found, outcomes: Mapping[str, Outcome]) -> Results:
    """The report's material."""
    return Results(
        title="The demo",
        conform=found.conform,
        runs_folder=out / "wire",
        generated=dict(found.generated),
        trace_check=found.traces,
        why=found.why,
        why_source=LOG_SOURCE,
        steps=tuple(ReportStep(o.part.name, o.status, o.seconds, o.command, o.said) for o in outcomes.values()),
    )


def exit_code(found: Found, outcomes: Mapping[str, Outcome]) -> int:
    """Whether the reference kept the rules, and if it did, whether everything could be run."""
    verdicts = _reference_verdicts(found)
    if verdicts["FAIL"] or _reference_violations(found) or any(suite.failures for suite in found.generated.values()):
        return EXIT_CONFORMANCE_FAILURE
    codes = {outcome.code for outcome in outcomes.values() if outcome.status == "failed"}
    if codes:
        return EXIT_USAGE if codes == {EXIT_USAGE} else EXIT_INTERNAL
    return EXIT_INCONCLUSIVE if verdicts["INCONCLUSIVE"] else EXIT_OK


def _reference_verdicts(found: Found) -> Counter[str]:
    clients = found.conform.clients if found.conform else ()
    return Counter(row.verdict for client in clients if client.name == REFERENCE for row in client.results)


def _reference_violations(found: Found) -> int:
    violations = found.traces.violations if found.traces else ()
    return sum(violation.run.partition("/")[0] == REFERENCE for violation in violations)


def summary(found: Found, outcomes: Mapping[str, Outcome], report: Path) -> list[str]:
    """One line for each thing that was done, at most ten.

    Then what was left out on this machine, and the report's path.
    """
    lines = [*_told(found, outcomes), ("left out", _left_out(outcomes)), ("report", str(report))]
    width = max(len(name) for name, _ in lines)
    return [f"{name:<{width}}  {said}" for name, said in lines]


def _told(found: Found, outcomes: Mapping[str, Outcome]) -> Iterator[tuple[str, str]]:
    if found.pictures:
        drawn = sum(file.endswith(".svg") for file in found.pictures.files)
        yield "pictures", f"{drawn} machines drawn, with a matrix of every state and event beside each"
    for driver, suite in found.generated.items():
        yield (
            driver,
            f"{suite.transitions.covered:,} of {suite.transitions.of:,} transitions, {suite.pairs.covered:,} of "
            f"{suite.pairs.of:,} pairs, {suite.steps:,} steps: {len(suite.failures) or 'no'} divergences",
        )
    for client in found.conform.clients if found.conform else ():
        counts = ", ".join(f"{n} {verdict}" for verdict, n in client_totals(client).items())
        yield client.name, counts
    if found.traces:
        broken, own = len(found.traces.violations), _reference_violations(found)
        told = f"{broken:,} violation{'s' if broken != 1 else ''}, {own or 'none'} of the reference's"
        yield "traces", f"{found.traces.events:,} events checked on {found.traces.engine.title()}: {told}"
    if found.why:
        causes = Counter(rebalance.cause.replace("_", " ") for rebalance in found.why.rebalances)
        told = ", ".join(f"{n} {cause}" for cause, n in causes.most_common())
        yield "log", f"{len(found.why.rebalances)} rebalances of {LOG_GROUP} explained: {told}"
    for outcome in outcomes.values():
        if outcome.status != "ok":
            yield outcome.part.id, f"{outcome.status.upper()}: {outcome.said}"


def _left_out(outcomes: Mapping[str, Outcome]) -> str:
    parts = [outcome.part.name for outcome in outcomes.values() if outcome.status != "ok"]
    absent = [name for name, build in BUILDS.items() if not build.installed]
    here = f"not built on this machine: {', '.join(absent)}" if absent else "built on this machine"
    return (
        f"{', '.join(parts) or 'nothing of the demo'}; it judges no {' and '.join(BUILDS)} ({here}): `groupspec "
        "clients list`"
    )

"""Which runs a campaign has to make: those that were asked for, and those that confirm what one run showed.

One run that broke a rule may have met a race. A case in which a rule was broken is run again, up to `CERTAIN_RUNS`
runs in all: if each of them broke it, that is certain; if one kept it, it flaps, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.runs import Job, Runs
from groupspec.conformance.wire.saved_runs import Plan
from groupspec.conformance.wire.verdicts import BROKEN, CERTAIN_RUNS, Verdict
from groupspec.spec.rules import RULES


def plan_of(
    clients: Sequence[Client],
    cases: Sequence[Case],
    rules: frozenset[str],
    repeat: int,
    confirm: bool,
    seed: int,
    report: Path | None,
) -> Plan:
    """What a campaign that is resumed must have been before."""
    return Plan(
        groupspec=version("groupspec"),
        clients=tuple(client.name for client in clients),
        cases=tuple(case.id for case in cases),
        rules=tuple(rule for rule in RULES if rule in rules),
        repeat=repeat,
        confirm=confirm,
        seed=seed,
        report=str(report.absolute()) if report is not None else "",
    )


def runs_left(wanted: Sequence[Job], runs: Runs, repeat: int, confirmed: frozenset[str]) -> Iterator[Job]:
    """The runs that are still to be made; `confirmed`: rules that are to be broken for certain, or to flap."""
    yield from (job for job in wanted if not runs.has(job))
    for client, cases in runs.cases().items():
        for case in cases:
            if len(runs.of(client, case)) >= repeat:
                yield from to_confirm(client, case, runs, confirmed)


def to_confirm(client: Client, case: Case, runs: Runs, rules: frozenset[str]) -> list[Job]:
    """The runs that are to confirm what the first ones of a case have shown: they can be made at the same time."""
    if not is_unsure([each.run for each in runs.of(client, case)], rules):
        return []
    return [job for number in range(CERTAIN_RUNS) if not runs.has(job := Job(client, case, number))]


def is_unsure(done: Sequence[CaseResult], rules: frozenset[str]) -> bool:
    """Whether one of these was broken in every run that judged it, and there were too few to make that certain."""
    asked = rules.intersection(done[0].case.rules)
    judged = ({each.judgements[rule].verdict for each in done} for rule in asked)
    return len(done) < CERTAIN_RUNS and any(seen & {*BROKEN} and Verdict.PASS not in seen for seen in judged)

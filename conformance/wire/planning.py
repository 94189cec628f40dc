"""Which runs a campaign has to make: those that were asked for, and those that confirm what one run showed.

One run that broke a rule may have met a race. A case in which a rule was broken is run again, up to `CERTAIN_RUNS`
runs in all: if each of them broke it, that is certain; if one kept it, it flaps, and says so. Not so where that would
tell nothing new: what the docket knows to flap is certain after no number of runs; and of a rule that a client has
broken for certain in `CERTAIN_CASES` cases, further ones are told as they are, with how many runs showed it. Otherwise
one defect that shows in every case (kafka-python 3.0.0 has such) makes a campaign three times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import explanation
from groupspec.conformance.wire.runs import Job, Runs
from groupspec.conformance.wire.saved_runs import Plan
from groupspec.conformance.wire.verdicts import BROKEN, CERTAIN_RUNS, Verdict, combine
from groupspec.spec.rules import RULES

CERTAIN_CASES: Final = 5
"""So many cases, in each of which a rule is broken for certain, need no other one to confirm them."""


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
    unsure = unsure_of([each.run for each in runs.of(client, case)], rules)
    if not any(_certain_cases(client, rule, runs) < CERTAIN_CASES for rule in unsure):
        return []
    return [job for number in range(CERTAIN_RUNS) if not runs.has(job := Job(client, case, number))]


def unsure_of(done: Sequence[CaseResult], rules: frozenset[str]) -> frozenset[str]:
    """Those that were broken in every run that judged them, which were too few to make it certain: of one case."""
    if len(done) >= CERTAIN_RUNS:
        return frozenset()
    return frozenset(rule for rule in rules.intersection(done[0].case.rules) if _is_broken(rule, done))


def _is_broken(rule: str, done: Sequence[CaseResult]) -> bool:
    """Whether a run broke it, none kept it, and none is known to."""
    seen = {each.judgements[rule].verdict for each in done}
    if Verdict.PASS in seen or not seen & {*BROKEN}:
        return False
    run = next(each for each in done if each.judgements[rule].verdict in BROKEN)
    known = explanation(run.client.name, run.client_version, rule, run.case.id, run.judgements[rule].verdict.value)
    return known is None or not known.flaps


def _certain_cases(client: Client, rule: str, runs: Runs) -> int:
    """In how many of its cases the rule is broken for certain by now."""
    judged = (done for done in runs.often(client, CERTAIN_RUNS) if rule in done[0].run.judgements)
    combined = (combine([each.run.judgements[rule] for each in done]) for done in judged)
    return sum(each.certain and each.judgement.verdict in BROKEN for each in combined)

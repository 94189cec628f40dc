"""Which runs a campaign has to make: those that were asked for, and those that confirm what one run showed.

One run that broke a rule may have met a race. A case in which a rule was broken is run again, up to `CERTAIN_RUNS`
runs in all: if each of them broke it, that is certain; if one kept it, it flaps, and says so. Not so where that would
tell nothing new: what the docket knows to flap is certain after no number of runs; and a rule that a client has broken
for certain in some cases needs no further ones: they are told as they are, with how many runs showed it. Otherwise one
defect that shows in every case (kafka-python 3.0.0 has such) makes a campaign three times as long. So the runs that
were asked for come first, and then the quickest cases are confirmed that are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import BROKEN, CERTAIN_RUNS, Verdict, combine
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import explanation
from groupspec.conformance.wire.runs import Job, Runs
from groupspec.conformance.wire.saved_runs import Plan
from groupspec.spec.rules import RULES

CERTAIN_CASES: Final = 5
"""In so many cases a rule has to be broken for certain: then no other one is confirmed."""
CERTAIN_CASES_OF_QUICK: Final = 1
"""The same for the profile that has a minute for each client."""


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


def to_confirm(runs: Runs, rules: frozenset[str], certain_cases: int, under_way: Collection[Job]) -> list[Job]:
    """The runs that are to confirm what the first ones have shown; they can be made at the same time.

    `rules`: those that are to be broken for certain in so many cases, or to flap; `under_way`: what is being run.
    """
    jobs = (
        Job(client, case, number)
        for client in runs.cases()
        for case in _cases_to_confirm(
            client, runs, rules, certain_cases, {job.case for job in under_way if job.client == client}
        )
        for number in range(CERTAIN_RUNS)
    )
    return [job for job in jobs if not runs.has(job)]


def _cases_to_confirm(
    client: Client, runs: Runs, rules: frozenset[str], certain_cases: int, under_way: Collection[Case]
) -> list[Case]:
    """The quickest that are enough, the longest of them first: it would end last."""
    unsure = {case: unsure_of([each.run for each in runs.of(client, case)], rules) for case in runs.cases()[client]}
    in_cases = Counter(rule for of_case in unsure.values() for rule in of_case)
    needed = Counter(dict.fromkeys(in_cases, certain_cases))
    needed.subtract(_certain_cases(client, runs))
    for case in unsure.keys() & under_way:
        needed.subtract(unsure[case])
    quickest_first = sorted(unsure.keys() - under_way, key=lambda case: (_seconds_left(client, case, runs), case.id))
    chosen: set[Case] = set()
    for rule in sorted(in_cases, key=lambda rule: (in_cases[rule], rule)):  # the only case of one may do for another
        for case in quickest_first:
            if needed[rule] > 0 and rule in unsure[case] and case not in chosen:
                chosen.add(case)
                needed.subtract(unsure[case])
    return [case for case in reversed(quickest_first) if case in chosen]


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
    known = explanation(run.known_as, run.client_version, rule, run.case.id, run.judgements[rule].verdict.value)
    return known is None or not known.flaps


def _seconds_left(client: Client, case: Case, runs: Runs) -> float:
    """How long the runs take that would confirm it."""
    done = runs.of(client, case)
    return (CERTAIN_RUNS - len(done)) * done[0].run.seconds


def _certain_cases(client: Client, runs: Runs) -> Counter[str]:
    """In how many cases each rule is broken for certain by now."""
    combined = (
        (rule, combine([each.run.judgements[rule] for each in done]))
        for done in runs.often(client, CERTAIN_RUNS)
        for rule in done[0].run.judgements
    )
    return Counter(rule for rule, each in combined if each.certain and each.judgement.verdict in BROKEN)

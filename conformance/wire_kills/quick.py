"""The profile quick, chosen by the kill matrix: the cases that find most for their time (`wire/quick/cases.json`).

A greedy cover, in three turns, for as long as there is time: first every mutant that full finds; then what the docket
has seen real clients do; then the rules. Of each turn that case comes next which adds most for each second. Only cases
that are written by hand: the computed ones have to be computed first, which takes a second of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.docket import entries
from groupspec.conformance.wire.scenarios import QUICK_CASES, written_cases
from groupspec.conformance.wire_kills.matrix import WireKills

JOBS: Final = 6
"""As `groupspec conform` runs them on two cores, and so do people on small machines."""
PROCESS_S: Final = 0.37
"""What the process of one run costs, and the kit beside it: 0.74 s of one of two cores (the reference, measured)."""
BUDGET_S: Final = 39.5
"""Of the reference, whose runs take no longer than their stories. Others wait for what does not come, and repeat what
they break. 60 at most."""
WANTED: Final = 0.9
"""Of the mutants that full finds."""


def chosen(made: WireKills) -> list[str]:
    """The cases of the profile, in the order in which they are listed."""
    cases = {case.id: case for case in written_cases() if case.id in made.seconds and not _is_refused(case)}
    cost = {case: PROCESS_S + made.seconds[case] / JOBS for case in cases}
    taken: list[str] = []
    for shows in (_mutants(made), _docket(cases.values()), {case.id: set(case.rules) for case in cases.values()}):
        _take(taken, {case: shows.get(case, set()) for case in cases}, cost)
    return [case for case in cases if case in taken]


def _is_refused(case: Case) -> bool:
    """A poll interval that is shorter than the session is none for librdkafka."""
    return 0 < case.scenario.poll_interval_ms < case.scenario.timeout_ms


def _take(taken: list[str], shows: Mapping[str, set[str]], cost: Mapping[str, float]) -> None:
    left = set().union(*shows.values()) - set().union(*(shows[case] for case in taken))
    while left:
        best = max(cost, key=lambda case: (len(shows[case] & left) / cost[case], case))
        if not shows[best] & left or sum(cost[case] for case in (*taken, best)) > BUDGET_S:
            return
        taken.append(best)
        left -= shows[best]


def _mutants(made: WireKills) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for mutant, fate in made.fates.items():
        for each in fate.found_by:
            found.setdefault(each.case, set()).add(mutant)
    return found


def _docket(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Which entries a case can show: those that name it, and a rule that it judges."""
    return {
        case.id: {f"{each.client} {each.rule}" for each in entries() if _names(each.scenarios, case, each.rule)}
        for case in cases
    }


def _names(patterns: Iterable[str], case: Case, rule: str) -> bool:
    return rule in case.rules and any(fnmatchcase(case.id, pattern) for pattern in patterns)


def seconds(made: WireKills, cases: Iterable[str]) -> float:
    """How long these take the reference, about."""
    return sum(PROCESS_S + made.seconds[case] / JOBS for case in cases if case in made.seconds)


def share_of_kills(made: WireKills, cases: Iterable[str]) -> float:
    """How many of the mutants that full finds these find."""
    return len(made.killed(set(cases))) / max(1, len(made.killed()))


def quick_text(made: WireKills) -> str:
    """The file."""
    return json.dumps(chosen(made), indent=1) + "\n"


def problems(made: WireKills, cases: Iterable[str] = QUICK_CASES) -> Iterator[str]:
    """Why a choice is none; nothing if it finds enough in its time, though another one may have become better."""
    chosen_ones = set(cases)
    if gone := chosen_ones - {case.id for case in written_cases()}:
        yield f"quick.json names cases that are not there: {', '.join(sorted(gone))}"
        return
    known = chosen_ones & set(made.seconds)
    if share_of_kills(made, known) < WANTED:
        yield f"quick finds {share_of_kills(made, known):.0%} of the mutants that full finds; {WANTED:.0%} must be"
    if seconds(made, known) > BUDGET_S:
        yield f"quick takes {seconds(made, known):.0f} s; {BUDGET_S:.0f} s are allowed"

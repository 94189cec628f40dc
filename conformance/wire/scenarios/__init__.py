"""The scenarios, and the cases that they are run in.

What is told here is written by hand, a module for each family; `answers` computes a family of further scenarios, for
the profile `full`. `registry` says how one is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem, did_you_mean
from groupspec.conformance.wire.case import PLAIN_NAME, RACE, Case, Scenario, racing
from groupspec.conformance.wire.scenarios.races import pinned
from groupspec.conformance.wire.scenarios.registry import SCENARIOS

__all__ = [
    "FAMILIES",
    "FULL",
    "PATH",
    "PROFILES",
    "QUICK",
    "QUICK_CASES",
    "SCENARIOS",
    "all_cases",
    "case_of",
    "cases_of_path",
    "family_of",
    "find_cases",
    "scenarios",
    "written_cases",
]

PATH: Final = "path"
FAMILIES: Final = (
    PATH,
    "leaving",
    "static",
    "silence",
    "leading",
    "topics",
    "moving",
    "unreachable",
    "committing",
    "reading",
    "positions",
    "calls",
    "between_polls",
    "slowness",
    "outlasting",
    "together",
    "throttling",
    "brokers",
    "cooperative",
)
"""The modules, in the order in which their scenarios are listed."""

for _family in FAMILIES:  # importing a family registers its scenarios
    import_module(f"{__name__}.{_family}")

QUICK_CASES: Final = frozenset(json.loads(Path(__file__).parents[1].joinpath("quick", "cases.json").read_bytes()))
"""Which cases they are; chosen by `wire_kills/quick.py`."""
QUICK: Final = "quick"
FULL: Final = "full"
PROFILES: Final = {
    QUICK: "the cases that find most for their time, chosen by which mutants they find: about 70 cases, a minute on 2 "
    "cores for each client",
    FULL: "all that are written by hand, every answer at every point of a member's path, and races that were found: "
    "about 670 cases, 4 to 7 minutes on 2 cores",
}


def scenarios(profile: str = QUICK) -> Mapping[str, Scenario]:
    """Those of a profile, by id."""
    if profile == QUICK:
        return {case.scenario.id: case.scenario for case in all_cases()}
    from groupspec.conformance.wire.answers.family import answer_scenarios  # only here: the machines take a second

    return SCENARIOS | answer_scenarios()


def all_cases(profile: str = QUICK) -> list[Case]:
    """The cases of a profile: those of quick, or all of them, and then also with the delays that have shown races."""
    if profile == QUICK:
        return [case for case in written_cases() if case.id in QUICK_CASES]
    cases = [Case(each, variant) for each in scenarios(profile).values() for variant in each.variants]
    return cases + pinned(cases)


def written_cases() -> list[Case]:
    """Every scenario that is written by hand, in every way, whichever profile it is of."""
    return [Case(each, variant) for each in SCENARIOS.values() for variant in each.variants]


def family_of(scenario: Scenario) -> str:
    """The module that tells it."""
    return scenario.story.__module__.rpartition(".")[2]


def cases_of_path() -> list[Case]:
    """The cases of a member's path alone: what was judged before there were other families, and what is timed."""
    return [case for case in written_cases() if family_of(case.scenario) == PATH]


def find_cases(chosen: Sequence[str], profile: str = QUICK) -> list[Case]:
    """The cases of these ids, of scenarios or of one variant each; without any, those of the profile.

    Raises:
        UsageProblem: there is no such scenario or variant.
    """
    if not chosen:
        return all_cases(profile)
    if racing_ones := [each for each in chosen if RACE in each]:
        others = [each for each in chosen if RACE not in each]
        return (find_cases(others, profile) if others else []) + [_racing(each) for each in racing_ones]
    names = _names(written_cases())
    if not set(chosen) <= {name for each in names.values() for name in each}:
        names = _names(all_cases(FULL))
    known = [name for each in names.values() for name in each]
    for identifier in chosen:
        if identifier not in known:
            meant = did_you_mean(identifier, known)
            raise UsageProblem(
                f"there is no scenario {identifier!r}",
                allowed=() if meant else [*scenarios(FULL)],
                next_step=f"{meant} `groupspec conform --list` tells what there is".strip(),
            )
    return [case for case, called in names.items() if called.intersection(chosen)]


def _racing(identifier: str) -> Case:
    """`first-join/plain~17`: that case, with the delays of seed 17."""
    of, _, seed = identifier.partition(RACE)
    found = find_cases([of])
    if not seed.isdecimal() or len(found) != 1:
        raise UsageProblem(
            f"{identifier!r} is no case with delays",
            allowed=f"SCENARIO/VARIANT{RACE}SEED: one variant, and a number",
            next_step="`groupspec conform CLIENT --races N` tells such names",
        )
    return racing(found[0], int(seed))


def _names(cases: Sequence[Case]) -> dict[Case, set[str]]:
    """What each case may be called."""
    return {case: {case.scenario.id, f"{case.scenario.id}/{case.variant.name or PLAIN_NAME}"} for case in cases}


def case_of(identifier: str) -> Case | None:
    """The case with this id, of any profile or of a broker that nobody scripts; None if there is none."""
    from groupspec.conformance.wire.live_cases import LIVE_CASES  # only here: most runs have a script

    if identifier in LIVE_CASES:
        return LIVE_CASES[identifier]
    of, _, seed = identifier.partition(RACE)
    if seed.isdecimal():
        case = case_of(of.removesuffix(f"/{PLAIN_NAME}"))
        return None if case is None else racing(case, int(seed))
    found = (case for profile in PROFILES for case in all_cases(profile) if case.id == identifier)
    return next(found, None)

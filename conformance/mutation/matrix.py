"""The kill matrix: which check notices which breaker of which rule.

A rule is held by a check that carries it, is green on the reference, and goes red when a breaker of that rule is put
in. A check that only carries the rule's id holds nothing, and a breaker that no such check notices shows that the rule
is held by nothing, whatever the tests' names say.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.mutation.catalogue import BREAKERS
from groupspec.conformance.mutation.lists import HELD_LATER, HYGIENE
from groupspec.conformance.mutation.stories import stories
from groupspec.conformance.mutation.worker import GREEN, MAX_S
from groupspec.spec.rules import RULES

Told = Callable[[str], None]
Kills = Mapping[str, Mapping[str, tuple[str, ...]]]


PIECE: Final = 24
"""Breakers for one process: enough that its start, which imports the tests, is a small part."""


@dataclass(frozen=True)
class KillMatrix:
    """What holds each rule.

    Attributes:
        kills: Rule -> breaker -> the checks that carry the rule and go red.
        red: Breaker -> every check that goes red, whatever it carries.
        problems: What makes the matrix worthless: a check that is red without a breaker, a breaker that can't be put
            in.
    """

    kills: Kills
    red: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]

    def gaps(self) -> list[str]:
        """Rules held by nothing that no list excuses."""
        excused = {*HELD_LATER, *HYGIENE}
        return [rule for rule in RULES if rule not in excused and not any(self.kills.get(rule, {}).values())]

    def unnoticed(self) -> list[tuple[str, str]]:
        """(breaker, rule): the breaker says that it breaks the rule, and no check of the rule notices."""
        return [
            (identifier, rule)
            for rule, breakers in self.kills.items()
            for identifier, checks in breakers.items()
            if not checks
        ]

    def needless_excuses(self) -> list[str]:
        """Rules on the lists that are held all the same."""
        return [rule for rule in (*HELD_LATER, *HYGIENE) if any(self.kills.get(rule, {}).values())]

    def idle_checks(self) -> list[str]:
        """Checks that no breaker turns red: they may cover something, but hold nothing yet."""
        busy = {check for checks in self.red.values() for check in checks}
        return [check for check in stories() if check not in busy]


def kill_matrix(told: Told = lambda _: None, jobs: int = 2) -> KillMatrix:
    """Computes it: every breaker against every check.

    Args:
        told: Gets the id of every breaker that is done.
        jobs: Processes side by side.

    Raises:
        UsageProblem: the tests can't be imported.
    """
    stories()
    red: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for found in _all([GREEN, *BREAKERS], jobs, told):
        if found.breaker == GREEN:
            problems += [f"{check} is red although no breaker is put in" for check in found.red]
        else:
            red[found.breaker] = found.red
        if found.defect:
            problems.append(f"breaker {found.breaker}: {found.defect}")
    red = {identifier: red.get(identifier, ()) for identifier in BREAKERS}
    return KillMatrix(_kills(red), red, tuple(sorted(problems)))


def _kills(red: Mapping[str, tuple[str, ...]]) -> Kills:
    known = stories()
    return {
        rule: {
            one.id: tuple(check for check in red[one.id] if rule in known[check].rules)
            for one in BREAKERS.values()
            if rule in one.rules
        }
        for rule in RULES
    }


class _Found(NamedTuple):
    """What one breaker did."""

    breaker: str
    red: tuple[str, ...]
    defect: str


def _all(identifiers: Sequence[str], jobs: int, told: Told) -> Iterator[_Found]:
    """What the processes say: each has its share of the breakers, in pieces, so that the caller hears of progress."""
    pieces = [identifiers[start : start + PIECE] for start in range(0, len(identifiers), PIECE)]
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(_one_process, pieces):
            for one in found:
                told(one.breaker)
            yield from found


def _one_process(identifiers: Sequence[str]) -> list[_Found]:
    run = subprocess.run(
        [sys.executable, "-m", "groupspec.conformance.mutation.worker", *identifiers],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=MAX_S * len(identifiers) + MAX_S,
        check=False,
    )
    if run.returncode:
        raise UsageProblem("a process of the kill matrix has died", where=run.stderr[-2_000:])
    lines = map(json.loads, run.stdout.splitlines())
    return [_Found(line["breaker"], tuple(line["red"]), line["defect"]) for line in lines]

"""Proving a theorem about time: what the exploration finds against what is claimed, for all numbers.

*Only if*: every choice of parameters with which the goal is reached lies in a case of the claim. *If*: every choice
that lies in a case reaches the goal. Each direction is a question whether some whole numbers are on one side and not on
the other; none are, or here they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

from groupspec.spec.expiry.automata import System
from groupspec.spec.expiry.linear import NON_STRICT, STRICT, Inequality, holds, negation, parse, point, whole_point
from groupspec.spec.expiry.small import Moment, shortest_run
from groupspec.spec.expiry.theorems import Theorem
from groupspec.spec.expiry.zones import explore

ARITHMETICS: Final = {"non-strict": NON_STRICT, "strict": STRICT}

Case: TypeAlias = tuple[Inequality, ...]
Values: TypeAlias = dict[str, int]


@dataclass(frozen=True)
class Refutation:
    """Numbers for which a claim is wrong: the goal is reached though no case holds, or not reached though one does."""

    direction: Literal["reached, but not claimed", "claimed, but not reached"]
    values: Values


@dataclass(frozen=True)
class Proof:
    """What became of a theorem in one arithmetic: refuted by numbers, or by none. `zones` were explored."""

    theorem: Theorem
    arithmetic: int
    zones: int
    refutation: Refutation | None


@dataclass(frozen=True)
class Boundary:
    """The boundary case of a theorem's example: the largest `limit` that does not save the member, and how it goes."""

    values: Values
    run: tuple[Moment, ...]


def prove(theorem: Theorem, arithmetic: int, *, claimed_in: int | None = None) -> Proof:
    """Compare what is reached with what is claimed.

    Args:
        theorem: What to prove.
        arithmetic: In which the model's clocks expire.
        claimed_in: In which the claim is read; another one makes a mutant of the claim, off by a millisecond.
    """
    zones, count = _explored(theorem, arithmetic)
    assumed = _assumed(theorem, arithmetic)
    claimed = cases(theorem, arithmetic if claimed_in is None else claimed_in)
    size = len(theorem.parameters)
    for zone in zones:
        if (found := _outside([*assumed, *zone], claimed, size)) is not None:
            return Proof(theorem, arithmetic, count, Refutation("reached, but not claimed", _named(theorem, found)))
    for case in claimed:
        if (found := _outside([*assumed, *case], zones, size)) is not None:
            return Proof(theorem, arithmetic, count, Refutation("claimed, but not reached", _named(theorem, found)))
    return Proof(theorem, arithmetic, count, None)


def cases(theorem: Theorem, arithmetic: int) -> list[Case]:
    """The claim as inequalities over the parameters."""
    return [
        tuple(row for text in case for row in parse(text, theorem.parameters, arithmetic)) for case in theorem.cases
    ]


def claims(theorem: Theorem, arithmetic: int, values: Values) -> bool:
    """What the theorem says for these numbers: whether the goal can be reached."""
    numbers = [values[name] for name in theorem.parameters]
    return any(all(holds(row, numbers) for row in case) for case in cases(theorem, arithmetic))


def boundary(theorem: Theorem, arithmetic: int) -> Boundary:
    """The example's boundary case, with the shortest run to the goal. With one more there is none: see the tests."""
    values = {**theorem.typical, theorem.limit: 0}
    while claims(theorem, arithmetic, {**values, theorem.limit: values[theorem.limit] + 1}):
        values[theorem.limit] += 1
    run = shortest_run(System(theorem.parts, theorem.parameters, arithmetic), theorem.goal, values)
    assert run is not None, f"{theorem.id}: the theorem claims what does not happen, with {values}"
    return Boundary(values, run)


@cache
def _explored(theorem: Theorem, arithmetic: int) -> tuple[tuple[Case, ...], int]:
    system = System(theorem.parts, theorem.parameters, arithmetic)
    answer = explore(system, theorem.goal, [row for text in theorem.assumptions for row in system.parse(text)])
    return tuple(tuple(sorted(zone)) for zone in answer.zones), answer.explored


def _assumed(theorem: Theorem, arithmetic: int) -> list[Inequality]:
    return [row for text in theorem.assumptions for row in parse(text, theorem.parameters, arithmetic)]


def _outside(rows: Sequence[Inequality], cover: Iterable[Case], size: int) -> tuple[int, ...] | None:
    """Whole numbers for which all rows hold and no case of the cover does."""
    if point(rows, size) is None:
        return None
    remaining = list(cover)
    if not remaining:
        return whole_point(rows, size)
    first, *rest = remaining
    for row in first:
        if (outside := _outside([*rows, negation(row)], rest, size)) is not None:
            return outside
    return None


def _named(theorem: Theorem, numbers: tuple[int, ...]) -> Values:
    return dict(zip(theorem.parameters, numbers, strict=True))

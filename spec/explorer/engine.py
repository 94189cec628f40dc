"""What the two engines have in common: their names, why they stop, and what they count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

EngineName: TypeAlias = Literal["auto", "native", "python"]


class Stop(IntEnum):
    """Why an engine stopped; the numbers are those of `search.c`."""

    MORE = 0
    COMPLETE = 1
    STATES = 2
    MEMORY = 3
    VIOLATED = 4


WHOLE = ("states", "expanded", "layer_end", "depth", "edges", "dead_ends", "first_dead", "unfolded")
"""The first of an engine's counts, in the order of `search.c`; then one for each action, one for each property."""


@dataclass(frozen=True)
class Counts:
    """How far an engine is.

    Attributes:
        states: Distinct ones found.
        expanded: Those whose alternatives were all tried; the next one has this number.
        layer_end: The number of the first state that is a step farther than those being expanded.
        depth: Steps from the initial state to those being expanded.
        edges: Enabled alternatives of expanded states.
        dead_ends: Expanded states without any.
        first_dead: The first of them, or NO_STATE.
        unfolded: How many states those found stand for.
        fired: Per action how often it was enabled.
        first: Per property about single states the first state that decides it, or NO_STATE.
    """

    states: int
    expanded: int
    layer_end: int
    depth: int
    edges: int
    dead_ends: int
    first_dead: int
    unfolded: int
    fired: tuple[int, ...]
    first: tuple[int, ...]

    @classmethod
    def of(cls, numbers: Sequence[int], actions: int) -> Counts:
        """From the numbers in their order."""
        split = len(WHOLE) + actions
        whole = dict(zip(WHOLE, numbers, strict=False))
        return cls(fired=tuple(numbers[len(WHOLE) : split]), first=tuple(numbers[split:]), **whole)

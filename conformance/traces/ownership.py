"""T-TWO-OWNERS: in one generation a partition has one owner.

The rule is about a group, so it comes after the members: each assigned callback that ends is a *claim* of all that the
member then owns, in its generation. Two members that claim one partition in one generation break the rule. It is keyed
by generation and not by time, because the clocks of two hosts say nothing about each other.

The violation is told of the later member in the order of names; its first claim of the partition is the place. The
processes of a static member are one owner: one takes the other's place, in the same generation (rule G11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from groupspec.conformance.traces.trace_rules import CODES, detail

RULE: Final = "T-TWO-OWNERS"

Ints = npt.NDArray[np.int64]


class Conflict(NamedTuple):
    """The claim of a second owner; all are numbers of the checker. The first nine are the columns of a claim."""

    group: int
    generation: int
    partition: int
    member: int
    seq: int
    at_us: int
    event: int
    state: int
    owner: int
    other: int


def text(generation: int, partition: str, other: str) -> str:
    """The violation in words."""
    return detail(CODES[RULE], 0, generation, partition, other)


def find(batches: Sequence[Ints]) -> list[Conflict]:
    """The conflicts among these claims. Members are numbered in the order of their names."""
    if not batches:
        return []
    claims = np.concatenate(batches)
    claims = claims[np.lexsort((claims[:, 4], claims[:, 3], claims[:, 8], claims[:, 2], claims[:, 1], claims[:, 0]))]
    if len(claims) < 2:
        return []
    same_partition = np.all(claims[1:, :3] == claims[:-1, :3], axis=1)
    other_owner = claims[1:, 8] != claims[:-1, 8]
    places = np.flatnonzero(same_partition & other_owner) + 1
    return [Conflict._make([*claims[place].tolist(), int(claims[place - 1, 3])]) for place in places]

"""Two reductions without which the subset construction would not end.

Equal configurations, and configurations that add nothing.

*Bisimilar* configurations of one state can do the same for ever; one of them is enough. And in a set of explanations,
one that another *simulates* (whatever the one can do, the other can do too) adds nothing to the set: it is dropped.
Both keep exactly the traces that the sets explain. Sets of numbers are Python integers, one bit each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Successors = list[list[int]]
"""[configuration][symbol] -> the set of configurations after it."""


def bits(mask: int) -> list[int]:
    """The places of the ones."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def union(masks: Sequence[int], members: int) -> int:
    """The union of the masks of all members."""
    reached = 0
    for number in bits(members):
        reached |= masks[number]
    return reached


class Quotient(NamedTuple):
    """Configurations up to bisimilarity.

    Attributes:
        class_of: The class of each configuration.
        after: The successors of each class.
    """

    class_of: list[int]
    after: Successors


def quotient(after: Successors, labels: Sequence[str]) -> Quotient:
    """Partition refinement, from the labels on: a class has one label."""
    numbers: dict[str, int] = {}
    class_of = [numbers.setdefault(label, len(numbers)) for label in labels]
    count = 0
    while True:
        found: dict[tuple[int, tuple[int, ...]], int] = {}
        finer = [
            found.setdefault((class_of[one], tuple(_classes(mask, class_of) for mask in masks)), len(found))
            for one, masks in enumerate(after)
        ]
        class_of = finer
        if len(found) == count:
            break
        count = len(found)
    successors: Successors = [[] for _ in range(count)]
    for one, masks in enumerate(after):
        if not successors[class_of[one]]:
            successors[class_of[one]] = [_classes(mask, class_of) for mask in masks]
    return Quotient(class_of, successors)


def _classes(members: int, class_of: Sequence[int]) -> int:
    found = 0
    for number in bits(members):
        found |= 1 << class_of[number]
    return found


def simulators(after: Successors) -> list[int]:
    """For each number, all that simulate it, itself among them: the greatest simulation, from above."""
    enabled = [sum(1 << symbol for symbol, mask in enumerate(masks) if mask) for masks in after]
    above = [sum(1 << two for two, can in enumerate(enabled) if can & one == one) for one in enabled]
    changed = True
    while changed:
        changed = False
        for one in range(len(after)):
            kept = above[one]
            for two in bits(kept):
                if not _matches(after[one], after[two], above):
                    kept &= ~(1 << two)
            changed = changed or kept != above[one]
            above[one] = kept
    return above


def _matches(one: Sequence[int], two: Sequence[int], above: Sequence[int]) -> bool:
    """Whether each step of the one has an answer among the steps of the other."""
    return all(
        all(above[place] & theirs for place in bits(mine & ~theirs)) for mine, theirs in zip(one, two, strict=True)
    )


def prune(members: int, above: Sequence[int]) -> int:
    """The set without what others in it simulate; of those that simulate each other the first stays."""
    for one in bits(members):
        others = above[one] & members & ~(1 << one)
        if any(two < one or not above[two] >> one & 1 for two in bits(others)):
            members &= ~(1 << one)
    return members

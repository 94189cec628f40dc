"""Two reductions without which the subset construction would not end: of equal configurations, and of needless ones.

*Bisimilar* configurations of one state can do the same for ever; one of them is enough. And in a set of explanations,
one that another *simulates* (whatever the one can do, the other can do too) adds nothing to the set: it is dropped.
Both keep exactly the traces that the sets explain. Sets of numbers are Python integers, one bit each.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def quotient(after: Successors, labels: Sequence[str]) -> tuple[list[int], Successors]:
    """Configurations up to bisimilarity: the class of each, and the successors of each class.

    Partition refinement, from the labels on: a class has one label.
    """
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    class_of = [numbers[label] for label in labels]
    while True:
        ones = [1 << number for number in class_of]
        found: dict[tuple[int, tuple[int, ...]], int] = {}
        finer = [
            found.setdefault((number, tuple(union(ones, mask) for mask in masks)), len(found))
            for number, masks in zip(class_of, after, strict=True)
        ]
        if finer == class_of:
            return class_of, [list(moves) for _, moves in found]
        class_of = finer


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

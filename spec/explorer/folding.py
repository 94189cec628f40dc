"""One of each orbit: which of the renamings of a state is kept.

A renaming gives member k and partition k the new number r(k), in every array and in every variable that holds an index.
The renamings of a state form its orbit, and one of them is kept for all, always the same.

It could be the one whose packed number is smallest; but then all n! had to be tried. So members are first put in order
by what each has for itself (its *key*: the values of all variables that are indexed by members alone). Only renamings
that keep the keys in order are tried; where all keys differ, that is one. Of these the smallest packed number is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer.layout import WORD_BITS, Layout


@dataclass(frozen=True)
class Fold:
    """One renaming, made ready.

    Attributes:
        renaming: At place k the new number of k; 0, nobody, keeps its number.
        fields: Per field the field that its value comes from, and what becomes of the value (None: nothing).
    """

    renaming: tuple[int, ...]
    fields: tuple[tuple[int, tuple[int, ...] | None], ...]

    def apply(self, codes: bytes) -> bytes:
        """The codes of the renamed state."""
        return bytes(codes[source] if values is None else values[codes[source]] for source, values in self.fields)

    @property
    def sources(self) -> tuple[int, ...]:
        """At place k - 1 the old number of who is now k."""
        old = {new: number for number, new in enumerate(self.renaming)}
        return tuple(old[number] for number in range(1, len(self.renaming)))


class Folding:
    """All renamings of a model.

    Attributes:
        folds: The first one changes nothing.
        keys: At place k - 1 the fields that make the key of k: (position, shift).
        neighbours: Places whose keys must be in order: each with the next.
    """

    def __init__(self, layout: Layout, holders: frozenset[str]) -> None:
        self._layout = layout
        self.folds = tuple(_fold(layout, holders, renaming) for renaming in renamings(layout.model))
        sizes = sorted(layout.model.sizes[over] for over in ("members", "partitions"))
        self.keys = tuple(tuple(_key(layout, holders, k)) for k in range(1, sizes[1] + 1))
        # Who has a partner of the same number is never exchanged with one who has none.
        self.neighbours = tuple(place for place in range(sizes[1] - 1) if place != sizes[0] - 1)

    def canonical(self, codes: bytes) -> tuple[bytes, int]:
        """The state that is kept for this one, and how many it stands for."""
        keys = [sum(codes[position] << shift for position, shift in parts) for parts in self.keys]
        best, smallest, same = codes, -1, 0
        for fold in self.folds:
            old = fold.sources
            if any(keys[old[place] - 1] > keys[old[place + 1] - 1] for place in self.neighbours):
                continue
            renamed = fold.apply(codes)
            packed = self._layout.pack(renamed)
            if smallest < 0 or packed < smallest:
                best, smallest, same = renamed, packed, 1
            elif packed == smallest:
                same += 1
        return best, len(self.folds) // same


def renamings(model: Model) -> list[tuple[int, ...]]:
    """Every renaming: at place k the new number of k. The first changes nothing."""
    members, partitions = model.sizes["members"], model.sizes["partitions"]
    small, large = min(members, partitions), max(members, partitions)
    # If there are more of one kind, its surplus is renamed among itself: member and partition k go together.
    low = permutations(range(1, small + 1))
    high = list(permutations(range(small + 1, large + 1)))
    return [(0, *first, *second) for first in low for second in high]


def _fold(layout: Layout, holders: frozenset[str], renaming: tuple[int, ...]) -> Fold:
    place = {(field.variable.name, field.at): field.position for field in layout.fields}
    old = {new: number for number, new in enumerate(renaming)}
    fields: list[tuple[int, tuple[int, ...] | None]] = []
    for field in layout.fields:
        source = place[field.variable.name, tuple(old[index] for index in field.at)]
        values = renaming[: len(field.variable.domain)] if field.variable.name in holders else None
        fields.append((source, values))
    return Fold(renaming, tuple(fields))


def _key(layout: Layout, holders: frozenset[str], index: int) -> Iterator[tuple[int, int]]:
    shift = 0
    for field in layout.fields:
        own = field.variable.over == ("members",) and field.at == (index,) and field.variable.name not in holders
        # More than a word is not needed: keys that are equal cost time, not truth.
        if own and field.bits and shift + field.bits <= WORD_BITS:
            yield field.position, shift
            shift += field.bits

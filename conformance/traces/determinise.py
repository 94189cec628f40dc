"""Subset construction: from an observer's configurations to one table of integers for all sources and protocols."""

from __future__ import annotations

from typing import Final

import numpy as np

from groupspec.conformance.traces.projection import (
    JUDGED_SOURCES,
    REBALANCES,
    Configuration,
    Ints,
    Observer,
    Projection,
    Symbol,
    symbol_table,
)
from groupspec.conformance.traces.schema import SOURCES
from groupspec.spec.compiler.tables import tables

MACHINE: Final = "rebalance"
PROFILE: Final = "deployed"
UNKNOWN_NAME: Final = "unknown"


class Graph:
    """All configurations that one observer can get into, and the bit masks that lead from each to the next.

    A set of configurations is one Python integer, a bit for each: unions are then one instruction for sixty-four of them.
    """

    def __init__(self, observer: Observer, symbols: list[Symbol]) -> None:
        self.configurations: list[Configuration] = []
        self._number: dict[Configuration, int] = {}
        self._take(observer.start())
        hidden: list[int] = []
        self.after: list[list[int]] = []
        while len(hidden) < len(self.configurations):
            configuration = self.configurations[len(hidden)]
            hidden.append(self._mask(observer.hidden(configuration)))
            self.after.append([self._mask(observer.after(configuration, symbol)) for symbol in symbols])
        self.closure = self._close(hidden)

    def _take(self, configuration: Configuration) -> int:
        if configuration not in self._number:
            self._number[configuration] = len(self.configurations)
            self.configurations.append(configuration)
        return self._number[configuration]

    def _mask(self, found: set[Configuration]) -> int:
        mask = 0
        for configuration in found:
            mask |= 1 << self._take(configuration)
        return mask

    def _close(self, hidden: list[int]) -> list[int]:
        """For each configuration, all that hidden events can make of it."""
        closed = [mask | 1 << number for number, mask in enumerate(hidden)]
        changed = True
        while changed:
            changed = False
            for number, mask in enumerate(closed):
                wider = union(closed, mask)
                if wider != mask:
                    closed[number] = wider
                    changed = True
        return closed

    def move(self, members: int, symbol: int) -> int:
        """The set after a symbol, closed under hidden events."""
        reached = 0
        for number in bits(members):
            reached |= self.after[number][symbol]
        return union(self.closure, reached)

    def name(self, members: int) -> str:
        """The machine's states in a set."""
        return "|".join(sorted({self.configurations[number].state for number in bits(members)}))


def bits(mask: int) -> list[int]:
    """The places of the ones."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def union(masks: list[int], members: int) -> int:
    """The union of the masks of all members."""
    reached = 0
    for number in bits(members):
        reached |= masks[number]
    return reached


class _Builder:
    """Numbers the sets of all modes in one table."""

    def __init__(self) -> None:
        self.symbols, self.codes = symbol_table()
        self.rows: list[list[int]] = []
        self.names: list[str] = []
        modes = 2 * len(SOURCES)
        self.start = np.full(modes, -1, np.int64)
        self.unknown = np.full(modes, -1, np.int64)

    def add(self, mode: int, graph: Graph) -> None:
        """All sets that can occur in one mode, from its start, from the unknown, and from an illegal event."""
        number: dict[int, int] = {}
        queue: list[int] = []
        first = len(self.names)

        def take(members: int) -> int:
            if members == 0:
                return -1
            if members not in number:
                number[members] = first + len(queue)
                queue.append(members)
            return number[members]

        assigned = next(place for place, symbol in enumerate(self.symbols) if symbol.event == "assigned")
        self.start[mode] = take(graph.closure[0])
        known_again = take(graph.move((1 << len(graph.configurations)) - 1, assigned))
        for members in queue:  # it grows while it is read
            self.rows.append([take(graph.move(members, symbol)) for symbol in range(len(self.symbols))])
            self.names.append(graph.name(members))
        self._add_unknown(mode, known_again, assigned)

    def _add_unknown(self, mode: int, known_again: int, assigned: int) -> None:
        """The state after a gap or an illegal event: anything may follow, until an assignment is complete."""
        self.unknown[mode] = len(self.names)
        row = [len(self.names)] * len(self.symbols)
        row[assigned] = known_again
        self.rows.append(row)
        self.names.append(UNKNOWN_NAME)

    def projection(self) -> Projection:
        """What was added so far."""
        return Projection(
            symbols=self.codes,
            next_state=np.array(self.rows, np.int64),
            start=self.start,
            unknown=self.unknown,
            names=self.names,
        )


def build() -> Projection:
    """The projection of the rebalance machine, deployed profile, both protocols, for all sources that can be judged.

    Takes some seconds: `projection_cache.load` does it once a machine.
    """
    builder = _Builder()
    for source in JUDGED_SOURCES:
        for rebalance in REBALANCES:
            mode = Projection.mode(source, rebalance == "eager")
            builder.add(mode, Graph(Observer(tables()[MACHINE, rebalance, PROFILE], source), builder.symbols))
    return minimise(builder.projection())


def minimise(projection: Projection) -> Projection:
    """The same with as few states as possible: states that no trace can tell apart become one, if they have one name."""
    names = {name: number for number, name in enumerate(sorted(set(projection.names)))}
    classes = np.array([names[name] for name in projection.names], np.int64)
    while True:
        targets = np.where(projection.next_state >= 0, classes[projection.next_state], -1)
        signatures = np.column_stack([classes, targets])
        first, finer = np.unique(signatures, axis=0, return_index=True, return_inverse=True)[1:]
        if len(first) == classes.max() + 1:
            break
        classes = finer.reshape(-1).astype(np.int64)
    return Projection(
        symbols=projection.symbols,
        next_state=targets[first],
        start=_renamed(projection.start, classes),
        unknown=_renamed(projection.unknown, classes),
        names=[projection.names[place] for place in first],
    )


def _renamed(states: Ints, classes: Ints) -> Ints:
    return np.where(states >= 0, classes[states], -1)

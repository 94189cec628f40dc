"""Subset construction: from an observer's configurations to one table of integers for all sources and protocols."""

from __future__ import annotations

from typing import Final

import numpy as np

from groupspec.conformance.traces.projection import (
    DEMANDING,
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
from groupspec.conformance.traces.simulation import bits, prune, quotient, simulators, union
from groupspec.spec.compiler.tables import tables

MACHINE: Final = "rebalance"
PROFILE: Final = "deployed"
UNKNOWN_NAME: Final = "unknown"


class Graph:
    """All configurations that one observer can get into, reduced, and the sets that lead from each to the next.

    Attributes:
        start: The class of a member that has just been made.
        after: [class][symbol] -> the set of classes after it, hidden events before it included.
        states: [class] -> the machine's state.
    """

    def __init__(self, observer: Observer, symbols: list[Symbol]) -> None:
        self._configurations: list[Configuration] = []
        self._number: dict[Configuration, int] = {}
        self._take(observer.start())
        hidden: list[int] = []
        visible: list[list[int]] = []
        while len(hidden) < len(self._configurations):
            configuration = self._configurations[len(hidden)]
            hidden.append(self._mask(observer.hidden(configuration)))
            visible.append([self._mask(observer.after(configuration, symbol)) for symbol in symbols])
        self._hide(hidden, visible, symbols)
        reduced = quotient(visible, [configuration.state for configuration in self._configurations])
        self.start = reduced.class_of[0]
        self.after = reduced.after
        self.above = simulators(self.after)
        self.states = [""] * len(self.after)
        for configuration, number in zip(self._configurations, reduced.class_of, strict=True):
            self.states[number] = configuration.state

    def _take(self, configuration: Configuration) -> int:
        if configuration not in self._number:
            self._number[configuration] = len(self._configurations)
            self._configurations.append(configuration)
        return self._number[configuration]

    def _mask(self, found: set[Configuration]) -> int:
        mask = 0
        for configuration in found:
            mask |= 1 << self._take(configuration)
        return mask

    @staticmethod
    def _hide(hidden: list[int], visible: list[list[int]], symbols: list[Symbol]) -> None:
        """Puts the hidden events that may have happened before a symbol into the symbol's steps."""
        closed = [mask | 1 << number for number, mask in enumerate(hidden)]
        changed = True
        while changed:
            wider = [union(closed, mask) for mask in closed]
            changed, closed = wider != closed, wider
        for place, symbol in enumerate(symbols):
            if symbol.event in DEMANDING:
                column = [steps[place] for steps in visible]
                for number, steps in enumerate(visible):
                    steps[place] = union(column, closed[number])

    def move(self, members: int, symbol: int) -> int:
        """The set after a symbol."""
        reached = 0
        for number in bits(members):
            reached |= self.after[number][symbol]
        return prune(reached, self.above)

    def name(self, members: int) -> str:
        """The machine's states in a set."""
        return "|".join(sorted({self.states[number] for number in bits(members)}))


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

        def take(reached: int) -> int:
            """The number of a set."""
            if reached == 0:
                return -1
            if reached not in number:
                number[reached] = first + len(queue)
                queue.append(reached)
                self.names.append(graph.name(reached))
            return number[reached]

        assigned = next(place for place, symbol in enumerate(self.symbols) if symbol.event == "assigned")
        self.start[mode] = take(1 << graph.start)
        known_again = take(graph.move((1 << len(graph.states)) - 1, assigned))
        for members in queue:  # it grows while it is read
            self.rows.append([take(graph.move(members, symbol)) for symbol in range(len(self.symbols))])
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
    """The same with as few states as possible.

    States that no trace can tell apart become one, if they have one name.
    """
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

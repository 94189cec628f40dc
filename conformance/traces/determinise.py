"""Subset construction: from an observer's configurations to one table of integers for all sources and protocols."""

from __future__ import annotations

from itertools import product
from typing import Final

import numpy as np

from groupspec.conformance.traces.projection import (
    DEMANDING,
    JUDGED_SOURCES,
    REBALANCES,
    Configuration,
    Observer,
    Projection,
    Symbol,
    symbol_table,
)
from groupspec.conformance.traces.reductions import bits, prune, quotient, simulators, union
from groupspec.conformance.traces.schema import SOURCES
from groupspec.spec.compiler.tables import tables

MACHINE: Final = "rebalance"
PROFILE: Final = "deployed"
UNKNOWN_NAME: Final = "unknown"


class Graph:
    """All configurations that one observer can get into, reduced, and the sets that lead from each to the next.

    Attributes:
        start: The class of a member that has just been made.
        after: [symbol][class] -> the set of classes after it, hidden events before it included.
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
        class_of, after = quotient(visible, [configuration.state for configuration in self._configurations])
        self.start = class_of[0]
        self.after = list(zip(*after, strict=True))
        self.above = simulators(after)
        state_of = dict(zip(class_of, (configuration.state for configuration in self._configurations), strict=True))
        self.states = [state_of[number] for number in range(len(after))]

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
        return prune(union(self.after[symbol], members), self.above)

    def name(self, members: int) -> str:
        """The machine's states in a set."""
        return "|".join(sorted({self.states[number] for number in bits(members)}))


def build() -> Projection:
    """The projection of the rebalance machine, deployed profile, both protocols, for all sources that can be judged.

    Takes some seconds: `projection_cache.load` does it once a machine.
    """
    symbols, codes = symbol_table()
    rows: list[list[int]] = []
    names: list[str] = []
    start, unknown = np.full((2, 2 * len(SOURCES)), -1, np.int64)
    for source, rebalance in product(JUDGED_SOURCES, REBALANCES):
        mode = Projection.mode(source, rebalance == "eager")
        start[mode] = len(rows)
        _add(Graph(Observer(tables()[MACHINE, rebalance, PROFILE], source), symbols), symbols, rows, names)
        unknown[mode] = len(rows) - 1
    return Projection(codes, np.array(rows, np.int64), start, unknown, names)


def _add(graph: Graph, symbols: list[Symbol], rows: list[list[int]], names: list[str]) -> None:
    """A row for each set that can occur: the start's is the first, and that of the unknown the last.

    The unknown is the state after a gap or an illegal event: anything may follow, until an assignment is complete.
    """
    first = len(rows)
    assigned = next(place for place, symbol in enumerate(symbols) if symbol.event == "assigned")
    known_again = graph.move((1 << len(graph.states)) - 1, assigned)
    queue = list(dict.fromkeys((1 << graph.start, known_again)))
    number = {members: first + place for place, members in enumerate(queue)}
    for members in queue:  # it grows while it is read
        after = [graph.move(members, symbol) for symbol in range(len(symbols))]
        for reached in after:
            if reached and reached not in number:
                number[reached] = first + len(queue)
                queue.append(reached)
        rows.append([number.get(reached, -1) for reached in after])
        names.append(graph.name(members))
    row = [len(rows)] * len(symbols)
    row[assigned] = number[known_again]
    rows.append(row)
    names.append(UNKNOWN_NAME)

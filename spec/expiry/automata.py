"""The language of the models of time: automata with clocks, whose limits are names and not numbers.

A *part* (a member's heartbeat thread, a wire, a coordinator's timer) is in one place at a time. Clocks all run at the
same speed; an edge may be taken when its guard holds, and sets some clocks back to zero. A place may say how long it
can last (`while_`): before that is over, some edge must be taken. Parts that know the same action take it together, all
or none, as in CSP; there is nothing else between them. Time is whole milliseconds; what happens in the same millisecond
may happen in either order, as on a real machine, where a message can come just before or just after the look at the
clock.

A guard is a text: see `linear.parse`. Which side of a limit counts as expired is not said in the model but chosen when
it is explored, so that one model serves both arithmetics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from groupspec.spec.expiry.linear import Inequality, parse

Places: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """One step of a part: `action` takes it from `source` to `target` when all of `when` hold, and restarts clocks."""

    source: str
    action: str
    target: str
    when: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Part:
    """One automaton; it begins in the first of `places`, whose values say what holds as long as it is there."""

    name: str
    places: dict[str, tuple[str, ...]]
    edges: tuple[Edge, ...]

    @property
    def start(self) -> str:
        """Where it begins."""
        return next(iter(self.places))

    @property
    def actions(self) -> frozenset[str]:
        """What it takes part in."""
        return frozenset(edge.action for edge in self.edges)


@dataclass(frozen=True)
class Transition:
    """A step of the whole: the parts that take it, taken together."""

    action: str
    target: Places
    when: tuple[Inequality, ...]
    restart: frozenset[int]


class System:
    """Parts side by side, ready to be explored; their clocks are whatever they restart.

    `parameters` are the names of the limits, `arithmetic` is `linear.STRICT` or `linear.NON_STRICT`.
    """

    def __init__(self, parts: tuple[Part, ...], parameters: tuple[str, ...], arithmetic: int) -> None:
        self.parts = parts
        self.parameters = parameters
        self.arithmetic = arithmetic
        clocks = {clock: None for part in parts for edge in part.edges for clock in edge.restart}
        self.clocks = tuple(clocks)
        self.names = (*parameters, *self.clocks)
        self._check()

    @property
    def start(self) -> Places:
        """Where everything begins; all clocks show zero."""
        return tuple(part.start for part in self.parts)

    @cached_property
    def steps(self) -> dict[Places, tuple[Transition, ...]]:
        """Every reachable combination of places, clocks aside, with what can be done there."""
        found: dict[Places, tuple[Transition, ...]] = {}
        waiting = [self.start]
        while waiting:
            places = waiting.pop()
            if places not in found:
                found[places] = tuple(self._steps_from(places))
                waiting += [step.target for step in found[places]]
        return found

    @cached_property
    def lasting(self) -> dict[Places, tuple[Inequality, ...]]:
        """What holds as long as time passes in these places."""
        return {
            places: tuple(
                inequality
                for part, place in zip(self.parts, places, strict=True)
                for text in part.places[place]
                for inequality in self.parse(text)
            )
            for places in self.steps
        }

    @cached_property
    def live(self) -> dict[Places, frozenset[int]]:
        """The clocks that somebody may still read before they are restarted; what the others show is of no interest."""
        first = len(self.parameters)
        clocks = range(first, len(self.names))
        live: dict[Places, frozenset[int]] = dict.fromkeys(self.steps, frozenset())
        changed = True
        while changed:
            changed = False
            for places, steps in self.steps.items():
                read = {clock for row in self.lasting[places] for clock in clocks if row[clock]}
                for step in steps:
                    read |= {clock for row in step.when for clock in clocks if row[clock]}
                    read |= live[step.target] - step.restart
                if read != live[places]:
                    live[places], changed = frozenset(read), True
        return live

    def parse(self, text: str) -> list[Inequality]:
        """A comparison over parameters and clocks, in this system's arithmetic."""
        return parse(text, self.names, self.arithmetic)

    def _steps_from(self, places: Places) -> Iterator[Transition]:
        for action in sorted(frozenset().union(*(part.actions for part in self.parts))):
            sharers = [index for index, part in enumerate(self.parts) if action in part.actions]
            choices = [
                [edge for edge in self.parts[index].edges if (edge.action, edge.source) == (action, places[index])]
                for index in sharers
            ]
            for edges in product(*choices):
                target = list(places)
                for index, edge in zip(sharers, edges, strict=True):
                    target[index] = edge.target
                yield Transition(
                    action,
                    tuple(target),
                    tuple(row for edge in edges for text in edge.when for row in self.parse(text)),
                    frozenset(self.names.index(clock) for edge in edges for clock in edge.restart),
                )

    def _check(self) -> None:
        for part in self.parts:
            for edge in part.edges:
                for place in (edge.source, edge.target):
                    if place not in part.places:
                        known = ", ".join(part.places)
                        raise ValueError(
                            f"part {part.name!r}, action {edge.action!r}: no place {place!r}; it has {known}"
                        )

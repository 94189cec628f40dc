"""Liveness: does what must follow always follow, if the actions are as fair as they say?

*When* leads to *holds* unless a run gets from a state in which *when* holds into a circle, without ever meeting
*holds*, and can stay there fairly. So the states reached that way are cut into strongly connected parts; a part in
which a run may stay for ever is a counterexample. Staying must be fair:

- a *weakly* fair action that is possible in every state of the part must also happen within it;
- a *strongly* fair one that is possible in any state of it must happen within it, or the run must avoid those states:
  the part is searched again without them.

A run may also stop: a state counts as a part of its own, in which nothing happens. As in TLA+, an action counts as
possible where it changes the state, and each combination of an action's parameters is an action of its own.

The whole graph is kept, in Python: for models of some hundred thousand states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from groupspec.spec.compiler.model import Fairness, Model
from groupspec.spec.explorer.c_source import c_source
from groupspec.spec.explorer.native import Steps, build
from groupspec.spec.explorer.program import program

Edges = tuple[tuple[int, int], ...]
"""(number of the alternative, target), without those that change nothing."""


@dataclass(frozen=True)
class Stays:
    """A way to break a property: a run may stay where it does not hold for ever, and be fair.

    Attributes:
        state: One of the states in which it stays.
        states: How many they are.
        actions: What happens there again and again; nothing, if the run just stops.
    """

    state: Mapping[str, object]
    states: int
    actions: tuple[str, ...]


class Graph:
    """Every state of a model, and every step between two different ones."""

    def __init__(self, model: Model) -> None:
        """Visits every state."""
        prepared = program(model)
        steps = Steps(prepared, build(c_source(prepared)))
        alternatives = list(enumerate(prepared.layout.alternatives))
        self._program, self._steps = prepared, steps
        self._names = [_name(action.name, arguments) for _, (action, arguments) in alternatives]
        self._fair: dict[int, Fairness] = {number: action.fair for number, (action, _) in alternatives if action.fair}
        self.states: list[bytes] = [prepared.layout.initial]
        self.edges: list[Edges] = []
        known = {prepared.layout.initial: 0}
        for source in self.states:
            edges = []
            for number, after in steps.successors(source):
                if after not in known:
                    known[after] = len(self.states)
                    self.states.append(after)
                if after != source:
                    edges.append((number, known[after]))
            self.edges.append(tuple(edges))

    def broken(self) -> dict[str, Stays]:
        """The leads_to properties that do not hold, with a way to break each."""
        found = ((known.claim.id, self._stays(number)) for number, known in enumerate(self._program.leads_to))
        return {name: stays for name, stays in found if stays is not None}

    def _stays(self, claim: int) -> Stays | None:
        when = len(self._program.properties) + 2 * claim
        missing = {n for n, state in enumerate(self.states) if not self._steps.holds(when + 1, state)}
        waiting = {n for n in missing if self._steps.holds(when, self.states[n])}
        region = self._reached(waiting, missing)
        parts = list(_strongly_connected(region, self.edges))
        while parts:
            part = parts.pop()
            within = {number for state in part for number, target in self.edges[state] if target in part}
            if self._can_stay(part, within):
                names = tuple(sorted(self._names[number] for number in within))
                return Stays(self._program.layout.decode(self.states[min(part)]), len(part), names)
            avoidable = self._avoidable(part, within)
            if avoidable and avoidable < part:
                parts += _strongly_connected(part - avoidable, self.edges)
        return None

    def _reached(self, starts: Iterable[int], allowed: set[int]) -> set[int]:
        region, waiting = set(starts), list(starts)
        while waiting:
            for _, target in self.edges[waiting.pop()]:
                if target in allowed and target not in region:
                    region.add(target)
                    waiting.append(target)
        return region

    def _possible(self, state: int) -> set[int]:
        return {number for number, _ in self.edges[state]}

    def _can_stay(self, part: set[int], within: set[int]) -> bool:
        owed = [number for number in self._fair if number not in within]
        always = set(owed)
        for state in part:
            possible = self._possible(state)
            if any(self._fair[number] == "strong" for number in owed if number in possible):
                return False
            always &= possible
        return not always

    def _avoidable(self, part: set[int], within: set[int]) -> set[int]:
        """States in which a strongly fair action is possible that never happens within the part."""
        strong = {number for number, fair in self._fair.items() if fair == "strong" and number not in within}
        return {state for state in part if self._possible(state) & strong}


def _name(action: str, arguments: Mapping[str, int]) -> str:
    return f"{action}({', '.join(map(str, arguments.values()))})" if arguments else action


def _strongly_connected(region: set[int], edges: list[Edges]) -> Iterator[set[int]]:
    """The strongly connected parts of a region, by Kosaraju's algorithm."""
    finished: list[int] = []
    seen: set[int] = set()
    sources: dict[int, list[int]] = {state: [] for state in region}
    todo = [(state, False) for state in region]
    while todo:
        state, done = todo.pop()
        if done:
            finished.append(state)
        elif state not in seen:
            seen.add(state)
            targets = [target for _, target in edges[state] if target in region]
            todo += [(state, True), *((target, False) for target in targets)]
            for target in targets:
                sources[target].append(state)
    for last in reversed(finished):
        if last in sources:
            part, waiting = set[int](), [last]
            while waiting:
                state = waiting.pop()
                if state in sources:
                    part.add(state)
                    waiting += sources.pop(state)
            yield part

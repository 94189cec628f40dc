"""An exploration by the interpreter, with nothing of the engine: what the engine's numbers are compared with."""

from __future__ import annotations

from collections import Counter

from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer import Exploration
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.interpreter import apply, enabled, holds, initial_state
from groupspec.spec.explorer.layout import Layout, State


def numbers(found: Exploration) -> dict[str, object]:
    """What the engine found, in the shape of `by_the_book`."""
    return {
        "states": found.states,
        "unfolded": found.unfolded_states,
        "expanded": found.expanded,
        "edges": found.edges,
        "depth": found.depth,
        "fired": {name: times for name, times in found.fired.items() if times},
        "dead ends": found.dead_ends,
        "decided": {name: len(trace.steps) for name, trace in {**found.violations, **found.reached}.items()},
    }


def by_the_book(model: Model, most: int | None = None, folding: Folding | None = None) -> dict[str, object]:
    """Breadth first, until so many states are found.

    `decided`: per property that is violated or reached the number of steps to the nearest state that shows it.
    """
    layout = Layout(model)
    places: dict[bytes, int] = {}
    states: list[tuple[State, int]] = []
    unfolded = edges = dead_ends = expanded = depth = 0
    fired = Counter[str]()
    sources: list[tuple[int, int]] = []

    def add(state: State, steps: int) -> int:
        nonlocal unfolded
        codes = layout.encode(state)
        key, orbit = folding.canonical(codes) if folding else (codes, 1)
        if key not in places:
            places[key] = len(states)
            states.append((state, steps))
            unfolded += orbit
        return places[key]

    add(initial_state(model), 0)
    for number, (state, depth) in enumerate(states):
        if most is not None and len(states) >= most:
            break
        alternatives = list(enabled(model, state))
        for action, arguments in alternatives:
            sources.append((add(apply(model, state, action, arguments), depth + 1), number))
            fired[action] += 1
        edges += len(alternatives)
        dead_ends += not alternatives
        expanded += 1
    if expanded < len(states):
        depth = states[max(expanded - 1, 0)][1]
    return {
        "states": len(states),
        "unfolded": unfolded,
        "expanded": expanded,
        "edges": edges,
        "depth": depth,
        "fired": dict(fired),
        "dead ends": dead_ends,
        "decided": _decided(model, states, sources, expanded == len(states)),
    }


def _decided(
    model: Model, states: list[tuple[State, int]], sources: list[tuple[int, int]], complete: bool
) -> dict[str, int]:
    decided: dict[str, int] = {}
    for claim in model.properties:
        if claim.kind == "leads_to" or (claim.kind == "recoverable" and not complete):
            continue
        good = {number for number, (state, _) in enumerate(states) if holds(model, state, claim.holds)}
        if claim.kind == "recoverable":
            while more := {source for target, source in sources if target in good} - good:
                good |= more
        wanted = good if claim.kind == "reachable" else {*range(len(states))} - good
        if wanted:
            decided[claim.id] = states[min(wanted)][1]
    return decided

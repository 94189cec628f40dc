"""Exploring a model of time for all values at once.

What is explored is not a state but a *zone*: the places, and every reading of the clocks and every choice of the
parameters with which they can be reached, as inequalities. Letting time pass, taking an edge and restarting a clock
turn zones into zones exactly. A zone inside another that is known already says nothing new. When nothing new is left,
what the zones of the goal say about the parameters is the answer: the goal can be reached with these values, and with
no others.

These are the regions of a timed automaton with its parameters left open. Nothing forces such an exploration to end;
here every clock is restarted in every round, and it does. A bound turns the opposite into an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from groupspec.spec.expiry.automata import Places, System, Transition
from groupspec.spec.expiry.linear import Inequality, Zone, eliminate, implies, tidy

MAX_ZONES: Final = 600


class Endless(RuntimeError):
    """The exploration found no end: the model has a clock that some round never restarts, or a limit is missing."""


@dataclass(frozen=True)
class Answer:
    """With which parameters the goal can be reached: those that lie in one of `zones`. `explored` counts zones."""

    zones: tuple[Zone, ...]
    explored: int


def explore(system: System, goal: str, assumptions: Iterable[Inequality]) -> Answer:
    """Find every choice of the parameters with which some part can come to the place `goal`."""
    known: dict[Places, list[Zone]] = {}
    clocks_at_zero = [_at_most_zero(system, clock) for clock in range(len(system.parameters), len(system.names))]
    first = _settle(system, system.start, [*assumptions, *clocks_at_zero])
    waiting = deque([(system.start, first)])
    explored = 0
    while waiting:
        places, zone = waiting.popleft()
        if zone is None or _inside_one(zone, known.setdefault(places, [])):
            continue
        known[places].append(zone)
        explored += 1
        if explored > MAX_ZONES:
            raise Endless(f"more than {MAX_ZONES} zones; the last is at {places}")
        if goal in places:
            continue
        for step in system.steps[places]:
            waiting.append((step.target, _after(system, zone, step)))
    reached = [zone for places, zones in known.items() if goal in places for zone in zones]
    return Answer(_without_repetition(_about_parameters(system, zone) for zone in reached), explored)


def _after(system: System, zone: Zone, step: Transition) -> Zone | None:
    """Everything that is possible once the step is taken and any time has passed."""
    narrowed = tidy([*zone, *step.when])
    if narrowed is None:
        return None
    rows = list(narrowed)
    for clock in sorted(step.restart):
        rows = [*eliminate(rows, clock), _at_most_zero(system, clock)]
    return _settle(system, step.target, rows)


def _settle(system: System, places: Places, rows: Iterable[Inequality]) -> Zone | None:
    """Forget the clocks that nobody reads, and let time pass as long as the places allow."""
    kept = tidy([*rows, *system.lasting[places]])
    if kept is None:
        return None
    clocks = system.live[places]
    entered = list(kept)
    for clock in range(len(system.parameters), len(system.names)):
        if clock not in clocks:
            entered = eliminate(entered, clock)
    later = [_earlier(row, clocks) for row in entered] + [_was_not_negative(system, clock) for clock in clocks]
    elapsed = eliminate(later, len(system.names))
    return tidy([*(row[:-2] + row[-1:] for row in elapsed), *system.lasting[places]])


def _earlier(row: Inequality, clocks: Iterable[int]) -> Inequality:
    """The same said of the clocks as they were some time ago; that time is one more name, the last one."""
    return (*row[:-1], -sum(row[clock] for clock in clocks), row[-1])


def _was_not_negative(system: System, clock: int) -> Inequality:
    return (*(int(index == clock) for index in range(len(system.names))), -1, 0)


def _at_most_zero(system: System, clock: int) -> Inequality:
    return (*(-int(index == clock) for index in range(len(system.names))), 0)


def _about_parameters(system: System, zone: Zone) -> Zone:
    rows = list(zone)
    for clock in range(len(system.parameters), len(system.names)):
        rows = eliminate(rows, clock)
    count = len(system.parameters)
    said = tidy(row[:count] + row[-1:] for row in rows)
    assert said is not None, "a zone that was reached has values"
    return said


def _inside_one(zone: Zone, others: Iterable[Zone]) -> bool:
    return any(all(implies(zone, row) for row in other) for other in others)


def _without_repetition(zones: Iterable[Zone]) -> tuple[Zone, ...]:
    kept: list[Zone] = []
    for zone in sorted(set(zones), key=lambda zone: (len(zone), sorted(zone))):
        if not _inside_one(zone, kept):
            kept = [*(other for other in kept if not _inside_one(other, [zone])), zone]
    return tuple(kept)

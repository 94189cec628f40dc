"""The same models with numbers in them: explored one millisecond at a time, without any of the algebra.

This is the check on `zones`: it shares the models and nothing else. For given values of the parameters there are
finitely many states, since a clock far beyond every limit need not be told from one a little further on. What is found
is the shortest run, which is also how a boundary case is shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from groupspec.spec.expiry.automata import Places, System, Transition
from groupspec.spec.expiry.linear import holds

_State: TypeAlias = tuple[Places, tuple[int, ...]]
_Origins: TypeAlias = dict[_State, tuple[_State, str] | None]


@dataclass(frozen=True)
class Moment:
    """One step of a run: when it was taken, what it was, and where every part is after it."""

    at_ms: int
    action: str
    places: Places


def shortest_run(system: System, goal: str, values: Mapping[str, int]) -> tuple[Moment, ...] | None:
    """How some part comes to `goal` in the fewest steps and milliseconds; None if it can't with these values."""
    parameters = tuple(values[name] for name in system.parameters)
    ceiling = 2 + 3 * sum(parameters)
    start: _State = (system.start, (0,) * len(system.clocks))
    origins: _Origins = {start: None}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if goal in state[0]:
            return _run(origins, state)
        for action, after in _next(system, state, parameters, ceiling):
            if after not in origins:
                origins[after] = (state, action)
                waiting.append(after)
    return None


def _next(system: System, state: _State, parameters: tuple[int, ...], ceiling: int) -> Iterable[tuple[str, _State]]:
    places, clocks = state
    values = (*parameters, *clocks)
    for step in system.steps[places]:
        if all(holds(row, values) for row in step.when):
            after = _restarted(system, step, clocks)
            if _may_be_there(system, step.target, (*parameters, *after)):
                yield step.action, (step.target, after)
    live, first = system.live[places], len(parameters)
    later = tuple(min(clock + 1, ceiling) if first + i in live else 0 for i, clock in enumerate(clocks))
    if _may_be_there(system, places, (*parameters, *later)):
        yield "", (places, later)


def _restarted(system: System, step: Transition, clocks: tuple[int, ...]) -> tuple[int, ...]:
    live, first = system.live[step.target], len(system.parameters)
    return tuple(
        0 if first + index in step.restart or first + index not in live else clock for index, clock in enumerate(clocks)
    )


def _may_be_there(system: System, places: Places, values: tuple[int, ...]) -> bool:
    return all(holds(row, values) for row in system.lasting[places])


def _run(origins: _Origins, last: _State) -> tuple[Moment, ...]:
    actions: list[tuple[str, Places]] = []
    state = last
    while (origin := origins[state]) is not None:
        actions.append((origin[1], state[0]))
        state = origin[0]
    moments: list[Moment] = []
    now_ms = 0
    for action, places in reversed(actions):
        if action:
            moments.append(Moment(now_ms, action, places))
        else:
            now_ms += 1
    return tuple(moments)

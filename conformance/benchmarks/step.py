"""The compiled step against the library's own machine: the same drawn events, in the same order, in the same run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.spec.compiler.library import LibraryMachine
from groupspec.spec.compiler.step import NO_ROW, Values, compile_step
from groupspec.spec.compiler.tables import classes, tables, whole_tables

RUNS: Final = 7
EVENTS: Final = 2_000
TIMES: Final = 100
"""How often the compiled step does the same events in one run: once is too short to measure."""

GOAL: Final = 100.0

Drawn = list[tuple[str, Values, str, Values]]


def measure(now: Callable[[str], None]) -> list[Figure]:
    """Events a second of both, alternating."""
    table = tables()["rebalance", "cooperative", "deployed"]
    step = compile_step(table)
    library = LibraryMachine(classes()["rebalance"], whole_tables()["rebalance"], table)
    events = _draw(step.step, step.initial)
    inputs = {event.name: event.inputs for event in table.events}
    compiled: list[float] = []
    interpreted: list[float] = []
    for run in range(RUNS):
        now(f"step: run {run + 1} of {RUNS}")
        function = step.step
        begun = time.perf_counter()
        for _ in range(TIMES):
            for state, values, event, given in events:
                function(state, values, event, given)
        compiled.append(EVENTS * TIMES / (time.perf_counter() - begun))
        named = [
            (state, values, event, dict(zip(inputs[event], given, strict=True)))
            for state, values, event, given in events
        ]
        taken = 0.0
        for state, values, event, told in named:
            library.place(state, values)
            begun = time.perf_counter()
            library.send(event, told)
            taken += time.perf_counter() - begun
        interpreted.append(EVENTS / taken)
    return [Figure("compiled step", "events/s", compiled, "python-statemachine, the same events", interpreted, GOAL)]


def _draw(function: Callable[..., tuple[int, str, Values, tuple[str, ...]]], initial: Values) -> Drawn:
    """A run of events that the machine knows, with the state and values before each; error rows are among them."""
    table = tables()["rebalance", "cooperative", "deployed"]
    choices = random.Random(0)
    state, values = table.initial, initial
    drawn: Drawn = []
    while len(drawn) < EVENTS:
        event = choices.choice(table.events)
        given = tuple(choices.choice(table.variable(name).domain) for name in event.inputs)
        row, after, new_values, _ = function(state, values, event.name, given)
        if row != NO_ROW:
            drawn.append((state, values, event.name, given))
            state, values = after, new_values
    return drawn

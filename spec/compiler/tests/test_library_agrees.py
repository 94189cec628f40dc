"""python-statemachine runs the class that a reader sees; the compiled step runs everything else. They must not differ.

Twenty thousand events, legal and illegal, in states that a run reaches and in states that none does, with every
machine, protocol and profile. Drawn anew in every run: the seed is printed, and `GROUPSPEC_SEED` repeats it.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from groupspec.spec import vocabulary
from groupspec.spec.compiler.library import LibraryMachine, LibraryResult
from groupspec.spec.compiler.step import NO_ROW, TableStep, Values, compile_step
from groupspec.spec.compiler.tables import classes, tables, whole_tables
from groupspec.spec.machine import RowTransition, StateMachine
from groupspec.spec.terms import Value

EVENTS = 20_800
RUN_LENGTH = 12
"""After so many events of one run, the next begins in a state that is drawn."""

CLASSES = classes()


def _orders(machine: type[StateMachine]) -> dict[str, int]:
    """Row id -> place in the file, found through the library alone."""
    count: Counter[tuple[str, str]] = Counter()
    found: dict[str, int] = {}
    transitions = [t for state in machine.states for t in state.transitions]
    assert all(isinstance(transition, RowTransition) for transition in transitions)
    for transition in sorted(transitions, key=lambda t: t.order):
        cell = (transition.source.id, str(transition.event))
        count[cell] += 1
        found[f"{cell[0]}.{cell[1]}.{count[cell]}"] = transition.order
    return found


class _Duel:
    """One table, run by both."""

    def __init__(self, key: tuple[str, str, str], choices: random.Random) -> None:
        self.table = tables()[key]
        self.step: TableStep = compile_step(self.table)
        self.library = LibraryMachine(CLASSES[key[0]], whole_tables()[key[0]], self.table)
        self.orders = _orders(CLASSES[key[0]])
        self.choices = choices
        self.state, self.values = self.table.initial, self.step.initial

    def begin(self) -> None:
        """A new run: from the beginning, or from anywhere at all."""
        if self.choices.random() < 0.3:
            self.state, self.values = self.table.initial, self.step.initial
        else:
            self.state = self.choices.choice(self.table.states)
            self.values = tuple(self.choices.choice(variable.domain) for variable in self.step.variables)
        self.library.place(self.state, self.values)

    def play(self) -> str:
        """One event, compared; says of which kind its row was."""
        if self.choices.random() < 0.08:
            event = self.choices.choice(list(vocabulary.EVENTS.values()))  # often one of another machine
        else:
            event = self.choices.choice(self.table.events)
        inputs = {name: self.choices.choice(vocabulary.VARIABLES[name].domain) for name in event.inputs}
        index, state, values, emitted = self.step.step(self.state, self.values, event.name, tuple(inputs.values()))
        kind = self.table.rows[index].kind if index != NO_ROW else "unknown"
        expected = LibraryResult(
            allowed=kind not in ("error", "unknown"),
            order=self.orders[self.table.rows[index].id] if kind not in ("error", "unknown") else -1,
            state=state,
            values=values,
            emitted=emitted,
        )
        result = self.library.send(event.name, inputs)
        told = f"{self.table.label}: {event.name}{inputs} in {self.state} with {self._named(self.values)}"
        assert result == expected, told
        self.state, self.values = state, values
        return kind

    def _named(self, values: Values) -> dict[str, Value]:
        return {variable.name: value for variable, value in zip(self.step.variables, values, strict=True)}


def test_library_and_compiled_step_agree(record_property: Callable[[str, object], None]) -> None:
    seed = int(os.environ.get("GROUPSPEC_SEED") or random.SystemRandom().randrange(2**32))
    print(f"GROUPSPEC_SEED={seed}")
    choices = random.Random(seed)
    kinds: Counter[str] = Counter()
    keys = list(tables())
    for key in keys:
        duel = _Duel(key, choices)
        for number in range(EVENTS // len(keys)):
            if number % RUN_LENGTH == 0:
                duel.begin()
            kinds[duel.play()] += 1
    record_property("events", dict(kinds))
    assert kinds.total() >= 20_000
    assert set(kinds) == {"transition", "ignored", "error", "unknown"}
    assert min(kinds.values()) >= 200, f"too few of a kind to mean anything: {kinds}"


@pytest.mark.parametrize("key", list(tables()), ids=".".join)
def test_every_row_of_the_table_is_a_transition_of_the_class(key: tuple[str, str, str]) -> None:
    orders = _orders(CLASSES[key[0]])
    assert {row.id for row in tables()[key].rows} <= set(orders)

"""The specification as a library: load a machine, step it, ask what a state allows.

    >>> from groupspec.spec import load_machine
    >>> connection = load_machine("connection", "eager")
    >>> state = connection.initial()
    >>> connection.allowed(state)
    ('started',)
    >>> state = connection.step(state, "started").state
    >>> step = connection.step(state, "coordinator_needed")
    >>> step.state.name, step.emitted, step.row.rules
    ('COORDINATOR_DISCOVERY', ('FindCoordinator',), ('D7', 'D2'))

The machines are those of `groupspec table`: one for each rebalance protocol and profile. A state is a value; nothing
here changes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType

from groupspec.spec.compiler import PROFILES, REBALANCES, Row, Table
from groupspec.spec.compiler.step import TableStep, Values, compile_step
from groupspec.spec.compiler.tables import tables, whole_tables
from groupspec.spec.terms import Event, Value, Variable
from groupspec.spec.vocabulary import VARIABLES


class UnknownName(ValueError):
    """A name, or a value, that the specification does not know; the message says which it does."""


@dataclass(frozen=True)
class MachineState:
    """A state, and the value of every variable that the machine's guards read. Hashable: it can be put into a set.

    Attributes:
        name: Of the state.
        items: Name and value of each variable: the machine's own, the configuration, and those of other machines.
    """

    name: str
    items: tuple[tuple[str, Value], ...]

    @property
    def variables(self) -> Mapping[str, Value]:
        """The values by name."""
        return dict(self.items)


@dataclass(frozen=True)
class MachineStep:
    """What an event does.

    Attributes:
        row: The row of the table that fires. `row.kind`: transition, ignored, or error (the event is illegal there).
        state: Afterwards; the same as before unless `row.kind` is transition.
        emitted: Requests, events for the polling thread and for other machines, in order.
    """

    row: Row
    state: MachineState
    emitted: tuple[str, ...]


class Machine:
    """One machine of the specification, for one rebalance protocol and profile. Made by `load_machine`.

    Attributes:
        table: Its rows, states, events and variables, as data.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._step: TableStep = compile_step(table)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of its states."""
        return self.table.states

    @property
    def events(self) -> Mapping[str, Event]:
        """Everything that it hears, by name."""
        return MappingProxyType({event.name: event for event in self.table.events})

    def initial(self, **variables: Value) -> MachineState:
        """The state before the first event, with these variables instead of their initial values.

        Raises:
            UnknownName: there is no such variable, or it cannot have that value.
        """
        return self.state(self.table.initial, **variables)

    def state(self, name: str, **variables: Value) -> MachineState:
        """A state, with these variables instead of their initial values.

        Nothing checks that a run can reach it: a combination that never comes up is made all the same.

        Raises:
            UnknownName: there is no such state or variable, or the variable cannot have that value.
        """
        _known(name, self.table.states, "state")
        return self._state(name, self._values(self._step.variables, variables))

    def step(self, state: MachineState, event: str, **inputs: Value) -> MachineStep:
        """What the event does in that state. An input that is not given has its initial value.

        Raises:
            UnknownName: there is no such event or input, or the input cannot have that value.
        """
        _known(event, self.events, "event")
        values = self._values([VARIABLES[name] for name in self.events[event].inputs], inputs)
        return self._fire(state, event, values)

    def allowed(self, state: MachineState) -> tuple[str, ...]:
        """The events that do something in that state: for some inputs, a transition fires.

        Every other event is ignored or illegal there; `step(state, event).row.kind` says which for given inputs.
        """
        return tuple(
            name
            for name, event in self.events.items()
            if any(self._fire(state, name, values).row.kind == "transition" for values in self._inputs(event))
        )

    def rows(self, state: str, event: str) -> tuple[Row, ...]:
        """What the table says about an event in a state.

        Raises:
            UnknownName: there is no such state or event.
        """
        return self.table.cell(_known(state, self.states, "state"), _known(event, self.events, "event"))

    def _fire(self, state: MachineState, event: str, inputs: Values) -> MachineStep:
        before = tuple(value for _, value in state.items)
        place, name, after, emitted = self._step(state.name, before, event, inputs)
        return MachineStep(self.table.rows[place], self._state(name, after), emitted)

    def _state(self, name: str, values: Values) -> MachineState:
        return MachineState(name, tuple(zip((variable.name for variable in self._step.variables), values, strict=True)))

    def _inputs(self, event: Event) -> Iterator[Values]:
        return product(*(VARIABLES[name].domain for name in event.inputs))

    def _values(self, variables: Iterable[Variable], given: Mapping[str, Value]) -> Values:
        by_name = {variable.name: variable for variable in variables}
        for name, value in given.items():
            _known(name, by_name, "variable")
            _known(value, by_name[name].domain, f"value of {name}")
        return tuple(given.get(name, variable.initial) for name, variable in by_name.items())


@cache
def load_machine(name: str, rebalance: str = "cooperative", profile: str = "deployed") -> Machine:
    """One machine of the specification.

    Args:
        name: `connection`, `rebalance`, `timeouts`, `subscription`, `commit` or `broker_group`.
        rebalance: `eager` or `cooperative`.
        profile: `deployed`, what Kafka's clients do, or `published`, what the proposal says.

    Raises:
        UnknownName: one of these is none.
    """
    _known(name, whole_tables(), "machine")
    _known(rebalance, REBALANCES, "rebalance protocol")
    _known(profile, PROFILES, "profile")
    return Machine(tables()[name, rebalance, profile])


def _known(name: Value, known: Iterable[Value], what: str) -> str:
    names = list(known)
    if name in names:
        return str(name)
    near = difflib.get_close_matches(str(name), [str(each) for each in names], n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownName(f"there is no {what} {name!r}{meant} There are: {', '.join(map(str, names)) or 'none'}.")

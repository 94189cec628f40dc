"""One member, composed: the machines of `spec.member` run together over one set of variables.

An event from outside goes to each machine that knows it; what a row emits for other machines is handled at once and to
the end. So the whole reaction is one step, a pure function of the member's state, the event and its inputs. Timers,
answers and the application are the member's environment: `offers` lists everything that it could do next.

An event that meets an *error* row is one that a correct environment never brings about; it raises `IllegalEvent`, and
nothing has happened. An error row met by an event between the machines would be a mistake of the specification itself,
and raises `BrokenSpecification`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

from groupspec.spec import member as coupling
from groupspec.spec import vocabulary
from groupspec.spec.compiler.step import NO_ROW, CellFunction, Values, compile_cell, compile_step
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.terms import Value

Inputs = Mapping[str, Value]


class MemberState(NamedTuple):
    """States of the machines in the order of `Member.machines`, and values in the order of `Member.variables`."""

    states: tuple[str, ...]
    values: tuple[Value, ...]


class Offer(NamedTuple):
    """One event from outside, with the values of its inputs in the order of its definition."""

    event: str
    inputs: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self.inputs if (name, value) != ("current", True))
        return f"{self.event}({told})" if told else self.event


class Move(NamedTuple):
    """One row that fired: whose, which, and from where to where. `row.kind` tells a change from an ignored event."""

    machine: str
    row: Row
    source: str
    target: str


class Reaction(NamedTuple):
    """What an event set off: where the member is now, what it sent, and every row that fired, in order."""

    state: MemberState
    emitted: tuple[str, ...]
    moves: tuple[Move, ...]


class IllegalEvent(Exception):
    """A correct environment never does this here; `row` is the error row that says so."""

    def __init__(self, machine: str, row: Row) -> None:
        super().__init__(machine, row)
        self.machine = machine
        self.row = row

    def __str__(self) -> str:  # searches meet a million of them and read none
        return f"{self.machine}.{self.row.source} never meets {self.row.event} (rule {' '.join(self.row.rules)})"


class BrokenSpecification(Exception):
    """The machines contradict each other: an event between them met an error row, or no row at all."""


class Member:
    """The machines of one member under one rebalance protocol and one profile."""

    def __init__(self, rebalance: str, profile: str, machines: tuple[str, ...] = coupling.MACHINES) -> None:
        self.rebalance = rebalance
        self.profile = profile
        self.machines = machines
        self.replaced: set[tuple[str, str]] = set()
        """Machine and id of each row that `replace_row` put in the place of another."""
        self.tables: dict[str, Table] = {name: tables()[name, rebalance, profile] for name in machines}
        self.variables = tuple(
            v.name
            for v in vocabulary.VARIABLES.values()
            if v.kind == "config" or (v.kind == "state" and v.owner in machines)
        )
        inputs = [v.name for v in vocabulary.VARIABLES.values() if v.name not in self.variables]
        self._places = {name: place for place, name in enumerate((*self.variables, *inputs))}
        self._no_inputs: Values = (False,) * len(inputs)
        self._rows = [list(table.rows) for table in self.tables.values()]
        self._cells = [dict(_cells(name, rebalance, profile, tuple(self._places))) for name in machines]
        in_turn = [name for name in coupling.MACHINES if name in machines] if len(machines) > 1 else machines
        alphabets = {name: {event.name for event in table.events} for name, table in self.tables.items()}
        self._knows: dict[str, tuple[int, ...]] = {
            event: tuple(machines.index(name) for name in in_turn if event in alphabets[name])
            for event in vocabulary.EVENTS
        }

    def replace_row(self, machine: str, row: Row) -> None:
        """Put another row with the same guard in the place of the one with this id: how tests make mutants."""
        number = self.machines.index(machine)
        rows = self._rows[number]
        place = next(place for place, old in enumerate(rows) if old.id == row.id)
        assert rows[place].guard == row.guard, "the new row holds when the old one did"
        rows[place] = row
        self.replaced.add((machine, row.id))
        table = replace(self.tables[machine], rows=tuple(rows))
        variables = tuple(vocabulary.VARIABLES[name] for name in self._places)
        self._cells[number][row.source, row.event] = compile_cell(table, variables, row.source, row.event)

    def initial(self, **config: Value) -> MemberState:
        """Before the first event. `config`: values of the configuration variables, by name."""
        values = {name: vocabulary.VARIABLES[name].initial for name in self.variables} | config
        initial = tuple(self.tables[name].initial for name in self.machines)
        return MemberState(initial, tuple(values[name] for name in self.variables))

    def configurations(self) -> Iterator[MemberState]:
        """Every state before the first event, one for each combination of configuration values."""
        config = [v for v in vocabulary.VARIABLES.values() if v.kind == "config"]
        for values in product(*(v.domain for v in config)):
            yield self.initial(**dict(zip((v.name for v in config), values, strict=True)))

    @cached_property
    def offers(self) -> tuple[tuple[str, dict[str, Value]], ...]:
        """Everything that the environment could ever do: each event from outside with each value of its inputs.

        For a machine that runs alone, the events of its neighbours come from outside too.
        """
        return tuple(
            (event.name, dict(zip(event.inputs, values, strict=True)))
            for event in vocabulary.EVENTS.values()
            if (event.kind != "internal" or (len(self.machines) == 1 and event.name != "turn_ended"))
            and self._knows[event.name]
            for values in product(*(vocabulary.VARIABLES[name].domain for name in event.inputs))
        )

    def react(self, state: MemberState, event: str, inputs: Inputs) -> Reaction:
        """What the member makes of one event from outside.

        Raises:
            IllegalEvent: a correct environment never does this in this state.
            BrokenSpecification: the machines contradict each other.
        """
        run = _Run(self, state, inputs)
        run.handle(event, outside=True)
        run.handle("turn_ended", outside=False)
        after = MemberState(tuple(run.states), run.values[: len(self.variables)])
        return Reaction(after, tuple(run.emitted), tuple(run.moves))

    def state_of(self, state: MemberState, machine: str) -> str:
        """The state of one machine."""
        return state.states[self.machines.index(machine)]

    def value_of(self, state: MemberState, variable: str) -> Value:
        """The value of one variable."""
        return state.values[self.variables.index(variable)]


@cache
def _cells(
    machine: str, rebalance: str, profile: str, variables: tuple[str, ...]
) -> Mapping[tuple[str, str], CellFunction]:
    """The compiled cells of one machine, over these variables."""
    step = compile_step(tables()[machine, rebalance, profile], tuple(vocabulary.VARIABLES[name] for name in variables))
    return {(state, event): cell for state, cells in step.cells.items() for event, cell in cells.items()}


class _Run:
    """One reaction under way.

    The states are in the order of the member's machines, the values in that of its places.
    """

    __slots__ = ("emitted", "member", "moves", "states", "values")

    def __init__(self, member: Member, state: MemberState, inputs: Inputs) -> None:
        self.member = member
        self.states = list(state.states)
        values = [*state.values, *member._no_inputs]
        for name, value in inputs.items():
            values[member._places[name]] = value
        self.values = tuple(values)
        self.emitted: list[str] = []
        self.moves: list[Move] = []

    def handle(self, event: str, outside: bool) -> None:
        for place in self.member._knows[event]:
            for word in self._fire(place, event, outside):
                if word in vocabulary.EVENTS:
                    self.handle(word, outside=False)
                else:
                    self.emitted.append(word)

    def _fire(self, place: int, event: str, outside: bool) -> tuple[str, ...]:
        member, source = self.member, self.states[place]
        cell = member._cells[place].get((source, event))
        chosen, target, values, emitted = cell(self.values, ()) if cell else (NO_ROW, source, self.values, ())
        machine = member.machines[place]
        if chosen == NO_ROW:
            raise BrokenSpecification(f"{machine}.{source} has no row for {event}")
        row = member._rows[place][chosen]
        if row.kind == "error":
            if outside:
                raise IllegalEvent(machine, row)
            raise BrokenSpecification(f"{machine}: {row.id}, an error row, met by an event between the machines")
        self.states[place], self.values = target, values
        self.moves.append(Move(machine, row, source, target))
        return emitted

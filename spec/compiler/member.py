"""One member, composed: the machines of `spec.member` run together over one set of variables.

An event from outside goes to each machine that knows it; what a row emits for other machines is handled at once and to the
end. So the whole reaction is one step, a pure function of the member's state, the event and its inputs. Timers, answers and
the application are the member's environment: `offers` lists everything that it could do next.

An event that meets an *error* row is one that a correct environment never brings about; it raises `IllegalEvent`, and nothing
has happened. An error row met by an event between the machines would be a mistake of the specification itself, and raises
`BrokenSpecification`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from groupspec.spec import member as coupling
from groupspec.spec import vocabulary
from groupspec.spec.compiler.guards import names, parse, predicate
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.terms import Value

Inputs = Mapping[str, Value]


class MemberState(NamedTuple):
    """States of the machines in the order of `Member.machines`, and values in the order of `Member.variables`."""

    states: tuple[str, ...]
    values: tuple[Value, ...]


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
        super().__init__(f"{machine}.{row.source} never meets {row.event} (rule {' '.join(row.rules)})")
        self.machine = machine
        self.row = row


class BrokenSpecification(Exception):
    """The machines contradict each other: an event between them met an error row, or no row at all."""


@dataclass(frozen=True)
class _Assignment:
    variable: str
    value: Callable[..., Value]
    read: tuple[str, ...]


@dataclass(frozen=True)
class _CompiledRow:
    row: Row
    holds: Callable[..., Value]
    read: tuple[str, ...]
    effects: tuple[tuple[tuple[_Assignment, ...], tuple[str, ...]], ...]


class Member:
    """The machines of one member under one rebalance protocol and one profile."""

    def __init__(self, rebalance: str, profile: str, machines: tuple[str, ...] = coupling.MACHINES) -> None:
        self.rebalance = rebalance
        self.profile = profile
        self.machines = machines
        self.tables: dict[str, Table] = {name: tables()[name, rebalance, profile] for name in machines}
        self.variables = tuple(
            v.name
            for v in vocabulary.VARIABLES.values()
            if v.kind == "config" or (v.kind == "state" and v.owner in machines)
        )
        self._read_states = itemgetter(*self.machines) if len(machines) > 1 else lambda states: (states[machines[0]],)
        self._read_values = itemgetter(*self.variables)
        self._alphabets = {name: frozenset(e.name for e in table.events) for name, table in self.tables.items()}
        self._cells = {name: _compile_cells(table) for name, table in self.tables.items()}

    def replace_row(self, machine: str, row: Row) -> None:
        """Put another row in the place of the one with this id: how a test asks whether anybody would notice."""
        table, key = self.tables[machine], (row.source, row.event)
        changed = (_compile_row(table, row) if c.row.id == row.id else c for c in self._cells[machine][key])
        self._cells[machine][key] = tuple(changed)

    def initial(self, **config: Value) -> MemberState:
        """Before the first event. `config`: values of the configuration variables, by name."""
        values = {name: vocabulary.VARIABLES[name].initial for name in self.variables} | config
        return MemberState(tuple(self.tables[name].initial for name in self.machines), self._read_values(values))

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
            and any(event.name in alphabet for alphabet in self._alphabets.values())
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
        after = MemberState(self._read_states(run.states), self._read_values(run.values))
        return Reaction(after, tuple(run.emitted), tuple(run.moves))

    def state_of(self, state: MemberState, machine: str) -> str:
        """The state of one machine."""
        return state.states[self.machines.index(machine)]

    def value_of(self, state: MemberState, variable: str) -> Value:
        """The value of one variable."""
        return state.values[self.variables.index(variable)]


class _Run:
    """One reaction under way."""

    def __init__(self, member: Member, state: MemberState, inputs: Inputs) -> None:
        self.member = member
        self.states = dict(zip(member.machines, state.states, strict=True))
        self.values: dict[str, Value] = {**dict(zip(member.variables, state.values, strict=True)), **inputs}
        self.emitted: list[str] = []
        self.moves: list[Move] = []

    def handle(self, event: str, outside: bool) -> None:
        for machine in coupling.MACHINES if len(self.states) > 1 else tuple(self.states):
            if event in self.member._alphabets[machine]:
                for word in self._fire(machine, event, outside):
                    if word in vocabulary.EVENTS:
                        self.handle(word, outside=False)
                    else:
                        self.emitted.append(word)

    def _fire(self, machine: str, event: str, outside: bool) -> list[str]:
        compiled = self._row(machine, event)
        row = compiled.row
        if row.kind == "error":
            if outside:
                raise IllegalEvent(machine, row)
            raise BrokenSpecification(f"{machine}: {row.id}, an error row, met by an event between the machines")
        self.states[machine] = row.target
        self.moves.append(Move(machine, row, row.source, row.target))
        words: list[str] = []
        for assignments, emitted in compiled.effects:
            new = {a.variable: a.value(*(self.values[name] for name in a.read)) for a in assignments}
            self.values.update(new)
            words.extend(emitted)
        return words

    def _row(self, machine: str, event: str) -> _CompiledRow:
        for compiled in self.member._cells[machine][self.states[machine], event]:
            if compiled.holds(*[self.values[name] for name in compiled.read]):
                return compiled
        raise BrokenSpecification(f"{machine}.{self.states[machine]} has no row for {event}")


def _compile_cells(table: Table) -> dict[tuple[str, str], tuple[_CompiledRow, ...]]:
    return {
        (state, event.name): tuple(_compile_row(table, row) for row in rows) for state, event, rows in table.cells()
    }


def _compile_row(table: Table, row: Row) -> _CompiledRow:
    read = names(parse(row.guard))
    effects = tuple(
        (tuple(_assignment(name, text) for name, text in effect.set.items()), effect.emit)
        for effect in (table.effect_by_name[name] for name in row.effects)
    )
    return _CompiledRow(row, predicate(row.guard, read), read, effects)


def _assignment(variable: str, text: str) -> _Assignment:
    read = names(parse(text, True))
    return _Assignment(variable, predicate(text, read, True), read)

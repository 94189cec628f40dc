"""A table as Python: one function for each cell, and one dictionary that finds it.

The library needs about 80 microseconds for an event, because it is general. The function that is generated here needs a
fraction of one, because everything general has been decided before it is written: guards are the `if`s, effects the
assignments, and a value that no effect touches is never looked at. Generated text is kept (`Step.source`), since it is
the quickest way to see what a row really does.

Values travel as one tuple, in the order of `Step.variables`: the machine's own, then configuration, then those of other
machines. Inputs travel as a tuple in the order of `Event.inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from groupspec.spec.compiler.guards import names, parse
from groupspec.spec.compiler.specialise import is_the_same_everywhere
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.terms import Value, Variable

Values: TypeAlias = tuple[Value, ...]
Result: TypeAlias = tuple[int, str, Values, tuple[str, ...]]
"""(index of the row in the table, or NO_ROW; the new state; the new values; what was emitted)."""

CellFunction: TypeAlias = Callable[[Values, Values], Result]
StepFunction: TypeAlias = Callable[[str, Values, str, Values], Result]

NO_ROW = -1
"""The row index of an event that the machine does not know."""


@dataclass(frozen=True)
class Step:
    """A compiled table.

    Attributes:
        table: What it was made from.
        variables: What the values mean, in order.
        initial: The values before the first event.
        step: `step(state, values, event, inputs)` gives a `Result`. An *error* row is found like any other, and changes
            nothing: what to do about it is the caller's business.
        cells: The same, one function a cell, for callers that go through all of them.
        source: The generated Python.
    """

    table: Table
    variables: tuple[Variable, ...]
    initial: Values
    step: StepFunction
    cells: Mapping[str, Mapping[str, CellFunction]]
    source: str

    def __call__(self, state: str, values: Values, event: str, inputs: Values = ()) -> Result:
        """The same as `step`, one call slower."""
        return self.step(state, values, event, inputs)

    def position(self, variable: str) -> int:
        """Where a variable stands in the values."""
        return next(i for i, known in enumerate(self.variables) if known.name == variable)


def compile_step(table: Table) -> Step:
    """The Python of a specialised table.

    Raises:
        ValueError: the table is not specialised, and its guards mention constants that have no value.
    """
    if (table.rebalance is None or table.profile is None) and not is_the_same_everywhere(table):
        raise ValueError(f"{table.label} has both protocols and profiles: specialise it first")
    variables = (*table.own, *table.config, *table.foreign)
    writer = _Writer(table, variables)
    source = writer.text()
    space: dict[str, object] = {}
    exec(compile(source, f"<step of {table.label}>", "exec"), space)
    cells = space["CELLS"]
    step = space["step"]
    assert isinstance(cells, dict)
    assert callable(step)
    return Step(table, variables, tuple(v.initial for v in variables), step, cells, source)


class _Writer:
    """Writes the functions of one table."""

    def __init__(self, table: Table, variables: tuple[Variable, ...]) -> None:
        self.table = table
        self.variables = [variable.name for variable in variables]
        self.index = {row.id: index for index, row in enumerate(table.rows)}

    def text(self) -> str:
        """The whole module."""
        lines = [f'"""The step of {self.table.label}, generated from table {self.table.hash[:12]}."""', ""]
        entries: dict[str, list[str]] = {state: [] for state in self.table.states}
        for number, (state, event, rows) in enumerate(self.table.cells()):
            if rows:
                lines += self._cell(f"cell_{number}", event.inputs, rows)
                entries[state].append(f"{event.name!r}: cell_{number}")
        lines.append("CELLS = {")
        lines += [f"    {state!r}: {{{', '.join(cells)}}}," for state, cells in entries.items()]
        lines += ["}", "", ""]
        lines += [
            "def step(state, values, event, inputs=()):",
            "    try:",
            "        cell = CELLS[state][event]",
            "    except KeyError:",
            f"        return {NO_ROW}, state, values, ()",
            "    return cell(values, inputs)",
            "",
        ]
        return "\n".join(lines)

    def _cell(self, name: str, inputs: tuple[str, ...], rows: tuple[Row, ...]) -> list[str]:
        state, event = rows[0].source, rows[0].event
        lines = [f"def {name}(values, inputs):", f'    """{state} x {event}."""']
        read = {read for row in rows for read in names(parse(row.guard))}
        for position, variable in enumerate(inputs):
            if any(variable in self._row_reads(row) for row in rows):
                lines.append(f"    {variable} = inputs[{position}]")
        for position, variable in enumerate(self.variables):
            if variable in read:
                lines.append(f"    {variable} = values[{position}]")
        for row in rows:
            lines += self._row(row)
        if all(row.guard for row in rows):
            lines.append(f"    return {NO_ROW}, {state!r}, values, ()")
        return [*lines, "", ""]

    def _row_reads(self, row: Row) -> set[str]:
        read = set(names(parse(row.guard)))
        for name in row.effects:
            for text in self.table.effect_by_name[name].set.values():
                read.update(names(parse(text, conditional=True)))
        return read

    def _row(self, row: Row) -> list[str]:
        indent = "        " if row.guard else "    "
        lines = [f"    if {row.guard}:"] if row.guard else []
        lines.append(f"{indent}# {row.id} ({row.kind})")
        assignments = [effect.set for effect in (self.table.effect_by_name[name] for name in row.effects) if effect.set]
        new_values = "values"
        if assignments:
            everything = f"({', '.join(self.variables)},)"
            lines.append(f"{indent}{everything} = values")
            for sets in assignments:
                lines.append(f"{indent}{', '.join(sets)} = {', '.join(sets.values())}")
            new_values = everything
        emitted = self.table.emitted(row)
        lines.append(f"{indent}return {self.index[row.id]}, {row.target!r}, {new_values}, {emitted!r}")
        return lines


class Outcome(NamedTuple):
    """What an event did: the row (None if the machine does not know the event), and what was emitted."""

    row: Row | None
    emitted: tuple[str, ...]


class Machine:
    """A compiled table with a memory: for tests and explanations, where names matter more than speed.

    Attributes:
        state: Where it is.
        values: Every variable by name; those of other machines may be assigned.
    """

    def __init__(self, step: Step, **values: Value) -> None:
        """Begins in the initial state; `values` differ from the initial ones."""
        self._step = step
        self.state = step.table.initial
        self.values: dict[str, Value] = {variable.name: variable.initial for variable in step.variables} | values

    def send(self, event: str, **inputs: Value) -> Outcome:
        """One event. Inputs that are not given have their initial value; an error row changes nothing."""
        known = {known.name: known for known in self._step.table.events}
        needed = known[event].inputs if event in known else ()
        given = tuple(inputs.get(name, self._step.table.variable(name).initial) for name in needed)
        index, self.state, values, emitted = self._step.step(self.state, tuple(self.values.values()), event, given)
        self.values = dict(zip(self.values, values, strict=True))
        return Outcome(self._step.table.rows[index] if index != NO_ROW else None, emitted)

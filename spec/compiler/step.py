"""A table as Python, for whoever evaluates it: one function for each cell, and one dictionary that finds it.

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
from typing import Any, TypeAlias

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
class TableStep:
    """A compiled table.

    Attributes:
        variables: What the values mean, in order.
        initial: The values before the first event.
        step: `step(state, values, event, inputs)` gives a `Result`. An *error* row is found like any other, and changes
            nothing: what to do about it is the caller's business.
        cells: The same, one function a cell: state to event to function.
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


def compile_step(table: Table, variables: tuple[Variable, ...] | None = None) -> TableStep:
    """The Python of a specialised table.

    `variables` are what the values mean, if not `Step.variables`: everything that the table reads and sets. An input
    among them is read there, and not from the inputs.

    Raises:
        ValueError: the table is not specialised, and its guards mention constants that have no value.
    """
    if (table.rebalance is None or table.profile is None) and not is_the_same_everywhere(table):
        raise ValueError(f"{table.label} has both protocols and profiles: specialise it first")
    if variables is None:
        variables = (*table.own, *table.config, *table.foreign)
    source = _Writer(table, variables).text()
    space = _run(source, table)
    return TableStep(table, variables, tuple(v.initial for v in variables), space["step"], space["CELLS"], source)


def compile_cell(table: Table, variables: tuple[Variable, ...], state: str, event: str) -> CellFunction:
    """The function of one cell, which must have rows; see `compile_step`."""
    source = "\n".join(_Writer(table, variables).cell("cell", table.event(event).inputs, table.cell(state, event)))
    function: CellFunction = _run(source, table)["cell"]
    return function


def _run(source: str, table: Table) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(source, f"<step of {table.label}>", "exec"), space)
    return space


class _Writer:
    """Writes the functions of one table."""

    def __init__(self, table: Table, variables: tuple[Variable, ...]) -> None:
        self.table = table
        self.places = {variable.name: place for place, variable in enumerate(variables)}
        self.index = {row.id: index for index, row in enumerate(table.rows)}

    def text(self) -> str:
        """The whole module."""
        lines = [f'"""The step of {self.table.label}, generated from table {self.table.hash[:12]}."""', ""]
        entries: dict[str, list[str]] = {state: [] for state in self.table.states}
        for number, (state, event, rows) in enumerate(self.table.cells()):
            if rows:
                lines += self.cell(f"cell_{number}", event.inputs, rows)
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

    def cell(self, name: str, inputs: tuple[str, ...], rows: tuple[Row, ...]) -> list[str]:
        """The function of the rows of one cell, as lines."""
        state, event = rows[0].source, rows[0].event
        known = dict.fromkeys(read for row in rows for read in names(parse(row.guard)))
        lines = [f"def {name}(values, inputs):", f'    """{state} x {event}."""']
        lines += [f"    {read} = {self._value(read, inputs)}" for read in known]
        for row in rows:
            lines += self._row(row, inputs, set(known))
        if all(row.guard for row in rows):
            lines.append(f"    return {NO_ROW}, {state!r}, values, ()")
        return [*lines, "", ""]

    def _value(self, name: str, inputs: tuple[str, ...]) -> str:
        return f"values[{self.places[name]}]" if name in self.places else f"inputs[{inputs.index(name)}]"

    def _row(self, row: Row, inputs: tuple[str, ...], known: set[str]) -> list[str]:
        indent = "        " if row.guard else "    "
        lines = [f"    if {row.guard}:"] if row.guard else []
        lines.append(f"{indent}# {row.id} ({row.kind})")
        assigned: set[str] = set()
        for sets in (self.table.effect_by_name[name].set for name in row.effects):
            for read in dict.fromkeys(read for text in sets.values() for read in names(parse(text, conditional=True))):
                if read not in known | assigned:
                    known.add(read)
                    lines.append(f"{indent}{read} = {self._value(read, inputs)}")
            if sets:
                lines.append(f"{indent}{', '.join(sets)} = {', '.join(sets.values())}")
            assigned |= sets.keys()
        emitted = self.table.emitted(row)
        lines.append(f"{indent}return {self.index[row.id]}, {row.target!r}, {self._new_values(assigned)}, {emitted!r}")
        return lines

    def _new_values(self, assigned: set[str]) -> str:
        """The values with the assigned variables, as an expression."""
        if not assigned:
            return "values"
        parts, done = [], 0
        for place, name in sorted((self.places[name], name) for name in assigned):
            if place > done:
                parts.append(f"*values[{done}:{place}]")
            parts.append(name)
            done = place + 1
        if done < len(self.places):
            parts.append(f"*values[{done}:]")
        return f"({', '.join(parts)},)"

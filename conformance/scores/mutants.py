"""Mutants of the specification: one row as it is written, changed in one respect.

A row as it is written stands for one row of the table in each state and event that it names; a mutant changes all of
them, by one of the `OPERATORS`. None adds anything: no effect, no word, no condition.

A changed row stands before the others of its event, so that it wins wherever it fires. Where it fires now and another
row did, that one is silent; where it fires no more, nothing happens. The compiler would accept neither; it is what a
slip in an implementation looks like.

Rows that say what changes nothing, or what a correct peer never does, are not changed: they do nothing. So a guard is
not widened if it would then hold besides only where an error row fires, which says that this cannot be.

Some mutants are *idle*: in no state that can be reached does what was changed make any difference (`killing.py` finds
out). That is no fault of the row: the compiler demands that the rows of a cell decide all values of all variables, not
only those that occur together, and a row or an effect is written once for all members that need a part of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Final

from groupspec.spec import vocabulary
from groupspec.spec.compiler.guards import domains, names, parse, predicate, show, simplify
from groupspec.spec.compiler.table import Row, Table

OPERATORS: Final[Mapping[str, str]] = {
    "drop-set": "one assignment of an effect is not made, in any row that names it",
    "drop-effect": "one of its effects does not happen",
    "drop-word": "one word of an effect is not said, in any row that names it",
    "negate": "it fires when its guard does not hold, and not when it does",
    "widen": "one condition of its guard is left out",
    "swap-target": "it ends in another state: the next one in the order of the file, and no other is tried",
    "ignore": "nothing happens any more",
}
"""How a row is changed."""


@dataclass(frozen=True)
class SpecMutant:
    """One changed row.

    Attributes:
        id: `machine/row/operator/what`; the row is the first that the written one stands for, or else it is the effect.
        rows: The ids of the rows of the table.
        events: Their events: only what happens on them is changed.
        what: What was changed, in words.
        table: The machine with the changed rows; only the rows of those events.
    """

    id: str
    machine: str
    operator: str
    rows: tuple[str, ...]
    events: tuple[str, ...]
    what: str
    table: Table


_Change = tuple[str, str, Row]
"""(operator, what, the changed row)"""


def mutants(table: Table) -> Iterator[SpecMutant]:
    """Every mutant of a machine, in the order of the file; those that would say the same only once."""
    written = [row for row in table.rows if row.kind == "transition"]
    for _, group in groupby(sorted(written, key=lambda row: _place(table, row)), key=lambda row: _place(table, row)):
        rows = tuple(group)
        known = {tuple(_meaning(table, row) for row in rows)}
        changes: dict[tuple[str, str], list[_Change]] = {}
        for row in rows:
            for change in _changes(table, row):
                changes.setdefault(change[:2], []).append(change)
        for (operator, what), changed in changes.items():
            broken = _with(table, changed)
            meaning = tuple(_meaning(broken, row) for _, _, row in changed)
            if meaning not in known:
                known.add(meaning)
                ids, events = (
                    tuple(dict.fromkeys(x)) for x in zip(*((c[2].id, c[2].event) for c in changed), strict=True)
                )
                name = f"{table.name}/{ids[0]}/{operator}/{what}"
                yield SpecMutant(name, table.name, operator, ids, events, what, broken)
    yield from _of_effects(table)


def _place(table: Table, row: Row) -> tuple[str, int, str]:
    """Rows that were written as one stand in one line of a file, and have one guard."""
    file, _, line = table.places[row.id].rpartition(":")
    return file, int(line), row.guard


def _changes(table: Table, row: Row) -> Iterator[_Change]:
    for place, name in enumerate(row.effects):
        without = (*row.effects[:place], *row.effects[place + 1 :])
        yield "drop-effect", name, replace(row, effects=without)
    if row.guard:
        yield "negate", "guard", replace(row, guard=show(simplify(ast.UnaryOp(ast.Not(), parse(row.guard)), {})))
        for left_out, guard in _widened(row.guard):
            if _fires_elsewhere(table, row, guard):
                yield "widen", left_out, replace(row, guard=guard)
    following = table.states[(table.states.index(row.target) + 1) % len(table.states)]
    yield "swap-target", "next", replace(row, target=following)
    yield "ignore", "row", replace(row, target=row.source, effects=())


def _widened(guard: str) -> Iterator[tuple[str, str]]:
    expression = parse(guard)
    parts = (
        expression.values if isinstance(expression, ast.BoolOp) and isinstance(expression.op, ast.And) else [expression]
    )
    for place, part in enumerate(parts):
        others = [*parts[:place], *parts[place + 1 :]]
        rest = ast.BoolOp(ast.And(), others) if len(others) > 1 else others[0] if others else ast.Constant(True)
        yield show(part), show(rest)


def _fires_elsewhere(table: Table, row: Row, guard: str) -> bool:
    """Whether the guard holds somewhere where the row's does not, and no error row fires."""
    errors = [other.guard for other in table.cell(row.source, row.event) if other.kind == "error"]
    texts = [guard, row.guard, *errors]
    read = tuple(dict.fromkeys(name for text in texts for name in names(parse(text))))
    now, then, *impossible = (predicate(text, read) for text in texts)
    return any(
        now(*values) and not then(*values) and not any(error(*values) for error in impossible)
        for values in product(*domains(read, vocabulary.VARIABLES))
    )


def _with(table: Table, changes: list[_Change]) -> Table:
    changed = tuple(row for _, _, row in changes)
    ids, events = {row.id for row in changed}, {row.event for row in changed}
    others = tuple(row for row in table.rows if row.event in events and row.id not in ids)
    return replace(table, rows=(*changed, *others), places={})


def _of_effects(table: Table) -> Iterator[SpecMutant]:
    """An effect is written once as well, and changed wherever a row names it."""
    for effect in table.effects:
        rows = [row for row in table.rows if effect.name in row.effects]
        events = tuple(dict.fromkeys(row.event for row in rows))
        smaller = [
            ("drop-set", name, replace(effect, set={n: text for n, text in effect.set.items() if n != name}))
            for name in effect.set
        ]
        smaller += [
            ("drop-word", word, replace(effect, emit=tuple(w for w in effect.emit if w != word)))
            for word in effect.emit
        ]
        for operator, what, changed in smaller:
            effects = tuple(changed if other.name == effect.name else other for other in table.effects)
            affected = tuple(row for row in table.rows if row.event in events)
            broken = replace(table, rows=affected, effects=effects, places={})
            name = f"{table.name}/{effect.name}/{operator}/{what}"
            yield SpecMutant(name, table.name, operator, tuple(row.id for row in rows), events, what, broken)


def _meaning(table: Table, row: Row) -> object:
    """What a row says, in a form that is equal for rows that say the same."""
    effects = [table.effect_by_name[name] for name in row.effects]
    sets = tuple((variable, text) for effect in effects for variable, text in effect.set.items())
    return row.guard, row.target, sets, tuple(word for effect in effects for word in effect.emit)

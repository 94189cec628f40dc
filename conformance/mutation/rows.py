"""Mutants of a machine's table: some rows say something else.

What a machine says is read once, when its class is introspected; everything else is made from that. So the changed rows
get in there, and whoever asks for the tables afterwards, a test, a model or an explorer, gets the changed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from groupspec.conformance.mutation.mutant import Method, Mutant, Seam, register
from groupspec.spec.compiler import Row, Table
from groupspec.spec.compiler import tables as tables_module

Which = Callable[[Row], bool]
Change = Callable[[Row], Row]


def rows_mutant(machine: str, identifier: str, rules: str, which: Which, change: Change, what: str) -> None:
    """Registers a mutant that changes some rows of a machine."""

    def change_machine(seam: Seam) -> None:
        change_rows(seam, machine, which, change)

    register(Mutant(identifier, tuple(rules.split()), what, change_machine, of_spec=True))


def change_rows(seam: Seam, machine: str, which: Which, change: Change) -> None:
    """From now on the machine's table has these rows changed.

    Raises:
        LookupError: the machine has no such row (any more), or the change changes nothing.
    """
    before, specialised = tables_module.whole_tables(), tables_module.tables()
    whole = before[machine]
    rows = tuple(change(row) if which(row) else row for row in whole.rows)
    if rows == whole.rows:
        raise LookupError(f"no row of {machine} is changed by this: the mutant needs other rows")
    changed = replace(whole, rows=rows)

    seam.callback(_read_anew)  # what is registered first is undone last

    @seam.replacing((tables_module, "introspect"))
    def introspect(_: Method, cls: type) -> Table:
        name: str = cls.__dict__["machine_name"]
        return changed if name == machine else before[name]

    @seam.replacing((tables_module, "specialise"))
    def specialise(original: Method, table: Table, rebalance: str, profile: str) -> Table:
        if table.name != machine:
            return specialised[table.name, rebalance, profile]
        made: Table = original(table, rebalance, profile)
        return made

    _read_anew()


def _read_anew() -> None:
    tables_module.whole_tables.cache_clear()
    tables_module.tables.cache_clear()


# Which rows ----------------------------------------------------------------------------------------------------------


def cell(source: str, *events: str, guard: str = "") -> Which:
    """The transitions of one state and some events; `guard` is a part of theirs."""
    return lambda row: row.source == source and row.event in events and row.kind != "error" and guard in row.guard


def errors(*events: str) -> Which:
    """What is impossible, in every state."""
    return lambda row: row.kind == "error" and row.event in events


# Which change --------------------------------------------------------------------------------------------------------


def without(effect: str) -> Change:
    """Something is not done."""
    return lambda row: replace(row, effects=tuple(name for name in row.effects if name != effect))


def doing(old: str, new: str) -> Change:
    """Something else is done; `new` is an effect that another row of the machine has."""
    return lambda row: replace(row, effects=tuple(new if name == old else name for name in row.effects))


def to(target: str) -> Change:
    """It goes to another state."""
    return lambda row: replace(row, target=target)


def guard(old: str, new: str) -> Change:
    """It happens at other times."""
    return lambda row: replace(row, guard=row.guard.replace(old, new))


def ignored(row: Row) -> Row:
    """Nothing happens."""
    return replace(row, kind="ignored", reason="", target=row.source, effects=())

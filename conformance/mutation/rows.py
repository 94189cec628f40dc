"""Breakers of the specification itself: a row of a machine's table says something else, for one process.

What a machine says is read once, when its class is introspected; everything else is made from that. So the changed rows
get in there, and whoever asks for the tables afterwards, a test, a model or an explorer, gets the changed ones. To add
a breaker of this kind, list the rule, the rows and the change:

    rows_changed("G1-nobody-waits", "G1", "broker_group", cell("PreparingRebalance", "group_join_phase_checked"),
                 guard("all_joined and ", ""), "The join phase ends with the first JoinGroup.")

The check that has to notice is a story of `groupspec.spec.tests`, or what `stories.PROVIDERS` adds: a property of a
model is a check too, whose id names the model and the property, and whose run explores the model and raises if it is
violated.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from groupspec.conformance.mutation import _seams
from groupspec.conformance.mutation.mutant import BREAKERS, Breaker, function
from groupspec.spec.compiler import Row, Table
from groupspec.spec.compiler import tables as tables_module

Which = Callable[[Row], bool]
Change = Callable[[Row], Row]

MADE_AT_IMPORT: Final = ("groupspec.spec.tests.test_broker_group", "groupspec.spec.tests.test_kip62")
"""Modules that make something of a table when they are imported: they are imported anew."""


def rows_changed(identifier: str, rules: str, machine: str, which: Which, change: Change, what: str) -> None:
    """Registers a breaker that changes some rows of a machine."""

    def put_in() -> None:
        change_rows(machine, which, change)

    if identifier in BREAKERS:
        raise ValueError(f"there are two breakers {identifier!r}")
    BREAKERS[identifier] = Breaker(identifier, tuple(rules.split()), what, put_in, of_spec=True)


def change_rows(machine: str, which: Which, change: Change) -> None:
    """From now on the machine's table has these rows changed.

    Raises:
        LookupError: the machine has no such row (any more), or the change changes nothing.
    """
    before, specialised = tables_module.whole_tables(), tables_module.tables()
    whole = before[machine]
    rows = tuple(change(row) if which(row) else row for row in whole.rows)
    if rows == whole.rows:
        raise LookupError(f"no row of {machine} is changed by this: the breaker needs other rows")
    changed = replace(whole, rows=rows)

    def introspect(cls: type) -> Table:
        name: str = cls.__dict__["machine_name"]
        return changed if name == machine else before[name]

    def make(original: Callable[..., Table]) -> Callable[..., Table]:
        def specialise(table: Table, rebalance: str, profile: str) -> Table:
            if table.name == machine:
                return original(table, rebalance, profile)
            return specialised[table.name, rebalance, profile]

        return specialise

    _seams.on_undo(_read_anew)  # what is registered first is undone last
    function(tables_module, "introspect", lambda _: introspect)
    function(tables_module, "specialise", make)
    _read_anew()


def _read_anew() -> None:
    tables_module.whole_tables.cache_clear()
    tables_module.tables.cache_clear()
    for name in MADE_AT_IMPORT:
        if name in sys.modules:
            importlib.reload(sys.modules[name])


# Which rows
# ----------------------------------------------------------------------------------------------------------------


def cell(source: str, *events: str, guard: str = "") -> Which:
    """The transitions of one state and some events; `guard` is a part of theirs."""
    return lambda row: row.source == source and row.event in events and row.kind != "error" and guard in row.guard


def errors(*events: str) -> Which:
    """What is impossible, in every state."""
    return lambda row: row.kind == "error" and row.event in events


# Which change
# --------------------------------------------------------------------------------------------------------------


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

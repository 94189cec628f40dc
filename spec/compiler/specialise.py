"""One protocol and one profile out of a table that has both: partial evaluation of guards and effects.

What remains mentions neither `eager` nor `deployed`, a row that can no longer fire is gone, and ids stay what they
were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from groupspec.spec.compiler.guards import names, parse, satisfiable, show, simplify
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.terms import CONSTANTS, Effect, Value

REBALANCES = ("eager", "cooperative")
PROFILES = ("published", "deployed")
SPECIALISATIONS = tuple(product(REBALANCES, PROFILES))


def constants(rebalance: str | None, profile: str | None) -> dict[str, Value]:
    """The constants of the guards in that run; nothing is said about a part that is None."""
    known: dict[str, Value] = {}
    if rebalance is not None:
        known.update((name, name == rebalance) for name in REBALANCES)
    if profile is not None:
        known.update((name, name == profile) for name in PROFILES)
    return known


def is_the_same_everywhere(table: Table) -> bool:
    """Whether the table of a whole class mentions neither protocol nor profile: it is the same for all of them."""
    texts = [text for effect in table.effects for text in effect.set.values()]
    read = {name for text in (*texts, *(row.guard for row in table.rows)) for name in names(parse(text, True))}
    return not read & set(CONSTANTS)


def specialise(table: Table, rebalance: str, profile: str) -> Table:
    """The table for one rebalance protocol (`eager`, `cooperative`) and one profile (`published`, `deployed`).

    Raises:
        ValueError: there is no such protocol or profile.
    """
    if rebalance not in REBALANCES or profile not in PROFILES:
        raise ValueError(f"no specialisation {rebalance!r}, {profile!r}: allowed are {REBALANCES} and {PROFILES}")
    known = constants(rebalance, profile)
    variables = {variable.name: variable for variable in table.variables}
    rows: list[Row] = []
    for row in table.rows:
        guard = show(simplify(parse(row.guard), known))
        if satisfiable(guard, variables):
            rows.append(replace(row, guard=guard))
    used = {name for row in rows for name in row.effects}
    effects = tuple(_specialise_effect(effect, known) for effect in table.effects if effect.name in used)
    read = {name for row in rows for name in names(parse(row.guard))}
    read |= {name for effect in effects for text in effect.set.values() for name in names(parse(text, True))}
    return replace(
        table,
        rebalance=rebalance,
        profile=profile,
        variables=tuple(v for v in table.variables if v.name in read or v.owner == table.name),
        rows=tuple(rows),
        effects=effects,
    )


def _specialise_effect(effect: Effect, known: Mapping[str, Value]) -> Effect:
    assigned = {name: show(simplify(parse(text, True), known)) or "True" for name, text in effect.set.items()}
    return replace(effect, set=MappingProxyType(assigned))

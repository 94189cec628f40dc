"""Which tables of a machine really differ: protocols and profiles with the same rows share a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from groupspec.spec.compiler import PROFILES, REBALANCES, Row, Table
from groupspec.spec.compiler.tables import tables, whole_tables

_ORDER = tuple(product(reversed(PROFILES), reversed(REBALANCES)))
"""What most readers look for first: deployed before published, cooperative before eager."""


@dataclass(frozen=True)
class Variant:
    """One table with a page of its own.

    Attributes:
        table: The table; of those that are equal, the first in the order of interest.
        covers: Every (rebalance, profile) that it is the table of.
    """

    table: Table
    covers: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        """`cooperative, deployed`; what makes no difference is left out."""
        return ", ".join(self._parts()) or "every protocol and profile"

    @property
    def page(self) -> str:
        """The name of its page."""
        return "-".join(("table", self.table.name, *self._parts())) + ".html"

    def state(self, state: str) -> str:
        """The name of the page that has the rows of a state."""
        return f"{self.page.removesuffix('.html')}-{state}.html"

    def row(self, row_id: str) -> str:
        """The address of one of its rows."""
        state, _, place = row_id.partition(".")
        return f"{self.state(state)}#{place}"

    def cell(self, state: str, event: str) -> str:
        """The address of the rows of a state for one event: a cell of its matrix."""
        return f"{self.state(state)}#{event}"

    def _parts(self) -> tuple[str, ...]:
        rebalances = {rebalance for rebalance, _ in self.covers}
        profiles = {profile for _, profile in self.covers}
        whole = len(rebalances) * len(profiles) == len(self.covers)
        if not whole:
            return (str(self.table.rebalance), str(self.table.profile))
        return (
            *(rebalances if len(rebalances) == 1 else ()),
            *(profiles if len(profiles) == 1 else ()),
        )


@cache
def variants() -> Mapping[str, tuple[Variant, ...]]:
    """Machine to its tables, each once."""
    return {name: tuple(_of(name)) for name in whole_tables()}


def _of(name: str) -> list[Variant]:
    found: dict[tuple[object, ...], list[tuple[str, str]]] = {}
    for profile, rebalance in _ORDER:
        table = tables()[name, rebalance, profile]
        same = (table.states, table.rows, table.effects, table.variables)
        found.setdefault(tuple(map(repr, same)), []).append((rebalance, profile))
    return [Variant(tables()[(name, *covers[0])], tuple(covers)) for covers in found.values()]


@cache
def _places() -> Mapping[tuple[str, str], tuple[Variant, ...]]:
    places: dict[tuple[str, str], tuple[Variant, ...]] = {}
    for name, each in variants().items():
        for variant in each:
            for row in variant.table.rows:
                places[name, row.id] = (*places.get((name, row.id), ()), variant)
    return places


def where(machine: str, row: Row) -> tuple[Variant, ...]:
    """The tables that have a row of a whole table, those first that most readers look for."""
    return _places().get((machine, row.id), ())

"""Rows of tables as a page shows them: one by one in their state, or, where many states say the same, together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from groupspec.conformance.book import addresses, text
from groupspec.conformance.book.variants import Variant, where
from groupspec.conformance.book.variants import variants as all_variants
from groupspec.spec import vocabulary
from groupspec.spec.compiler import Row
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.rules import RULES


@dataclass(frozen=True)
class Sent:
    """A word that a row emits.

    Attributes:
        name: The word.
        kind: `wire` (a request or an answer), `callback` (an event for the polling thread), `act` (done to the group's records
            of its members), or `internal` (an event for the other machines).
    """

    name: str
    kind: str


@dataclass(frozen=True)
class ShownRow:
    """Rows that differ in nothing but the state they are in.

    Attributes:
        row: The first of them.
        machine: Whose rows they are.
        states: (state, address of the row), for each.
        sends: What they emit.
        bugs: Known bugs of their rules.
        variants: Words for the tables that have them; empty where all have.
    """

    row: Row
    machine: str
    states: tuple[tuple[str, str], ...]
    sends: tuple[Sent, ...]
    bugs: tuple[str, ...]
    variants: tuple[str, ...] = ()

    @property
    def guard(self) -> Markup:
        """When."""
        return text.guard(self.row.guard)

    @property
    def target(self) -> Markup:
        """Where it goes, or that it stays."""
        if self.row.source == self.row.target:
            return Markup('<span class="stays">stays</span>')
        return text.link(addresses.state(self.machine, self.row.target), text.breakable(self.row.target), css="to")


def sent(words: Iterable[str]) -> tuple[Sent, ...]:
    """Emitted words with their kinds."""
    return tuple(Sent(name, _kind(name)) for name in words)


def _kind(name: str) -> str:
    if name in vocabulary.CONSUMER_EVENTS:
        return "callback"
    if name in vocabulary.GROUP_ACTS:
        return "act"
    return "internal" if name in vocabulary.EVENTS else "wire"


def bugs_of(rules: Iterable[str]) -> tuple[str, ...]:
    """Known bugs of some rules, each once."""
    return tuple(dict.fromkeys(bug for rule in rules if rule in RULES for bug in RULES[rule].known_bugs))


def shown_row(variant: Variant, row: Row) -> ShownRow:
    """A row on the page of its table."""
    table = variant.table
    return ShownRow(row, table.name, ((row.source, variant.row(row.id)),), sent(table.emitted(row)), bugs_of(row.rules))


def together(rows: Iterable[tuple[str, Row]]) -> Iterator[ShownRow]:
    """(machine, row) of whole tables, those together that stand in one line of the machine's file.

    Rows of no table (their guard never holds in any protocol and profile) are left out.
    """
    groups: dict[tuple[object, ...], list[tuple[str, Row]]] = {}
    for machine, row in rows:
        if where(machine, row):
            target = "" if row.source == row.target else row.target
            key = (machine, row.event, target, row.guard, row.effects, row.kind, row.reason, row.rules)
            groups.setdefault((*key, *(variant.page for variant in where(machine, row))), []).append((machine, row))
    for members in groups.values():
        machine, first = members[0]
        variants = where(machine, first)
        yield ShownRow(
            first,
            machine,
            tuple((row.source, where(machine, row)[0].row(row.id)) for _, row in members),
            sent(whole_tables()[machine].emitted(first)),
            bugs_of(first.rules),
            tuple(variant.words for variant in variants) if len(variants) < len(all_variants()[machine]) else (),
        )


@dataclass(frozen=True)
class Cell:
    """One cell of a matrix."""

    state: str
    event: str
    rows: tuple[ShownRow, ...]

    @property
    def anchor(self) -> str:
        """Its name on the page."""
        return f"cell.{self.state}.{self.event}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of its rows, each once."""
        return tuple(dict.fromkeys(rule for shown in self.rows for rule in shown.row.rules))

    @property
    def bugs(self) -> tuple[str, ...]:
        """Known bugs of those rules."""
        return bugs_of(self.rules)

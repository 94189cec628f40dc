"""Rows of tables as a page shows them: one by one in their state, or, where many states say the same, together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from groupspec.conformance.book import text
from groupspec.conformance.book.variants import Variant, where
from groupspec.conformance.book.variants import variants as all_variants
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.vocabulary import kind_of
from groupspec.spec.compiler import Row
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.rules import RULES


@dataclass(frozen=True)
class ShownRow:
    """Rows that differ in nothing but the state they are in and the event that they happen on.

    Attributes:
        row: The first of them.
        machine: Whose rows they are.
        events: What they happen on.
        states: (state, address of the row), for each; where there are several events, of the row for the first.
        sends: What they emit.
        bugs: Known bugs of their rules.
        variants: Words for the tables that have them; empty where all have.
    """

    row: Row
    machine: str
    events: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    sends: tuple[str, ...]
    bugs: tuple[str, ...]
    variants: tuple[str, ...] = ()

    @property
    def guard(self) -> Markup:
        """When."""
        return text.guard(self.row.guard)

    @property
    def outgoing(self) -> tuple[str, ...]:
        """What leaves for the wire or the application's thread."""
        return tuple(word for word in self.sends if kind_of(word) in ("request", "callback"))

    @property
    def target(self) -> Markup:
        """Where it goes, or that it stays."""
        if self.row.source == self.row.target:
            return Markup('<span class="stays">stays</span>')
        return text.link(address("state", self.machine, self.row.target), text.breakable(self.row.target), css="to")


def bugs_of(rules: Iterable[str]) -> tuple[str, ...]:
    """Known bugs of some rules, each once."""
    return tuple(dict.fromkeys(bug for rule in rules if rule in RULES for bug in RULES[rule].known_bugs))


def shown_row(variant: Variant, row: Row) -> ShownRow:
    """A row on the page of its table."""
    table = variant.table
    return ShownRow(
        row,
        table.name,
        (row.event,),
        ((row.source, variant.row(row.id)),),
        table.emitted(row),
        bugs_of(row.rules),
    )


def together(rows: Iterable[tuple[str, Row]]) -> list[ShownRow]:
    """(machine, row) of whole tables, those together that say the same; transitions come first.

    Rows of no table (their guard never holds in any protocol and profile) are left out.
    """
    by_event: dict[tuple[object, ...], list[tuple[str, Row]]] = {}
    for machine, row in rows:
        if where(machine, row):
            by_event.setdefault((*_says(machine, row), row.event), []).append((machine, row))
    same: dict[tuple[object, ...], list[list[tuple[str, Row]]]] = {}
    for group in by_event.values():
        same.setdefault((*_says(*group[0]), *(row.source for _, row in group)), []).append(group)
    return sorted(map(_together, same.values()), key=lambda shown: _KINDS.index(shown.row.kind))


_KINDS = ("transition", "ignored", "error")


def _says(machine: str, row: Row) -> tuple[object, ...]:
    """What a row says, less its state and its event."""
    target = "" if row.source == row.target else row.target
    tables = tuple(variant.page for variant in where(machine, row))
    return machine, target, row.guard, row.effects, row.kind, row.reason, row.rules, tables


def _together(groups: list[list[tuple[str, Row]]]) -> ShownRow:
    machine, first = groups[0][0]
    variants = where(machine, first)
    return ShownRow(
        first,
        machine,
        tuple(group[0][1].event for group in groups),
        tuple((row.source, where(machine, row)[0].row(row.id)) for _, row in groups[0]),
        whole_tables()[machine].emitted(first),
        bugs_of(first.rules),
        tuple(variant.words for variant in variants) if len(variants) < len(all_variants()[machine]) else (),
    )


@dataclass(frozen=True)
class Cell:
    """One cell of a matrix."""

    rows: tuple[ShownRow, ...]

    @property
    def decides(self) -> bool:
        """Whether anything can happen in it."""
        return any(shown.row.kind == "transition" for shown in self.rows)

    @property
    def lines(self) -> list[tuple[ShownRow, int]]:
        """The rows, those that look alike once, with how many there are."""
        alike: dict[tuple[object, ...], list[ShownRow]] = {}
        for shown in self.rows:
            row = shown.row
            rules = row.rules if row.kind == "error" else ()
            alike.setdefault((row.kind, row.target, row.reason, rules, shown.outgoing), []).append(shown)
        return [(members[0], len(members)) for members in alike.values()]

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of its transitions, each once; those of errors stand beside them."""
        rows = (shown.row for shown in self.rows if shown.row.kind != "error")
        return tuple(dict.fromkeys(rule for row in rows for rule in row.rules))

    @property
    def all_rules(self) -> tuple[str, ...]:
        """The rules of all of its rows, each once."""
        return tuple(dict.fromkeys(rule for shown in self.rows for rule in shown.row.rules))

    @property
    def bugs(self) -> tuple[str, ...]:
        """Known bugs of those rules."""
        return bugs_of(self.rules)

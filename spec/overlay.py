"""The published profile: the rows that the proposal has otherwise than deployed clients.

A machine file says what deployed clients and brokers do. A file in `published/` lists what the threading refactor
proposal, taken to the letter, says instead:

    PUBLISHED = Overlay(Rebalance)
    PUBLISHED.row(Rebalance.STABLE, "rejoin_requested", Rebalance.PREPARE_REVOCATION, ...)

In the published profile such a row stands in the place of every row of the same state and event whose guard can hold
together with its own. What no row replaces is the same in both profiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

from groupspec.spec.machine import RowKind, State, StateMachine, each, place_of_caller


@dataclass(frozen=True)
class OverlayRow:
    """A row of the published profile, for one state and one event; the fields are those of `machine.RowTransition`."""

    source: str
    event: str
    target: str
    when: str
    do: list[str]
    kind: RowKind
    reason: str
    rules: str
    place: str


@dataclass(frozen=True)
class Overlay:
    """What the published profile has instead of rows of `machine`."""

    machine: type[StateMachine]
    rows: list[OverlayRow] = field(default_factory=list)

    def row(
        self,
        source: State | tuple[State, ...],
        event: str | tuple[str, ...],
        target: State | None,
        when: str = "",
        do: Iterable[str] = (),
        rules: str = "",
    ) -> None:
        """As `machine.row`."""
        place = place_of_caller()
        for s, e in product(each(source), each(event)):
            to = (target or s).id
            self.rows.append(OverlayRow(s.id, e, to, when, list(do), "transition", "", rules, place))

    def ignored(self, source: State | tuple[State, ...], event: str | tuple[str, ...], because: str = "late") -> None:
        """As `machine.ignored`, whatever the values."""
        place = place_of_caller()
        for s, e in product(each(source), each(event)):
            self.rows.append(OverlayRow(s.id, e, s.id, "", [], "ignored", because, "", place))

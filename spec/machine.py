"""The words that a machine file is written in: `row`, `ignored`, `error`.

Each of them is a thin layer over python-statemachine: it makes ordinary transitions between ordinary states, so that the
class can be run, asked and drawn by the library like any other, and it adds what the library has no place for: whether a
transition is a change, an event that is ignored for a stated reason, or something that no correct peer does; the rules it
rests on; and its place in the file, from which its id is made.

Everything is a string or a name. A function given as a guard or an action could be run, but not read, compared, counted or
turned into another language; the compiler refuses it.

An *error* row raises in the library (`TransitionNotAllowed`, by way of the model's `refuse_illegal_event`), as any event
that the machine does not know does.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Literal, TypeAlias

from statemachine import State, StateMachine
from statemachine.transition import Transition

__all__ = ["REFUSE", "Row", "RowKind", "State", "StateMachine", "error", "ignored", "row"]

RowKind: TypeAlias = Literal["transition", "ignored", "error"]

REFUSE = "refuse_illegal_event"
"""The action of an error row. The model that the compiler makes for the library raises in it."""

_order = count()


class Row(Transition):
    """A transition of the library that knows which row of the table it is.

    Attributes:
        kind: A change, an event ignored for `reason`, or an error of the peer.
        reason: For an ignored row: a key of `vocabulary.IGNORED_REASONS`.
        rules: The ids of the rules that the row rests on.
        order: Grows from row to row, as they stand in the file.
    """

    def __init__(
        self,
        source: State,
        target: State,
        event: str,
        when: object,
        do: object,
        kind: RowKind,
        reason: str = "",
        rules: str = "",
    ) -> None:
        stays = target is source
        # `when` and `do` may hold anything here: what cannot be compiled is reported by the compiler, with its place.
        super().__init__(source, target, event=event, cond=when or None, on=do or None, internal=stays)
        self.kind: RowKind = kind
        self.reason = reason
        self.rules = tuple(rules.split())
        self.order = next(_order)
        source.transitions.add_transitions(self)


def row(
    source: State | tuple[State, ...],
    event: str | tuple[str, ...],
    target: State | None,
    when: str = "",
    do: Iterable[str] = (),
    rules: str = "",
) -> None:
    """What the machine does on `event` in `source`: go to `target`, and do the effects `do`, in order.

    Args:
        source: One state, or several: one row is made for each.
        event: One event, or several, each a row of its own.
        target: Where it goes; None means that the state stays what it is.
        when: The guard, over the variables of the vocabulary. Empty: always.
        do: Names of effects.
        rules: Ids of rules, separated by spaces.
    """
    for one_source in _each(source):
        for one_event in _each(event):
            Row(one_source, target or one_source, one_event, when, list(do), "transition", rules=rules)


def ignored(
    source: State | tuple[State, ...],
    event: str | tuple[str, ...],
    because: str = "late",
    when: str = "",
    rules: str = "",
) -> None:
    """Nothing happens on `event` in `source`; `because` says why, and is a key of `vocabulary.IGNORED_REASONS`."""
    for one_source in _each(source):
        for one_event in _each(event):
            Row(one_source, one_source, one_event, when, [], "ignored", reason=because, rules=rules)


def error(source: State | tuple[State, ...], event: str | tuple[str, ...], rule: str = "J9", when: str = "") -> None:
    """A correct peer never causes `event` in `source`; `rule` is the id of the rule that says so."""
    for one_source in _each(source):
        for one_event in _each(event):
            Row(one_source, one_source, one_event, when, [REFUSE], "error", rules=rule)


def _each(one_or_more: object) -> tuple[object, ...]:
    return one_or_more if isinstance(one_or_more, tuple) else (one_or_more,)

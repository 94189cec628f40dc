"""The words that a machine file is written in: `row`, `ignored`, `error`.

Each of them is a thin layer over python-statemachine. It makes an ordinary transition between ordinary states, so
that the class can be run, asked and drawn by the library like any other, and it adds what the library has no place
for: whether a transition is a change, an event ignored for a stated reason, or something that no correct peer does;
the rules it rests on; and its place in the file, from which its id is made.

**What a row means.** A row stands in one state, or a tuple of them, and is about one event, or a tuple: that makes a
row of the table for each pair. Its kind is the function that makes it:

- `row`: the machine reacts. It goes to the target (None: it stays), and does its effects;
- `ignored`: nothing happens, for a reason that `because` names (`vocabulary.IGNORED_REASONS`);
- `error`: no correct peer, application or machine brings the event about in that state; `rule` says why.

`when` is the guard: an expression over the variables and the inputs of the event, as they are before the row fires;
empty for always. The rows of a state and event exclude each other and leave nothing out, so their order means nothing,
and `groupspec table --check` proves it for each value of the variables. Protocol and profile (`eager`, `deployed`) are
variables too, which a table that is compiled for one of each has no more.

`do` names effects (`terms.Effect`), done in order. The assignments of one effect happen all at once, over the values
that the effects before it left. What the effects emit goes out in their order when all is assigned and the state has
changed: to other machines of the member, which handle it at once and to the end, or out of the member (a request, a
callback).

Everything is a string or a name. A function given as a guard or an action could be run, but not read, compared,
counted or turned into another language: the compiler refuses it.

What the library itself refuses when a class is made (a state that no row leads to or from, two initial states) is
raised as `SpecError` as well, and says in which file.

An *error* row raises TransitionNotAllowed in the library, by way of the model's `refuse_illegal_event`, as any event
does that the machine does not know.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from itertools import count, product
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import statemachine
from statemachine import State
from statemachine.exceptions import InvalidDefinition
from statemachine.factory import StateMachineMetaclass
from statemachine.transition import Transition

from groupspec.spec.problems import SpecError, SpecProblem, shown_path

__all__ = [
    "REFUSE", "Guard", "RowKind", "RowTransition", "State", "StateMachine", "each", "error", "ignored",
    "place_of_caller", "row",
]  # fmt: skip

RowKind: TypeAlias = Literal["transition", "ignored", "error"]

REFUSE = "refuse_illegal_event"
"""The action of an error row. The model that the compiler makes for the library raises in it."""

_order = count()
_One = TypeVar("_One")


class _Meta(StateMachineMetaclass):
    """Says of a class that the library refuses which one it is, and where."""

    def __init__(cls, name: str, bases: tuple[type], attributes: dict[str, Any], **options: Any) -> None:  # noqa: N805  # it makes classes
        try:
            super().__init__(name, bases, attributes, **options)
        except InvalidDefinition as refused:
            machine = attributes.get("machine_name", name)
            module = sys.modules.get(attributes.get("__module__", ""))
            place = shown_path(getattr(module, "__file__", None) or "")
            remedy = "every state needs a row that leads to it and one that leaves it, and one state is initial"
            raise SpecError([SpecProblem(machine, "", str(refused), remedy, place)]) from refused


class Guard(str):
    """A guard with a name, for rows that share it: `GUARD & "more"` holds when both do, `~GUARD` when it does not."""

    __slots__ = ()

    def __and__(self, other: str) -> Guard:
        return Guard(f"{_part(self)} and {_part(other)}")

    def __rand__(self, other: str) -> Guard:
        return Guard(f"{_part(other)} and {_part(self)}")

    def __invert__(self) -> Guard:
        return Guard(f"not ({self})")


def _part(text: str) -> str:
    """A guard as a part of `and`; the parser knows what an `or` between parentheses is."""
    depth = 0
    for word in re.findall(r"[()]|[^()\s]+", text):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "or" and depth == 0:
            return f"({text})"
    return str(text)


class StateMachine(statemachine.StateMachine, metaclass=_Meta):
    """What a machine file makes its class of; `machine_name` is what the class has to say."""

    machine_name: ClassVar[str]


class RowTransition(Transition):
    """A transition of the library that knows which row of the table it is.

    Attributes:
        when: Its guard, as it was written.
        do: Its effects, by name.
        kind: A change, an event ignored for `reason`, or an error of the peer.
        reason: For an ignored row: a key of `vocabulary.IGNORED_REASONS`.
        rules: The ids of the rules that the row rests on.
        order: Grows from row to row, as they stand in the file.
        place: The file and line in which it stands.
    """

    def __init__(
        self,
        source: State,
        target: State,
        event: str,
        when: str,
        do: list[str],
        kind: RowKind,
        reason: str = "",
        rules: str = "",
        place: str = "",
    ) -> None:
        if not isinstance(target, State):
            raise TypeError(f"a row leads to a state of the class, and this is none: {target!r}")
        # A target that is the source stays inside: states have no entry or exit actions that could run.
        super().__init__(source, target, event=event, cond=when or None, on=do or None, internal=target is source)
        self.when = when
        self.do = do
        self.kind: RowKind = kind
        self.reason = reason
        self.rules = tuple(rules.split())
        self.order = next(_order)
        self.place = place
        source.transitions.add_transitions(self)

    def again(self, states: Mapping[str, State], when: str) -> None:
        """The same row between the states of another class, with the guard `when`."""
        source, target = states[self.source.id], states[self.target.id]  # type: ignore[union-attr]
        rules = " ".join(self.rules)
        RowTransition(source, target, str(self.event), when, self.do, self.kind, self.reason, rules, self.place)


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
    effects, place = list(do), place_of_caller()
    for one_source, one_event in product(each(source), each(event)):
        RowTransition(one_source, target or one_source, one_event, when, effects, "transition", "", rules, place)


def ignored(
    source: State | tuple[State, ...],
    event: str | tuple[str, ...],
    because: str = "late",
    when: str = "",
    rules: str = "",
) -> None:
    """Nothing happens on `event` in `source`; `because` says why, and is a key of `vocabulary.IGNORED_REASONS`."""
    place = place_of_caller()
    for one_source, one_event in product(each(source), each(event)):
        RowTransition(one_source, one_source, one_event, when, [], "ignored", because, rules, place)


def error(source: State | tuple[State, ...], event: str | tuple[str, ...], rule: str = "J9", when: str = "") -> None:
    """A correct peer never causes `event` in `source`; `rule` is the id of the rule that says so."""
    place = place_of_caller()
    for one_source, one_event in product(each(source), each(event)):
        RowTransition(one_source, one_source, one_event, when, [REFUSE], "error", "", rule, place)


def each(one_or_more: _One | tuple[_One, ...]) -> tuple[_One, ...]:
    """One, or several, as a tuple."""
    return one_or_more if isinstance(one_or_more, tuple) else (one_or_more,)


def place_of_caller() -> str:
    """The file and line of the statement that called the function that calls this: a row of a machine file."""
    caller = sys._getframe(2)
    return f"{shown_path(caller.f_code.co_filename)}:{caller.f_lineno}"

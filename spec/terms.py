"""The kinds of word that the specification is made of: frozen records, no behaviour.

`vocabulary.py` fills them for the machines. They live here, apart from it, so that the compiler can be tested on a
vocabulary of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Value: TypeAlias = bool | int | str
"""What a variable can hold. Domains are finite, and short enough to be enumerated."""

NO_YES: Final = (False, True)
"""The domain of whatever is either so or not."""

VariableKind: TypeAlias = Literal["state", "input", "config"]
EventKind: TypeAlias = Literal["application", "message", "timer", "internal"]

CONSTANTS = ("eager", "cooperative", "published", "deployed")
"""Names that guards may read besides variables: rebalance protocol and profile. Two of them are always true."""


@dataclass(frozen=True)
class Variable:
    """One finite variable that guards may read.

    Attributes:
        name: Unique among variables, and no constant, state or event.
        domain: Every value it can have, in the order in which they are enumerated.
        initial: Its value before the first event (state), or what a test takes when nothing is said (input, config).
        kind: *state* is set by effects of the owner; *input* comes with an event; *config* is fixed for a whole run.
        owner: The machine whose effects alone set it; empty for inputs and configuration.
        doc: What it means.
    """

    name: str
    domain: tuple[Value, ...]
    initial: Value
    kind: VariableKind
    owner: str = ""
    doc: str = ""


@dataclass(frozen=True)
class Event:
    """Something that happens to a machine.

    Attributes:
        name: Lower snake case, unique among events, states and effects.
        kind: What fires it: the application, an answer on the wire, a timer, or another machine of the same member.
        inputs: The input variables that come with it, in this order.
        doc: What it means, with Kafka's own word for it.
    """

    name: str
    kind: EventKind
    inputs: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True)
class Effect:
    """What a row does: assignments, all at once, and then what it emits, in order.

    Attributes:
        name: What a row's `do` calls it.
        set: Variable to expression over the values *before* this effect.
        emit: Requests (`JoinGroup`), events for the polling thread (`REVOKE_PARTITIONS`) and for the machines
            (`join_needed`).
        doc: Why, where the name does not say it.
    """

    name: str
    set: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    emit: tuple[str, ...] = ()
    doc: str = ""

"""The parts of a base model while it is put together: the machines as code, and how members and group are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from groupspec.spec.broker_group import OF_ONE_MEMBER
from groupspec.spec.compiler.model import Block, Call, IndexSet
from groupspec.spec.compiler.specialise import constants
from groupspec.spec.compiler.tables import tables, whole_tables
from groupspec.spec.composition import group, members, static
from groupspec.spec.composition.machines import MachineCode, hear, hearers_of, name_of
from groupspec.spec.terms import Value

ONE: Final[tuple[tuple[str, IndexSet], ...]] = (("i", "members"),)

MIXED: Final = "mixed"
"""Each member has a rebalance protocol of its own: a rolling upgrade, in its second round."""

_MACHINES: Final = ("timeouts", "rebalance")
_FROZEN: Final[Mapping[str, Value]] = {
    "coordinator_known": True,
    "auto_commit": False,
    "unwanted": False,
    "unwanted_later": "none",
    "fits_subscription": True,
}
"""Always known, nothing to commit, and one topic that nobody unsubscribes from."""


@dataclass(frozen=True)
class System:
    """The machines of a model, and what it is a model of.

    Attributes:
        rebalance: The members' protocol, or MIXED.
        features: As in the model's scope.
        codes: The machines of a member, by name.
        broker: The group's machine.
    """

    rebalance: str
    features: frozenset[str]
    codes: Mapping[str, MachineCode]
    broker: MachineCode

    def hear(self, event: str, **inputs: str) -> Block:
        """A member hears the event, and its turn ends."""
        return hear(self.codes, event, inputs)

    def tell(self, event: str, **inputs: str) -> Block:
        """The group hears the event."""
        return (self.broker.call(event, inputs),)


def system_of(rebalance: str, profile: str, features: frozenset[str]) -> System:
    """The machines of a base model."""
    mixed = rebalance == MIXED
    used = {name: whole_tables()[name] if mixed else tables()[name, rebalance, profile] for name in _MACHINES}
    hearers = hearers_of(used)
    found_again = tuple(
        Call(name_of(machine, event), ("i",))
        for event in ("coordinator_lost", "coordinator_found")
        for machine in hearers[event]
    )
    words = {**members.words(features), "coordinator_gone": members.BREAKS + found_again}
    code = partial(
        MachineCode,
        hearers=hearers,
        frozen={**_FROZEN, "static": static.FEATURE in features, **(constants(None, profile) if mixed else {})},
        refined={**members.REFINED, **(members.UPGRADED if mixed else {})},
        effects=members.effects(features),
        follows=members.FOLLOWS,
        words=lambda _event, word: words.get(word),
        index="i",
    )
    broker = MachineCode(
        whole_tables()["broker_group"],
        frozen=group.frozen(features),
        words=group.words(features),
        indexed_events=OF_ONE_MEMBER,
    )
    return System(rebalance, features, {name: code(table) for name, table in used.items()}, broker)

"""The parts of a model while it is put together: the machines as code, and how members and group are made to hear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from groupspec.spec import member, vocabulary
from groupspec.spec.broker_group import OF_ONE_MEMBER
from groupspec.spec.compiler.model import Block, Call, IndexSet
from groupspec.spec.compiler.specialise import constants
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables, whole_tables
from groupspec.spec.composition import group, members, static
from groupspec.spec.composition.machines import Abstraction, MachineCode, name_of
from groupspec.spec.terms import Value

ONE: tuple[tuple[str, IndexSet], ...] = (("i", "members"),)

MIXED = "mixed"
"""Each member has a rebalance protocol of its own: a rolling upgrade, in its second round."""

_MACHINES = ("timeouts", "rebalance")
_FROZEN: Mapping[str, Value] = {
    "coordinator_known": True,
    "auto_commit": False,
    "unwanted": False,
    "fits_subscription": True,
}
"""Always known, nothing to commit, and one topic that nobody unsubscribes from."""


@dataclass(frozen=True)
class System:
    """The parts of a model while it is put together."""

    rebalance: str
    profile: str
    members: int
    features: frozenset[str]
    codes: Mapping[str, MachineCode]
    broker: MachineCode
    hearers: Mapping[str, tuple[str, ...]]

    def hear(self, event: str, **inputs: str) -> Block:
        """A member hears the event, and its turn ends."""
        return tuple(
            self.codes[machine].call(word, inputs) for word in (event, "turn_ended") for machine in self.hearers[word]
        )

    def tell(self, event: str, **inputs: str) -> Block:
        """The group hears the event."""
        return (self.broker.call(event, inputs),)


def system_of(
    rebalance: str, profile: str, size: int, replaced: Mapping[str, Table], features: frozenset[str]
) -> System:
    """The machines of a model, and who hears what. `replaced`: tables instead of the specification's, by machine."""
    mixed = rebalance == MIXED
    made = whole_tables() if mixed else {name: tables()[name, rebalance, profile] for name in _MACHINES}
    used = {name: replaced.get(name, made[name]) for name in _MACHINES}
    hearers = {
        event: tuple(
            name for name in member.MACHINES if name in used and any(e.name == event for e in used[name].events)
        )
        for event in vocabulary.EVENTS
    }
    found_again = (
        *members.BEFORE["coordinator_lost"],
        *(
            Call(name_of(machine, event), ("i",))
            for event in ("coordinator_lost", "coordinator_found")
            for machine in hearers[event]
        ),
    )
    words = {**members.words(features), "coordinator_gone": found_again}
    kept_out = {**_FROZEN, "static": static.FEATURE in features}
    abstraction = Abstraction(
        frozen={**kept_out, **constants(None, profile)} if mixed else kept_out,
        refined={**members.REFINED, **members.UPGRADED} if mixed else members.REFINED,
        effects=members.effects(features),
        follows=members.FOLLOWS,
        words=lambda _event, word: words.get(word),
    )
    codes = {name: MachineCode(table, abstraction, hearers) for name, table in used.items()}
    broker = replaced.get("broker_group", whole_tables()["broker_group"])
    kept = Abstraction(
        frozen=group.frozen(features), words=group.words(features), index="", indexed_events=OF_ONE_MEMBER
    )
    return System(rebalance, profile, size, features, codes, MachineCode(broker, kept, {}), hearers)

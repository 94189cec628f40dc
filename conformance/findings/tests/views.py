"""What is compared of a member (the tables' or the reference), and when a run breaks a property.

The properties of the models are watched there by the models' own variables. Here they are read off a run from outside,
from what was sent and how the member describes itself, so that they can be asked of an implementation. `BREAKS` has
them by id: those that the published profile breaks. Each is tested on the published runs, where it must say yes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from groupspec.impl.core.events import Description
from groupspec.spec.compiler.member import Member, MemberState, Offer

_TO_THE_COORDINATOR: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit")


@dataclass(frozen=True)
class View:
    """A member in one moment.

    Attributes:
        rebalance: The state of its rebalance.
        owns: Whether it counts partitions as its own.
        has_id: Whether it has a member id.
        in_group: Whether it has a generation.
        knows_coordinator: Whether a coordinator is known.
        beats: Whether heartbeats run.
    """

    rebalance: str
    owns: bool
    has_id: bool
    in_group: bool
    knows_coordinator: bool
    beats: bool


def view_of_description(told: Description) -> View:
    """Of the reference, as it describes itself."""
    beats = told.heartbeat in ("IDLE", "IN_FLIGHT")
    generation = told.generation >= 0
    return View(told.rebalance, bool(told.owned), bool(told.member_id), generation, told.connection == "STABLE", beats)


def view_of_state(member: Member, state: MemberState) -> View:
    """Of the tables."""
    identity = member.value_of(state, "identity")
    return View(
        member.state_of(state, "rebalance"),
        bool(member.value_of(state, "owned")),
        identity != "none",
        identity == "member",
        member.state_of(state, "connection") == "STABLE",
        member.state_of(state, "timeouts") in ("IDLE", "IN_FLIGHT"),
    )


class Event(Protocol):
    """What is read of an event of a run."""

    @property
    def offer(self) -> Offer: ...
    @property
    def sent(self) -> tuple[str, ...]: ...
    @property
    def before(self) -> View: ...
    @property
    def after(self) -> View: ...


def _sync_after_join(events: Iterable[Event]) -> bool:
    """A SyncGroup that no answered JoinGroup came before."""
    unused = False
    for event in events:
        unused |= event.offer.event == "join_accepted"
        if "SyncGroup" in event.sent and not unused:
            return True
        unused &= "SyncGroup" not in event.sent
    return False


def _to_a_known_coordinator(events: Iterable[Event]) -> bool:
    """A request for the coordinator, when none is known before or after."""
    return any(
        set(event.sent) & set(_TO_THE_COORDINATOR)
        and not event.before.knows_coordinator
        and not event.after.knows_coordinator
        for event in events
    )


def _commit_what_is_owned(events: Iterable[Event]) -> bool:
    """A commit by a member that owns nothing any more."""
    return any("OffsetCommit" in event.sent and not event.after.owns for event in events)


def _commit_comes_first(events: Iterable[Event]) -> bool:
    """A listener that hears what goes, and no commit since it heard what came, of a member that commits by itself."""
    committed = False
    for event in events:
        committed = "OffsetCommit" in event.sent or (committed and "ASSIGN_PARTITIONS" not in event.sent)
        if "REVOKE_PARTITIONS" in event.sent and event.after.owns and event.after.in_group and not committed:
            return True
    return False


def _heartbeats_run(events: Iterable[Event]) -> bool:
    """A member of the group that does not heartbeat."""
    outside = ("UNJOINED", "PREPARING_REBALANCE")
    return any(e.after.in_group and e.after.rebalance not in outside and not e.after.beats for e in events)


def _eager_gives_up_first(events: Iterable[Event]) -> bool:
    """An eager member that joins with something owned."""
    return any(e.after.owns and e.after.rebalance in ("PREPARING_REBALANCE", "COMPLETING_REBALANCE") for e in events)


def _owns_nothing_outside(events: Iterable[Event]) -> bool:
    """Outside the group, with something owned."""
    return any(e.after.owns and e.after.rebalance == "UNJOINED" for e in events)


def _taken_is_revoked(events: Iterable[Event]) -> bool:
    """A cooperative member that is told at once of an assignment that takes something of what it owns."""
    return any(
        e.offer.event == "sync_accepted"
        and dict(e.offer.inputs)["revokes_any"]
        and e.before.owns
        and "ASSIGN_PARTITIONS" in e.sent
        for e in events
    )


def _one_owner(events: Iterable[Event]) -> bool:
    """A member that nobody knows joins, and still counts as its own what it had: another may have been given it."""
    return any("JoinGroup" in e.sent and e.after.owns and not e.after.has_id for e in events)


BREAKS: Final[Mapping[str, Callable[[Iterable[Event]], bool]]] = MappingProxyType(
    {
        "sync-after-join": _sync_after_join,
        "to-a-known-coordinator": _to_a_known_coordinator,
        "commit-what-is-owned": _commit_what_is_owned,
        "commit-comes-first": _commit_comes_first,
        "heartbeats-run": _heartbeats_run,
        "eager-gives-up-first": _eager_gives_up_first,
        "owns-nothing-outside": _owns_nothing_outside,
        "taken-is-revoked": _taken_is_revoked,
        "one-owner": _one_owner,
    }
)
"""Property id -> whether a run of one member breaks it."""

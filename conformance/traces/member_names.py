"""What members are called: the client id, as long as that tells them apart.

The coordinator puts the client id (of a static member: the group.instance.id) in front of the member id that it makes
up. Many applications leave the client id at its default, and then all their members have one name. Two members that
live side by side under one client id are therefore told apart by the first digits of their member ids. A restart is no
such case: the new process joins while the coordinator still waits for the heartbeats of the old one, which is expelled
soon after. Where a part of the log is missing, a member that is not heard of afterwards is taken to have gone there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.traces.dialects import LogEvent
from groupspec.conformance.traces.holes import Hole

RESTART_MS: Final = 60_000
"""So long at most a dead member is still counted beside its successor: session.timeout.ms is 45 s by default."""

_MEMBER_ID: Final = re.compile(
    r"(?P<client>.+)-(?P<digits>[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_GONE: Final = frozenset({"left", "pending_left", "pending_expired", "epoch_left"})
_EXPELLED: Final = frozenset({"session_expired", "dropped", "sync_expired", "epoch_fenced"})


def client_of(member_id: str) -> str:
    """The client id (static members: group.instance.id) that the coordinator put in front of the member id."""
    found = _MEMBER_ID.fullmatch(member_id)
    return found["client"] if found else member_id


@dataclass(slots=True)
class _Life:
    """When a member id was first and last heard of; `expelled`: the coordinator ended it."""

    first_ms: int
    last_ms: int
    ended: bool = False
    expelled: bool = False


class MemberNames:
    """Names for the members of one group.

    Args:
        events: All events of the group, in the order of time.
        holes: What is missing between them.
    """

    def __init__(self, events: Iterable[LogEvent], holes: Sequence[Hole] = ()) -> None:
        self.shared = _shared_clients(events, holes)
        """Client ids under which several members live side by side."""

    def of(self, member_id: str, instance_id: str = "", client_id: str = "") -> str:
        """How the member is called."""
        client = instance_id or client_id or client_of(member_id)
        found = _MEMBER_ID.fullmatch(member_id)
        return f"{client} ({found['digits']})" if client in self.shared and found and not instance_id else client

    def is_shared(self, member_id: str) -> bool:
        """Whether other members have its client id too, so that the log does not say which of them comes back."""
        return client_of(member_id) in self.shared


def _shared_clients(events: Iterable[LogEvent], holes: Sequence[Hole]) -> frozenset[str]:
    lives: dict[str, dict[str, _Life]] = {}
    last_ms = 0
    for event in events:
        last_ms = event.at_ms
        for member_id in event.member_ids:
            life = lives.setdefault(client_of(member_id), {}).setdefault(member_id, _Life(last_ms, last_ms))
            if not life.ended:
                life.last_ms = last_ms
            expelled = event.kind in _EXPELLED or event.reason in {"session_expired", "sync_expired"}
            life.ended = life.ended or expelled or event.kind in _GONE or event.reason == "left"
            life.expelled = life.expelled or expelled
    for life in (life for of_client in lives.values() for life in of_client.values() if not life.ended):
        lost_ms = next((hole.after_ms for hole in holes if hole.after_ms >= life.last_ms), None)
        if lost_ms is not None:  # how it went is missing: perhaps it was expelled
            life.last_ms, life.ended, life.expelled = lost_ms, True, True
    return frozenset(client for client, of_client in lives.items() if _any_side_by_side(of_client.values(), last_ms))


def _any_side_by_side(lives: Iterable[_Life], last_ms: int) -> bool:
    """Whether any two lived at the same time, and not as a dead one and its successor."""
    alive: list[_Life] = []  # when the next one begins; the others cannot overlap with it
    for later in sorted(lives, key=lambda life: life.first_ms):
        alive = [life for life in alive if _ends_ms(life, last_ms) > later.first_ms]
        for life in alive:
            overlap_ms = min(_ends_ms(life, last_ms), _ends_ms(later, last_ms)) - later.first_ms
            if overlap_ms > (RESTART_MS if life.expelled or later.expelled else 0):
                return True
        alive.append(later)
    return False


def _ends_ms(life: _Life, last_ms: int) -> int:
    return life.last_ms if life.ended else last_ms

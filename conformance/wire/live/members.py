"""Whose frames are whose, where no harness says it: the members of groups that were seen on the wire.

A request of a member names its id, and a JoinGroup is answered with one: connections that have an id in common are one
member's. Its other requests (Fetch, FindCoordinator) name nobody but the client; they are the member's if no other has
the same client id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.exchange import GROUP_APIS, subscription_of
from groupspec.conformance.history.pairing import pairs
from groupspec.conformance.wire.live_cases import Rebalance
from groupspec.impl.core.messages import JoinGroupRequest, JoinGroupResponse

NEW_PROTOCOL: Final = ("68 ", "69 ")
"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848), as a request that the kit has no word for is told."""
COOPERATIVE: Final = "cooperative"


@dataclass
class Seen:
    """One member.

    Attributes:
        name: Its client id, with a number if others have it too.
        shared: Others have it: only what came on this member's connections to the coordinator is among the entries.
    """

    name: str
    entries: Sequence[Entry]
    shared: bool

    @property
    def joins(self) -> list[JoinGroupRequest]:
        """Its JoinGroups."""
        found = (entry.message for entry in self.entries if entry.kind == "request")
        return [message for message in found if isinstance(message, JoinGroupRequest)]

    @property
    def rebalance(self) -> Rebalance:
        """By which protocol: the chosen assignor says it, or that a JoinGroup names owned partitions."""
        chosen = {e.message.protocol_name for e in self.entries if isinstance(e.message, JoinGroupResponse)}
        owns = any(said is not None and said.owned for said in map(subscription_of, self.joins))
        return "cooperative" if owns or any(name.startswith(COOPERATIVE) for name in chosen) else "eager"


@dataclass
class _Component:
    """Connections that have a member id in common."""

    connections: set[int] = field(default_factory=set)
    ids: set[tuple[str, str]] = field(default_factory=set)


def members_in(entries: Sequence[Entry]) -> list[Seen]:
    """All who sent a JoinGroup, in the order of their first one."""
    client_of = {entry.connection: entry.client_id for entry in entries if entry.client_id}
    joined = [entry.connection for entry in entries if entry.kind == "request" and entry.api == "JoinGroup"]
    components = [each for each in _components(entries) if each.connections & set(joined)]
    components.sort(key=lambda each: next(place for place, one in enumerate(joined) if one in each.connections))
    by_client: defaultdict[str, list[_Component]] = defaultdict(list)
    for each in components:
        by_client[client_of.get(min(each.connections), "")].append(each)
    seen = []
    for each in components:
        client_id = client_of.get(min(each.connections), "")
        alike = by_client[client_id]
        shared = len(alike) > 1
        own = each.connections if shared else {number for number, name in client_of.items() if name == client_id}
        name = client_id or "a client without an id"
        numbered = f"{name} ({alike.index(each) + 1})" if shared else name
        seen.append(Seen(numbered, [entry for entry in entries if entry.connection in own], shared))
    return seen


def _components(entries: Iterable[Entry]) -> list[_Component]:
    found: list[_Component] = []
    for request, answer in pairs(entries):
        if request.api not in GROUP_APIS or request.message is None:
            continue
        group_id = getattr(request.message, "group_id", "")
        members = (getattr(each.message, "member_id", "") for each in (request, answer) if each is not None)
        ids = {(group_id, member_id) for member_id in members if member_id}
        same = [each for each in found if request.connection in each.connections or each.ids & ids]
        one = _Component({request.connection}, ids)
        for each in same:
            found.remove(each)
            one.connections |= each.connections
            one.ids |= each.ids
        found.append(one)
    return found


def speaks_the_new_protocol(entries: Iterable[Entry]) -> bool:
    """Whether somebody is a member by KIP-848's requests, which the kit does not judge."""
    return any(entry.kind == "unread" and entry.text.startswith(NEW_PROTOCOL) for entry in entries)

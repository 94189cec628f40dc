"""A second member that exists on the broker's side only, so that a group with one client has two members.

It speaks the protocol like any member, in no time: it joins as soon as the client does, and sends SyncGroup as soon as
JoinGroup is answered. As a follower it is one more entry in the list that the client, as leader, assigns partitions to.
As a leader it takes the partitions it was told to, and the client gets all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from groupspec.impl.coordinator.context import Caller, GroupResponse, Handle, new_uuid
from groupspec.impl.coordinator.group import Group, GroupState, Member, Protocols
from groupspec.impl.core import messages, protocol
from groupspec.impl.core.messages import ErrorCode, JoinedMember, TopicPartition
from groupspec.impl.core.protocol import MalformedProtocolData

NEWEST_UNDERSTOOD: Final = 3
CALLER: Final = Caller(version=3, client_id="phantom")
"""A version that asks nobody to come back with an id."""
SESSION_MS: Final = 1_800_000
"""Longer than any run, so that it need not send heartbeats."""
REBALANCE_MS: Final = 1
"""The client's rebalance timeout counts."""


@dataclass
class Phantom:
    """The member. `takes` counts only if it leads; `partitions_of(topic)` tells how many there are.

    Attributes:
        topics: What it subscribes to; empty: to what the client does.
        owned: What it owns, or claims to own when it joins.
        handle: Of its request that awaits an answer.
        generation: In which it was assigned what it owns.
    """

    group_id: str
    partitions_of: Callable[[str], int]
    leads: bool = False
    takes: frozenset[TopicPartition] = frozenset()
    topics: tuple[str, ...] = ()
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    member_id: str = ""
    handle: Handle = 0
    _joined_generation: int = -1

    def join(self, handle: Handle, protocols: Protocols, is_member: bool) -> messages.JoinGroupRequest:
        """JoinGroup, to what the client subscribes to, in the client's assignors and versions of the blob."""
        known = self.member_id if is_member else ""
        self.handle, self.member_id = handle, known or new_uuid(CALLER.client_id, handle)
        mine = tuple((name, self._subscription(blob)) for name, blob in protocols)
        return messages.JoinGroupRequest(self.group_id, SESSION_MS, REBALANCE_MS, known, None, mine)

    def leave(self) -> messages.LeaveGroupRequest:
        """LeaveGroup."""
        return messages.LeaveGroupRequest(self.group_id, self.member_id, None)

    def take(self, answer: GroupResponse | None, handle: Handle) -> messages.SyncGroupRequest | None:
        """The answer to its last request, if there is one; SyncGroup, with this handle, if that is due now."""
        if isinstance(answer, messages.JoinGroupResponse) and answer.error is ErrorCode.NONE:
            self.handle, self._joined_generation = handle, answer.generation
            return self._sync(answer)
        if isinstance(answer, messages.SyncGroupResponse) and answer.error is ErrorCode.NONE:
            self.owned, self.generation = partitions_in(answer.assignment), self._joined_generation
        return None

    def is_missing(self, group: Group) -> bool:
        """Whether the join phase lacks its JoinGroup; one that is no member comes when the client has."""
        me, client = group.members.get(self.member_id), client_of(group, self.member_id)
        awaiting = client is not None and client.join is not None if me is None else me.join is None
        return awaiting and group.state is GroupState.PREPARING_REBALANCE

    def _subscription(self, clients: bytes) -> bytes:
        version = min(int.from_bytes(clients[:2], "big"), NEWEST_UNDERSTOOD)
        topics = self.topics or _topics(clients)
        subscription = protocol.Subscription(topics, None, self.owned, self.generation)
        return protocol.encode_subscription(subscription, version)

    def _sync(self, joined: messages.JoinGroupResponse) -> messages.SyncGroupRequest:
        """SyncGroup, which brings everybody's share if it leads: then `joined` names the members."""
        shares = tuple((member.member_id, self._share(member)) for member in joined.members)
        return messages.SyncGroupRequest(
            self.group_id, joined.generation, self.member_id, None, joined.protocol_name, shares
        )

    def _share(self, member: JoinedMember) -> bytes:
        """For itself what it takes, for the client what is left of its topics."""
        topics = _topics(member.metadata)
        everything = [TopicPartition(topic, number) for topic in topics for number in range(self.partitions_of(topic))]
        share = [each for each in everything if (each in self.takes) == (member.member_id == self.member_id)]
        return protocol.encode_assignment(protocol.Assignment(tuple(share)), version=0)


def client_of(group: Group, phantom_id: str) -> Member | None:
    """The member that is no phantom."""
    return next((member for member in group.members.values() if member.member_id != phantom_id), None)


def _topics(metadata: bytes) -> tuple[str, ...]:
    try:
        return protocol.decode_subscription(metadata).topics
    except MalformedProtocolData:
        return ()


def partitions_in(assignment: bytes) -> tuple[TopicPartition, ...]:
    """What an assignment names; nothing if it cannot be decoded."""
    try:
        return protocol.decode_assignment(assignment).partitions
    except MalformedProtocolData:
        return ()

"""A second member that exists on the broker's side only, so that a group with one client has two members.

It joins and synchronises in the same instant as the client does. As a follower it is one more entry in the list that
the client, as leader, assigns partitions to. As a leader it decides itself: it takes the partitions it was told to, and
the client gets all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from groupspec.impl.core import protocol
from groupspec.impl.core.messages import JoinedMember, TopicPartition
from groupspec.impl.core.protocol import MalformedProtocolData

NEWEST_UNDERSTOOD = 3


@dataclass
class Phantom:
    """The member. `takes` counts only if it leads."""

    member_id: str = "phantom-00000000-0000-0000-0000-000000000001"
    leads: bool = False
    takes: frozenset[TopicPartition] = frozenset()
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1

    def joined(self, clients_metadata: bytes) -> JoinedMember:
        """Its entry in the leader's list: subscribed to what the client is, in the client's version of the blob."""
        try:
            topics = protocol.decode_subscription(clients_metadata).topics
        except MalformedProtocolData:
            topics = ()
        version = min(int.from_bytes(clients_metadata[:2], "big"), NEWEST_UNDERSTOOD)
        subscription = protocol.Subscription(topics, None, self.owned, self.generation)
        return JoinedMember(self.member_id, None, protocol.encode_subscription(subscription, version))

    def was_assigned(self, data: bytes, generation: int) -> None:
        """The client, leading, gave it this."""
        try:
            self.owned = protocol.decode_assignment(data).partitions
        except MalformedProtocolData:
            self.owned = ()
        self.generation = generation

    def assign_to_client(self, clients_metadata: bytes, partitions_of: Callable[[str], int], generation: int) -> bytes:
        """Leading: everything that the client subscribed to, less what the phantom takes for itself."""
        try:
            topics: Iterable[str] = protocol.decode_subscription(clients_metadata).topics
        except MalformedProtocolData:
            topics = ()
        everything = [TopicPartition(topic, number) for topic in topics for number in range(partitions_of(topic))]
        self.owned = tuple(sorted(self.takes))
        self.generation = generation
        return protocol.encode_assignment(
            protocol.Assignment(tuple(p for p in everything if p not in self.takes)), version=0
        )

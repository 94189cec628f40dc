"""What all assignors share: members as the leader sees them, and the order in which members are served."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from groupspec.impl.core.messages import TopicPartition


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One member of the group, as its subscription describes it.

    `generation` is the one in which `owned` was assigned; -1 if the member does not say (subscription version < 2) or
    owns nothing.
    """

    member_id: str
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    group_instance_id: str | None = None


Assignment = dict[str, tuple[TopicPartition, ...]]
"""Partitions by member id, sorted; every member has an entry (rule S2)."""


class Assignor(Protocol):
    """A way of dividing partitions."""

    @property
    def name(self) -> str:
        """As it stands in JoinGroup."""

    @property
    def cooperative(self) -> bool:
        """Whether it supports the cooperative protocol (all support the eager one)."""

    def assign(self, members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Assignment:
        """Divide the partitions of the subscribed topics; topics without metadata have no count and are left out."""


def in_serving_order(members: Sequence[Subscriber]) -> list[Subscriber]:
    """Members with an instance id first, by that id; the others by member id: stable over restarts (KIP-345)."""
    return sorted(members, key=lambda m: (m.group_instance_id is None, m.group_instance_id or "", m.member_id))


def subscribed_topics(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> list[str]:
    """The topics that a member subscribes to and that exist, sorted."""
    return sorted({topic for member in members for topic in member.topics} & set(partition_counts))


def partitions_of(topics: Sequence[str], partition_counts: Mapping[str, int]) -> list[TopicPartition]:
    """All partitions of these topics, by topic and number."""
    return [TopicPartition(topic, number) for topic in topics for number in range(partition_counts[topic])]


def finished(shares: Mapping[str, Collection[TopicPartition]]) -> Assignment:
    """Shares in their canonical form."""
    return {member_id: tuple(sorted(share)) for member_id, share in shares.items()}

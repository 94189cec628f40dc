"""What all assignors share, and the two that look at nothing but subscriptions: range and roundrobin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

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


Shares = Mapping[str, Collection[TopicPartition]]
"""Partitions by member id, in any order."""


@dataclass(frozen=True, slots=True)
class Assignor:
    """A way of dividing partitions. `cooperative`: it supports the cooperative protocol (all support the eager one)."""

    name: str
    divide: Callable[[Sequence[Subscriber], Mapping[str, int]], Shares]
    cooperative: bool = False

    def assign(self, members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Assignment:
        """Divide the partitions of the subscribed topics; topics without metadata have no count and are left out."""
        shares = self.divide(members, partition_counts)
        return {member_id: tuple(sorted(share)) for member_id, share in shares.items()}


def in_serving_order(members: Sequence[Subscriber]) -> list[Subscriber]:
    """Members with an instance id first, by that id; the others by member id: stable over restarts (KIP-345)."""
    return sorted(members, key=lambda m: (m.group_instance_id is None, m.group_instance_id or "", m.member_id))


def subscribed_topics(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> list[str]:
    """The topics that a member subscribes to and that exist, sorted."""
    return sorted({topic for member in members for topic in member.topics} & set(partition_counts))


def partitions_of(topics: Sequence[str], partition_counts: Mapping[str, int]) -> list[TopicPartition]:
    """All partitions of these topics, by topic and number."""
    return [TopicPartition(topic, number) for topic in topics for number in range(partition_counts[topic])]


def divide_ranges(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Shares:
    """Topic by topic, each member gets a contiguous run of partitions, the first ones one more if it doesn't come out.

    So co-partitioned topics end up with the same members (RangeAssignor, without rack awareness).
    """
    shares: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
    for topic in subscribed_topics(members, partition_counts):
        takers = in_serving_order([member for member in members if topic in member.topics])
        partitions = partitions_of([topic], partition_counts)
        each, rest = divmod(len(partitions), len(takers))
        start = 0
        for place, member in enumerate(takers):
            end = start + each + (1 if place < rest else 0)
            shares[member.member_id] += partitions[start:end]
            start = end
    return shares


def deal_in_turn(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Shares:
    """Each partition goes to the next member in the circle that subscribes to its topic (RoundRobinAssignor)."""
    shares: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
    circle = cycle(in_serving_order(members))
    for partition in partitions_of(subscribed_topics(members, partition_counts), partition_counts):
        member = next(member for member in circle if partition.topic in member.topics)
        shares[member.member_id].append(partition)
    return shares

"""roundrobin: the partitions go to the members in turn, skipping those without a subscription to the topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from groupspec.impl.core.assignors.base import (
    Assignment,
    Subscriber,
    finished,
    in_serving_order,
    partitions_of,
    subscribed_topics,
)
from groupspec.impl.core.messages import TopicPartition


class RoundRobinAssignor:
    """Partitions sorted by topic and number, members in serving order, round and round (RoundRobinAssignor)."""

    name = "roundrobin"
    cooperative = False

    def assign(self, members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Assignment:
        """Each partition goes to the next member in the circle that subscribes to its topic."""
        shares: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
        circle = cycle(in_serving_order(members))
        for partition in partitions_of(subscribed_topics(members, partition_counts), partition_counts):
            member = next(member for member in circle if partition.topic in member.topics)
            shares[member.member_id].append(partition)
        return finished(shares)

"""range: topic by topic, each member gets a contiguous run of partitions (RangeAssignor, without rack awareness)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupspec.impl.core.assignors.base import (
    Assignment,
    Subscriber,
    finished,
    in_serving_order,
    partitions_of,
    subscribed_topics,
)
from groupspec.impl.core.messages import TopicPartition


class RangeAssignor:
    """floor(partitions / members) each; the first members get the rest, one more each."""

    name = "range"
    cooperative = False

    def assign(self, members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Assignment:
        """Every topic by itself: co-partitioned topics end up with the same members."""
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
        return finished(shares)

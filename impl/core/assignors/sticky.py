"""sticky and cooperative-sticky: as balanced as can be, and then as little movement as can be.

Both follow AbstractStickyAssignor in what they promise: claims of the highest generation win, claims that tie are
dropped (KAFKA-12984); with equal subscriptions the counts differ by at most one; otherwise no member holds two more
than another that could take one of its partitions. The cooperative one then takes every partition that changes owner
out of this round, so that its old owner can let go of it first (KIP-429).

What a member owned is read from the owned partitions and the generation in its subscription (version 2 and later).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupspec.impl.core.assignors.base import Subscriber, in_serving_order, partitions_of, subscribed_topics
from groupspec.impl.core.messages import TopicPartition

Shares = dict[str, set[TopicPartition]]


def balanced_shares_without_moves(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Shares:
    """The balanced assignment without the partitions that change owner."""
    return withhold(balanced_shares(members, partition_counts), valid_owners(members))


def withhold(shares: Shares, owners: Mapping[TopicPartition, str]) -> Shares:
    """Take out every partition that another member still owns."""
    return {
        member_id: {partition for partition in share if owners.get(partition, member_id) == member_id}
        for member_id, share in shares.items()
    }


def valid_owners(members: Sequence[Subscriber]) -> dict[TopicPartition, str]:
    """The owners: the claim of the highest generation counts, and none where two are equally high (rule K3)."""
    claims: dict[TopicPartition, list[Subscriber]] = {}
    for member in members:
        for partition in member.owned:
            claims.setdefault(partition, []).append(member)
    owners: dict[TopicPartition, str] = {}
    for partition, claimants in claims.items():
        highest = max(member.generation for member in claimants)
        winners = [member for member in claimants if member.generation == highest]
        if len(winners) == 1:
            owners[partition] = winners[0].member_id
    return owners


def balanced_shares(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Shares:
    """Keep what may be kept, give out what is free, then move one partition at a time until nothing is uneven."""
    served = in_serving_order(members)
    topics = {member.member_id: frozenset(member.topics) for member in served}
    partitions = partitions_of(subscribed_topics(members, partition_counts), partition_counts)
    shares = _kept(topics, partitions, valid_owners(members))
    _give_out_free(shares, topics, partitions)
    while _move_one(shares, topics):
        pass
    return shares


def _kept(
    topics: Mapping[str, frozenset[str]], partitions: Sequence[TopicPartition], owners: Mapping[TopicPartition, str]
) -> Shares:
    """Everybody's own partitions that still exist and are still wanted."""
    shares: Shares = {member_id: set() for member_id in topics}
    for partition in partitions:
        owner = owners.get(partition)
        if owner is not None and partition.topic in topics[owner]:
            shares[owner].add(partition)
    return shares


def _give_out_free(shares: Shares, topics: Mapping[str, frozenset[str]], partitions: Sequence[TopicPartition]) -> None:
    """Each partition without an owner to the emptiest member that wants it; those that few want first."""
    taken = {partition for share in shares.values() for partition in share}
    free = [partition for partition in partitions if partition not in taken]
    takers = {topic: [m for m in shares if topic in topics[m]] for topic in {p.topic for p in free}}
    for partition in sorted(free, key=lambda p: (len(takers[p.topic]), p)):
        shares[min(takers[partition.topic], key=lambda m: len(shares[m]))].add(partition)


def _move_one(shares: Shares, topics: Mapping[str, frozenset[str]]) -> bool:
    """Move one partition from a fuller member to one with at least two fewer; False if nothing is uneven any more.

    Each move makes the sum of the squared counts smaller, so this ends.
    """
    by_count = sorted(shares, key=lambda m: len(shares[m]))
    for fuller in reversed(by_count):
        for emptier in by_count:
            if len(shares[fuller]) - len(shares[emptier]) < 2:
                break
            movable = [partition for partition in shares[fuller] if partition.topic in topics[emptier]]
            if movable:
                partition = max(movable)
                shares[fuller].remove(partition)
                shares[emptier].add(partition)
                return True
    return False

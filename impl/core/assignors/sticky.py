"""sticky and cooperative-sticky: as balanced as can be, and then as little movement as can be.

Both follow AbstractStickyAssignor in what they promise: claims of the highest generation win, claims that tie are
dropped (KAFKA-12984); among members that want the same topics (`equal`) the counts differ by at most one; otherwise
they are as near to each other as subscriptions allow (`general`). The cooperative one then takes every partition that
changes owner out of this round, so that its old owner can let go of it first (KIP-429); and every one whose claims tie,
since each of those who claim it believes that it has it.

What a member owned is read from the owned partitions and the generation in its subscription (version 2 and later).
Who claims a partition that the leader does not know of keeps it, as in AbstractStickyAssignor, as long as the topic is
known: whoever led before has seen it, and this leader's metadata are older (`metadata_max_age_ms`). Taken away it would
be with nobody until they are read again. (What a topic lacks that was made anew nobody claims: `leading` sees to it.)
It counts as the others do: AbstractStickyAssignor divides by what it knows of, and then may find no room, or give a
partition to two members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupspec.impl.core.assignors.base import Subscriber, in_serving_order, partitions_of, subscribed_topics
from groupspec.impl.core.assignors.equal import Shares, keep_and_deal
from groupspec.impl.core.assignors.general import give_out_and_balance
from groupspec.impl.core.messages import TopicPartition

NOBODY = ""


def balanced_shares_without_moves(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Shares:
    """The balanced assignment without the partitions that change owner."""
    contested = {partition: NOBODY for partition, claimants in _best_claims(members).items() if len(claimants) > 1}
    return withhold(balanced_shares(members, partition_counts), valid_owners(members) | contested)


def withhold(shares: Shares, owners: Mapping[TopicPartition, str]) -> Shares:
    """Take out every partition that another member still owns."""
    return {
        member_id: {partition for partition in share if owners.get(partition, member_id) == member_id}
        for member_id, share in shares.items()
    }


def valid_owners(members: Sequence[Subscriber]) -> dict[TopicPartition, str]:
    """The owners: the claim of the highest generation counts, and none where two are equally high (rule K3)."""
    claims = _best_claims(members).items()
    return {partition: claimants[0] for partition, claimants in claims if len(claimants) == 1}


def _best_claims(members: Sequence[Subscriber]) -> dict[TopicPartition, list[str]]:
    """Who claims each partition with the highest generation."""
    claims: dict[TopicPartition, list[Subscriber]] = {}
    for member in members:
        for partition in member.owned:
            claims.setdefault(partition, []).append(member)
    best: dict[TopicPartition, list[str]] = {}
    for partition, claimants in claims.items():
        highest = max(member.generation for member in claimants)
        best[partition] = [member.member_id for member in claimants if member.generation == highest]
    return best


def balanced_shares(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Shares:
    """Keep what may be kept, give out what is free, then move what is too much."""
    served = in_serving_order(members)
    topics = {member.member_id: frozenset(member.topics) for member in served}
    owners = valid_owners(members)
    shares = _kept(topics, owners, partition_counts)
    known = partitions_of(subscribed_topics(members, partition_counts), partition_counts)
    partitions = sorted({*known, *(partition for share in shares.values() for partition in share)})
    if len(set(topics.values())) == 1:
        return keep_and_deal(shares, partitions)
    return give_out_and_balance(shares, topics, partitions, owners)


def _kept(
    topics: Mapping[str, frozenset[str]], owners: Mapping[TopicPartition, str], partition_counts: Mapping[str, int]
) -> Shares:
    """Everybody's own partitions of topics that still exist and are still wanted."""
    shares: Shares = {member_id: set() for member_id in topics}
    for partition, owner in owners.items():
        if partition.topic in partition_counts and partition.topic in topics[owner]:
            shares[owner].add(partition)
    return shares

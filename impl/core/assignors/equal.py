"""sticky and cooperative-sticky among members that all want the same topics: AbstractStickyAssignor's constrained case.

Each member has a quota, and keeps so much of what it owns; the rest is dealt to those that have less. It is dealt with
here as there, step by step, so that a leader of either implementation comes to the same result: each who may go first
is the one with the smallest member id. (In Java that is so where members are sorted; where it goes through a hash map,
its order is that of the map.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from groupspec.impl.core.messages import TopicPartition

Shares = dict[str, set[TopicPartition]]


def keep_and_deal(owned: Mapping[str, Collection[TopicPartition]], partitions: Sequence[TopicPartition]) -> Shares:
    """All of these partitions, which are sorted, by member; `owned`: what each member has of them, or nothing.

    Java's names: `least` is minQuota, `most` maxQuota, `ahead` currentNumMembersWithOverMinQuotaPartitions.
    """
    least, rest = divmod(len(partitions), len(owned))
    most, ahead = least + bool(rest), 0
    shares: Shares = {}
    short: list[str] = []
    may_have_one_more: deque[str] = deque()
    for member_id in sorted(owned):
        own = sorted(owned[member_id], key=lambda partition: (partition.partition, partition.topic))
        if len(own) < least:
            shares[member_id] = set(own)
            short.append(member_id)
        elif len(own) >= most and ahead < rest:
            shares[member_id] = set(own[:most])
            ahead += 1
            if ahead == rest:
                may_have_one_more.clear()
        else:
            shares[member_id] = set(own[:least])
            if ahead < rest:
                may_have_one_more.append(member_id)
    kept = set().union(*shares.values())
    _deal([partition for partition in partitions if partition not in kept], shares, least, short, may_have_one_more)
    return shares


def _deal(
    free: Sequence[TopicPartition], shares: Shares, least: int, short: list[str], may_have_one_more: deque[str]
) -> None:
    """In turn to those that are short; when nobody is any more, one each to those that may have one more."""
    turn = 0
    for partition in free:
        if not short:
            shares[may_have_one_more.popleft()].add(partition)
            continue
        turn %= len(short)
        member_id = short[turn]
        shares[member_id].add(partition)
        if len(shares[member_id]) == least:
            del short[turn]
            may_have_one_more.append(member_id)
        else:
            turn += 1

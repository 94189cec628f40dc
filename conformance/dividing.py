"""Whether a leader divides the partitions as its assignor promises: what holds of a division, whoever has made it.

Whoever is given a partition wants its topic, and nobody else is given it. range and roundrobin spread each topic evenly
over those who want it. sticky and cooperative-sticky spread everything evenly, where all want the same, and leave to
each what it validly claims, as far as an even share goes (KIP-54, KIP-429; Kafka's AbstractStickyAssignor): of several
claims the one of the latest generation is valid, and none of two that tie (rule K3). Which partitions of a topic the
leader knows makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import Subscription, decode_sticky_user_data

EAGER_STICKY: Final = "sticky"
STICKY: Final = (EAGER_STICKY, "cooperative-sticky")
BY_TOPIC: Final = ("range", "roundrobin")

Claims = Mapping[str, Subscription]
Shares = Mapping[str, Collection[TopicPartition]]


def wrong_with(assignor: str, claims: Claims, shares: Shares, unknown: Collection[str] = ()) -> str:
    """What is wrong with what this assignor has made of these members' subscriptions; empty: nothing.

    `unknown`: topics of which the leader may know no partition.
    """
    given = [partition for share in shares.values() for partition in share]
    if len(given) != len(set(given)):
        return f"partitions are given away twice: {sorted(given)} (rule K2)"
    foreign = {tp for name, share in shares.items() for tp in share if tp.topic not in claims[name].topics}
    if foreign:
        return f"{foreign} are given to who does not want them (rule S2)"
    if assignor in BY_TOPIC:
        return _uneven_topic(claims, shares)
    alike = len({claim.topics for claim in claims.values()}) == 1
    return _moved_or_uneven(assignor, claims, shares, unknown) if assignor in STICKY and alike else ""


def _uneven_topic(claims: Claims, shares: Shares) -> str:
    for topic in {topic for claim in claims.values() for topic in claim.topics}:
        takers = [name for name, claim in claims.items() if topic in claim.topics]
        counts = {name: sum(partition.topic == topic for partition in shares[name]) for name in takers}
        if max(counts.values()) - min(counts.values()) > 1:
            return f"{topic} is spread unevenly: {counts} (rule S2)"
    return ""


def _moved_or_uneven(assignor: str, claims: Claims, shares: Shares, unknown: Collection[str]) -> str:
    counts = {name: len(share) for name, share in shares.items()}
    if assignor == EAGER_STICKY and max(counts.values()) - min(counts.values()) > 1:
        return f"partitions are spread unevenly: {counts} (rule S2)"
    valid = _valid_claims(assignor, claims)
    given = {partition.topic for share in shares.values() for partition in share}
    for claimed in valid.values():  # the eager one gives out all that the leader knows
        claimed -= {tp for tp in claimed if tp.topic not in given and (assignor == EAGER_STICKY or tp.topic in unknown)}
    everything = {partition for each in (*shares.values(), *valid.values()) for partition in each}
    even = len(everything) // len(claims)
    for name, claimed in valid.items():
        kept = claimed & set(shares[name])
        if len(kept) < min(len(claimed), even):
            return f"{name} had {sorted(claimed)}, and keeps {sorted(kept)} of {even} that it could (rule K3)"
    return ""


def _valid_claims(assignor: str, claims: Claims) -> dict[str, set[TopicPartition]]:
    """Member -> what it had, and still wants, if nobody else claims it as lately."""
    best: dict[TopicPartition, dict[int, list[str]]] = {}
    for name, claim in claims.items():
        owned, generation = claim.owned, claim.generation
        if assignor == EAGER_STICKY:
            owned, generation = decode_sticky_user_data(claim.user_data)
        for partition in owned:
            best.setdefault(partition, {}).setdefault(generation, []).append(name)
    valid: dict[str, set[TopicPartition]] = {name: set() for name in claims}
    for partition, by_generation in best.items():
        latest = by_generation[max(by_generation)]
        if len(latest) == 1 and partition.topic in claims[latest[0]].topics:
            valid[latest[0]].add(partition)
    return valid

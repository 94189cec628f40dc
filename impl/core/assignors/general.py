"""sticky and cooperative-sticky among members that want different topics: as even, then with as few moves, as can be.

Kafka's GeneralAssignmentBuilder moves single partitions as long as that helps. That may end where a chain of moves
would still help: who has too much need not want what the emptiest member wants, but a third one may give one and take
another. Without such a chain nothing is more uneven than it must be (Harvey et al., "Semi-matchings for bipartite
graphs and load balancing", 2003). Chains that give partitions back to their owners, and make nothing more uneven, come
last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from groupspec.impl.core.assignors.equal import Shares
from groupspec.impl.core.messages import TopicPartition

Chain = list[tuple[TopicPartition, str, str]]
"""Partitions that change hands, each with giver and taker: who takes one gives the next."""

Edge = tuple[int, TopicPartition, Sequence[str]]
"""What a move costs, in owners that lose something: -1, 0 or 1; a partition; and who may take it."""


def give_out_and_balance(
    shares: Shares,
    topics: Mapping[str, frozenset[str]],
    partitions: Sequence[TopicPartition],
    owners: Mapping[TopicPartition, str],
) -> Shares:
    """All of these partitions; `shares`: what members may keep, in the order in which they are served."""
    taken = {partition for share in shares.values() for partition in share}
    takers = {topic: [m for m in shares if topic in topics[m]] for topic in {p.topic for p in partitions}}
    free = [partition for partition in partitions if partition not in taken]
    for partition in sorted(free, key=lambda p: (len(takers[p.topic]), p)):
        shares[min(takers[partition.topic], key=lambda m: len(shares[m]))].add(partition)
    may_go_back = {p: owner for p, owner in owners.items() if p.topic in topics[owner]}
    search = _Search(shares, takers, may_go_back)
    while chain := search.downhill() or search.back():
        search.carry_out(chain)
    return shares


class _Search:
    """Chains of moves that make something better."""

    def __init__(
        self, shares: Shares, takers: Mapping[str, Sequence[str]], owners: Mapping[TopicPartition, str]
    ) -> None:
        self._shares = shares
        self._takers = takers
        self._owners = owners
        self._edges = {member_id: self._edges_of(member_id) for member_id in shares}

    def carry_out(self, chain: Chain) -> None:
        """Move."""
        for partition, giver, taker in chain:
            self._shares[giver].remove(partition)
            self._shares[taker].add(partition)
        for member_id in {member for _, *both in chain for member in both}:
            self._edges[member_id] = self._edges_of(member_id)

    def downhill(self) -> Chain | None:
        """From a member to one with at least two fewer: from the fullest, to the emptiest, at the least cost.

        Each of them makes the sum of the squared counts smaller, so they end.
        """
        counts = {member_id: len(share) for member_id, share in self._shares.items()}
        for count in sorted(set(counts.values()), reverse=True):
            costs, moves = self._reach([m for m in counts if counts[m] == count])
            lower = [m for m in costs if counts[m] <= count - 2]
            if lower:
                return _chain_to(min(lower, key=lambda m: (counts[m], costs[m])), moves)
        return None

    def back(self) -> Chain | None:
        """One that costs less than nothing, to a member that has one fewer.

        Only what is not with its owner can make it so. No chain back to where it began does: who always takes the
        cheapest chain leaves none (successive shortest paths; Ahuja, Magnanti, Orlin, "Network Flows", 1993, 9.7).
        """
        if all(self._owners.get(p, m) == m for m, share in self._shares.items() for p in share):
            return None
        counts = {member_id: len(share) for member_id, share in self._shares.items()}
        for start in self._shares:
            costs, moves = self._reach([start])
            for end, cost in costs.items():
                if cost < 0 and counts[end] == counts[start] - 1:
                    return _chain_to(end, moves)
        return None

    def _reach(self, starts: Sequence[str]) -> tuple[dict[str, int], dict[str, tuple[TopicPartition, str, str]]]:
        """Whom a chain from one of these can reach, at which cost, and the last move of each."""
        costs = dict.fromkeys(starts, 0)
        moves: dict[str, tuple[TopicPartition, str, str]] = {}
        to_visit = deque(starts)
        while to_visit:
            giver = to_visit.popleft()
            for edge_cost, partition, takers in self._edges[giver]:
                cost = costs[giver] + edge_cost
                for taker in takers:
                    if cost < costs.get(taker, len(self._owners) + 1) and not _passes(taker, giver, moves):
                        costs[taker] = cost
                        moves[taker] = (partition, giver, taker)
                        to_visit.append(taker)
        return costs, moves

    def _edges_of(self, giver: str) -> list[Edge]:
        """The cheapest move of each topic, and what goes back to its owner."""
        found: dict[tuple[int, str], TopicPartition] = {}
        returns: list[Edge] = []
        for partition in sorted(self._shares[giver]):
            owner = self._owners.get(partition)
            if owner is not None and owner != giver and owner in self._takers[partition.topic]:
                returns.append((-1, partition, (owner,)))
            found[(int(owner == giver), partition.topic)] = partition
        cheapest = [key for key in found if (0, key[1]) not in found or key[0] == 0]
        return returns + [(cost, found[cost, topic], self._takers[topic]) for cost, topic in sorted(cheapest)]


def _chain_to(end: str, moves: Mapping[str, tuple[TopicPartition, str, str]]) -> Chain:
    return list(_backwards(end, moves))[::-1]


def _backwards(
    end: str, moves: Mapping[str, tuple[TopicPartition, str, str]]
) -> Iterator[tuple[TopicPartition, str, str]]:
    while (move := moves.get(end)) is not None:
        yield move
        end = move[1]


def _passes(member_id: str, end: str, moves: Mapping[str, tuple[TopicPartition, str, str]]) -> bool:
    """Whether the chain that ends there goes through this member already."""
    return member_id == end or any(member_id == giver for _, giver, _ in _backwards(end, moves))

"""The other members of a group that is led: when they come and go, what they claim to have, what they may be given.

K2   What somebody has is given to nobody else before that one has let go of it.
K3   Of several claims those of the latest generation count; two of the same one count both.
S2   The leader's assignment has an entry for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from groupspec.conformance.dividing import EAGER_STICKY, wrong_with
from groupspec.conformance.schedules.scenario import NEVER_MS, TOPICS, Scenario
from groupspec.impl.core.messages import JoinedMember, TopicPartition
from groupspec.impl.core.protocol import (
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_sticky_user_data,
    encode_subscription,
)

Shares = Mapping[str, Iterable[TopicPartition]]


@dataclass(slots=True)
class Another:
    """One of them.

    Attributes:
        name: Its member id.
        comes_ms: When it comes.
        leaves_ms: When it leaves.
        wants: Its topics.
        believes: What it claims once, when it has slept for long: see `Scenario.another_claims`.
        has: What it was given last.
        generation: Its last one.
        gives_up: Whether it has let go of what others can have now.
        is_in: Whether it is in the group since the last rebalance.
    """

    name: str
    comes_ms: int
    leaves_ms: int
    wants: tuple[str, ...]
    believes: str
    has: tuple[TopicPartition, ...] = ()
    generation: int = -1
    gives_up: bool = False
    is_in: bool = False

    def is_there(self, now_ms: int) -> bool:
        """Whether it wants to be in the group."""
        return self.comes_ms <= now_ms < self.leaves_ms

    def joins(self, now_ms: int) -> bool:
        """A generation begins: whether it has a part in it."""
        self.is_in, self.gives_up = self.is_there(now_ms), False
        if not self.is_in:
            self.has = ()
        return self.is_in


class Others:
    """All of them.

    Attributes:
        wanted: The topics of those who are in the group.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._cooperative, self._assignor = scenario.cooperative, scenario.assignors[0]
        self._vanish = scenario.topics_vanish
        self._claims: dict[str, Subscription] = {}
        wants, believes = scenario.another_wants, scenario.another_claims
        self._members = [
            Another("another-member", scenario.another_ms, NEVER_MS, wants, believes),
            Another("third-member", *scenario.third_ms, TOPICS, ""),
        ]
        self.wanted: set[str] = set()

    def wait(self, now_ms: int) -> bool:
        """Whether one of them has sent JoinGroup, or LeaveGroup: a rebalance is under way."""
        return any(one.gives_up or one.is_in != one.is_there(now_ms) for one in self._members)

    def join(self, name: str, metadata: bytes, generation: int, now_ms: int) -> tuple[JoinedMember, ...]:
        """A generation begins, with the leader of this name and subscription. Who else is in it, if anybody is."""
        leader = decode_subscription(metadata)
        present = [one for one in self._members if one.joins(now_ms)]
        self._claims = {name: leader, **{one.name: self._subscription(one, leader) for one in present}}
        self.wanted = {topic for one in present for topic in one.wants}
        for one in present:
            one.generation = generation
        return tuple(JoinedMember(one.name, None, encode_subscription(self._claims[one.name])) for one in present)

    def _subscription(self, one: Another, leader: Subscription) -> Subscription:
        """What it claims: what it was given last; or once what it believes to have, when it has slept for long."""
        owned, generation = leader.owned, leader.generation
        if self._assignor == EAGER_STICKY:
            owned, generation = decode_sticky_user_data(leader.user_data)
        has, since = one.has, one.generation if one.has else -1
        if one.believes and owned:
            has, since = (owned, generation - 1) if one.believes == "stale" else (owned[:1], generation)
            one.believes = ""
        if self._cooperative:
            return Subscription(one.wants, None, has, since)
        sticky = self._assignor == EAGER_STICKY and has
        return Subscription(one.wants, encode_sticky_user_data(has, since) if sticky else None)

    def given(
        self, assignments: Iterable[tuple[str, bytes]], known: Collection[str]
    ) -> dict[str, tuple[TopicPartition, ...]]:
        """How the leader, which knows these topics, divides the partitions. Raises AssertionError if it must not."""
        shares = {name: decode_assignment(data).partitions for name, data in assignments}
        assert shares.keys() == self._claims.keys(), f"the leader's SyncGroup has entries for {list(shares)} (rule S2)"
        wanted = {topic for claim in self._claims.values() for topic in claim.topics}
        wrong = wrong_with(self._assignor, self._claims, shares, self._vanish | (wanted - set(known)))
        assert not wrong, f"the leader's division: {wrong}"
        if self._cooperative:
            self._expect_withheld(shares)
        for one in self._members:
            if one.is_in:
                one.has = shares[one.name]
                one.gives_up = self._cooperative and not set(self._claims[one.name].owned) <= set(one.has)
        return shares

    def _expect_withheld(self, shares: Shares) -> None:
        latest = max(claim.generation for claim in self._claims.values())
        for name, share in shares.items():
            for other, claim in self._claims.items():
                taken = set(share) & set(claim.owned) if other != name and claim.generation == latest >= 0 else ()
                assert not taken, f"{taken} are given to {name}, and {other} has not let go of them (rules K2, K3)"

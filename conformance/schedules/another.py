"""The other member of a group that is led: when it comes, what it claims to have, and what the leader may give it.

K2   What somebody has is given to nobody else before that one has let go of it.
K3   Of several claims those of the latest generation count; two of the same one count both.
S2   The leader's assignment has an entry for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from groupspec.conformance.dividing import EAGER_STICKY, wrong_with
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.core.messages import JoinedMember, TopicPartition
from groupspec.impl.core.protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_sticky_user_data,
    encode_subscription,
)

ANOTHER: Final = "another-member"
"""Its name."""

Shares = Mapping[str, Iterable[TopicPartition]]


class Another:
    """In a group of two.

    Attributes:
        is_in: Whether it is in the group since its last rebalance.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._has: tuple[TopicPartition, ...] = ()
        self._generation = -1
        self._claims: dict[str, Subscription] = {}
        self._believes = scenario.another_claims
        self._gives_up = False
        self.is_in = False

    def waits(self, now_ms: int) -> bool:
        """Whether it has sent JoinGroup: it is new there, or has let go of what others can have now."""
        return (self._gives_up or not self.is_in) and self._scenario.another_ms <= now_ms

    def joins(self, name: str, metadata: bytes, generation: int, now_ms: int) -> tuple[JoinedMember, ...]:
        """A generation begins, with the leader of this name and subscription. Who else is in it, if anybody is."""
        self._claims = {name: decode_subscription(metadata)}
        self.is_in = self._scenario.another_ms <= now_ms
        self._gives_up = False
        if not self.is_in:
            return ()
        self._claims[ANOTHER] = self._subscription(self._claims[name])
        self._generation = generation
        return (JoinedMember(ANOTHER, None, encode_subscription(self._claims[ANOTHER])),)

    def _subscription(self, leader: Subscription) -> Subscription:
        """What it claims: what it was given last; or once what it believes to have, when it has slept for long."""
        wants = self._scenario.another_wants
        if not self._scenario.cooperative:
            had = encode_sticky_user_data(self._has, self._generation) if self._has else None
            return Subscription(wants, had if self._scenario.assignors[0] == EAGER_STICKY else None)
        believes = self._believes if leader.owned else ""
        if not believes:
            return Subscription(wants, None, self._has, self._generation if self._has else -1)
        self._believes = ""
        if believes == "stale":
            return Subscription(wants, None, leader.owned, leader.generation - 1)
        return Subscription(wants, None, leader.owned[:1], leader.generation)

    def given(self, assignments: Iterable[tuple[str, bytes]]) -> dict[str, tuple[TopicPartition, ...]]:
        """How the leader divides the partitions. Raises AssertionError if it must not."""
        shares = {name: decode_assignment(data).partitions for name, data in assignments}
        assert shares.keys() == self._claims.keys(), f"the leader's SyncGroup has entries for {list(shares)} (rule S2)"
        wrong = wrong_with(self._scenario.assignors[0], self._claims, shares)
        assert not wrong, f"the leader's division: {wrong}"
        if self._scenario.cooperative:
            self._expect_withheld(shares)
            self._gives_up = self.is_in and not set(self._claims[ANOTHER].owned) <= set(shares[ANOTHER])
        self._has = shares.get(ANOTHER, ())
        return shares

    def _expect_withheld(self, shares: Shares) -> None:
        latest = max(claim.generation for claim in self._claims.values())
        for name, share in shares.items():
            for other, claim in self._claims.items():
                taken = set(share) & set(claim.owned) if other != name and claim.generation == latest >= 0 else ()
                assert not taken, f"{taken} are given to {name}, and {other} has not let go of them (rules K2, K3)"

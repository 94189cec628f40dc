"""What a JoinGroup says of its member: which topics it wants, and what it claims to have.

J6   The same is written in the same way.
K1   What is claimed is what is owned, of topics that are wanted, with the generation that has assigned it.
"""

from __future__ import annotations

from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import (
    Subscription,
    decode_sticky_user_data,
    decode_subscription,
    encode_subscription,
)


class Claims:
    """Of one member.

    Attributes:
        owned: What its application owns.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._orders: dict[frozenset[TopicPartition], tuple[TopicPartition, ...]] = {}
        self._written: dict[tuple[object, ...], bytes] = {}
        self._assigned_in = {-1}  # generations of the assignments of this membership
        self._shares: list[tuple[tuple[TopicPartition, ...], int]] = []  # that it was assigned, with their generations
        self._has_had = self._had_before = False  # for certain; before the last of them
        self.owned: frozenset[TopicPartition] | set[TopicPartition] = frozenset()

    def assigned(self, share: tuple[TopicPartition, ...], generation: int, is_certain: bool, may_drop: bool) -> None:
        """An assignment has come. `is_certain`: and was not dropped; `may_drop`: that is still open."""
        self._shares.append((share, generation))
        self._had_before = self._has_had
        self._has_had |= is_certain
        before = self._assigned_in if may_drop else {max(self._assigned_in)}
        self._assigned_in = {*before, generation}

    def may_have_dropped(self) -> None:
        """Its coordinator is given up: if nobody was told of the last assignment, that may have come too late."""
        if not self.owned:
            self._has_had = self._had_before

    def expect(self, assignor: str, data: bytes, kept: frozenset[str] | None) -> None:
        """What JoinGroup says for this assignor. AssertionError if it must not.

        `kept`: The topics of which something may be claimed although they are not wanted any more; None: all.
        """
        subscription = decode_subscription(data)
        assert data == encode_subscription(subscription), "JoinGroup's subscription is not canonical (rule J6)"
        self._expect_the_last_share(assignor, subscription)
        self._expect_the_same(assignor, data, subscription)
        owned = set(subscription.owned)
        foreign = {partition.topic for partition in owned} - set(subscription.topics)
        # What it gives up it gives up before a round. Whoever unsubscribes in one has the next one for that; and so has
        # who changes its mind once more while that goes on, or whose pattern matches less: what is wanted is looked at
        # once (as Java's ConsumerCoordinator.onJoinPrepare does).
        assert kept is None or foreign <= kept, f"JoinGroup claims partitions of {foreign}, not subscribed to (rule K1)"
        generation = subscription.generation
        assert not owned or generation in self._assigned_in, f"claims of generation {generation} (rule K1)"
        expected = self.owned if self._scenario.cooperative else set()
        assert owned == expected or self._scenario.is_closed_by_others, (
            f"JoinGroup says that {sorted(map(str, owned))} are owned, and the application has "
            f"{sorted(map(str, expected))} (rule K1)"
        )

    def _expect_the_last_share(self, assignor: str, subscription: Subscription) -> None:
        """The eager sticky assignor's own data; but an assignment that does not fit any more was never had."""
        may_drop = self._scenario.pattern or "other topics" in self._scenario.all_calls
        if assignor == "sticky" and self._has_had and not may_drop:
            had = decode_sticky_user_data(subscription.user_data)
            assert had in self._shares, f"sticky, it had {self._shares[-1]}, and says {had} (rule K1)"

    def _expect_the_same(self, assignor: str, data: bytes, subscription: Subscription) -> None:
        """As when it has said it before."""
        order = self._orders.setdefault(frozenset(subscription.owned), subscription.owned)
        assert subscription.owned == order, f"{subscription.owned} were written as {order} before (rule J6)"
        what = (assignor, subscription.topics, subscription.owned, subscription.generation)
        is_same = data == self._written.setdefault(what, data) or assignor == "sticky"  # which tells of its last round
        assert is_same, f"JoinGroup writes the same subscription in two ways (rule J6): {subscription}"

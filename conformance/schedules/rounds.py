"""Which rebalances have to come, which may come, and whether the last one has brought the member what it owns.

J1, J2   Whatever calls for a rebalance is followed by a JoinGroup, and nothing else is.
J8       The group knows what the application subscribes to.
K2       Who had to give something up joins once more, so that others can have it.
"""

from __future__ import annotations

from collections.abc import Collection

from groupspec.impl.core.messages import TopicPartition


class Rounds:
    """Of one member.

    Attributes:
        joins: How often it has sent JoinGroup.
        synced: How many JoinGroups there were when it took the answer to its last successful SyncGroup.
        synced_ms: When that was.
        share: What that answer has assigned to it; None: it is no member, or in a round.
        due: How many JoinGroups there must be before all is well.
        topics: What the last JoinGroup has subscribed to.
        kept: What one of the changes since then leaves of them: what that one does not keep is given up, and meanwhile
            nobody looks at another change. Each may be the first one; there must be two of them to keep what goes.
        is_outdated: Whether since the last JoinGroup a topic of it was not wanted, be it for a moment.
        called_ms: When the first thing since the last JoinGroup has happened that can lead to a rebalance.
    """

    def __init__(self) -> None:
        self.joins = self.synced = self.due = 0
        self.share: frozenset[TopicPartition] | None = None
        self.topics: frozenset[str] = frozenset()
        self.kept: frozenset[str] = frozenset()
        self.is_outdated = False
        self._wanted: Collection[str] = ()
        self._claims: frozenset[TopicPartition] = frozenset()
        self._began_ms = self._cause_ms = self.called_ms = self.synced_ms = 0

    def may_come(self, now_ms: int) -> None:
        """Something happens that can lead to a rebalance; the member learns of it before time goes on."""
        if self._cause_ms < self._began_ms:
            self.called_ms = now_ms
        self._cause_ms = now_ms

    def must_come(self) -> None:
        """Something happens that calls for a rebalance."""
        self.due = self.joins + 1

    def wants(self, topics: Collection[str]) -> None:
        """These topics are subscribed to from now on."""
        self._wanted = topics
        if not self.topics <= set(topics):
            self.is_outdated = True
            self.kept |= self.topics & set(topics)

    def vanished(self, topics: Collection[str]) -> None:
        """These topics are not there any more, and so not subscribed to, by pattern."""
        if self.topics & set(topics):
            self.is_outdated = True
            self.kept |= self.topics - set(topics)

    def is_called_for(self) -> bool:
        """Whether a JoinGroup of a member may come: it is in a round, or something has happened since the last one."""
        return self.share is None or self.joins < self.due or self._cause_ms >= self._began_ms

    def begins(self, topics: Collection[str], claims: Collection[TopicPartition], now_ms: int) -> None:
        """JoinGroup is sent."""
        self.joins += 1
        self._began_ms = now_ms
        self.topics, self._claims, self.kept = frozenset(topics), frozenset(claims), frozenset()
        self.is_outdated = False
        self.wants(self._wanted)  # it may have been said, and not been heard yet
        self.share = None

    def ends(self, share: Collection[TopicPartition], cooperative: bool, now_ms: int) -> None:
        """SyncGroup has succeeded."""
        self.synced_ms = now_ms
        self.synced, self.share = self.joins, frozenset(share)
        if cooperative and not self._claims <= self.share:
            self.must_come()

    def membership_ended(self) -> None:
        """Whatever it had is not its own any more."""
        self.share = None

    def lacks(self, subscription: Collection[str], owned: Collection[TopicPartition]) -> str:
        """What keeps all from being well; empty: nothing does."""
        if self.joins < self.due:
            return f"a rebalance that was called for does not come: {self.joins} JoinGroups of {self.due} (rule J2)"
        if self.share is None:
            return "the application polls, and the member does not join its group (rule J2)"
        if self.topics != set(subscription):
            return f"{set(subscription)} are subscribed to, and the group knows of {set(self.topics)} (rule J8)"
        if self.share != owned:
            return f"the group has assigned {set(self.share)}, and the application owns {set(owned)} (rule C1)"
        return ""

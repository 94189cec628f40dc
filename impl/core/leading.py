"""The leader's work: divide the partitions among all members, and watch whether the division still rests on the truth.

The leader is told of everybody's subscription in JoinGroup's answer and brings everybody's share in SyncGroup. It alone
watches the topics of the whole group, and rejoins when their partitions are no longer those that it divided (rule J8).
"""

from __future__ import annotations

from collections.abc import Callable

from groupspec.impl.core.assignors import ASSIGNORS, Subscriber
from groupspec.impl.core.context import Context
from groupspec.impl.core.messages import JoinedMember, JoinGroupResponse
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.protocol import (
    Assignment,
    MalformedProtocolData,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
)
from groupspec.impl.core.rebalance import Rebalance

Shares = tuple[tuple[str, bytes], ...]


class Leading:
    """What this member knows as the leader of a round; nothing, if it is not."""

    def __init__(self, context: Context, metadata: Metadata, membership: Rebalance) -> None:
        self._context = context
        self._metadata = metadata
        self._membership = membership
        self._members: tuple[JoinedMember, ...] = ()
        self._group_topics: tuple[str, ...] = ()
        self._skip_assignment = False
        self.awaits_metadata = False  # not all topics of the group are known yet
        self._snapshot: dict[str, int] | None = None  # the partition counts that the division rests on
        self._divided: dict[str, int] | None = None  # those of the last division that this process knows

    def attach(self, send_sync: Callable[[Shares], None]) -> None:
        """What sends SyncGroup, with everybody's share (`joining`)."""
        self._send_sync = send_sync

    def lead(self, response: JoinGroupResponse) -> None:
        """This member leads the round; as soon as the topics of the group are known, it synchronises.

        A static leader that comes back shall not divide again (KIP-814): the generation's division stands, and is
        compared with what this process has divided. (Java compares with what it knows when it is back, and so overlooks
        partitions that were added meanwhile: ConsumerCoordinator.onLeaderElected. So does a new process here.)
        """
        self._members = response.members
        self._skip_assignment = response.skip_assignment
        self._group_topics = tuple(sorted({topic for member in self._group() for topic in member.topics}))
        self._metadata.want(self._group_topics)
        self.awaits_metadata = True
        self.metadata_updated()

    def forget(self) -> None:
        """Another round, or none: whatever was known as a leader does not count any more."""
        self._snapshot = None
        self.awaits_metadata = False

    def metadata_updated(self) -> None:
        """A leader that waited for it divides; one that has done so compares (rule J8)."""
        if self.awaits_metadata:
            if self._metadata.knows(self._group_topics):
                self.awaits_metadata = False
                counts = self._counts()
                if self._divided is None or not self._skip_assignment:
                    self._divided = counts
                self._snapshot = self._divided
                self._send_sync(() if self._skip_assignment else self._divide(counts))
        elif self.is_outdated():
            self._membership.require_rejoin("cached metadata has changed")

    def is_outdated(self) -> bool:
        """Whether the division rests on partition counts that are no longer true."""
        return self._snapshot is not None and self._snapshot != self._counts()

    def watched_topics(self) -> tuple[str, ...]:
        """The topics of the whole group, which a leader has to watch; none for a follower."""
        return self._group_topics if self.awaits_metadata or self._snapshot is not None else ()

    def _divide(self, counts: dict[str, int]) -> Shares:
        """An entry for every member that the coordinator named, be it empty (rule S2)."""
        shares = ASSIGNORS[self._context.identity.protocol_name].assign(self._group(), counts)
        return tuple(
            (joined.member_id, encode_assignment(Assignment(shares[joined.member_id]))) for joined in self._members
        )

    def _counts(self) -> dict[str, int]:
        return self._metadata.partition_counts(self._group_topics)

    def _group(self) -> list[Subscriber]:
        return [self._as_member(joined) for joined in self._members]

    def _as_member(self, joined: JoinedMember) -> Subscriber:
        """One member as the assignor sees it; a subscription that cannot be decoded counts as empty.

        Java's leader raises then, at each poll(), and nobody in the group reads. What a member had of a topic that was
        made anew, and that the new one lacks, counts for no claim: the sticky assignors would leave it there for as
        long as it is claimed, as Java's do, and the member would have so much less to read.
        """
        try:
            subscription = decode_subscription(joined.metadata)
            owned, generation = subscription.owned, subscription.generation
            if self._context.identity.protocol_name == "sticky":
                owned, generation = decode_sticky_user_data(subscription.user_data)
        except MalformedProtocolData as problem:
            text = f"Member {joined.member_id!r} gets no partitions: its subscription can't be read ({problem})"
            self._context.journal.seldom(__name__, text, self._context.now_ms)
            return Subscriber(joined.member_id, (), group_instance_id=joined.group_instance_id)
        owned = tuple(partition for partition in owned if not self._metadata.is_of_the_past(partition))
        return Subscriber(joined.member_id, subscription.topics, owned, generation, joined.group_instance_id)

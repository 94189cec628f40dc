"""What a coordinator knows about one group, and what follows from it. Nothing here waits or answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from groupspec.impl.coordinator.context import Choose, Handle
from groupspec.impl.coordinator.log import GroupRecord, MemberRecord
from groupspec.impl.core.messages import ErrorCode, JoinedMember, OffsetAndMetadata, TopicPartition

Protocols = tuple[tuple[str, bytes], ...]


class GroupState(StrEnum):
    """Kafka's ClassicGroupState."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(eq=False)
class Member:
    """One member.

    Attributes:
        protocols: Assignors in the member's order of preference, each with the member's subscription.
        is_new: Its first join phase has not ended yet.
        join: Its JoinGroup that awaits the end of the join phase.
        sync: Its SyncGroup that awaits the assignment.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    join: Handle | None = None
    sync: Handle | None = None

    @property
    def is_static(self) -> bool:
        """Whether it has an instance id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting(self) -> bool:
        """Whether a request of it awaits its answer and counts as a heartbeat (rule G5); of a new member none does."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Its subscription under this protocol."""
        return dict(self.protocols).get(protocol or "", b"")


@dataclass(eq=False)
class Group:
    """One group.

    Attributes:
        pending_joins: Ids that were handed out and have not joined yet (KIP-394).
        pending_syncs: Members that have yet to send SyncGroup in this generation.
        first_round: The join phase began in Empty.
        newcomer_seen: A member was added since the initial delay last began.
    """

    group_id: str
    choose: Choose
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_ids: dict[str, str] = field(default_factory=dict)
    pending_joins: set[str] = field(default_factory=set)
    pending_syncs: set[str] = field(default_factory=set)
    first_round: bool = False
    newcomer_seen: bool = False
    offsets: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)

    # What follows ----------------------------------------------------------------------------------------------------

    @property
    def awaiting_join(self) -> list[Member]:
        """The members whose JoinGroup awaits the end of the join phase."""
        return [member for member in self.members.values() if member.join is not None]

    @property
    def all_joined(self) -> bool:
        """Every member has a JoinGroup awaiting, and no id that was handed out is pending (rule G1)."""
        return not self.pending_joins and len(self.awaiting_join) == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members' (rule G6)."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def identity_error(self, member_id: str, instance: str | None) -> ErrorCode:
        """Whether this is a member (rule G8): the instance id is looked at first."""
        if instance is not None and instance in self.static_ids and self.static_ids[instance] != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
        if member_id not in self.members or (instance is not None and instance not in self.static_ids):
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether who brings these may join (rule G12): into Empty with any, else with one that all members have.

        A member that joins again is among "all members" with what it brought last time.
        """
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        counts = self._supporters()
        return protocol_type == self.protocol_type and any(
            counts[name] == len(self.members) for name in {name for name, _ in protocols}
        )

    def has_room_for(self, member_id: str, max_size: int) -> bool:
        """Whether the size limit lets it in: a join phase counts who has joined, later phases who is a member."""
        if self.state is GroupState.EMPTY:
            return True
        if self.state is GroupState.PREPARING_REBALANCE:
            joined = self.awaiting_join
            return len(joined) < max_size or any(member.member_id == member_id for member in joined)
        return member_id in self.members or len(self.members) < max_size

    def elected_protocol(self) -> str:
        """Each member votes for its first protocol that all have; the most votes win (rule G12)."""
        counts = self._supporters()
        candidates = {name for name, supporters in counts.items() if supporters == len(self.members)}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        best = max(votes.values())
        winners = tuple(name for name in votes if votes[name] == best)
        return winners[0] if len(winners) == 1 else self.choose("protocol", self.generation + 1, winners)

    def _supporters(self) -> Counter[str]:
        return Counter(name for member in self.members.values() for name in {name for name, _ in member.protocols})

    def described_members(self) -> tuple[JoinedMember, ...]:
        """All members, as the leader gets them."""
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    # Members ---------------------------------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """A new member; the first one leads."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if member.group_instance_id is not None:
            self.static_ids[member.group_instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending_joins.discard(member.member_id)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """A member or a pending id is gone; if it led, another member leads."""
        member = self.members.pop(member_id, None)
        if member is not None and member.group_instance_id is not None:
            self.static_ids.pop(member.group_instance_id, None)
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        if self.leader == member_id:
            self.leader = self._one_of(self.members.values())

    def replace(self, old_id: str, new_id: str) -> Member:
        """A static member under its new id, with everything that the old one had but its awaiting requests.

        Who has yet to send SyncGroup is remembered by id, and the old id stays there, as in Kafka.
        """
        old = self.members.pop(old_id)
        new = Member(
            new_id, old.group_instance_id, old.client_id, old.session_timeout_ms, old.rebalance_timeout_ms,
            old.protocol_type, old.protocols, old.assignment,
        )  # fmt: skip
        self.members[new_id] = new
        self.static_ids[str(old.group_instance_id)] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return new

    def elect_joined_leader(self) -> bool:
        """Whoever leads has joined: if not, another one who has leads. False if nobody has."""
        joined = self.awaiting_join
        if all(member.member_id != self.leader for member in joined):
            self.leader = self._one_of(joined) or self.leader
        return bool(joined)

    def _one_of(self, members: Iterable[Member]) -> str | None:
        possible = tuple(member.member_id for member in members)
        if len(possible) < 2:
            return possible[0] if possible else None
        return self.choose("leader", self.generation + 1, possible)

    # The log ---------------------------------------------------------------------------------------------------------

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Nothing is committed of these any more."""
        for partition in partitions:
            self.offsets.pop(partition, None)

    def record(self, assignments: dict[str, bytes]) -> GroupRecord:
        """The group as the log keeps it, with these assignments by member id."""
        return GroupRecord(
            self.group_id,
            self.generation,
            self.protocol_type,
            self.protocol_name,
            self.leader,
            tuple(
                MemberRecord(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.session_timeout_ms,
                    member.rebalance_timeout_ms,
                    member.metadata(self.protocol_name),
                    assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ),
        )

    @classmethod
    def restored(cls, record: GroupRecord, choose: Choose) -> Group:
        """The group of a record: Stable, or Empty without members."""
        group = cls(record.group_id, choose, generation=record.generation, protocol_type=record.protocol_type)
        group.protocol_name, group.leader = record.protocol_name, record.leader
        for stored in record.members:
            group.add(
                Member(
                    stored.member_id,
                    stored.group_instance_id,
                    stored.client_id,
                    stored.session_timeout_ms,
                    stored.rebalance_timeout_ms,
                    record.protocol_type or "",
                    ((record.protocol_name or "", stored.metadata),),
                    stored.assignment,
                )
            )
        group.state = GroupState.STABLE if group.members else GroupState.EMPTY
        return group

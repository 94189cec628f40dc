"""A consumer group as its coordinator keeps it, for one client at a time, and without any I/O.

The states and checks are those of Apache Kafka's classic groups (org.apache.kafka.coordinator.group.classic): which
error comes first, when a generation begins, what a static member's return does. With one client there is nobody to
wait for, so a round of joining ends in the moment in which it begins (rule G1). A client that comes anew takes the
place of an older one at once, as if that one's session had expired; a phantom (see `groupspec.impl.broker.phantom`)
may be a second member.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import NAMESPACE_OID, uuid5

from groupspec.impl.broker.phantom import Phantom
from groupspec.impl.core import messages
from groupspec.impl.core.messages import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetAndMetadata,
    TopicPartition,
)
from groupspec.impl.core.protocol import MalformedProtocolData, decode_assignment

NO_SIGN_OF_LIFE = "no sign of life"
"""Why a member is dropped whose session has run out, as a note says it."""
EMPTY = "Empty"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
STABLE = "Stable"

MEMBER_ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9


@dataclass
class GroupMember:
    """The client, as the coordinator knows it."""

    member_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    last_seen_ms: int


class Group:
    """One group. Every method answers at once; `now_ms` is any clock that only goes forward.

    `partitions_of(topic)` tells how many there are (0: no such topic); `note` gets what happens without a request.
    """

    def __init__(self, group_id: str, partitions_of: Callable[[str], int], note: Callable[[str], object]) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.generation = 0
        self.protocol_name = ""
        self.leader = ""
        self.member: GroupMember | None = None
        self.phantom: Phantom | None = None
        self.assignment = b""
        self.offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self.parked = 0  # requests of the member that wait for their answer: no session expires meanwhile
        self._pending_ids: set[str] = set()
        self._ids_given = 0
        self._members_changed = False
        self._partitions_of = partitions_of
        self._note = note

    # Knobs -----------------------------------------------------------------------------------------------------------

    def announce_rebalance(self) -> None:
        """From now on heartbeats are answered REBALANCE_IN_PROGRESS, until the member joins."""
        if self.state in (STABLE, COMPLETING_REBALANCE):
            self.state = PREPARING_REBALANCE

    def add_phantom(self, phantom: Phantom) -> None:
        """A second member takes part from the next round on."""
        self.phantom = phantom
        self._members_changed = True

    def remove_phantom(self) -> None:
        """The second member is gone; the next round knows."""
        self.phantom = None
        self._members_changed = True

    def drop_member(self, why: str) -> None:
        """The member is gone from one moment to the next: its id is unknown from now on."""
        if self.member is not None:
            self._note(f"group {self.group_id}: member {self.member.member_id} is gone: {why}")
            self._remove_member()

    @property
    def assigned(self) -> tuple[TopicPartition, ...]:
        """What the member was assigned last; empty if its assignment cannot be decoded."""
        try:
            return decode_assignment(self.assignment).partitions
        except MalformedProtocolData:
            return ()

    # Time ------------------------------------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """Drop the member if its session is over (rule G5)."""
        member = self.member
        if member is not None and not self.parked and now_ms - member.last_seen_ms >= member.session_timeout_ms:
            self.drop_member(f"{NO_SIGN_OF_LIFE} for {now_ms - member.last_seen_ms} ms")

    def said(self, error: ErrorCode, member_id: str) -> None:
        """A script made the broker say this to a member: let it be true."""
        if self.member is None or self.member.member_id != member_id:
            return
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.drop_member(f"it was told {error.name}")
        elif error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.announce_rebalance()

    # JoinGroup -------------------------------------------------------------------------------------------------------

    def join(self, request: JoinGroupRequest, version: int, client_id: str, now_ms: int) -> JoinGroupResponse:
        """A member wants to take part in the next generation. In Stable a follower without news is answered (G10)."""
        error = self._join_error(request)
        if error is not ErrorCode.NONE:
            return _refused(request, error)
        if not request.member_id:
            return self._join_without_id(request, version, client_id, now_ms)
        if request.member_id in self._pending_ids:
            self._admit(request.member_id, request, now_ms)
            return self._complete_join(version)
        member = self.member
        assert member is not None
        same = member.protocols == request.protocols and not self._members_changed
        self._update(member, request, now_ms)
        leads = self.leader == member.member_id
        if same and (self.state == COMPLETING_REBALANCE or (self.state == STABLE and not leads)):
            return self._joined(leads)
        return self._complete_join(version)

    def _join_error(self, request: JoinGroupRequest) -> ErrorCode:
        """What is wrong with it (rule G12), the settings before the identity (rule G8)."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if request.session_timeout_ms <= 0:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if not request.protocols or not request.protocol_type:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not request.member_id or request.member_id in self._pending_ids:
            return ErrorCode.NONE
        return self._identity_error(request.member_id, request.group_instance_id)

    def _join_without_id(
        self, request: JoinGroupRequest, version: int, client_id: str, now_ms: int
    ) -> JoinGroupResponse:
        instance = request.group_instance_id
        if instance is None and version >= MEMBER_ID_REQUIRED_FROM:
            return _refused(request, ErrorCode.MEMBER_ID_REQUIRED, self.hand_out_id(client_id))
        if instance is not None and self.member is not None and self.member.group_instance_id == instance:
            return self._static_member_returns(self.member, request, version, now_ms)
        self._admit(self._new_id(instance or client_id), request, now_ms)
        return self._complete_join(version)

    def hand_out_id(self, client_id: str) -> str:
        """An id to join with (KIP-394, rule G4)."""
        member_id = self._new_id(client_id)
        self._pending_ids.add(member_id)
        return member_id

    def _static_member_returns(
        self, member: GroupMember, request: JoinGroupRequest, version: int, now_ms: int
    ) -> JoinGroupResponse:
        """It gets a new id, and keeps its assignment without a rebalance if nothing else changed (rule G11)."""
        old_id, led = member.member_id, self.leader == member.member_id
        unchanged = self.state == STABLE and request.protocols[0][0] == self.protocol_name
        member.member_id = self._new_id(request.group_instance_id or "")
        self._update(member, request, now_ms)
        if led:
            self.leader = member.member_id
        if not unchanged or self._members_changed:
            return self._complete_join(version)
        if version >= SKIP_ASSIGNMENT_FROM:
            return self._joined(led, skip_assignment=led)
        # Older versions can't say "skip the assignment": the returning leader is told that somebody else leads.
        return self._joined(False, leader=old_id if led else self.leader)

    def _complete_join(self, version: int) -> JoinGroupResponse:
        """The join phase is complete: a new generation begins (rule G2)."""
        assert self.member is not None
        self.generation += 1
        self.state = COMPLETING_REBALANCE
        self.protocol_name = self.member.protocols[0][0]
        self.assignment = b""
        self._members_changed = False
        phantom_leads = self.phantom is not None and self.phantom.leads
        self.leader = self.phantom.member_id if self.phantom and phantom_leads else self.member.member_id
        return self._joined(not phantom_leads)

    def _joined(self, leads: bool, *, leader: str | None = None, skip_assignment: bool = False) -> JoinGroupResponse:
        assert self.member is not None
        metadata = self._metadata()
        members = [messages.JoinedMember(self.member.member_id, self.member.group_instance_id, metadata)]
        if self.phantom is not None:
            members.append(self.phantom.joined(metadata))
        return JoinGroupResponse(
            error=ErrorCode.NONE,
            generation=self.generation,
            protocol_name=self.protocol_name,
            leader=self.leader if leader is None else leader,
            member_id=self.member.member_id,
            members=tuple(members) if leads else (),
            skip_assignment=skip_assignment,
        )

    def _metadata(self) -> bytes:
        assert self.member is not None
        return dict(self.member.protocols).get(self.protocol_name, b"")

    def _admit(self, member_id: str, request: JoinGroupRequest, now_ms: int) -> None:
        self._pending_ids.discard(member_id)
        self.drop_member("another one came and takes its place")
        self.member = GroupMember(
            member_id, request.group_instance_id, request.session_timeout_ms, request.protocols, now_ms
        )

    @staticmethod
    def _update(member: GroupMember, request: JoinGroupRequest, now_ms: int) -> None:
        member.session_timeout_ms = request.session_timeout_ms
        member.protocols = request.protocols
        member.last_seen_ms = now_ms

    def _new_id(self, prefix: str) -> str:
        self._ids_given += 1
        return f"{prefix}-{uuid5(NAMESPACE_OID, f'{self.group_id} {prefix} {self._ids_given}')}"

    # SyncGroup, Heartbeat, LeaveGroup --------------------------------------------------------------------------------

    def sync(self, request: messages.SyncGroupRequest, now_ms: int) -> messages.SyncGroupResponse:
        """A member wants its assignment; the leader brings everybody's. In Stable the answer is at hand (rule G9)."""
        error = self._identity_error(request.member_id, request.group_instance_id)
        if error is ErrorCode.NONE:
            error = self._sync_error(request)
        if error is not ErrorCode.NONE:
            return messages.SyncGroupResponse(error)
        assert self.member is not None
        self.member.last_seen_ms = now_ms
        if self.state == COMPLETING_REBALANCE:
            self._take_assignment(request)
            self.state = STABLE
        return messages.SyncGroupResponse(ErrorCode.NONE, self.assignment, request.protocol_type, self.protocol_name)

    def _sync_error(self, request: messages.SyncGroupRequest) -> ErrorCode:
        if request.generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_name and request.protocol_name != self.protocol_name:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.REBALANCE_IN_PROGRESS if self.state == PREPARING_REBALANCE else ErrorCode.NONE

    def _take_assignment(self, request: messages.SyncGroupRequest) -> None:
        if self.phantom is not None and self.leader == self.phantom.member_id:
            self.assignment = self.phantom.assign_to_client(self._metadata(), self._partitions_of, self.generation)
            return
        assignments = dict(request.assignments)
        self.assignment = assignments.get(request.member_id, b"")
        if self.phantom is not None:
            self.phantom.was_assigned(assignments.get(self.phantom.member_id, b""), self.generation)

    def heartbeat(self, request: messages.HeartbeatRequest, now_ms: int) -> messages.HeartbeatResponse:
        """A sign of life; the answer is the state's (rule G7)."""
        error = self._member_error(request.member_id, request.group_instance_id, request.generation)
        if error is ErrorCode.NONE and self.member is not None:
            self.member.last_seen_ms = now_ms
            if self.state == PREPARING_REBALANCE:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        return messages.HeartbeatResponse(error)

    def leave(self, request: messages.LeaveGroupRequest) -> messages.LeaveGroupResponse:
        """A member goes. Without a member id, the instance id says which (as an administrator does it)."""
        if request.member_id in self._pending_ids:
            self._pending_ids.discard(request.member_id)
            return messages.LeaveGroupResponse(ErrorCode.NONE)
        member_id = request.member_id
        if not member_id and request.group_instance_id and self.member is not None:
            member_id = self.member.member_id
        error = self._identity_error(member_id, request.group_instance_id)
        if error is ErrorCode.NONE:
            self._remove_member()
        return messages.LeaveGroupResponse(error)

    def _remove_member(self) -> None:
        self.member = None
        self.state = EMPTY
        self.generation += 1
        self.leader = ""
        self.assignment = b""

    # Offsets ---------------------------------------------------------------------------------------------------------

    def commit(self, request: messages.OffsetCommitRequest, now_ms: int) -> messages.OffsetCommitResponse:
        """Positions to remember."""
        error = self._commit_error(request)
        if error is not ErrorCode.NONE:
            return messages.OffsetCommitResponse(dict.fromkeys(request.offsets, error), error)
        if self.member is not None and self.member.member_id == request.member_id:
            self.member.last_seen_ms = now_ms
        errors = {}
        for partition, position in request.offsets.items():
            known = 0 <= partition.partition < self._partitions_of(partition.topic)
            errors[partition] = ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if known:
                self.offsets[partition] = position
        return messages.OffsetCommitResponse(errors)

    def _commit_error(self, request: messages.OffsetCommitRequest) -> ErrorCode:
        anonymous = request.generation < 0 and not request.member_id and request.group_instance_id is None
        if request.generation < 0 and self.member is None:
            return ErrorCode.NONE
        if anonymous:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self._member_error(request.member_id, request.group_instance_id, request.generation)
        if error is ErrorCode.NONE and self.state == COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return error

    def fetch_offsets(self, request: messages.OffsetFetchRequest) -> messages.OffsetFetchResponse:
        """The remembered positions: of these partitions, or all."""
        wanted = request.partitions or tuple(sorted(self.offsets))
        return messages.OffsetFetchResponse({partition: self._position(partition) for partition in wanted})

    def _position(self, partition: TopicPartition) -> messages.FetchedOffset:
        position = self.offsets.get(partition)
        if position is None:
            return messages.FetchedOffset(-1)
        return messages.FetchedOffset(position.offset, position.metadata, position.leader_epoch)

    # Who is asking ---------------------------------------------------------------------------------------------------

    def _identity_error(self, member_id: str, instance: str | None) -> ErrorCode:
        member = self.member
        if member is not None and instance is not None and member.group_instance_id == instance:
            return ErrorCode.NONE if member.member_id == member_id else ErrorCode.FENCED_INSTANCE_ID
        if member is None or instance is not None or member.member_id != member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def _member_error(self, member_id: str, instance: str | None, generation: int) -> ErrorCode:
        """Instance and member are looked at before the generation (rule G8)."""
        error = self._identity_error(member_id, instance)
        if error is ErrorCode.NONE and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error


def _refused(request: JoinGroupRequest, error: ErrorCode, member_id: str | None = None) -> JoinGroupResponse:
    return JoinGroupResponse(error, member_id=request.member_id if member_id is None else member_id, protocol_type=None)

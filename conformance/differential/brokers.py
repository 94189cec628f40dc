"""The real brokers that the reference is held against, and where one answers otherwise than the reference: data.

The reference does what Apache Kafka 4 does, where org.apache.kafka.coordinator.group.GroupMetadataManager keeps classic
groups. In 3.9 kafka.coordinator.group.GroupCoordinator does, and each `Deviation` is a place where the two differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from groupspec.conformance.differential.history import Sent
from groupspec.conformance.real_broker.jars import FORMER_VERSION, KAFKA_VERSION
from groupspec.impl.coordinator.context import GroupResponse
from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.log import java_hash
from groupspec.impl.coordinator.offsets import ONE_ERROR_FROM
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode


@dataclass(frozen=True, slots=True)
class Has:
    """The reference's group before or after a step."""

    state: GroupState
    generation: int
    first_round: bool
    all_joined: bool
    members: frozenset[str]
    new: frozenset[str]
    pending: frozenset[str]

    @classmethod
    def of(cls, group: Group | None) -> Has:
        """As it is now; a group that does not exist is Empty."""
        if group is None:
            return cls(GroupState.EMPTY, 0, False, True, frozenset(), frozenset(), frozenset())
        new = frozenset(member.member_id for member in group.members.values() if member.is_new)
        pending = frozenset(group.pending_joins)
        return cls(
            group.state, group.generation, group.first_round, group.all_joined, frozenset(group.members), new, pending
        )


class Kind(Enum):
    """What happens at a moment."""

    REQUEST = "a request comes to the node that has the group"
    ASTRAY = "a request comes to another node"
    UNREAD = "a request comes to the node that reads the group yet"
    PHASE_OVER = "the timer of the join phase or the sync phase"
    TIMER = "another timer: of a session or a pending id"
    MOVE = "the group has moved"


@dataclass(frozen=True, slots=True)
class Moment:
    """What happens; of a request also its answer, if it is answered at once."""

    kind: Kind
    before: Has
    after: Has
    sent: Sent | None = None
    answer: GroupResponse | None = None


@dataclass(frozen=True, slots=True)
class Deviation:
    """From where `holds`, this broker's group goes another way than the reference's.

    Attributes:
        made_by: The method that makes it, in this broker and, after "instead of", in Kafka 4.
    """

    name: str
    made_by: str
    text: str
    holds: Callable[[Moment], bool]


@dataclass(frozen=True, slots=True)
class Broker:
    """One version of Apache Kafka.

    Attributes:
        order: Of protocols with as many votes the one with the least is chosen.
    """

    version: str
    order: Callable[[str], int]
    deviations: tuple[Deviation, ...] = ()


def _in_a_hash_map_of_java(name: str) -> int:
    """ClassicGroup.selectProtocol: a `HashMap` with few keys has them by their hashes, folded and cut to four bits."""
    code = java_hash(name)
    return (code ^ code >> 16) & 15


def _in_a_hash_map_of_scala(name: str) -> int:
    """GroupMetadata.selectProtocol: `groupBy` has keys by five bits of scala.collection.Hashing.improve."""
    code = java_hash(name)
    code = code + ~(code << 9) & 0xFFFFFFFF
    code ^= code >> 14
    code = code + (code << 4) & 0xFFFFFFFF
    return (code ^ code >> 10) & 31


def _is_complete_when_one_is_refused(moment: Moment) -> bool:
    refused = isinstance(moment.answer, messages.JoinGroupResponse) and moment.answer.error is not ErrorCode.NONE
    preparing = moment.after.state is GroupState.PREPARING_REBALANCE
    return refused and preparing and moment.after.all_joined and not moment.after.first_round


def _is_leave_of_a_pending_id(moment: Moment) -> bool:
    request = moment.sent.request if moment.sent else None
    settled = moment.before.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
    return isinstance(request, messages.LeaveGroupRequest) and settled and moment.after.pending < moment.before.pending


def _is_leave_of_several(moment: Moment) -> bool:
    request = moment.sent.request if moment.sent else None
    return isinstance(request, messages.LeaveGroupRequest) and bool(request.others) and moment.before != moment.after


def _ends_the_initial_delay(moment: Moment) -> bool:
    in_delay = moment.before.first_round and moment.before.state is GroupState.PREPARING_REBALANCE
    return in_delay and moment.after.state is not moment.before.state and moment.kind is Kind.TIMER


def _is_replaced_while_new(moment: Moment) -> bool:
    request = moment.sent.request if moment.sent else None
    gone = moment.before.new - moment.after.members
    return isinstance(request, messages.JoinGroupRequest) and request.group_instance_id is not None and bool(gone)


def _is_sync_in_stable(moment: Moment) -> bool:
    synced = isinstance(moment.answer, messages.SyncGroupResponse) and moment.answer.error is ErrorCode.NONE
    return synced and moment.before.state is GroupState.STABLE


def _comes_in_a_later_initial_delay(moment: Moment) -> bool:
    in_delay = moment.before.first_round and moment.before.state is GroupState.PREPARING_REBALANCE
    return in_delay and moment.before.generation > 0 and moment.before.members < moment.after.members


def _is_commit_into_no_group(moment: Moment) -> bool:
    answer = moment.answer
    return isinstance(answer, messages.OffsetCommitResponse) and ErrorCode.GROUP_ID_NOT_FOUND in answer.errors.values()


def _is_join_refused_unseen(moment: Moment) -> bool:
    request, answer = moment.sent.request if moment.sent else None, moment.answer
    unseen = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    refused = isinstance(answer, messages.JoinGroupResponse) and answer.error in unseen
    return refused and isinstance(request, messages.JoinGroupRequest) and bool(request.member_id)


def _is_old_fetch_refused(moment: Moment) -> bool:
    answer = moment.answer
    refused = isinstance(answer, messages.OffsetFetchResponse) and any(each.error for each in answer.offsets.values())
    return refused and moment.sent is not None and moment.sent.caller.version < ONE_ERROR_FROM


def _is_join_astray_without_a_session(moment: Moment) -> bool:
    answer = moment.answer
    refused = isinstance(answer, messages.JoinGroupResponse) and answer.error is ErrorCode.INVALID_SESSION_TIMEOUT
    return refused and moment.kind in (Kind.ASTRAY, Kind.UNREAD)


def _is_move_before_a_generation(moment: Moment) -> bool:
    return moment.kind is Kind.MOVE and moment.after.generation == 0


def _is_sync_refused_unseen(moment: Moment) -> bool:
    answer = moment.answer
    return isinstance(answer, messages.SyncGroupResponse) and answer.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


BROKERS: Final = {
    KAFKA_VERSION: Broker(KAFKA_VERSION, _in_a_hash_map_of_java),
    FORMER_VERSION: Broker(
        FORMER_VERSION,
        _in_a_hash_map_of_scala,
        (
            Deviation(
                "the join phase may end with a refusal",
                "GroupCoordinator.handleJoinGroup, instead of GroupMetadataManager.classicGroupJoinToClassicGroup",
                "After every JoinGroup, also one that is refused for the group's size and so removes its member, it "
                "is asked whether all have joined. Kafka 4 asks after those that are accepted.",
                _is_complete_when_one_is_refused,
            ),
            Deviation(
                "a pending id leaves",
                "GroupCoordinator.removePendingMemberAndUpdateGroup, instead of "
                "GroupMetadataManager.classicGroupLeaveToClassicGroup",
                "A pending id that leaves in CompletingRebalance or Stable begins no rebalance. In Kafka 4 it does.",
                _is_leave_of_a_pending_id,
            ),
            Deviation(
                "several leave one by one",
                "GroupCoordinator.handleLeaveGroup, instead of GroupMetadataManager.classicGroupLeaveToClassicGroup",
                "The join phase begins, or is asked whether it may end, after each of them. In Kafka 4 once for all.",
                _is_leave_of_several,
            ),
            Deviation(
                "the initial delay is never cut short",
                "InitialDelayedJoin.tryComplete, instead of GroupMetadataManager.expireClassicGroupMemberHeartbeat",
                "When the session of a member or of a pending id is over in the initial delay, the delay goes on. In "
                "Kafka 4 it ends if all others have joined.",
                _ends_the_initial_delay,
            ),
            Deviation(
                "a static member that is replaced stays new",
                "GroupMetadata.replaceStaticMember, instead of ClassicGroup.replaceStaticMember",
                "Who takes the place of a static member in its first join phase is as new as that one, and its session "
                "ends though its JoinGroup waits. In Kafka 4 it is not new any more, and is kept.",
                _is_replaced_while_new,
            ),
            Deviation(
                "SyncGroup in Stable is a sign of life",
                "GroupCoordinator.doSyncGroup, instead of GroupMetadataManager.classicGroupSyncToClassicGroup",
                "The session of who asks for its assignment in Stable begins anew. In Kafka 4 it goes on.",
                _is_sync_in_stable,
            ),
            Deviation(
                "only the first generation's initial delay is prolonged",
                "GroupCoordinator.addMemberAndRebalance, instead of "
                "GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin",
                "Who comes in the initial delay prolongs it in generation 0. In Kafka 4 whenever the group was Empty.",
                _comes_in_a_later_initial_delay,
            ),
            Deviation(
                "a commit into no group",
                "GroupCoordinator.handleCommitOffsets, instead of GroupMetadataManager.group and "
                "OffsetMetadataManager.validateOffsetCommit",
                "ILLEGAL_GENERATION in every version of the request. In Kafka 4 GROUP_ID_NOT_FOUND from version 9 on.",
                _is_commit_into_no_group,
            ),
            Deviation(
                "who is refused unseen is named",
                "GroupCoordinator.handleJoinGroup, instead of GroupCoordinatorService.joinGroup",
                "JoinGroup is answered NOT_COORDINATOR and COORDINATOR_LOAD_IN_PROGRESS with its member id. In Kafka 4 "
                "without.",
                _is_join_refused_unseen,
            ),
            Deviation(
                "SyncGroup while the groups are read",
                "GroupCoordinator.handleSyncGroup, instead of GroupCoordinatorService.syncGroup",
                "REBALANCE_IN_PROGRESS, so that the member joins again. In Kafka 4 COORDINATOR_LOAD_IN_PROGRESS.",
                _is_sync_refused_unseen,
            ),
            Deviation(
                "the session timeout is looked at by the coordinator",
                "GroupCoordinator.handleJoinGroup, instead of GroupCoordinatorService.joinGroup",
                "A JoinGroup that another node should have got is NOT_COORDINATOR, whatever its session timeout. In "
                "Kafka 4 INVALID_SESSION_TIMEOUT comes first.",
                _is_join_astray_without_a_session,
            ),
            Deviation(
                "a group without a generation is in no log",
                "GroupCoordinator.onCompleteJoin and doSyncGroup, instead of "
                "GroupMetadataManager.classicGroupJoinToClassicGroup",
                "The first record of a group is that of its first generation, and a group that moves earlier is gone. "
                "Kafka 4 writes one when the group is made.",
                _is_move_before_a_generation,
            ),
            Deviation(
                "OffsetFetch 1 is refused without an error",
                "GroupCoordinatorAdapter.handleFetchOffset, instead of OffsetFetchResponse.groupError",
                "What keeps a node from answering is an error of the whole answer. Version 1 has no field for it, and "
                "an answer without partitions arrives. In Kafka 4 each partition has the error.",
                _is_old_fetch_refused,
            ),
        ),
    ),
}
"""By version."""

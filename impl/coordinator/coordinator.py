"""One broker's group coordinator: requests and times in, answers and records for the log out.

Groups lie in partitions of the log, and move with them: `load` begins to read one, `loaded` has read it, `unload` gives
it up. In between requests for its groups are answered COORDINATOR_LOAD_IN_PROGRESS, before and after NOT_COORDINATOR
(rule G13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from groupspec.impl.coordinator.context import (
    Caller,
    Choose,
    Context,
    GroupRequest,
    GroupResponse,
    Handle,
    Output,
    Write,
    first,
    new_uuid,
    nothing,
)
from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.heartbeats import heartbeat
from groupspec.impl.coordinator.joining import Joining, refused
from groupspec.impl.coordinator.leaving import answered, leave, leavers
from groupspec.impl.coordinator.log import GroupDeleted, GroupRecord, Log, OffsetsDeleted, Record, partition_of
from groupspec.impl.coordinator.offsets import GROUP_ID_NOT_FOUND_FROM, Offsets, fetch, refused_commit, refused_fetch
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.coordinator.syncing import PROTOCOL_NAMED_FROM, Syncing
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode

DEFAULTS = Settings()


@dataclass
class _Partition:
    """A partition of the log that this coordinator has."""

    is_loading: bool = True
    groups: dict[str, Group] = field(default_factory=dict)


class Coordinator:
    """It has no partition at first. Times are milliseconds of any clock that only goes forward.

    `new_id` makes a member id out of the client id or instance id and the handle of the request that wants it;
    `choose` decides where Kafka leaves it to chance; `note` is told of members whose session is over.
    """

    def __init__(
        self,
        settings: Settings = DEFAULTS,
        new_id: Callable[[str, Handle], str] = new_uuid,
        choose: Choose = first,
        note: Callable[[str], object] = nothing,
    ) -> None:
        self._context = Context(settings, new_id, choose, note)
        rebalancing = Rebalancing(self._context)
        self._rebalancing = rebalancing
        self._joining = Joining(self._context, rebalancing)
        self._syncing = Syncing(self._context, rebalancing)
        self._offsets = Offsets(self._context, rebalancing)
        self._partitions: dict[int, _Partition] = {}

    # Requests and times ----------------------------------------------------------------------------------------------

    def handle(self, handle: Handle, request: GroupRequest, caller: Caller, now_ms: int) -> list[Output]:
        """A request. JoinGroup and SyncGroup may be answered much later, by any of these methods, or never.

        A request that is overtaken by another one of the same member, or whose SyncGroup waits when its member is
        removed, is never answered, as in Kafka.
        """
        self._run_timers(now_ms)
        partition = self._partitions.get(self._partition_of(request.group_id))
        error = self._settings_error(request, caller) or self._partition_error(partition)
        if error is not ErrorCode.NONE or partition is None:
            self._context.answer(handle, refuse(request, error, caller))
        else:
            self._route(partition, request, caller, handle)
        return self._context.take_outputs()

    def advance(self, now_ms: int) -> list[Output]:
        """Time has passed: run the timers that are due."""
        self._run_timers(now_ms)
        return self._context.take_outputs()

    def next_deadline_ms(self) -> int | None:
        """When `advance` has something to do next; None: never, by itself."""
        return self._context.timers.next_deadline_ms()

    def written(self, number: int, now_ms: int, error: ErrorCode = ErrorCode.NONE) -> list[Output]:
        """The log has the record of this `Write`, or refused it: then what waits for it gets a matching error."""
        self._run_timers(now_ms)
        self._context.written(number, error)
        return self._context.take_outputs()

    # What a script may do --------------------------------------------------------------------------------------------

    def keep_alive(self, group_id: str, member_id: str, now_ms: int) -> None:
        """A member's session begins anew, without a request of it."""
        group = self.group(group_id)
        if group is not None and member_id in group.members:
            self._context.now_ms = now_ms
            self._rebalancing.keep_alive(group, group.members[member_id])

    def begin_rebalance(self, group_id: str, now_ms: int) -> list[Output]:
        """The join phase begins, as if another member had come and gone; not in Empty, or while it lasts."""
        self._run_timers(now_ms)
        group = self.group(group_id)
        if group is not None and group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            self._rebalancing.prepare(group)
        return self._context.take_outputs()

    def begin_generation(self, group_id: str, now_ms: int) -> list[Output]:
        """One more generation, as if a round had passed whose answers were lost: members and assignments stay."""
        self._run_timers(now_ms)
        group = self.group(group_id)
        if group is not None:
            group.generation += 1
            if group.state is GroupState.STABLE:
                assignments = {member.member_id: member.assignment for member in group.members.values()}
                self._context.write(group.record(assignments), nothing)
        return self._context.take_outputs()

    # Partitions ------------------------------------------------------------------------------------------------------

    def has(self, partition: int) -> bool:
        """Whether this coordinator has the partition, or reads it."""
        return partition in self._partitions

    def load(self, partition: int) -> None:
        """Begin to read a partition, which is this coordinator's from now on."""
        self._partitions[partition] = _Partition()

    def loaded(self, partition: int, records: Iterable[Record], now_ms: int) -> list[Output]:
        """All of a partition has been read. Every member's session begins anew; a group too large rebalances."""
        self._run_timers(now_ms)
        loaded = self._partitions[partition]
        for record in records:
            self._replay(loaded, record)
        loaded.is_loading = False
        for group in loaded.groups.values():
            for member in group.members.values():
                self._rebalancing.keep_alive(group, member)
            if len(group.members) > self._context.settings.max_size:
                self._rebalancing.prepare(group)
        return self._context.take_outputs()

    def _replay(self, partition: _Partition, record: Record) -> None:
        old = partition.groups.get(record.group_id)
        if isinstance(record, GroupDeleted):
            partition.groups.pop(record.group_id, None)
        elif isinstance(record, GroupRecord):
            group = Group.restored(record, self._context.choose)
            group.offsets = old.offsets if old is not None else {}
            partition.groups[record.group_id] = group
        else:
            group = old or Group(record.group_id, self._context.choose)
            if isinstance(record, OffsetsDeleted):
                group.forget(record.partitions)
            else:
                group.offsets.update(record.offsets)
            partition.groups[record.group_id] = group

    def unload(self, partition: int, now_ms: int) -> list[Output]:
        """Another coordinator has the partition from now on: whatever waits is answered NOT_COORDINATOR."""
        self._run_timers(now_ms)
        groups = self._partitions.pop(partition).groups
        for number, (record, _) in list(self._context.waiting_writes.items()):
            if record.group_id in groups:
                self._context.written(number, ErrorCode.NOT_COORDINATOR)
        for group in groups.values():
            for member in group.members.values():
                self._rebalancing.answer_join(member, refused(ErrorCode.NOT_COORDINATOR, member.member_id))
            self._rebalancing.fail_syncs(group, ErrorCode.NOT_COORDINATOR)
            group.state = GroupState.DEAD
        self._context.timers.stop_if(lambda key: key[1] in groups)
        return self._context.take_outputs()

    def group(self, group_id: str) -> Group | None:
        """A group of this coordinator's, to look at."""
        partition = self._partitions.get(self._partition_of(group_id))
        return None if partition is None else partition.groups.get(group_id)

    def phase_deadline_ms(self, group_id: str) -> int | None:
        """When the timer of a group's join phase or sync phase is due; None: neither runs."""
        timers = self._context.timers
        deadlines = (timers.deadline_ms(("join", group_id)), timers.deadline_ms(("sync", group_id)))
        return next((deadline_ms for deadline_ms in deadlines if deadline_ms is not None), None)

    def delete(self, group_id: str) -> list[Output]:
        """DeleteGroups, of an Empty group. Raises ValueError for one with members."""
        group = self.group(group_id)
        if group is not None and group.state is not GroupState.EMPTY:
            raise ValueError(f"group {group_id!r} is {group.state} and cannot be deleted; only an Empty one can")
        if group is not None:
            del self._partitions[self._partition_of(group_id)].groups[group_id]
            self._context.timers.stop_if(lambda key: key[1] == group_id)
            self._context.write(GroupDeleted(group_id), nothing)
        return self._context.take_outputs()

    def delete_topic(self, topic: str, now_ms: int) -> list[Output]:
        """A topic is deleted: what is committed of it goes, too (OffsetMetadataManager.onPartitionsDeleted)."""
        self._run_timers(now_ms)
        for group in (group for partition in self._partitions.values() for group in partition.groups.values()):
            gone = tuple(partition for partition in group.offsets if partition.topic == topic)
            if gone:
                group.forget(gone)
                self._context.write(OffsetsDeleted(group.group_id, gone), nothing)
        return self._context.take_outputs()

    def _partition_of(self, group_id: str) -> int:
        return partition_of(group_id, self._context.settings.offsets_partitions)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _run_timers(self, now_ms: int) -> None:
        while (due := self._context.timers.take_due(now_ms)) is not None:
            self._context.now_ms, action = due
            action()
        self._context.now_ms = now_ms

    def _settings_error(self, request: GroupRequest, caller: Caller) -> ErrorCode:
        """What is refused before anybody looks for the group."""
        if (
            isinstance(request, messages.SyncGroupRequest)
            and caller.version >= PROTOCOL_NAMED_FROM
            and (request.protocol_type is None or request.protocol_name is None)
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        of_offsets = isinstance(request, messages.OffsetCommitRequest | messages.OffsetFetchRequest)
        if not request.group_id and not of_offsets:
            return ErrorCode.INVALID_GROUP_ID
        if isinstance(request, messages.JoinGroupRequest):
            return self._joining.settings_error(request)
        return ErrorCode.NONE

    @staticmethod
    def _partition_error(partition: _Partition | None) -> ErrorCode:
        if partition is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if partition.is_loading else ErrorCode.NONE

    def _route(self, partition: _Partition, request: GroupRequest, caller: Caller, handle: Handle) -> None:
        group = partition.groups.get(request.group_id)
        if isinstance(request, messages.OffsetFetchRequest):
            self._context.answer(handle, fetch(group, request))
            return
        if group is None:
            error = _error_without_group(request, caller)
            if error is not ErrorCode.NONE:
                self._context.answer(handle, refuse(request, error, caller))
                return
            group = partition.groups[request.group_id] = Group(request.group_id, self._context.choose)
            if isinstance(request, messages.JoinGroupRequest):
                self._context.write(group.record({}), nothing)
        if isinstance(request, messages.JoinGroupRequest):
            self._joining.join(group, request, caller, handle)
        elif isinstance(request, messages.SyncGroupRequest):
            self._syncing.sync(group, request, caller, handle)
        elif isinstance(request, messages.HeartbeatRequest):
            self._context.answer(handle, messages.HeartbeatResponse(heartbeat(group, request, self._rebalancing)))
        elif isinstance(request, messages.LeaveGroupRequest):
            self._context.answer(handle, leave(group, request, self._rebalancing))
        else:
            self._offsets.commit(group, request, handle)


def _error_without_group(request: GroupRequest, caller: Caller) -> ErrorCode:
    """What is said of a group that does not exist; NONE: this request makes it."""
    if isinstance(request, messages.OffsetCommitRequest):
        if request.generation < 0:
            return ErrorCode.NONE
        new = caller.version >= GROUP_ID_NOT_FOUND_FROM
        return ErrorCode.GROUP_ID_NOT_FOUND if new else ErrorCode.ILLEGAL_GENERATION
    if isinstance(request, messages.JoinGroupRequest) and not request.member_id:
        return ErrorCode.NONE
    return ErrorCode.UNKNOWN_MEMBER_ID


def refuse(request: GroupRequest, error: ErrorCode, caller: Caller) -> GroupResponse:
    """A request's answer with an error, given without a look at a member."""
    loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    match request:
        case messages.JoinGroupRequest():
            known = error not in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return refused(error, request.member_id if known else "")
        case messages.SyncGroupRequest():
            return messages.SyncGroupResponse(error)
        case messages.HeartbeatRequest():  # nobody leaves only because the group is still being read
            return messages.HeartbeatResponse(ErrorCode.NONE if loading else error)
        case messages.LeaveGroupRequest():
            if error is ErrorCode.UNKNOWN_MEMBER_ID:
                return answered(request, [error] * len(leavers(request)))
            return messages.LeaveGroupResponse(error)
        case messages.OffsetCommitRequest():
            return refused_commit(request, error)
        case _:
            return refused_fetch(request, error, caller)


def settle(coordinator: Coordinator, outputs: Iterable[Output], log: Log, now_ms: int) -> list[Output]:
    """Write what is to be written to a log that never refuses; what is left are answers."""
    answers: list[Output] = []
    waiting = list(outputs)
    while waiting:
        output = waiting.pop(0)
        if isinstance(output, Write):
            log.append(output.record)
            waiting = [*coordinator.written(output.number, now_ms), *waiting]
        else:
            answers.append(output)
    return answers

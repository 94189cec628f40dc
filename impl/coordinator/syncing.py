"""SyncGroup: a member asks for its assignment; the leader brings everybody's."""

from __future__ import annotations

from functools import partial
from typing import Final

from groupspec.impl.coordinator.context import Caller, Context, Handle
from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.core.messages import ErrorCode, SyncGroupRequest, SyncGroupResponse

PROTOCOL_NAMED_FROM: Final = 5
"""SyncGroup names protocol type and protocol from this version on (KIP-559), and must."""


class Syncing:
    """SyncGroup, of all groups of one coordinator."""

    def __init__(self, context: Context, rebalancing: Rebalancing) -> None:
        self._context = context
        self._rebalancing = rebalancing

    def sync(self, group: Group, request: SyncGroupRequest, caller: Caller, handle: Handle) -> None:
        """Answered at once in Stable, with the assignment; in CompletingRebalance when the leader's is stored (G9)."""
        error = self._error(group, request, caller)
        if error is not ErrorCode.NONE:
            self._context.answer(handle, SyncGroupResponse(error))
            return
        member = group.members[request.member_id]
        if group.state is GroupState.STABLE:
            self._rebalancing.received_sync(group, member)
            self._context.answer(handle, self._rebalancing.synced(group, member))
            return
        member.sync = handle
        self._rebalancing.received_sync(group, member)
        if group.leader == member.member_id:
            assignments = dict(request.assignments)
            then = partial(self._stored, group, group.generation, assignments)
            self._context.write(group.record(assignments), then)

    @staticmethod
    def _error(group: Group, request: SyncGroupRequest, caller: Caller) -> ErrorCode:
        if group.state is GroupState.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.identity_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        named = caller.version >= PROTOCOL_NAMED_FROM
        if named and (request.protocol_type != group.protocol_type or _differs(request, group)):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        preparing = group.state is GroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE

    def _stored(self, group: Group, generation: int, assignments: dict[str, bytes], error: ErrorCode) -> None:
        """The log has the assignment, or refused it; of interest only while its generation still waits for it."""
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != generation:
            return
        if error is ErrorCode.NONE:
            self._rebalancing.assign(group, assignments)
        else:
            self._rebalancing.fail_syncs(group, error)
            self._rebalancing.prepare(group)


def _differs(request: SyncGroupRequest, group: Group) -> bool:
    """Before the first join phase has ended no protocol is chosen, and none differs."""
    return group.protocol_name is not None and request.protocol_name != group.protocol_name

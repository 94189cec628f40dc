"""Heartbeat: a sign of life, answered with what the member should know."""

from __future__ import annotations

from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.core.messages import ErrorCode, HeartbeatRequest


def heartbeat(group: Group, request: HeartbeatRequest, rebalancing: Rebalancing) -> ErrorCode:
    """REBALANCE_IN_PROGRESS in the join phase; NONE in the sync phase and in Stable (rule G7)."""
    error = group.identity_error(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    rebalancing.keep_alive(group, group.members[request.member_id])
    preparing = group.state is GroupState.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE

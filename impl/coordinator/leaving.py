"""LeaveGroup: one member or several, by member id or, as an administrator does it, by instance id."""

from __future__ import annotations

from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.core.messages import ErrorCode, LeaveGroupRequest, LeaveGroupResponse, LeavingMember, LeftMember


def leavers(request: LeaveGroupRequest) -> tuple[LeavingMember, ...]:
    """Everybody who leaves with this request."""
    return (LeavingMember(request.member_id, request.group_instance_id, request.reason), *request.others)


def answered(request: LeaveGroupRequest, errors: list[ErrorCode]) -> LeaveGroupResponse:
    """The answer: of one member its error, of several each one's."""
    if not request.others:
        return LeaveGroupResponse(errors[0])
    left = (
        LeftMember(each.member_id, each.group_instance_id, error)
        for each, error in zip(leavers(request), errors, strict=True)
    )
    return LeaveGroupResponse(ErrorCode.NONE, tuple(left))


def leave(group: Group, request: LeaveGroupRequest, rebalancing: Rebalancing) -> LeaveGroupResponse:
    """They go one by one; then the join phase begins, or may end, once for all of them (rule G1).

    Kafka 3.9 begins or ends it after each of them, and not at all for a pending id in the sync phase or in Stable.
    """
    errors = [_leave(group, each, rebalancing) for each in leavers(request)]
    if ErrorCode.NONE in errors and group.state is not GroupState.EMPTY:
        rebalancing.rebalance_or_complete(group)
    return answered(request, errors)


def _leave(group: Group, leaver: LeavingMember, rebalancing: Rebalancing) -> ErrorCode:
    if leaver.member_id in group.pending_joins:
        rebalancing.forget(group, leaver.member_id)
        return ErrorCode.NONE
    member_id = leaver.member_id
    if not member_id:
        member_id = group.static_ids.get(leaver.group_instance_id or "", "")
    error = group.identity_error(member_id, leaver.group_instance_id)
    if error is ErrorCode.NONE:
        rebalancing.remove(group, member_id)
    return error

"""What the table's words answer, for each kind of request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupspec.impl.coordinator.context import GroupRequest, GroupResponse
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode


def fetched(
    request: messages.OffsetFetchRequest,
    offsets: Mapping[messages.TopicPartition, messages.OffsetAndMetadata],
    error: ErrorCode,
    version: int,
) -> messages.OffsetFetchResponse:
    """The table has no OffsetFetch: it is answered out of the offsets, or with this error."""
    if error is not ErrorCode.NONE:
        of_each = dict.fromkeys(request.partitions, messages.FetchedOffset(-1, error=error))
        return messages.OffsetFetchResponse(of_each) if version < 2 else messages.OffsetFetchResponse({}, error)
    found = {place: offsets.get(place) for place in request.partitions}
    return messages.OffsetFetchResponse(
        {
            place: messages.FetchedOffset(-1)
            if each is None
            else messages.FetchedOffset(each.offset, each.metadata, each.leader_epoch)
            for place, each in found.items()
        }
    )


def left(leavers: Sequence[messages.LeavingMember], errors: Sequence[ErrorCode]) -> messages.LeaveGroupResponse:
    """LeaveGroup of one, or one that nobody looked at, has one error; of several each has its own."""
    if len(errors) < len(leavers) or len(leavers) == 1:
        return messages.LeaveGroupResponse(errors[0])
    each_left = (
        messages.LeftMember(each.member_id, each.group_instance_id, error)
        for each, error in zip(leavers, errors, strict=True)
    )
    return messages.LeaveGroupResponse(ErrorCode.NONE, tuple(each_left))


def plain(request: GroupRequest, error: ErrorCode, subject: str) -> GroupResponse:
    """An answer with an error only, or with NONE."""
    match request:
        case messages.JoinGroupRequest():
            unnamed = (ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            named = subject if error is ErrorCode.MEMBER_ID_REQUIRED else "" if error in unnamed else request.member_id
            return messages.JoinGroupResponse(error, member_id=named)
        case messages.SyncGroupRequest():
            return messages.SyncGroupResponse(error)
        case messages.HeartbeatRequest():
            return messages.HeartbeatResponse(error)
        case messages.OffsetCommitRequest():
            return messages.OffsetCommitResponse(dict.fromkeys(request.offsets, error))
        case _:
            raise AssertionError(f"{request} is answered by other words")

"""OffsetCommit and OffsetFetch: the positions that a group remembers, and who may set them."""

from __future__ import annotations

from functools import partial
from typing import Final

from groupspec.impl.coordinator.context import Caller, Context, Handle
from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.log import OffsetsRecord
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartition,
)

GROUP_ID_NOT_FOUND_FROM: Final = 9
"""OffsetCommit says that there is no such group from this version on; before, ILLEGAL_GENERATION."""

ONE_ERROR_FROM: Final = 2
"""OffsetFetch has an error of the whole answer from this version on, and no partitions beside it."""


class Offsets:
    """OffsetCommit and OffsetFetch, of all groups of one coordinator."""

    def __init__(self, context: Context, rebalancing: Rebalancing) -> None:
        self._context = context
        self._rebalancing = rebalancing

    def commit(self, group: Group, request: OffsetCommitRequest, handle: Handle) -> None:
        """Remember positions; answered when the log has them. An accepted commit is a sign of life (rule G5)."""
        error = self._error(group, request)
        if error is not ErrorCode.NONE:
            self._context.answer(handle, refused_commit(request, error))
            return
        if group.state in (GroupState.PREPARING_REBALANCE, GroupState.STABLE):
            self._rebalancing.keep_alive(group, group.members[request.member_id])
        limit = self._context.settings.offset_metadata_max_bytes
        accepted = {
            partition: position
            for partition, position in request.offsets.items()
            if len(position.metadata.encode()) <= limit
        }
        if accepted:
            then = partial(self._stored, group, request, accepted, handle)
            self._context.write(OffsetsRecord(group.group_id, accepted), then)
        else:
            self._stored(group, request, accepted, handle, ErrorCode.NONE)

    @staticmethod
    def _error(group: Group, request: OffsetCommitRequest) -> ErrorCode:
        """In the join phase and in Stable a member may commit, in Empty whoever names no generation (rule G7)."""
        if request.generation < 0 and group.state is GroupState.EMPTY:
            return ErrorCode.NONE
        if request.generation < 0 and not request.member_id and request.group_instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.identity_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        completing = group.state is GroupState.COMPLETING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if completing else ErrorCode.NONE

    def _stored(
        self,
        group: Group,
        request: OffsetCommitRequest,
        accepted: dict[TopicPartition, OffsetAndMetadata],
        handle: Handle,
        error: ErrorCode,
    ) -> None:
        if error is ErrorCode.NONE:
            group.offsets.update(accepted)
        too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
        errors = {partition: error if partition in accepted else too_large for partition in request.offsets}
        self._context.answer(handle, OffsetCommitResponse(errors))


def refused_commit(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """OffsetCommit's answer with one error for all partitions."""
    return OffsetCommitResponse(dict.fromkeys(request.offsets, error), error)


def refused_fetch(request: OffsetFetchRequest, error: ErrorCode, caller: Caller) -> OffsetFetchResponse:
    """OffsetFetch's answer with an error: of all partitions, or once in versions that have a field for it."""
    if caller.version >= ONE_ERROR_FROM:
        return OffsetFetchResponse({}, error)
    return OffsetFetchResponse(dict.fromkeys(request.partitions, FetchedOffset(-1, error=error)))


def fetch(group: Group | None, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """The remembered positions of these partitions, or of all; -1 where there is none, or no such group."""
    known = group.offsets if group is not None else {}
    wanted = request.partitions or tuple(sorted(known))
    return OffsetFetchResponse({partition: _position(known.get(partition)) for partition in wanted})


def _position(position: OffsetAndMetadata | None) -> FetchedOffset:
    if position is None:
        return FetchedOffset(-1)
    return FetchedOffset(position.offset, position.metadata, position.leader_epoch)

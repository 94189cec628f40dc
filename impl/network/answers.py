"""Answers that consist of one error: what a broker says when it refuses, and what stands in for what can't be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupspec.impl.core.messages import (
    ApiVersionsRequest,
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicMetadata,
)
from groupspec.impl.network.cluster_messages import ApiVersionsResponse
from groupspec.impl.network.codec import Answer


def error_code(code: ErrorCode | str | int) -> ErrorCode:
    """An error code by its name, or its number.

    A number that Kafka does not have stays what it is, for hostile answers.

    Raises ValueError for an unknown name.
    """
    if isinstance(code, str):
        if code not in ErrorCode.__members__:
            raise ValueError(f"no error code is called {code!r}; known are {', '.join(ErrorCode.__members__)}")
        return ErrorCode[code]
    try:
        return ErrorCode(code)
    except ValueError:
        foreign = int.__new__(ErrorCode, code)
        foreign._name_ = f"CODE_{code}"
        foreign._value_ = code
        return foreign


def answer_with_error(request: Request, error: ErrorCode) -> Answer:
    """The answer to this request that says nothing but the error, wherever its API has room for one."""
    return _ANSWERS[type(request)](request, error)


def error_of(answer: Answer) -> ErrorCode:
    """The error that an answer is about: its own, or else the first of its parts'."""
    parts: list[ErrorCode] = []
    if isinstance(answer, OffsetCommitResponse):
        parts = list(answer.errors.values())
    elif isinstance(answer, OffsetFetchResponse | ListOffsetsResponse):
        parts = [offset.error for offset in answer.offsets.values()]
    elif isinstance(answer, FetchResponse):
        parts = [fetched.error for fetched in answer.partitions.values()]
    elif isinstance(answer, MetadataResponse):
        parts = [topic.error for topic in answer.topics]
    return next((error for error in (answer.error, *parts) if error is not ErrorCode.NONE), ErrorCode.NONE)


def _join(request: Request, error: ErrorCode) -> Answer:
    assert isinstance(request, JoinGroupRequest)
    return JoinGroupResponse(error, member_id=request.member_id, protocol_type=None)


def _metadata(request: Request, error: ErrorCode) -> Answer:
    assert isinstance(request, MetadataRequest)
    return MetadataResponse((), tuple(TopicMetadata(topic, (), error) for topic in request.topics or ()), error=error)


def _commit(request: Request, error: ErrorCode) -> Answer:
    assert isinstance(request, OffsetCommitRequest)
    return OffsetCommitResponse(dict.fromkeys(request.offsets, error), error)


def _offset_fetch(request: Request, error: ErrorCode) -> Answer:
    assert isinstance(request, OffsetFetchRequest)
    return OffsetFetchResponse({p: FetchedOffset(-1, error=error) for p in request.partitions}, error)


def _list_offsets(request: Request, error: ErrorCode) -> Answer:
    assert isinstance(request, ListOffsetsRequest)
    return ListOffsetsResponse({p: ListedOffset(-1, error) for p in request.timestamps}, error)


def _fetch(request: Request, error: ErrorCode) -> Answer:
    assert isinstance(request, FetchRequest)
    return FetchResponse({p: FetchedPartition(b"", -1, error) for p in request.offsets})


_ANSWERS: Final[dict[type[object], Callable[[Request, ErrorCode], Answer]]] = {
    ApiVersionsRequest: lambda request, error: ApiVersionsResponse({}, error),
    MetadataRequest: _metadata,
    FindCoordinatorRequest: lambda request, error: FindCoordinatorResponse(error),
    JoinGroupRequest: _join,
    SyncGroupRequest: lambda request, error: SyncGroupResponse(error),
    HeartbeatRequest: lambda request, error: HeartbeatResponse(error),
    LeaveGroupRequest: lambda request, error: LeaveGroupResponse(error),
    OffsetCommitRequest: _commit,
    OffsetFetchRequest: _offset_fetch,
    ListOffsetsRequest: _list_offsets,
    FetchRequest: _fetch,
}

"""Answers that consist of one error: what a broker says when it refuses, and what stands in for what can't be read."""

from __future__ import annotations

from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, Request
from groupspec.impl.network.codec import Answer
from groupspec.impl.network.versions import ApiVersionsResponse


def error_code(code: ErrorCode | str | int) -> ErrorCode:
    """An error code by name (or ValueError), or by number, be it one that Kafka has or not."""
    if isinstance(code, str):
        if code not in ErrorCode.__members__:
            raise ValueError(f"no error code is called {code!r}; known are {', '.join(ErrorCode.__members__)}")
        return ErrorCode[code]
    return ErrorCode(code)


def answer_with_error(request: Request, error: ErrorCode) -> Answer:
    """The answer to this request that says nothing but the error, wherever its API has room for one."""
    match request:
        case messages.ApiVersionsRequest():
            return ApiVersionsResponse({}, error)
        case messages.MetadataRequest():
            topics = tuple(messages.TopicMetadata(topic, (), error) for topic in request.topics or ())
            return messages.MetadataResponse((), topics, error=error)
        case messages.FindCoordinatorRequest():
            return messages.FindCoordinatorResponse(error)
        case messages.JoinGroupRequest():
            return messages.JoinGroupResponse(error, member_id=request.member_id, protocol_type=None)
        case messages.SyncGroupRequest():
            return messages.SyncGroupResponse(error)
        case messages.HeartbeatRequest():
            return messages.HeartbeatResponse(error)
        case messages.LeaveGroupRequest():
            return messages.LeaveGroupResponse(error)
        case messages.OffsetCommitRequest():
            return messages.OffsetCommitResponse(dict.fromkeys(request.offsets, error), error)
        case messages.OffsetFetchRequest():
            return messages.OffsetFetchResponse(
                dict.fromkeys(request.partitions, messages.FetchedOffset(-1, error=error)), error
            )
        case messages.ListOffsetsRequest():
            return messages.ListOffsetsResponse(
                dict.fromkeys(request.timestamps, messages.ListedOffset(-1, error)), error
            )
        case messages.OffsetForLeaderEpochRequest():
            return messages.OffsetForLeaderEpochResponse(
                dict.fromkeys(request.epochs, messages.EpochEnd(-1, -1, error)), error
            )
        case messages.FetchRequest():
            return messages.FetchResponse(dict.fromkeys(request.offsets, messages.FetchedPartition(b"", -1, error)))


def error_of(answer: Answer) -> ErrorCode:
    """The error that an answer is about: its own, or else the first of its parts'."""
    parts: list[ErrorCode] = []
    if isinstance(answer, messages.OffsetCommitResponse):
        parts = list(answer.errors.values())
    elif isinstance(answer, messages.OffsetFetchResponse | messages.ListOffsetsResponse):
        parts = [offset.error for offset in answer.offsets.values()]
    elif isinstance(answer, messages.OffsetForLeaderEpochResponse):
        parts = [end.error for end in answer.ends.values()]
    elif isinstance(answer, messages.FetchResponse):
        parts = [fetched.error for fetched in answer.partitions.values()]
    elif isinstance(answer, messages.MetadataResponse):
        parts = [topic.error for topic in answer.topics]
    return next((error for error in (answer.error, *parts) if error is not ErrorCode.NONE), ErrorCode.NONE)

"""Answers, as a coordinator would give them: for each event of the specification, the response that means it."""

from __future__ import annotations

from itertools import count, islice

from groupspec.impl.core.messages import (
    Broker,
    ErrorCode,
    FetchedOffset,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    NoAnswer,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    PartitionMetadata,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment

TOPIC = "orders"
TOPICS = (TOPIC, "bills", "trips", "users")
"""What a member subscribes to: several, so that it can go on without some of them."""
PARTITIONS = tuple(TopicPartition(TOPIC, number) for number in range(64))
ELSEWHERE = TopicPartition("elsewhere", 0)
"""Of a topic that nobody subscribes to."""
GAINED_AT_ONCE = 4
OTHER = {
    "FindCoordinator": ErrorCode.UNKNOWN_SERVER_ERROR,
    "JoinGroup": ErrorCode.UNKNOWN_SERVER_ERROR,
    "SyncGroup": ErrorCode.UNKNOWN_SERVER_ERROR,
    "Heartbeat": ErrorCode.INVALID_REQUEST,
    "OffsetCommit": ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""An error that the request's table does not name, for each request."""


def error_named(api: str, name: str) -> ErrorCode:
    """The error code of a name in the table of answers; "other" stands for one that has no name there."""
    return OTHER[api] if name == "other" else ErrorCode[name]


class Coordinator:
    """Gives every request the answer that a test wants, with contents that a coordinator could have sent."""

    def __init__(self) -> None:
        self.generation = 0
        self.members = 0

    def answer(self, request: Request, error: ErrorCode, assigned: tuple[TopicPartition, ...] = ()) -> Response:
        """The response to `request` that says `error`; `assigned` is what a successful SyncGroup brings."""
        if error in (ErrorCode.DISCONNECTED, ErrorCode.TIMED_OUT):
            return NoAnswer(error)
        match request:
            case FindCoordinatorRequest():
                return (
                    FindCoordinatorResponse(error, 1, "127.0.0.1", 9092)
                    if not error
                    else FindCoordinatorResponse(error)
                )
            case JoinGroupRequest():
                return self._joined(request, error)
            case SyncGroupRequest():
                return SyncGroupResponse(error, b"" if error else encode_assignment(Assignment(assigned)))
            case HeartbeatRequest():
                return HeartbeatResponse(error)
            case LeaveGroupRequest():
                return LeaveGroupResponse(error)
            case OffsetCommitRequest():
                return OffsetCommitResponse(dict.fromkeys(request.offsets, error))
            case OffsetFetchRequest():
                return OffsetFetchResponse(
                    {p: FetchedOffset(5) for p in request.partitions} if not error else {}, error
                )
            case ListOffsetsRequest():
                return ListOffsetsResponse({partition: ListedOffset(0, error) for partition in request.timestamps})
            case MetadataRequest():
                return self._metadata(request)
            case _:
                raise ValueError(f"no answer for {type(request).__name__}")

    def _joined(self, request: JoinGroupRequest, error: ErrorCode) -> JoinGroupResponse:
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            return JoinGroupResponse(error, member_id=self._new_id())
        if error:
            return JoinGroupResponse(error, member_id=request.member_id)
        self.generation += 1
        member_id = request.member_id or self._new_id()
        name, metadata = request.protocols[0]
        leader = JoinedMember(member_id, request.group_instance_id, metadata)
        return JoinGroupResponse(error, self.generation, name, member_id, member_id, (leader,))

    def _new_id(self) -> str:
        self.members += 1
        return f"member-{self.members}"

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        topics = tuple(
            TopicMetadata(topic, tuple(PartitionMetadata(p.partition, 1) for p in PARTITIONS))
            for topic in request.topics or ()
        )
        return MetadataResponse((Broker(1, "127.0.0.1", 9092),), topics)


def assignment_for(
    owned: tuple[TopicPartition, ...], topics: tuple[str, ...], takes: bool, retains: bool, gains: bool
) -> tuple[TopicPartition, ...] | None:
    """An assignment of subscribed topics that takes, retains and gains as told; None if there is none.

    One partition can't be halved, and what is of a topic no longer subscribed to can't be kept.
    """
    every = (TopicPartition(topic, p.partition) for p in PARTITIONS for topic in topics)
    gained = tuple(islice((p for p in every if p not in owned), GAINED_AT_ONCE)) if gains else ()
    wanted = tuple(partition for partition in owned if partition.topic in topics)
    if not owned:
        return gained
    if not takes:
        return (*owned, *gained) if wanted == owned else None
    if not retains:
        return gained
    kept = wanted[1:] if wanted == owned else wanted
    return (*kept, *gained) if kept else None


def topics_for(
    owned: tuple[TopicPartition, ...], before: tuple[str, ...], takes: bool, retains: bool
) -> tuple[str, ...] | None:
    """Other topics than before, that take and retain of what is owned as told; None if there are none.

    Nothing is taken: no topic goes, for one whose first partition is only being assigned would be taken later.
    """
    have = {partition.topic for partition in owned}
    spare = next(name for number in count() if (name := f"spare-{number}") not in {*before, *have})
    if not takes or not have:
        return tuple(sorted({*TOPICS, *before, *have, spare}))
    if retains and len(have) == 1:
        return None
    return tuple(sorted({*TOPICS, spare} - ({min(have)} if retains else have)))

"""Random messages of every API, and what each version leaves of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from groupspec.impl.core.messages import (
    ApiVersionsRequest,
    Broker,
    EpochEnd,
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
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
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    PartitionMetadata,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.network.codec import Answer
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import API_VERSIONS, ApiVersionsResponse, VersionRange

TOPICS: Final = ("orders", "payments", "ä-topic")
IDS: Final = TopicIds(TOPICS)

text = st.text(max_size=10)
instance = st.none() | st.text(min_size=1, max_size=10)
int16 = st.integers(0, 2**15 - 1)
int32 = st.integers(0, 2**31 - 1)
int64 = st.integers(0, 2**62)
generation = st.integers(-1, 2**31 - 1)
blob = st.binary(max_size=20)
topic = st.sampled_from(TOPICS)
partition = st.builds(TopicPartition, topic, st.integers(0, 9))
error = st.sampled_from([code for code in ErrorCode if code >= -1])


def per_partition(values: st.SearchStrategy[object]) -> st.SearchStrategy[Mapping[TopicPartition, object]]:
    return st.dictionaries(partition, values, max_size=5)


transactions = st.lists(st.tuples(int64, int64), max_size=3).map(tuple)
leaders = per_partition(int32)


def of_those(epochs: Mapping[TopicPartition, int], asked: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
    """What stands beside a partition that is not asked about is lost."""
    return {partition: epoch for partition, epoch in epochs.items() if partition in asked}


REQUESTS: Final[Mapping[str, st.SearchStrategy[Request]]] = {
    "ApiVersions": st.builds(ApiVersionsRequest),
    "Metadata": st.builds(
        MetadataRequest, st.none() | st.lists(topic, min_size=1, unique=True).map(tuple), st.booleans()
    ),
    "FindCoordinator": st.builds(FindCoordinatorRequest, text),
    "JoinGroup": st.builds(
        JoinGroupRequest,
        group_id=text,
        session_timeout_ms=int32,
        rebalance_timeout_ms=int32,
        member_id=text,
        group_instance_id=instance,
        protocols=st.lists(st.tuples(text, blob), max_size=3).map(tuple),
        reason=text,
        protocol_type=text,
    ),
    "SyncGroup": st.builds(
        SyncGroupRequest,
        group_id=text,
        generation=generation,
        member_id=text,
        group_instance_id=instance,
        protocol_name=st.none() | text,
        assignments=st.lists(st.tuples(text, blob), max_size=3).map(tuple),
        protocol_type=st.none() | text,
    ),
    "Heartbeat": st.builds(HeartbeatRequest, text, generation, text, instance),
    "LeaveGroup": st.builds(LeaveGroupRequest, text, text, instance, text),
    "OffsetCommit": st.builds(
        OffsetCommitRequest,
        text,
        generation,
        text,
        instance,
        per_partition(st.builds(OffsetAndMetadata, int64, text, generation)),
    ),
    "OffsetFetch": st.builds(
        OffsetFetchRequest, text, st.lists(partition, unique=True, max_size=5).map(lambda p: tuple(sorted(p)))
    ),
    "ListOffsets": st.builds(ListOffsetsRequest, per_partition(st.integers(-2, 2**62)), st.booleans(), leaders).map(
        lambda request: replace(request, leader_epochs=of_those(request.leader_epochs, request.timestamps))
    ),
    "OffsetForLeaderEpoch": st.builds(OffsetForLeaderEpochRequest, leaders, leaders).map(
        lambda request: replace(request, leader_epochs=of_those(request.leader_epochs, request.epochs))
    ),
    # The limit of a partition stands beside the partition: without one it is lost.
    "Fetch": st.builds(FetchRequest, per_partition(int64), int32, int32, int32, int32, st.booleans(), leaders).map(
        lambda request: replace(
            request,
            max_partition_bytes=request.max_partition_bytes if request.offsets else 0,
            leader_epochs=of_those(request.leader_epochs, request.offsets),
        )
    ),
}
ANSWERS: Final[Mapping[str, st.SearchStrategy[Answer]]] = {
    "ApiVersions": st.builds(
        ApiVersionsResponse,
        st.dictionaries(st.sampled_from(sorted(API_VERSIONS)), st.builds(VersionRange, int16, int16), max_size=5),
        st.just(ErrorCode.NONE),
    ),
    "Metadata": st.builds(
        MetadataResponse,
        st.lists(st.builds(Broker, int32, text, int32), max_size=3).map(tuple),
        st.lists(
            st.builds(
                TopicMetadata,
                topic,
                st.lists(st.builds(PartitionMetadata, int32, generation, error, generation), max_size=3).map(tuple),
                error,
            ).map(lambda t: replace(t, topic_id=IDS.id_of(t.topic).bytes)),
            max_size=3,
        ).map(tuple),
        generation,
        error,
    ),
    "FindCoordinator": st.builds(FindCoordinatorResponse, error, int32, text, int32, text),
    "JoinGroup": st.builds(
        JoinGroupResponse,
        error,
        generation,
        text,
        text,
        text,
        st.lists(st.builds(JoinedMember, text, instance, blob), max_size=3).map(tuple),
        st.booleans(),
        instance,
    ),
    "SyncGroup": st.builds(SyncGroupResponse, error, blob, instance, instance),
    "Heartbeat": st.builds(HeartbeatResponse, error),
    "LeaveGroup": st.builds(LeaveGroupResponse, error),
    "OffsetCommit": st.builds(OffsetCommitResponse, per_partition(error)),
    "OffsetFetch": st.builds(
        OffsetFetchResponse, per_partition(st.builds(FetchedOffset, int64, text, generation, error)), error
    ),
    "ListOffsets": st.builds(ListOffsetsResponse, per_partition(st.builds(ListedOffset, int64, error, int64, int32))),
    "OffsetForLeaderEpoch": st.builds(
        OffsetForLeaderEpochResponse, per_partition(st.builds(EpochEnd, generation, int64, error))
    ),
    "Fetch": st.builds(
        FetchResponse, per_partition(st.builds(FetchedPartition, blob, int64, error, int64, transactions)), error
    ),
}

SINCE: Final[Mapping[tuple[type[object], str], int]] = {
    (JoinGroupRequest, "rebalance_timeout_ms"): 1,
    (JoinGroupRequest, "group_instance_id"): 5,
    (JoinGroupRequest, "reason"): 8,
    (JoinGroupResponse, "protocol_type"): 7,
    (JoinGroupResponse, "skip_assignment"): 9,
    (JoinedMember, "group_instance_id"): 5,
    (SyncGroupRequest, "group_instance_id"): 3,
    (SyncGroupRequest, "protocol_type"): 5,
    (SyncGroupRequest, "protocol_name"): 5,
    (SyncGroupResponse, "protocol_type"): 5,
    (SyncGroupResponse, "protocol_name"): 5,
    (HeartbeatRequest, "group_instance_id"): 3,
    (LeaveGroupRequest, "group_instance_id"): 3,
    (LeaveGroupRequest, "reason"): 5,
    (FindCoordinatorResponse, "error_message"): 1,
    (MetadataResponse, "controller_id"): 1,
    (MetadataResponse, "error"): 13,
    (TopicMetadata, "topic_id"): 10,
    (MetadataRequest, "creates"): 4,
    (PartitionMetadata, "leader_epoch"): 9,
    (ListOffsetsRequest, "read_committed"): 2,
    (ListOffsetsRequest, "leader_epochs"): 4,
    (ListedOffset, "leader_epoch"): 4,
    (FetchRequest, "leader_epochs"): 9,
    (OffsetCommitRequest, "group_instance_id"): 7,
    (OffsetFetchRequest, "require_stable"): 7,
    (OffsetFetchResponse, "error"): 2,
    (FetchResponse, "error"): 7,
}
"""The version from which on a field exists; all others always do."""
COMMIT_EPOCH_SINCE, FETCHED_EPOCH_SINCE = 6, 5


def as_version(message: object, version: int) -> object:
    """What is left of a message in a version: fields that it lacks have their defaults."""
    if isinstance(message, tuple):
        return tuple(as_version(item, version) for item in message)
    if isinstance(message, Mapping):
        return {key: as_version(value, version) for key, value in message.items()}
    if not isinstance(message, Struct):
        return message
    lacking = {
        OffsetAndMetadata: version < COMMIT_EPOCH_SINCE,
        FetchedOffset: version < FETCHED_EPOCH_SINCE,
    }
    changes: dict[str, object] = {
        name: as_version(getattr(message, name), version) for name in message.__struct_fields__
    }
    if lacking.get(type(message)):
        changes["leader_epoch"] = -1
    for (kind, name), since in SINCE.items():
        if type(message) is kind and version < since:
            changes[name] = _default(message, name)
    return type(message)(**changes)


def _default(message: object, name: str) -> object:
    if isinstance(message, JoinGroupRequest) and name == "rebalance_timeout_ms":
        return message.session_timeout_ms
    return {
        "group_instance_id": None,
        "reason": "",
        "protocol_type": None if isinstance(message, SyncGroupResponse) else "consumer",
        "protocol_name": None,
        "skip_assignment": False,
        "error_message": "",
        "controller_id": -1,
        "error": ErrorCode.NONE,
        "topic_id": bytes(16),
        "require_stable": False,
        "creates": False,
        "leader_epoch": -1,
        "read_committed": False,
        "leader_epochs": {},
    }[name]

"""The requests and answers that a consumer exchanges, without their versions.

The core speaks in these objects; `groupspec.impl.network.codec` turns them into bytes of whatever version the two sides
share, and leaves out or defaults the fields that a version lacks. Field names and meanings are those of Kafka's
protocol guide (kafka.apache.org/protocol); times are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct, field


class ErrorCode(IntEnum):
    """The error codes that a consumer can meet (org.apache.kafka.common.protocol.Errors), and two of our own.

    DISCONNECTED and TIMED_OUT never stand on the wire: they are how the transport reports a request without an answer.
    """

    DISCONNECTED = -1001
    TIMED_OUT = -1002
    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    REPLICA_NOT_AVAILABLE = 9
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    KAFKA_STORAGE_ERROR = 56
    GROUP_ID_NOT_FOUND = 69
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 76
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    UNSTABLE_OFFSET_COMMIT = 88
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103

    @classmethod
    def _missing_(cls, value: object) -> ErrorCode:
        """Any other number stays itself and is called by it: so an error says what a broker of the future answered."""
        assert isinstance(value, int)
        code = int.__new__(cls, value)
        code._name_, code._value_ = f"CODE_{value}", value
        return cls._value2member_map_.setdefault(value, code)  # type: ignore[return-value]

    @property
    def is_known(self) -> bool:
        """Whether this client knows what the number means."""
        return self.name in ErrorCode.__members__


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndMetadata(Struct, frozen=True):
    """A position to commit, or one that was committed: the next offset to read."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


# Requests ------------------------------------------------------------------------------------------------------------


class ApiVersionsRequest(Struct, frozen=True):
    """Which versions do you speak?"""


class MetadataRequest(Struct, frozen=True):
    """Brokers, and the partitions of these topics (None: of all); `creates`: topics that do not exist are made."""

    topics: tuple[str, ...] | None
    creates: bool = False


class FindCoordinatorRequest(Struct, frozen=True):
    """Which broker coordinates this group?"""

    group_id: str


class JoinGroupRequest(Struct, frozen=True):
    """Take part in the next generation. `protocols`: assignors in order of preference, with subscription bytes."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocols: tuple[tuple[str, bytes], ...]
    reason: str = ""
    protocol_type: str = "consumer"


class SyncGroupRequest(Struct, frozen=True):
    """Ask for the assignment of this generation; the leader brings everybody's (`assignments`: member id, bytes)."""

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None
    protocol_name: str | None
    assignments: tuple[tuple[str, bytes], ...] = ()
    protocol_type: str | None = "consumer"


class HeartbeatRequest(Struct, frozen=True):
    """Still here, in this generation."""

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None


class LeavingMember(Struct, frozen=True):
    """One member that leaves; with an instance id and no member id it is an administrator who removes it."""

    member_id: str
    group_instance_id: str | None
    reason: str = ""


class LeaveGroupRequest(Struct, frozen=True):
    """Gone, of one's own will. `others`: further members, which version 3 and later can name."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    reason: str = ""
    others: tuple[LeavingMember, ...] = ()


class OffsetCommitRequest(Struct, frozen=True):
    """Remember these positions. Without membership: generation -1, member id "", no instance id.

    `topic_ids`: as in FetchRequest.
    """

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)


class OffsetFetchRequest(Struct, frozen=True):
    """Which positions are remembered? `topic_ids`: as in FetchRequest."""

    group_id: str
    partitions: tuple[TopicPartition, ...]
    require_stable: bool = True
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)


class ListOffsetsRequest(Struct, frozen=True):
    """Where does each partition begin (timestamp -2), end (-1), or have its first record not older than this?

    `read_committed`: its end is where the first transaction is still open. `leader_epochs`: as in FetchRequest.
    """

    timestamps: Mapping[TopicPartition, int]
    read_committed: bool = False
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)


class OffsetForLeaderEpochRequest(Struct, frozen=True):
    """Where does the log end that this leader, or the last one before it, has written (KIP-320)?

    `epochs`: of each partition the leader epoch that is asked about; `leader_epochs`: as in FetchRequest.
    """

    epochs: Mapping[TopicPartition, int]
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)


class FetchRequest(Struct, frozen=True):
    """Records from these offsets on. `leader_epochs`: which leader the reader believes to ask, as far as it knows.

    `topic_ids`: which topics of these names are meant (KIP-516). On the wire a request has the ids if it has one for
    each topic and the broker reads them, else the names; who reads it finds the name that an id has by now.
    """

    offsets: Mapping[TopicPartition, int]
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_partition_bytes: int
    read_committed: bool = False
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)


NO_TOPIC_ID = bytes(16)
"""Of a topic whose id the broker does not name: one before Kafka 2.8 (Metadata 10, KIP-516) names none."""

# Answers -------------------------------------------------------------------------------------------------------------


class Broker(Struct, frozen=True):
    """A node and its address."""

    node_id: int
    host: str
    port: int


class PartitionMetadata(Struct, frozen=True):
    """The leader of a partition (-1: none at the moment), and the how-manieth it is (-1: not said)."""

    partition: int
    leader: int
    error: ErrorCode = ErrorCode.NONE
    leader_epoch: int = -1


class TopicMetadata(Struct, frozen=True):
    """A topic and its partitions."""

    topic: str
    partitions: tuple[PartitionMetadata, ...]
    error: ErrorCode = ErrorCode.NONE
    topic_id: bytes = NO_TOPIC_ID
    is_internal: bool = False


class MetadataResponse(Struct, frozen=True):
    """The cluster as one broker sees it."""

    brokers: tuple[Broker, ...]
    topics: tuple[TopicMetadata, ...]
    controller_id: int = -1
    error: ErrorCode = ErrorCode.NONE


class FindCoordinatorResponse(Struct, frozen=True):
    """The coordinator's address, or why there is none."""

    error: ErrorCode
    node_id: int = -1
    host: str = ""
    port: int = -1
    error_message: str = ""


class JoinedMember(Struct, frozen=True):
    """One member, in JoinGroup's answer to the leader; `metadata` is its subscription, encoded."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinGroupResponse(Struct, frozen=True):
    """The new generation; `members` is empty for everybody but the leader."""

    error: ErrorCode
    generation: int = -1
    protocol_name: str = ""
    leader: str = ""
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False
    protocol_type: str | None = "consumer"


class SyncGroupResponse(Struct, frozen=True):
    """This member's assignment, encoded."""

    error: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


class HeartbeatResponse(Struct, frozen=True):
    """Fine, or what happened meanwhile."""

    error: ErrorCode


class LeftMember(Struct, frozen=True):
    """What LeaveGroup says of one of several members."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


class LeaveGroupResponse(Struct, frozen=True):
    """The answer to LeaveGroup. Of one member `error` says everything; several have their own in `members`."""

    error: ErrorCode
    members: tuple[LeftMember, ...] = ()


class OffsetCommitResponse(Struct, frozen=True):
    """One error code a partition."""

    errors: Mapping[TopicPartition, ErrorCode]
    error: ErrorCode = ErrorCode.NONE


class FetchedOffset(Struct, frozen=True):
    """A committed position; offset -1: nothing was committed."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
    error: ErrorCode = ErrorCode.NONE


class OffsetFetchResponse(Struct, frozen=True):
    """The committed positions."""

    offsets: Mapping[TopicPartition, FetchedOffset]
    error: ErrorCode = ErrorCode.NONE


class ListedOffset(Struct, frozen=True):
    """The offset asked for, of one partition; asked for by time: -1 if there is none, or with that record's time."""

    offset: int
    error: ErrorCode = ErrorCode.NONE
    timestamp_ms: int = -1
    leader_epoch: int = -1


class ListOffsetsResponse(Struct, frozen=True):
    """Beginnings or ends."""

    offsets: Mapping[TopicPartition, ListedOffset]
    error: ErrorCode = ErrorCode.NONE


class EpochEnd(Struct, frozen=True):
    """The largest epoch in the log that is not above the one asked for, and the offset after its last record.

    -1 and -1: nothing is known of such an epoch.
    """

    leader_epoch: int
    end_offset: int
    error: ErrorCode = ErrorCode.NONE


class OffsetForLeaderEpochResponse(Struct, frozen=True):
    """Where epochs end."""

    ends: Mapping[TopicPartition, EpochEnd]
    error: ErrorCode = ErrorCode.NONE


class FetchedPartition(Struct, frozen=True):
    """Record batches as they stood on the wire, undecoded, and the end of what may be read.

    `last_stable_offset`: where the first open transaction begins, which is that end for who reads what is committed;
    `aborted_transactions`: producer id and first offset of those in these batches, if it was asked so.
    """

    record_bytes: bytes
    high_watermark: int
    error: ErrorCode = ErrorCode.NONE
    last_stable_offset: int = -1
    aborted_transactions: tuple[tuple[int, int], ...] = ()


class FetchResponse(Struct, frozen=True):
    """Records."""

    partitions: Mapping[TopicPartition, FetchedPartition]
    error: ErrorCode = ErrorCode.NONE


class NoAnswer(Struct, frozen=True):
    """The transport's word that a request will never be answered: DISCONNECTED or TIMED_OUT."""

    error: ErrorCode


Request = (
    ApiVersionsRequest
    | MetadataRequest
    | FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | ListOffsetsRequest
    | OffsetForLeaderEpochRequest
    | FetchRequest
)
Response = (
    MetadataResponse
    | FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | ListOffsetsResponse
    | OffsetForLeaderEpochResponse
    | FetchResponse
    | NoAnswer
)

"""Every message of a consumer on the wire: what is not as its class in `groupspec.impl.core.messages` says.

A table to read beside those classes and kafka.apache.org/protocol, whose names in snake case are kio's. Versions do not
show: each takes the fields that it has (`groupspec.impl.network.fields`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, Final
from uuid import UUID

from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, TopicPartition
from groupspec.impl.network.errors import UnencodableMessage
from groupspec.impl.network.fields import (
    Context,
    Field,
    Record,
    by_topic,
    derived,
    duration,
    fixed,
    null_if_empty,
    pairs,
    partitions,
    record,
    records,
    single,
    topic_of,
    value,
)
from groupspec.impl.network.versions import API_KEYS, API_NAMES, ApiVersionsResponse, VersionRange
from groupspec.impl.network.wire import Fields, Struct

GROUP_KEY_TYPE: Final = 0
INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""org.apache.kafka.common.internals.Topic.isInternal: patterns do not match these (exclude.internal.topics)."""

MEMBERS_OWN_ERRORS: Final = (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
"""From LeaveGroup 3 on these stand beside the member that they concern; all others concern the whole request."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and its answer."""

    request: Record
    response: Record


# Fields with a rule of their own -------------------------------------------------------------------------------------


def _read_versions(struct: Struct, context: Context) -> dict[str, VersionRange]:
    return {
        API_NAMES[key.get("api_key")]: VersionRange(key.get("min_version"), key.get("max_version"))
        for key in struct.structs("api_keys")
        if key.get("api_key") in API_NAMES
    }


def _write_versions(response: ApiVersionsResponse, context: Context) -> object:
    return [
        {"api_key": API_KEYS[api], "min_version": versions.lowest, "max_version": versions.highest}
        for api, versions in response.versions.items()
    ]


def _read_wanted_topics(struct: Struct, context: Context) -> tuple[str, ...] | None:
    topics = struct.structs("topics")
    if struct.get("topics") is None or (context.version == 0 and not topics):
        return None
    return tuple(topic.get("name") or context.topic_ids.name_of(topic.get("topic_id")) for topic in topics)


def _write_wanted_topics(request: messages.MetadataRequest, context: Context) -> object:
    """Version 0 has no null: there an empty list asks for all topics, and in later versions for none."""
    if request.topics is None:
        return None if context.version >= 1 else []
    if not request.topics and context.version == 0:
        raise UnencodableMessage("Metadata version 0 can't ask for no topics: an empty list there means all")
    return [{"name": topic, "topic_id": None} for topic in request.topics]


def _read_topic_id(struct: Struct, context: Context) -> bytes:
    topic_id = struct.get("topic_id")
    return topic_id.bytes if isinstance(topic_id, UUID) else bytes(16)


def _read_internal(struct: Struct, context: Context) -> bool:
    return bool(struct.get("is_internal", False))


def _is_internal(topic: messages.TopicMetadata, context: Context) -> bool:
    return topic.is_internal or topic.topic in INTERNAL_TOPICS


def _replicas(partition: messages.PartitionMetadata, context: Context) -> object:
    return [partition.leader] if partition.leader >= 0 else []


def _read_group_id(struct: Struct, context: Context) -> str:
    key_type = struct.get("key_type", GROUP_KEY_TYPE)
    if key_type != GROUP_KEY_TYPE:
        raise UnencodableMessage(f"FindCoordinator for key type {key_type}; only groups (0) are understood here")
    keys = struct.get("coordinator_keys") if "coordinator_keys" in struct else [struct.get("key")]
    return str(single(list(keys), "coordinator keys"))


def _asked_group(response: object, context: Context) -> str:
    return getattr(context.request, "group_id", "")


def _of_first_leaver(name: str, kind: type[Any] | UnionType) -> Field:
    """What new versions have in a list of members, old ones in the request itself."""
    plain = value(name, kind)

    def read(struct: Struct, context: Context) -> object:
        return plain.read(_leavers(struct)[0], context)

    return Field(name, name, read)


def _leavers(struct: Struct) -> list[Struct]:
    leavers = struct.structs("members", around=struct) if "members" in struct else [struct]
    if not leavers:
        raise UnencodableMessage("a LeaveGroup in which nobody leaves")
    return leavers


_LEAVER: Final = record(messages.LeavingMember)
_LEFT: Final = record(messages.LeftMember)


def _write_leavers(request: messages.LeaveGroupRequest, context: Context) -> object:
    if context.version < 3 and request.others:
        raise UnencodableMessage(f"LeaveGroup version {context.version} can name one member only")
    first = messages.LeavingMember(request.member_id, request.group_instance_id, request.reason)
    return [_LEAVER.write(each, context) for each in (first, *request.others)]


def _read_other_leavers(struct: Struct, context: Context) -> object:
    return tuple(_LEAVER.read(each, context) for each in _leavers(struct)[1:])


def _read_left_members(struct: Struct, context: Context) -> object:
    """Of one member the error of the answer says everything."""
    left = struct.structs("members")
    return tuple(_LEFT.read(each, context) for each in left) if len(left) > 1 else ()


def _write_left_members(response: messages.LeaveGroupResponse, context: Context) -> object:
    if response.members:
        return [_LEFT.write(each, context) for each in response.members]
    if response.error not in MEMBERS_OWN_ERRORS:
        return []
    return [
        {
            "member_id": getattr(context.request, "member_id", ""),
            "group_instance_id": getattr(context.request, "group_instance_id", None),
            "error_code": response.error,
        }
    ]


def _write_left(response: messages.LeaveGroupResponse, context: Context) -> ErrorCode:
    own = context.version >= 3 and response.error in MEMBERS_OWN_ERRORS and not response.members
    return ErrorCode.NONE if own else response.error


def _read_left(struct: Struct, context: Context) -> ErrorCode:
    left = struct.structs("members")
    codes = (part.get("error_code", 0) for part in (struct, *(left if len(left) == 1 else ())))
    return ErrorCode(next(filter(None, codes), 0))


def _read_wanted_offsets(struct: Struct, context: Context) -> tuple[TopicPartition, ...]:
    """Null asks for everything that was committed; so does an empty list, here."""
    return tuple(
        TopicPartition(topic_of(topic, context), place)
        for topic in struct.structs("topics")
        for place in topic.get("partition_indexes")
    )


def _write_wanted_offsets(request: messages.OffsetFetchRequest, context: Context) -> object:
    topics: dict[str, list[int]] = {}
    for partition in sorted(request.partitions):
        topics.setdefault(partition.topic, []).append(partition.partition)
    return [
        {"name": name, "topic_id": context.topic_ids.id_of(name), "partition_indexes": places}
        for name, places in topics.items()
    ]


def _write_fetch_offsets(request: messages.FetchRequest, context: Context) -> object:
    """Brokers fill their answer in this order, so it is kept."""
    more = {"partition_max_bytes": request.max_partition_bytes}
    return _asked("partition", "fetch_offset", request.offsets, request.leader_epochs, context, more, keep_order=True)


def _asked(
    number: str,
    name: str,
    values: Mapping[TopicPartition, int],
    leader_epochs: Mapping[TopicPartition, int],
    context: Context,
    more: Fields | None = None,
    *,
    keep_order: bool = False,
) -> object:
    """What is asked about each partition, and which leader is believed to be asked."""
    asked = {partition: (wanted, leader_epochs.get(partition, -1)) for partition, wanted in values.items()}
    return by_topic(
        asked,
        context,
        lambda place, of: {number: place, name: of[0], "current_leader_epoch": of[1], **(more or {})},
        keep_order=keep_order,
    )


def _leader_epochs(number: str) -> Field:
    """The leader epochs beside what is asked, as far as there are any."""
    each = partitions("topics", "leader_epochs", value("current_leader_epoch", int), number)

    def read(struct: Struct, context: Context) -> dict[TopicPartition, int]:
        found = each.read(struct, context)
        assert isinstance(found, dict)
        return {partition: epoch for partition, epoch in found.items() if epoch >= 0}

    return Field("", "leader_epochs", read)


def _read_leader_epoch(struct: Struct, context: Context) -> int:
    """Before version 9 brokers name epochs of the past (KAFKA-9212): Java's client takes none from them, either."""
    return int(struct.get("leader_epoch", -1)) if context.version >= 9 else -1


_TOPIC_IDS: Final = Field("", "topic_ids", lambda struct, context: {})
"""What a request means by its names: said by the ids in their place."""


def _stable_offset(fetched: messages.FetchedPartition, context: Context) -> int:
    """A broker without transactions, as the scripted one, has its last stable offset at the end."""
    return fetched.last_stable_offset if fetched.last_stable_offset >= 0 else fetched.high_watermark


def _read_partition_limit(struct: Struct, context: Context) -> int:
    limits = [
        part.get("partition_max_bytes") for topic in struct.structs("topics") for part in topic.structs("partitions")
    ]
    return max(limits, default=0)


# The table -----------------------------------------------------------------------------------------------------------

_ISOLATION: Final = Field(
    "isolation_level",
    "read_committed",
    lambda struct, context: struct.get("isolation_level", 0) == 1,
    lambda request, context: int(request.read_committed),
)

_FETCH_OFFSETS: Final = partitions("topics", "offsets", value("fetch_offset", int), "partition")
_TIMESTAMPS: Final = partitions("topics", "timestamps", value("timestamp", int))
_EPOCHS: Final = partitions("topics", "epochs", value("leader_epoch", int), "partition")

EXCHANGES: Final[Mapping[str, Exchange]] = {
    "ApiVersions": Exchange(
        record(
            messages.ApiVersionsRequest,
            fixed("client_software_name", "groupspec"),
            fixed("client_software_version", "0.1"),
        ),
        record(ApiVersionsResponse, Field("api_keys", "versions", _read_versions, _write_versions)),
    ),
    "Metadata": Exchange(
        record(
            messages.MetadataRequest,
            Field("topics", "topics", _read_wanted_topics, _write_wanted_topics),
            Field("allow_auto_topic_creation", "creates", lambda s, context: s.get("allow_auto_topic_creation", False)),
            fixed("include_cluster_authorized_operations", False),
            fixed("include_topic_authorized_operations", False),
        ),
        record(
            messages.MetadataResponse,
            records("brokers", record(messages.Broker)),
            records(
                "topics",
                record(
                    messages.TopicMetadata,
                    Field("topic_id", "topic_id", _read_topic_id, lambda topic, context: UUID(bytes=topic.topic_id)),
                    Field("is_internal", "is_internal", _read_internal, _is_internal),
                    records(
                        "partitions",
                        record(
                            messages.PartitionMetadata,
                            derived("replica_nodes", _replicas),
                            derived("isr_nodes", _replicas),
                            Field("leader_epoch", "leader_epoch", _read_leader_epoch),
                            partition="partition_index",
                            leader="leader_id",
                        ),
                    ),
                    topic="name",
                ),
            ),
        ),
    ),
    "FindCoordinator": Exchange(
        record(
            messages.FindCoordinatorRequest,
            Field("key", "group_id", _read_group_id),
            derived("coordinator_keys", lambda request, context: [request.group_id]),
            fixed("key_type", GROUP_KEY_TYPE),
        ),
        record(
            messages.FindCoordinatorResponse,
            derived("key", _asked_group),
            null_if_empty("error_message", since=0),
            inside="coordinators",
        ),
    ),
    "JoinGroup": Exchange(
        record(
            messages.JoinGroupRequest,
            duration("session_timeout", otherwise="session_timeout"),
            duration("rebalance_timeout", otherwise="session_timeout"),  # version 0 has one for both (KIP-62)
            pairs("protocols", value("name", str), value("metadata", bytes)),
        ),
        record(
            messages.JoinGroupResponse,
            null_if_empty("protocol_name", since=7),
            records("members", record(messages.JoinedMember)),
        ),
    ),
    "SyncGroup": Exchange(
        record(messages.SyncGroupRequest, pairs("assignments", value("member_id", str), value("assignment", bytes))),
        record(messages.SyncGroupResponse),
    ),
    "Heartbeat": Exchange(record(messages.HeartbeatRequest), record(messages.HeartbeatResponse)),
    "LeaveGroup": Exchange(
        record(
            messages.LeaveGroupRequest,
            _of_first_leaver("member_id", str),
            _of_first_leaver("group_instance_id", str | None),
            _of_first_leaver("reason", str),
            Field("members", "others", _read_other_leavers, _write_leavers),
        ),
        record(
            messages.LeaveGroupResponse,
            Field("error_code", "error", _read_left, _write_left),
            Field("members", "members", _read_left_members, _write_left_members),
        ),
    ),
    "OffsetCommit": Exchange(
        record(
            messages.OffsetCommitRequest,
            partitions(
                "topics",
                "offsets",
                record(
                    messages.OffsetAndMetadata,
                    offset="committed_offset",
                    leader_epoch="committed_leader_epoch",
                    metadata="committed_metadata",
                ),
            ),
            _TOPIC_IDS,
            generation="generation_id_or_member_epoch",
        ),
        record(
            messages.OffsetCommitResponse,
            partitions("topics", "errors", value("error_code", ErrorCode)),
            error_from=None,
        ),
    ),
    "OffsetFetch": Exchange(
        record(
            messages.OffsetFetchRequest,
            Field("topics", "partitions", _read_wanted_offsets, _write_wanted_offsets),
            Field("require_stable", "require_stable", lambda struct, context: struct.get("require_stable", False)),
            _TOPIC_IDS,
            inside="groups",
        ),
        record(
            messages.OffsetFetchResponse,
            derived("group_id", _asked_group),
            partitions(
                "topics",
                "offsets",
                record(messages.FetchedOffset, offset="committed_offset", leader_epoch="committed_leader_epoch"),
            ),
            inside="groups",
            error_from=2,
        ),
    ),
    "ListOffsets": Exchange(
        record(
            messages.ListOffsetsRequest,
            fixed("replica_id", -1),
            _ISOLATION,
            fixed("timeout", 0),
            replace(
                _TIMESTAMPS,
                write=lambda r, c: _asked("partition_index", "timestamp", r.timestamps, r.leader_epochs, c),
            ),
            _leader_epochs("partition_index"),
        ),
        record(
            messages.ListOffsetsResponse,
            partitions("topics", "offsets", record(messages.ListedOffset, timestamp_ms="timestamp")),
            error_from=None,
        ),
    ),
    "OffsetForLeaderEpoch": Exchange(
        record(
            messages.OffsetForLeaderEpochRequest,
            fixed("replica_id", -1),
            replace(_EPOCHS, write=lambda r, c: _asked("partition", "leader_epoch", r.epochs, r.leader_epochs, c)),
            _leader_epochs("partition"),
        ),
        record(
            messages.OffsetForLeaderEpochResponse,
            partitions("topics", "ends", record(messages.EpochEnd), "partition"),
            error_from=None,
        ),
    ),
    "Fetch": Exchange(
        record(
            messages.FetchRequest,
            duration("max_wait", otherwise="max_wait"),
            fixed("forgotten_topics_data", ()),
            _ISOLATION,
            Field("topics", "offsets", _FETCH_OFFSETS.read, _write_fetch_offsets),
            _leader_epochs("partition"),
            Field("", "max_partition_bytes", _read_partition_limit),
            _TOPIC_IDS,
        ),
        record(
            messages.FetchResponse,
            fixed("session_id", 0),
            partitions(
                "responses",
                "partitions",
                record(
                    messages.FetchedPartition,
                    replace(value("last_stable_offset", int), attribute="last_stable_offset", write=_stable_offset),
                    fixed("log_start_offset", 0),
                    pairs("aborted_transactions", value("producer_id", int), value("first_offset", int)),
                    record_bytes="records",
                ),
            ),
            error_from=7,
        ),
    ),
}
"""By the name of the API."""

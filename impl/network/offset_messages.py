"""OffsetCommit, OffsetFetch, ListOffsets: positions on the wire."""

from __future__ import annotations

from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.network.conversion import Context, Conversion, by_partition, by_topic, single
from groupspec.impl.network.wire import Fields, Node


def _named(name: str, context: Context) -> dict[str, object]:
    """A topic as the version names it: by name, or by id."""
    return {"name": name, "topic_id": context.topic_ids.id_of(name)}


def _name_of(topic: Node, context: Context) -> str:
    return topic.text("name") if "name" in topic else context.topic_ids.name_of(topic.topic_id())


def _write_commit(request: OffsetCommitRequest, context: Context) -> Fields:
    return {
        "group_id": request.group_id,
        "generation_id_or_member_epoch": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "topics": [
            {
                **_named(topic, context),
                "partitions": [
                    {
                        "partition_index": number,
                        "committed_offset": position.offset,
                        "committed_leader_epoch": position.leader_epoch,
                        "committed_metadata": position.metadata,
                    }
                    for number, position in partitions.items()
                ],
            }
            for topic, partitions in by_topic(request.offsets).items()
        ],
    }


def _read_commit(node: Node, context: Context) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=node.text("group_id"),
        generation=node.number("generation_id_or_member_epoch"),
        member_id=node.text("member_id"),
        group_instance_id=node.nullable_text("group_instance_id"),
        offsets=by_partition(
            node.nodes("topics"),
            lambda topic: _name_of(topic, context),
            "partition_index",
            lambda p: OffsetAndMetadata(
                p.number("committed_offset"), p.text("committed_metadata"), p.number("committed_leader_epoch")
            ),
        ),
    )


def _write_committed(response: OffsetCommitResponse, context: Context) -> Fields:
    # There is no place for an error of the whole group: it stands on every partition.
    whole = response.error
    return {
        "topics": [
            {
                **_named(topic, context),
                "partitions": [
                    {"partition_index": number, "error_code": error if whole is ErrorCode.NONE else whole}
                    for number, error in partitions.items()
                ],
            }
            for topic, partitions in by_topic(response.errors).items()
        ]
    }


def _read_committed(node: Node, context: Context) -> OffsetCommitResponse:
    topics = node.nodes("topics")
    return OffsetCommitResponse(
        by_partition(topics, lambda topic: _name_of(topic, context), "partition_index", lambda p: p.error())
    )


def _write_offset_fetch(request: OffsetFetchRequest, context: Context) -> Fields:
    numbers = by_topic(dict.fromkeys(request.partitions))
    topics = [{**_named(topic, context), "partition_indexes": list(numbers[topic])} for topic in numbers]
    return {
        "group_id": request.group_id,
        "topics": topics,
        "groups": [{"group_id": request.group_id, "topics": topics}],
        "require_stable": request.require_stable,
    }


def _read_offset_fetch(node: Node, context: Context) -> OffsetFetchRequest:
    group = single(node.nodes("groups"), "groups") if "groups" in node else node
    return OffsetFetchRequest(
        group_id=group.text("group_id"),
        # Null asks for everything that was committed; so does an empty list, here.
        partitions=tuple(
            TopicPartition(_name_of(topic, context), number)
            for topic in group.nodes("topics")
            for number in topic.numbers("partition_indexes")
        ),
        require_stable=node.flag("require_stable"),
    )


def _write_fetched_offsets(response: OffsetFetchResponse, context: Context) -> Fields:
    # Version 1 has no place for an error of the whole group either.
    on_each = response.error if context.version == 1 else ErrorCode.NONE
    topics = [
        {
            **_named(topic, context),
            "partitions": [
                {
                    "partition_index": number,
                    "committed_offset": position.offset,
                    "committed_leader_epoch": position.leader_epoch,
                    "metadata": position.metadata,
                    "error_code": position.error if on_each is ErrorCode.NONE else on_each,
                }
                for number, position in partitions.items()
            ],
        }
        for topic, partitions in by_topic(response.offsets).items()
    ]
    group_id = context.request.group_id if isinstance(context.request, OffsetFetchRequest) else ""
    group = {"group_id": group_id, "topics": topics, "error_code": response.error}
    return {"topics": topics, "error_code": response.error, "groups": [group]}


def _read_fetched_offsets(node: Node, context: Context) -> OffsetFetchResponse:
    group = single(node.nodes("groups"), "groups") if "groups" in node else node
    return OffsetFetchResponse(
        offsets=by_partition(
            group.nodes("topics"),
            lambda topic: _name_of(topic, context),
            "partition_index",
            lambda p: FetchedOffset(
                p.number("committed_offset"), p.text("metadata"), p.number("committed_leader_epoch"), p.error()
            ),
        ),
        error=group.error(),
    )


def _write_list(request: ListOffsetsRequest, context: Context) -> Fields:
    return {
        "replica_id": -1,
        "isolation_level": 0,
        "timeout": 0,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": number, "timestamp": timestamp} for number, timestamp in partitions.items()
                ],
            }
            for topic, partitions in by_topic(request.timestamps).items()
        ],
    }


def _read_list(node: Node, context: Context) -> ListOffsetsRequest:
    topics = node.nodes("topics")
    return ListOffsetsRequest(
        by_partition(topics, lambda topic: topic.text("name"), "partition_index", lambda p: p.number("timestamp"))
    )


def _write_listed(response: ListOffsetsResponse, context: Context) -> Fields:
    whole = response.error
    return {
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "error_code": listed.error if whole is ErrorCode.NONE else whole,
                        "offset": listed.offset,
                    }
                    for number, listed in partitions.items()
                ],
            }
            for topic, partitions in by_topic(response.offsets).items()
        ]
    }


def _read_listed(node: Node, context: Context) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        by_partition(
            node.nodes("topics"),
            lambda topic: topic.text("name"),
            "partition_index",
            lambda p: ListedOffset(p.number("offset"), p.error()),
        )
    )


OFFSET_COMMIT = Conversion(
    "OffsetCommit",
    OffsetCommitRequest,
    OffsetCommitResponse,
    _write_commit,
    _read_commit,
    _write_committed,
    _read_committed,
)
OFFSET_FETCH = Conversion(
    "OffsetFetch",
    OffsetFetchRequest,
    OffsetFetchResponse,
    _write_offset_fetch,
    _read_offset_fetch,
    _write_fetched_offsets,
    _read_fetched_offsets,
)
LIST_OFFSETS = Conversion(
    "ListOffsets", ListOffsetsRequest, ListOffsetsResponse, _write_list, _read_list, _write_listed, _read_listed
)

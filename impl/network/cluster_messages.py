"""ApiVersions, Metadata, FindCoordinator, Fetch: brokers, leaders, records."""

from __future__ import annotations

from dataclasses import dataclass

from groupspec.impl.core.messages import (
    ApiVersionsRequest,
    Broker,
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.network.conversion import Context, Conversion, by_topic, single
from groupspec.impl.network.errors import UnencodableMessage
from groupspec.impl.network.versions import API_KEYS, API_NAMES, VersionRange, Versions
from groupspec.impl.network.wire import Fields, Node

SOFTWARE_NAME = "groupspec"
SOFTWARE_VERSION = "0.1"
_GROUP_KEY_TYPE = 0
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""org.apache.kafka.common.internals.Topic.isInternal: patterns do not match these (exclude.internal.topics)."""


@dataclass(frozen=True, slots=True)
class ApiVersionsResponse:
    """What the other side speaks, as far as this side has names for it."""

    versions: Versions
    error: ErrorCode = ErrorCode.NONE


def _write_api_versions(request: ApiVersionsRequest, context: Context) -> Fields:
    return {"client_software_name": SOFTWARE_NAME, "client_software_version": SOFTWARE_VERSION}


def _write_versions(response: ApiVersionsResponse, context: Context) -> Fields:
    return {
        "error_code": response.error,
        "api_keys": [
            {"api_key": API_KEYS[api], "min_version": versions.lowest, "max_version": versions.highest}
            for api, versions in response.versions.items()
        ],
    }


def _read_versions(node: Node, context: Context) -> ApiVersionsResponse:
    keys = [key for key in node.nodes("api_keys") if key.number("api_key") in API_NAMES]
    return ApiVersionsResponse(
        {
            API_NAMES[key.number("api_key")]: VersionRange(key.number("min_version"), key.number("max_version"))
            for key in keys
        },
        node.error(),
    )


def _write_metadata_request(request: MetadataRequest, context: Context) -> Fields:
    topics: list[Fields] | None
    if request.topics is None:
        # Version 0 has no null: there an empty list asks for all topics, and later versions' empty list for none.
        topics = None if context.version >= 1 else []
    else:
        if not request.topics and context.version == 0:
            raise UnencodableMessage("Metadata version 0 can't ask for no topics: an empty list there means all")
        topics = [{"name": topic, "topic_id": None} for topic in request.topics]
    return {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    }


def _read_metadata_request(node: Node, context: Context) -> MetadataRequest:
    topics = node.nodes("topics")
    if node.is_null("topics") or (context.version == 0 and not topics):
        return MetadataRequest(None)
    return MetadataRequest(
        tuple(topic.nullable_text("name") or context.topic_ids.name_of(topic.topic_id()) for topic in topics)
    )


def _write_metadata(response: MetadataResponse, context: Context) -> Fields:
    return {
        "error_code": response.error,
        "controller_id": response.controller_id,
        "brokers": [{"node_id": b.node_id, "host": b.host, "port": b.port} for b in response.brokers],
        "topics": [
            {
                "error_code": topic.error,
                "name": topic.topic,
                "topic_id": context.topic_ids.id_of(topic.topic),
                "is_internal": topic.topic in INTERNAL_TOPICS,
                "partitions": [
                    {
                        "error_code": partition.error,
                        "partition_index": partition.partition,
                        "leader_id": partition.leader,
                        "leader_epoch": 0,
                        "replica_nodes": [partition.leader] if partition.leader >= 0 else [],
                        "isr_nodes": [partition.leader] if partition.leader >= 0 else [],
                    }
                    for partition in topic.partitions
                ],
            }
            for topic in response.topics
        ],
    }


def _read_metadata(node: Node, context: Context) -> MetadataResponse:
    return MetadataResponse(
        brokers=tuple(Broker(b.number("node_id"), b.text("host"), b.number("port")) for b in node.nodes("brokers")),
        topics=tuple(_read_topic(topic) for topic in node.nodes("topics")),
        controller_id=node.number("controller_id"),
        error=node.error(),
    )


def _read_topic(topic: Node) -> TopicMetadata:
    topic_id = topic.topic_id()
    return TopicMetadata(
        topic=topic.text("name"),
        partitions=tuple(
            PartitionMetadata(p.number("partition_index"), p.number("leader_id"), p.error())
            for p in topic.nodes("partitions")
        ),
        error=topic.error(),
        topic_id=topic_id.bytes if topic_id else bytes(16),
    )


def _write_find(request: FindCoordinatorRequest, context: Context) -> Fields:
    return {"key": request.group_id, "key_type": _GROUP_KEY_TYPE, "coordinator_keys": [request.group_id]}


def _read_find(node: Node, context: Context) -> FindCoordinatorRequest:
    key_type = node.number("key_type", _GROUP_KEY_TYPE)
    if key_type != _GROUP_KEY_TYPE:
        raise UnencodableMessage(f"FindCoordinator for key type {key_type}; only groups (0) are understood here")
    if "coordinator_keys" in node:
        return FindCoordinatorRequest(single(node.texts("coordinator_keys"), "coordinator keys"))
    return FindCoordinatorRequest(node.text("key"))


def _write_found(response: FindCoordinatorResponse, context: Context) -> Fields:
    answer: Fields = {
        "key": context.request.group_id if isinstance(context.request, FindCoordinatorRequest) else "",
        "error_code": response.error,
        "error_message": response.error_message or None,
        "node_id": response.node_id,
        "host": response.host,
        "port": response.port,
    }
    return {**answer, "coordinators": [answer]}


def _read_found(node: Node, context: Context) -> FindCoordinatorResponse:
    answer = single(node.nodes("coordinators"), "coordinators") if "coordinators" in node else node
    return FindCoordinatorResponse(
        error=answer.error(),
        node_id=answer.number("node_id"),
        host=answer.text("host"),
        port=answer.number("port"),
        error_message=answer.text("error_message"),
    )


def _write_fetch(request: FetchRequest, context: Context) -> Fields:
    return {
        "max_wait": request.max_wait_ms,
        "min_bytes": request.min_bytes,
        "max_bytes": request.max_bytes,
        "forgotten_topics_data": [],
        "topics": [
            {
                "topic": topic,
                "topic_id": context.topic_ids.id_of(topic),
                "partitions": [
                    {
                        "partition": number,
                        "fetch_offset": offset,
                        "partition_max_bytes": request.max_partition_bytes,
                    }
                    for number, offset in partitions.items()
                ],
            }
            for topic, partitions in by_topic(request.offsets, keep_order=True).items()  # brokers fill in this order
        ],
    }


def _read_fetch(node: Node, context: Context) -> FetchRequest:
    partitions = [(_topic_of(topic, context), p) for topic in node.nodes("topics") for p in topic.nodes("partitions")]
    return FetchRequest(
        offsets={TopicPartition(topic, p.number("partition")): p.number("fetch_offset") for topic, p in partitions},
        max_wait_ms=node.duration_ms("max_wait"),
        min_bytes=node.number("min_bytes"),
        max_bytes=node.number("max_bytes"),
        max_partition_bytes=max((p.number("partition_max_bytes") for _, p in partitions), default=0),
    )


def _topic_of(topic: Node, context: Context) -> str:
    return topic.text("topic") if "topic" in topic else context.topic_ids.name_of(topic.topic_id())


def _write_fetched(response: FetchResponse, context: Context) -> Fields:
    # Before version 7 there is no place for an error of the whole request: it stands on every partition.
    on_each = response.error if context.version < 7 else ErrorCode.NONE
    return {
        "error_code": response.error,
        "session_id": 0,
        "responses": [
            {
                "topic": topic,
                "topic_id": context.topic_ids.id_of(topic),
                "partitions": [
                    {
                        "partition_index": number,
                        "error_code": fetched.error if on_each is ErrorCode.NONE else on_each,
                        "high_watermark": fetched.high_watermark,
                        "last_stable_offset": fetched.high_watermark,
                        "log_start_offset": 0,
                        "aborted_transactions": [],
                        "records": fetched.record_bytes,
                    }
                    for number, fetched in partitions.items()
                ],
            }
            for topic, partitions in by_topic(response.partitions).items()
        ],
    }


def _read_fetched(node: Node, context: Context) -> FetchResponse:
    return FetchResponse(
        partitions={
            TopicPartition(_topic_of(topic, context), p.number("partition_index")): FetchedPartition(
                p.data("records"), p.number("high_watermark"), p.error()
            )
            for topic in node.nodes("responses")
            for p in topic.nodes("partitions")
        },
        error=node.error(),
    )


API_VERSIONS_QUERY = Conversion(
    "ApiVersions",
    ApiVersionsRequest,
    ApiVersionsResponse,
    _write_api_versions,
    lambda node, context: ApiVersionsRequest(),
    _write_versions,
    _read_versions,
)
METADATA = Conversion(
    "Metadata",
    MetadataRequest,
    MetadataResponse,
    _write_metadata_request,
    _read_metadata_request,
    _write_metadata,
    _read_metadata,
)
FIND_COORDINATOR = Conversion(
    "FindCoordinator",
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    _write_find,
    _read_find,
    _write_found,
    _read_found,
)
FETCH = Conversion("Fetch", FetchRequest, FetchResponse, _write_fetch, _read_fetch, _write_fetched, _read_fetched)

"""What a well-behaved cluster answers: the nodes, the topics, the groups, and which node answers what.

Without any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from groupspec.impl.broker.coordinators import Answers, Coordinators
from groupspec.impl.broker.one_client import OneClient
from groupspec.impl.broker.topics import Topics
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import Broker, ErrorCode, Request
from groupspec.impl.network.answers import answer_with_error
from groupspec.impl.network.codec import Answer
from groupspec.impl.network.topic_ids import TopicIds, is_unknown
from groupspec.impl.network.versions import API_VERSIONS, ApiVersionsResponse, VersionRange, Versions

_PRODUCE: Final = VersionRange(3, 9)
"""Advertised because librdkafka takes its absence for a broker from before record batches; never served."""


class Cluster:
    """All that the nodes share. Node ids are 1, 2, ... in the order of `addresses`.

    Groups are kept by `groups`, which may answer later: with `settings` of any number of members, else `OneClient`'s.
    """

    def __init__(
        self,
        partition_counts: Mapping[str, int],
        nodes: int,
        version_caps: Mapping[str, int],
        note: Callable[[str], object],
        settings: Settings | None = None,
    ) -> None:
        self.topics = Topics(partition_counts, nodes)
        self.groups: Coordinators = (
            OneClient(nodes, self.topics.partitions_of, note)
            if settings is None
            else Coordinators(nodes, settings, self.topics.partitions_of, note)
        )
        self.topic_ids = TopicIds(self.topics.names)
        self.coordinator = 1
        self.addresses: list[Broker] = []
        self.known_instead: Mapping[str, messages.TopicMetadata] = {}
        self.versions = _capped(API_VERSIONS, version_caps)
        self._advertised = _capped({"Produce": _PRODUCE, **API_VERSIONS}, version_caps)

    def advertised(self) -> ApiVersionsResponse:
        """What ApiVersions says."""
        return ApiVersionsResponse(self._advertised)

    def create_topic(self, topic: str, partitions: int) -> None:
        """A topic, or more partitions of it. Raises ValueError for fewer."""
        self.topics.set_partitions(topic, partitions)
        self.topic_ids.add(topic)

    def delete_topic(self, topic: str, now_ms: int) -> Answers:
        """The topic, its id, and what groups have committed of it. Raises KeyError if there is none."""
        self.topics.delete(topic)
        self.topic_ids.remove(topic)
        return self.groups.delete_topic(topic, now_ms)

    def answer(self, request: Request, node: int, deleted: Collection[str] = ()) -> Answer:
        """What this node answers to what is no group's. A Fetch gets what is there, without waiting for more.

        `deleted`: topics that were, while it waited.
        """
        match request:
            case messages.ApiVersionsRequest():
                return self.advertised()
            case messages.MetadataRequest():
                names = self.topics.names if request.topics is None else request.topics
                controller = self.addresses[0].node_id
                known = tuple(self.known_instead.get(topic.topic, topic) for topic in self._metadata(names))
                return messages.MetadataResponse(tuple(self.addresses), known, controller)
            case messages.FindCoordinatorRequest():
                return self._find_coordinator(request)
            case messages.ListOffsetsRequest():
                return self.topics.list_offsets(request, node)
            case messages.OffsetForLeaderEpochRequest():
                return self.topics.ends_of_epochs(request, node)
            case messages.FetchRequest():
                return self.topics.fetch(request, node, deleted)
        raise TypeError(f"{request!r} is for `groups`")

    def _metadata(self, names: Sequence[str]) -> tuple[messages.TopicMetadata, ...]:
        """Of what there is, with the id; of what is asked for by an id that nothing has, with that."""
        return tuple(
            replace(topic, topic_id=self.topic_ids.id_of(topic.topic).bytes)
            if topic.error is ErrorCode.NONE or is_unknown(topic.topic)
            else topic
            for topic in self.topics.metadata(names)
        )

    def metadata(self) -> Mapping[str, messages.TopicMetadata]:
        """What is said of all topics."""
        return {topic.topic: topic for topic in self._metadata(self.topics.names)}

    def refuse(self, request: Request, error: ErrorCode) -> Answer:
        """The answer with this error. One about topics names the nodes all the same, as every broker does."""
        if not isinstance(request, messages.MetadataRequest):
            return answer_with_error(request, error)
        refused = tuple(messages.TopicMetadata(topic, (), error) for topic in request.topics or ())
        return messages.MetadataResponse(tuple(self.addresses), refused, self.addresses[0].node_id)

    def _find_coordinator(self, request: messages.FindCoordinatorRequest) -> messages.FindCoordinatorResponse:
        if not request.group_id:
            return messages.FindCoordinatorResponse(ErrorCode.INVALID_GROUP_ID)
        where = self.addresses[self.coordinator - 1]
        return messages.FindCoordinatorResponse(ErrorCode.NONE, where.node_id, where.host, where.port)


def _capped(known: Versions, version_caps: Mapping[str, int]) -> Versions:
    unknown = set(version_caps) - {"Produce", *API_VERSIONS}
    if unknown:
        raise ValueError(f"version caps for {sorted(unknown)}: the APIs are {', '.join(API_VERSIONS)}")
    return {
        api: versions.capped(version_caps[api]) if api in version_caps else versions for api, versions in known.items()
    }

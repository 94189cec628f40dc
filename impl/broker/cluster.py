"""What a well-behaved cluster answers: the nodes, the topics, the groups, and which node answers what.

Without any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from groupspec.impl.broker.coordinators import Coordinators
from groupspec.impl.broker.group import Group
from groupspec.impl.broker.topics import Topics
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import Broker, ErrorCode, Request
from groupspec.impl.network.answers import answer_with_error
from groupspec.impl.network.codec import Answer
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import API_VERSIONS, ApiVersionsResponse, VersionRange, Versions

MemberRequest = (
    messages.JoinGroupRequest
    | messages.SyncGroupRequest
    | messages.HeartbeatRequest
    | messages.LeaveGroupRequest
    | messages.OffsetCommitRequest
)
GroupRequest = MemberRequest | messages.OffsetFetchRequest

_PRODUCE = VersionRange(3, 9)
"""Advertised because librdkafka takes its absence for a broker from before record batches; never served."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The client, the node that it asks, and the time."""

    node: int
    client_id: str
    version: int
    now_ms: int


class Cluster:
    """All that the nodes share. Node ids are 1, 2, ... in the order of `addresses`.

    With `settings`, groups are kept by `coordinators`, which answer later; without, each by a `Group` for one client.
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
        self.coordinators = None if settings is None else Coordinators(nodes, settings, self.topics.partitions_of)
        self.topic_ids = TopicIds(self.topics.names)
        self.coordinator = 1
        self.addresses: list[Broker] = []
        self.versions = _capped(version_caps)
        self._groups: dict[str, Group] = {}
        self._note = note

    def group(self, group_id: str) -> Group:
        """The group of this id, made at its first mention."""
        if group_id not in self._groups:
            self._groups[group_id] = Group(group_id, self.topics.partitions_of, self._note)
        return self._groups[group_id]

    @property
    def groups(self) -> Mapping[str, Group]:
        """All groups that were mentioned."""
        return self._groups

    def advertised(self) -> ApiVersionsResponse:
        """What ApiVersions says."""
        return ApiVersionsResponse({"Produce": _PRODUCE, **self.versions})

    def answer(self, request: Request, caller: Caller) -> Answer:
        """What a well-behaved cluster answers. A Fetch is answered with what is there, without waiting for more."""
        if isinstance(request, messages.ApiVersionsRequest):
            return self.advertised()
        if isinstance(request, messages.MetadataRequest):
            names = self.topics.names if request.topics is None else request.topics
            return messages.MetadataResponse(
                tuple(self.addresses), self.topics.metadata(names), self.addresses[0].node_id
            )
        if isinstance(request, messages.FindCoordinatorRequest):
            return self._find_coordinator(request)
        if isinstance(request, messages.ListOffsetsRequest):
            return self.topics.list_offsets(request, caller.node)
        if isinstance(request, messages.FetchRequest):
            return self.topics.fetch(request, caller.node)
        return self._of_group(request, caller)

    def _find_coordinator(self, request: messages.FindCoordinatorRequest) -> messages.FindCoordinatorResponse:
        if not request.group_id:
            return messages.FindCoordinatorResponse(ErrorCode.INVALID_GROUP_ID)
        where = self.addresses[self.coordinator - 1]
        return messages.FindCoordinatorResponse(ErrorCode.NONE, where.node_id, where.host, where.port)

    def _of_group(self, request: GroupRequest, caller: Caller) -> Answer:
        """A request to a group's coordinator: another broker refuses it (rule G13)."""
        if caller.node != self.coordinator:
            return answer_with_error(request, ErrorCode.NOT_COORDINATOR)
        group = self.group(request.group_id)
        if isinstance(request, messages.JoinGroupRequest):
            return group.join(request, caller.version, caller.client_id, caller.now_ms)
        if isinstance(request, messages.SyncGroupRequest):
            return group.sync(request, caller.now_ms)
        if isinstance(request, messages.HeartbeatRequest):
            return group.heartbeat(request, caller.now_ms)
        if isinstance(request, messages.LeaveGroupRequest):
            return group.leave(request)
        if isinstance(request, messages.OffsetCommitRequest):
            return group.commit(request, caller.now_ms)
        return group.fetch_offsets(request)

    def refuse(self, request: Request, error: ErrorCode, client_id: str) -> Answer:
        """Say this error because a script wants it, and let the group's state follow."""
        if isinstance(request, MemberRequest) and self.coordinators is None:
            group = self.group(request.group_id)
            if isinstance(request, messages.JoinGroupRequest) and error is ErrorCode.MEMBER_ID_REQUIRED:
                return answer_with_error(replace(request, member_id=group.hand_out_id(client_id)), error)
            group.said(error, request.member_id)
        return answer_with_error(request, error)


def _capped(version_caps: Mapping[str, int]) -> Versions:
    unknown = set(version_caps) - set(API_VERSIONS)
    if unknown:
        raise ValueError(f"version caps for {sorted(unknown)}: the APIs are {', '.join(API_VERSIONS)}")
    return {
        api: versions.capped(version_caps[api]) if api in version_caps else versions
        for api, versions in API_VERSIONS.items()
    }

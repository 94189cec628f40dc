"""The group coordinators of a cluster: one on each node, one log, and the node that has the groups.

Without any I/O. Topics that do not exist are refused here, as a broker does before its coordinator sees a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from groupspec.impl.broker.topics import unknown_topic
from groupspec.impl.coordinator.context import (
    Answered,
    Caller,
    Choose,
    GroupRequest,
    GroupResponse,
    Handle,
    Output,
    first,
    new_uuid,
    nothing,
)
from groupspec.impl.coordinator.coordinator import Coordinator, settle
from groupspec.impl.coordinator.group import Group
from groupspec.impl.coordinator.log import Log
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.network.topic_ids import is_unknown

Answers = Mapping[Handle, GroupResponse]
"""What is answered now, by the request's handle."""
NOBODYS: Final = 0
"""The handle of a request whose answer nobody awaits."""
OFFSET_COMMIT_VERSION: Final = 3


class Coordinators:
    """`partitions_of(topic)` tells how many there are (0: no such topic). Node 1 has all groups at first.

    `note` is told what happens without a request; `new_id` and `choose` are those of `Coordinator`.
    """

    def __init__(
        self,
        nodes: int,
        settings: Settings,
        partitions_of: Callable[[str], int],
        note: Callable[[str], object] = nothing,
        new_id: Callable[[str, Handle], str] = new_uuid,
        choose: Choose = first,
    ) -> None:
        self._partitions = range(settings.offsets_partitions)
        self._log = Log(settings.offsets_partitions)
        self._nodes = [Coordinator(settings, new_id, choose, note) for _ in range(nodes)]
        self._partitions_of = partitions_of
        self._unknown: dict[Handle, dict[TopicPartition, ErrorCode]] = {}
        self._node = 1
        self.begin_move(1, 0)
        self.end_move(0)

    def ask(self, handle: Handle, request: GroupRequest, node: int, caller: Caller, now_ms: int) -> Answers:
        """A request that reaches this node; its own answer may be among these, or come later, or never."""
        if isinstance(request, OffsetCommitRequest):
            unknown = {
                partition: unknown_topic(partition.topic)
                for partition in request.offsets
                if not 0 <= partition.partition < self._partitions_of(partition.topic)
            }
            if unknown and len(unknown) == len(request.offsets):
                return {handle: OffsetCommitResponse(unknown)}
            self._unknown[handle] = unknown
            known = {partition: offset for partition, offset in request.offsets.items() if partition not in unknown}
            request = replace(request, offsets=known)
        coordinator = self._nodes[node - 1]
        return self._settle(coordinator, coordinator.handle(handle, request, caller, now_ms), now_ms)

    def commit(self, request: OffsetCommitRequest, now_ms: int) -> None:
        """Positions of a group without members, which no client sends."""
        Coordinators.ask(self, NOBODYS, request, self._node, Caller(OFFSET_COMMIT_VERSION, ""), now_ms)

    def delete_topic(self, topic: str, now_ms: int) -> Answers:
        """A topic is deleted, and with it what groups have committed of it."""
        return self._settle(self._coordinator, self._coordinator.delete_topic(topic, now_ms), now_ms)

    def advance(self, now_ms: int) -> Answers:
        """Time has passed."""
        return self._settle(self._coordinator, self._coordinator.advance(now_ms), now_ms)

    def next_deadline_ms(self) -> int | None:
        """When `advance` has something to do next."""
        return self._coordinator.next_deadline_ms()

    def group(self, group_id: str) -> Group | None:
        """A group, to look at."""
        return self._coordinator.group(group_id)

    def phase_deadline_ms(self, group_id: str) -> int | None:
        """When the timer of a group's join phase or sync phase is due; None: neither runs."""
        return self._coordinator.phase_deadline_ms(group_id)

    def begin_move(self, node: int, now_ms: int) -> Answers:
        """The groups leave the node that has them, and this one begins to read the log."""
        before, self._node = self._coordinator, node
        answers: dict[Handle, GroupResponse] = {}
        for partition in self._partitions:
            if before.has(partition):
                answers |= self._settle(before, before.unload(partition, now_ms), now_ms)
            self._coordinator.load(partition)
        return answers

    def end_move(self, now_ms: int) -> Answers:
        """The node has read the log, and serves the groups from now on."""
        coordinator = self._coordinator
        answers: dict[Handle, GroupResponse] = {}
        for partition in self._partitions:
            outputs = coordinator.loaded(partition, self._log.read(partition), now_ms)
            answers |= self._settle(coordinator, outputs, now_ms)
        return answers

    @property
    def _coordinator(self) -> Coordinator:
        """The one that has the groups."""
        return self._nodes[self._node - 1]

    def _settle(self, coordinator: Coordinator, outputs: list[Output], now_ms: int) -> Answers:
        return {
            output.handle: self._with_unknown(output)
            for output in settle(coordinator, outputs, self._log, now_ms)
            if isinstance(output, Answered)
        }

    def _with_unknown(self, answered: Answered) -> GroupResponse:
        unknown = self._unknown.pop(answered.handle, {})
        if isinstance(answered.response, OffsetCommitResponse) and unknown:
            return replace(answered.response, errors={**answered.response.errors, **unknown})
        if isinstance(answered.response, OffsetFetchResponse):
            strange = {p for p in answered.response.offsets if is_unknown(p.topic)}
            refused = dict.fromkeys(strange, FetchedOffset(-1, error=ErrorCode.UNKNOWN_TOPIC_ID))
            return replace(answered.response, offsets={**answered.response.offsets, **refused})
        return answered.response

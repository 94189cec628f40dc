"""The brokers: the reference coordinator on one of them, and the partitions' logs (`logs`) on all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import structs

from groupspec.conformance.simulation.logs import Logs
from groupspec.conformance.simulation.loop import Event, Loop
from groupspec.conformance.simulation.plan import GROUP, NODES, TOPICS, Plan
from groupspec.impl.broker.coordinators import Coordinators
from groupspec.impl.coordinator.context import Caller, GroupRequest, Handle
from groupspec.impl.coordinator.group import GroupState
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, Request, Response, TopicPartition

BROKERS: Final = tuple(messages.Broker(node, "broker", 9090 + node) for node in range(1, NODES + 1))
VERSION: Final = 9
"""Of every request whose bytes do not say another one, as far as a coordinator cares."""

Reply = Callable[[Response], None]


class Cluster:
    """What all brokers know together.

    Attributes:
        coordinator: The node that has the group.
        down: Nodes that do not run.
        undone: Generations that a coordinator had begun, and that the next one has not found in the log. Source: Kafka
            GroupMetadataManager writes a generation when it has its leader's assignment, not before.
        logs: What the partitions have.
    """

    def __init__(self, loop: Loop, plan: Plan) -> None:
        self._loop = loop
        self.logs = Logs(loop, plan)
        settings = Settings(initial_rebalance_delay_ms=plan.initial_delay_ms, offsets_partitions=1)
        self.coordinators = Coordinators(NODES, settings, self.logs.count)
        self.coordinator = 1
        self.down: set[int] = set()
        self.undone: set[int] = set()
        self._loading: Event | None = None
        self._ids_before: dict[str, str] = {}
        self._generation_before = 0
        self._forgotten: set[str] = set()
        self._deleted: set[str] = set()  # topics of which the group's offsets are there still
        self._named = 1  # by lookups
        self._timer: Event | None = None
        self._waiting: dict[Handle, Reply] = {}
        self._next_handle = 1

    def committed(self, partition: TopicPartition) -> int:
        """What the group has committed; 0: nothing yet."""
        group = self.coordinators.group(GROUP)
        found = group.offsets.get(partition) if group is not None else None
        return 0 if found is None else found.offset

    def is_member(self, member_id: str) -> bool:
        """Whether the group has a member of this id."""
        group = self.coordinators.group(GROUP)
        return group is not None and member_id in group.members

    def is_stable(self) -> bool:
        """Whether the group has a generation that is divided, and no round is under way."""
        group = self.coordinators.group(GROUP)
        return group is not None and group.state is GroupState.STABLE

    # Changes ---------------------------------------------------------------------------------------------------------

    def move(self, node: int, load_ms: int) -> None:
        """The group goes to this node, which reads its log first; lookups name the old node as long."""
        if self._loading is not None:
            return
        self._ids_before, self._generation_before = self._static_ids(), self._generation()
        self._reply(self.coordinators.begin_move(node, self._loop.now_ms))
        self.coordinator = node
        self._loading = self._loop.after(load_ms, self._moved)

    def delete_topic(self, topic: str, behind_ms: Sequence[int] = ()) -> None:
        """The topic is deleted, and with it what the group has committed of it. `behind_ms`: see Logs.delete."""
        self.logs.delete(topic, behind_ms)
        self._deleted.add(topic)
        if not self.is_moving:
            self._forget_deleted()

    def _forget_deleted(self) -> None:
        while self._deleted:
            self._reply(self.coordinators.delete_topic(self._deleted.pop(), self._loop.now_ms))

    def _moved(self) -> None:
        self._loading = None
        self._named = self.coordinator
        self._reply(self.coordinators.end_move(self._loop.now_ms))
        self._forget_deleted()
        self.undone |= set(range(self._generation() + 1, self._generation_before + 1))
        ids = self._static_ids()
        self._forgotten |= {i for i, member_id in self._ids_before.items() if ids.get(i, member_id) != member_id}

    def _generation(self) -> int:
        group = self.coordinators.group(GROUP)
        return 0 if group is None else group.generation

    def _static_ids(self) -> dict[str, str]:
        group = self.coordinators.group(GROUP)
        return {} if group is None else dict(group.static_ids)

    def has_forgotten(self, instance_id: str | None) -> bool:
        """Whether a coordinator that has read the log took an earlier process for the owner of this instance id.

        A process that takes an instance id over in the middle of a round is in the log when the round is synchronised,
        not before. If the group moves in between, the new coordinator knows the earlier process, and fences this one
        for good. Source: Kafka GroupMetadataManager (updateStaticMemberThenRebalanceOrCompleteJoin writes a record in
        Stable only; replay of GroupMetadataValue), ClassicGroup.validateMember.
        """
        return instance_id in self._forgotten

    @property
    def is_moving(self) -> bool:
        """Whether a coordinator reads the group's log."""
        return self._loading is not None

    # Requests --------------------------------------------------------------------------------------------------------

    def receive(self, request: Request, node: int, client_id: str, reply: Reply, version: int = VERSION) -> None:
        """A request that has reached this node: `reply` is called with its answer, now, later or never."""
        match request:
            case messages.MetadataRequest(topics):
                reply(messages.MetadataResponse(self._brokers(), tuple(self._topic(t, node) for t in topics or TOPICS)))
            case messages.FindCoordinatorRequest():
                reply(self._found())
            case messages.ListOffsetsRequest(timestamps):
                errors = {p: self.logs.seen_by(node, p.topic).topic_error(p.topic, {}) for p in timestamps}
                reply(messages.ListOffsetsResponse({p: messages.ListedOffset(0, e) for p, e in errors.items()}))
            case messages.FetchRequest():
                self.logs.fetch(request, node, reply)
            case messages.OffsetForLeaderEpochRequest():
                reply(self.logs.epoch_ends(request, node))
            case messages.ApiVersionsRequest():
                raise AssertionError("the core asks for no versions")
            case messages.OffsetCommitRequest(offsets=offsets, topic_ids=ids) if gone := self._gone(offsets, ids):
                errors = dict.fromkeys(gone, ErrorCode.UNKNOWN_TOPIC_ID)
                left = {p: offset for p, offset in offsets.items() if p not in gone}
                if left:
                    asked = structs.replace(request, offsets=left)
                    self._ask(asked, node, client_id, partial(_with_errors, errors, reply), version)
                else:
                    reply(messages.OffsetCommitResponse(errors))
            case messages.OffsetFetchRequest(partitions=wanted, topic_ids=ids) if self._gone(wanted, ids):
                error = messages.FetchedOffset(-1, error=ErrorCode.UNKNOWN_TOPIC_ID)
                reply(messages.OffsetFetchResponse(dict.fromkeys(wanted, error)))
            case _:
                self._ask(request, node, client_id, reply, version)

    def _gone(self, partitions: Iterable[TopicPartition], topic_ids: Mapping[str, bytes]) -> list[TopicPartition]:
        """Those of topics that are no more, by the ids that a request has for them."""
        refused = ErrorCode.UNKNOWN_TOPIC_ID
        return [p for p in partitions if self.logs.topic_error(p.topic, topic_ids) is refused]

    def _ask(self, request: GroupRequest, node: int, client_id: str, reply: Reply, version: int) -> None:
        handle, self._next_handle = self._next_handle, self._next_handle + 1
        self._waiting[handle] = reply
        caller = Caller(version, client_id)
        self._reply(self.coordinators.ask(handle, request, node, caller, self._loop.now_ms))

    def _reply(self, answers: object) -> None:
        assert isinstance(answers, dict)
        for handle, response in answers.items():
            if (reply := self._waiting.pop(handle, None)) is not None:
                reply(response)
        at_ms = self.coordinators.next_deadline_ms()
        if self._timer is not None:
            if self._timer.at_ms == at_ms and self._timer.act is not None:
                return
            self._timer.cancel()
        self._timer = None if at_ms is None else self._loop.at(at_ms, self._time_has_passed)

    def _time_has_passed(self) -> None:
        self._timer = None
        self._reply(self.coordinators.advance(self._loop.now_ms))

    def _found(self) -> messages.FindCoordinatorResponse:
        if self._named in self.down:
            return messages.FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return messages.FindCoordinatorResponse(ErrorCode.NONE, self._named, "broker", 9090 + self._named)

    def _brokers(self) -> tuple[messages.Broker, ...]:
        return tuple(broker for broker in BROKERS if broker.node_id not in self.down)

    def _topic(self, topic: str, node: int) -> messages.TopicMetadata:
        logs = self.logs.seen_by(node, topic)
        if error := logs.topic_error(topic, {}):
            return messages.TopicMetadata(topic, (), error)
        leader, epochs = self._leader(), logs.epochs
        return messages.TopicMetadata(
            topic,
            tuple(
                messages.PartitionMetadata(partition.partition, leader, leader_epoch=epochs[partition])
                for partition in logs.all_partitions([topic])
            ),
            topic_id=logs.topic_id(topic),
        )

    def _leader(self) -> int:
        """The node that leads all partitions: the last one that runs. So a member has one fetch under way."""
        return self._brokers()[-1].node_id


def _with_errors(errors: Mapping[TopicPartition, ErrorCode], reply: Reply, response: Response) -> None:
    """A commit is answered, of which some partitions were refused before."""
    assert isinstance(response, messages.OffsetCommitResponse)
    reply(structs.replace(response, errors={**response.errors, **errors}))

"""The kit's own requests to a cluster: a topic of its own with records, and at the end its removal.

Nothing else is written there by the kit. What clients write is theirs: their group's commits.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from groupspec.conformance.errors import InconclusiveProblem, Problem, UsageProblem
from groupspec.conformance.wire.live.asking import Line, first_that_answers
from groupspec.conformance.wire.live.tap import told
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from groupspec.impl.network.addresses import Address
from groupspec.impl.network.errors import CodecError
from groupspec.impl.network.records import NewRecord, encode_records
from groupspec.impl.network.versions import VersionRange
from groupspec.impl.network.wire import Struct

Asked = ParamSpec("Asked")
Told = TypeVar("Told")

PARTITIONS: Final = 4
RECORDS: Final = 6
READY_WITHIN_S: Final = 30.0
AGAIN_S: Final = 0.05
PREFIX: Final = "groupspec-conform-"
_SOON: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""What a broker says of a topic that has just been made."""
_BROKER: Final = 4
"""A broker, as a resource that has settings."""
_REFUSED: Final = "the broker refused it"


@dataclass(frozen=True)
class Topic:
    """A topic that clients read. `is_ours`: the kit has made it, may append to it, and deletes it."""

    name: str
    partitions: int
    is_ours: bool

    @property
    def names(self) -> frozenset[str]:
        """Its partitions, as the log names them."""
        return frozenset(f"{self.name}-{number}" for number in range(self.partitions))


def _understood(ask: Callable[Asked, Told]) -> Callable[Asked, Told]:
    """What a broker answers may be anything: no frame of Kafka's, a list without what was asked for, or nothing."""

    @wraps(ask)
    def asked(*arguments: Asked.args, **named: Asked.kwargs) -> Told:
        try:
            return ask(*arguments, **named)
        except (OSError, CodecError, LookupError, ValueError, AssertionError) as problem:
            raise InconclusiveProblem(
                f"the broker does not answer as Kafka does: {str(problem) or type(problem).__name__}",
                where=f"asked by the kit itself: {ask.__name__.replace('_', ' ').strip()}",
                next_step="look into the broker's log; `groupspec broker up` starts a broker that answers",
            ) from problem

    return asked


class Admin:
    """Asks the brokers of a cluster. Use as a context manager; connections end with the block.

    Attributes:
        coordinator_node: The node that `coordinator` found last.

    Raises:
        UsageProblem: none of these addresses answers as a Kafka broker does.
    """

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._lines: dict[Address, Line] = {}
        self._first = first_that_answers(addresses)
        self._lines[self._first.address] = self._first
        self.coordinator_node = -1

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._lines.values():
            line.close()

    @_understood
    def create_topic(self, needs: Sequence[str] = ("CreateTopics", "Produce")) -> Topic:
        """A topic under a name that nobody has, yet without records. Raises UsageProblem if the broker makes none."""
        topic = Topic(f"{PREFIX}{secrets.token_hex(4)}", PARTITIONS, is_ours=True)
        if not set(needs) <= set(self._first.versions):
            raise UsageProblem(
                "this broker makes no topics", where=told(self._first.address), next_step="name one: --topic TOPIC"
            )
        new = {
            "name": topic.name,
            "num_partitions": PARTITIONS,
            "replication_factor": -1,
            "assignments": [],
            "configs": [],
        }
        body = {"topics": [new], "timeout": 10_000, "validate_only": False}
        answer = self._controller().ask("CreateTopics", body)
        _require_none(answer.structs("topics")[0], f"the topic {topic.name} cannot be made")
        return topic

    @_understood
    def find_topic(self, name: str) -> Topic:
        """A topic that is there. Raises UsageProblem if it is not."""
        [found] = self._metadata((name,)).topics
        if found.error is not ErrorCode.NONE:
            raise UsageProblem(
                f"there is no topic {name!r}: {found.error.name}",
                where=told(self._first.address),
                next_step="make it, or leave --topic out: then the kit makes one, and deletes it at the end",
            )
        return Topic(name, len(found.partitions), is_ours=False)

    @_understood
    def append(self, topic: Topic) -> None:
        """A few records more in each partition of a topic of the kit's own."""
        assert topic.is_ours, f"{topic.name} is not the kit's to write to"
        records = encode_records([NewRecord(b"record", timestamp_ms=time.time_ns() // 1_000_000)] * RECORDS, 0)
        for number in range(topic.partitions):
            self._append(topic, {"index": number, "records": records})

    def _append(self, topic: Topic, part: Mapping[str, Any]) -> None:
        """To one partition, as soon as its leader knows that it leads."""
        data = [{"name": topic.name, "partition_data": [part]}]
        body = {"transactional_id": None, "acks": -1, "timeout": 10_000, "topic_data": data}
        until = time.monotonic() + READY_WITHIN_S
        while True:
            leader = self._leaders(topic)[part["index"]]
            [answer] = leader.ask("Produce", body).structs("responses")[0].structs("partition_responses")
            if answer.get("error_code") not in _SOON:
                _require_none(answer, f"no record can be written to {topic.name}")
                return
            _wait(until, f"{topic.name} takes no records: {ErrorCode(answer.get('error_code')).name}")

    @_understood
    def coordinator(self, group_id: str) -> Address:
        """The address of this group's coordinator; waits for a cluster that has yet to make the topic of offsets."""
        until = time.monotonic() + READY_WITHIN_S
        while True:
            answer = self._first.exchange(FindCoordinatorRequest(group_id), 2)
            assert isinstance(answer, FindCoordinatorResponse)
            if answer.error is ErrorCode.NONE:
                self.coordinator_node = answer.node_id
                return answer.host, answer.port
            _wait(until, f"no coordinator of groups: {answer.error.name}")

    def remove(self, topic: Topic, group_id: str) -> list[str]:
        """The group, which has no members any more, and a topic of the kit's own; returns what is left behind."""
        left = []
        try:
            if not self.delete_group(self.coordinator(group_id), group_id):
                left.append(f"the group {group_id}")
        except Problem as problem:
            left.append(f"the group {group_id} ({problem})")
        return left + self.delete_topic(topic)

    @_understood
    def delete_group(self, coordinator: Address, group_id: str) -> bool:
        """Whether it is gone."""
        line = self.line(coordinator)
        if "DeleteGroups" not in line.versions:
            return False
        [answer] = line.ask("DeleteGroups", {"groups_names": [group_id]}).structs("results")
        return answer.get("error_code") in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)

    @_understood
    def members_of(self, coordinator: Address, group_id: str) -> list[str]:
        """The ids of a group's members; none if the broker does not tell."""
        line = self.line(coordinator)
        if "DescribeGroups" not in line.versions:
            return []
        body = {"groups": [group_id], "include_authorized_operations": False}
        [group] = line.ask("DescribeGroups", body).structs("groups")
        return [str(each.get("member_id")) for each in group.structs("members")]

    def delete_topic(self, topic: Topic) -> list[str]:
        """One of the kit's own; others stay. Returns what is left behind."""
        try:
            if topic.is_ours:
                answer = self._controller().ask("DeleteTopics", {"topic_names": [topic.name], "timeout": 10_000})
                _require_none(answer.structs("responses")[0], "it cannot be deleted")
        except (OSError, CodecError, LookupError, Problem) as problem:
            return [f"the topic {topic.name} ({problem})"]
        return []

    @_understood
    def settings(self, node: int, names: Sequence[str]) -> Mapping[str, str]:
        """What a broker says of its own settings; none if it does not tell."""
        line = self.line(self._nodes().get(node, self._first.address))
        if "DescribeConfigs" not in line.versions:
            return {}
        resource = {"resource_type": _BROKER, "resource_name": str(node), "configuration_keys": names}
        body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
        [answer] = line.ask("DescribeConfigs", body).structs("results")
        found = {each.get("name"): each.get("value") for each in answer.structs("configs")}
        return {name: value for name, value in found.items() if name in names and value is not None}

    @_understood
    def served(self, address: Address) -> Mapping[str, VersionRange]:
        """The versions of a consumer's requests that this broker has."""
        return self.line(address).served

    # Nodes ------------------------------------------------------------------------------------------------------------

    def _metadata(self, topics: tuple[str, ...]) -> MetadataResponse:
        answer = self._first.exchange(MetadataRequest(topics), 4)
        assert isinstance(answer, MetadataResponse)
        return answer

    def _nodes(self) -> Mapping[int, Address]:
        return {broker.node_id: (broker.host, broker.port) for broker in self._metadata(()).brokers}

    def _controller(self) -> Line:
        return self.line(self._nodes().get(self._metadata(()).controller_id, self._first.address))

    def _leaders(self, topic: Topic) -> Mapping[int, Line]:
        """The leader of each partition, once all have one."""
        until = time.monotonic() + READY_WITHIN_S
        while True:
            found = self._metadata((topic.name,))
            nodes = {broker.node_id: (broker.host, broker.port) for broker in found.brokers}
            leaders = {each.partition: nodes.get(each.leader) for each in found.topics[0].partitions}
            known = {number: address for number, address in leaders.items() if address is not None}
            if len(known) == topic.partitions:
                return {number: self.line(address) for number, address in known.items()}
            _wait(until, f"{topic.name} has no leaders")

    def line(self, address: Address) -> Line:
        """A connection to this broker."""
        if address not in self._lines:
            self._lines[address] = Line(address)
        return self._lines[address]


def _require_none(struct: Struct, what: str) -> None:
    code: Any = struct.get("error_code", 0)
    if code:
        raise UsageProblem(
            f"{what}: {ErrorCode(code).name} {struct.get('error_message') or ''}".strip(), where=_REFUSED
        )


def _wait(until: float, problem: str) -> None:
    if time.monotonic() > until:
        raise InconclusiveProblem(f"{problem}, {READY_WITHIN_S:.0f} s long")
    time.sleep(AGAIN_S)

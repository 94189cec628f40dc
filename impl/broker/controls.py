"""What a scenario sees of the broker and does with it, as far as no socket is needed for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from groupspec.impl.broker.actions import Script
from groupspec.impl.broker.cluster import Cluster
from groupspec.impl.broker.coordinators import Answers
from groupspec.impl.broker.log import WireEvent, WireLog
from groupspec.impl.broker.one_client import OneClient
from groupspec.impl.broker.phantom import Phantom
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import (
    Broker,
    OffsetAndMetadata,
    OffsetCommitRequest,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.runtime import Lock

CUT: Final = "the connection is cut"
REFUSES: Final = "node {node} refuses connections"
"""Remarks in the log."""


class Controls(Script):
    """All methods may be called from any thread; requests wait for as long as one of them works."""

    def __init__(
        self,
        nodes: int,
        topics: Mapping[str, int],
        version_caps: Mapping[str, int],
        lock: Lock,
        log: WireLog,
        groups: Settings | None = None,
    ) -> None:
        if nodes < 1:
            raise ValueError(f"a broker needs at least one node, not {nodes}")
        super().__init__(lock)
        self._nodes = nodes
        self.log = log
        self._cluster = Cluster(topics, nodes, version_caps, self.note, groups)

    # What a scenario sees --------------------------------------------------------------------------------------------

    @property
    def addresses(self) -> tuple[Broker, ...]:
        """The nodes: id, host, port."""
        return tuple(self._cluster.addresses)

    @property
    def bootstrap(self) -> str:
        """The addresses as a client's bootstrap.servers."""
        return ",".join(f"{node.host}:{node.port}" for node in self.addresses)

    @property
    def events(self) -> list[WireEvent]:
        """The log so far."""
        return self.log.events

    def wait_for(
        self, predicate: Callable[[WireEvent], bool], timeout_s: float, what: str, since: WireEvent | None = None
    ) -> WireEvent:
        """The first event in the log, after `since`, that the predicate accepts. Raises NotHappened, BrokerFailure."""
        return self.log.wait_for(predicate, timeout_s, what, since)

    def note(self, text: str) -> WireEvent:
        """A remark in the log; what happens after it can be waited for with `since`."""
        return self.log.add("note", text=text)

    # What a scenario does --------------------------------------------------------------------------------------------

    def metadata(self) -> Mapping[str, TopicMetadata]:
        """What Metadata say of all topics."""
        with self._lock:
            return self._cluster.metadata()

    def be_behind(self, known: Mapping[str, TopicMetadata]) -> None:
        """From now on Metadata say this again, as brokers do that have not heard of it yet; with nothing, what is."""
        with self._lock:
            self._cluster.known_instead = known
        self.note("Metadata are of an earlier time from now on" if known else "Metadata are of now again")

    @property
    def coordinator(self) -> int:
        """The node that coordinates the groups. Setting it moves them: the old node then says NOT_COORDINATOR."""
        return self._cluster.coordinator

    @coordinator.setter
    def coordinator(self, node: int) -> None:
        self.begin_move(node)
        self.end_move()

    def begin_move(self, node: int) -> None:
        """The groups move to this node, which begins to load them: until `end_move`."""
        if not 1 <= node <= self._nodes:
            raise ValueError(f"node {node} does not exist; there are 1 to {self._nodes}")
        with self._lock:
            self._cluster.coordinator = node
            answers = self._cluster.groups.begin_move(node, self.log.now_ms())
        self.note(f"node {node} coordinates from now on")
        self._deliver(answers)

    def end_move(self) -> None:
        """The node that coordinates has loaded the groups."""
        with self._lock:
            answers = self._cluster.groups.end_move(self.log.now_ms())
        self._deliver(answers)

    def _deliver(self, answers: Answers) -> None:
        """Requests that waited have their answers."""

    def assigned(self, group_id: str) -> tuple[TopicPartition, ...]:
        """What the client of this group was assigned last; nothing if its assignment cannot be decoded."""
        with self._lock:
            return self._one_client().assigned(group_id)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a topic has; 0 if there is none."""
        with self._lock:
            return self._cluster.topics.partitions_of(topic)

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Positions of a group that has no member yet."""
        positions = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
        with self._lock:
            self._cluster.groups.commit(OffsetCommitRequest(group_id, -1, "", None, positions), self.log.now_ms())

    def announce_rebalance(self, group_id: str) -> None:
        """Answer heartbeats with REBALANCE_IN_PROGRESS until the client has joined."""
        with self._lock:
            answers = self._one_client().announce_rebalance(group_id, self.log.now_ms())
        self.note(f"group {group_id}: a rebalance is announced")
        self._deliver(answers)

    def add_phantom(
        self,
        group_id: str,
        *,
        leads: bool = False,
        takes: Sequence[TopicPartition] = (),
        topics: Sequence[str] = (),
        claims: Sequence[TopicPartition] = (),
        generation: int = -1,
    ) -> None:
        """A second member joins with the client; leading, it takes those partitions, and the client has the others.

        It subscribes to what the client does, or to `topics`; it says that it owns `claims`, since that generation.
        """
        with self._lock:
            partitions_of = self._cluster.topics.partitions_of
            phantom = Phantom(
                group_id, partitions_of, leads, frozenset(takes), tuple(topics), tuple(claims), generation
            )
            self._one_client().add_phantom(phantom)
        self.note(f"group {group_id}: a phantom {'leads' if leads else 'takes part'} from the next round on")

    def remove_phantom(self, group_id: str) -> None:
        """The second member leaves."""
        with self._lock:
            answers = self._one_client().remove_phantom(group_id, self.log.now_ms())
        self.note(f"group {group_id}: the phantom is gone")
        self._deliver(answers)

    def _one_client(self) -> OneClient:
        groups = self._cluster.groups
        if not isinstance(groups, OneClient):
            raise ValueError("groups have several members here; only a group of one client can be changed")
        return groups

    def set_partitions(self, topic: str, partitions: int) -> None:
        """Create a topic, or give it more partitions."""
        with self._lock:
            self._cluster.create_topic(topic, partitions)
        self.note(f"topic {topic} has {partitions} partitions")

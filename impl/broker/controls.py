"""What a scenario sees of the broker and does with it, as far as no socket is needed for that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from groupspec.impl.broker.actions import Script
from groupspec.impl.broker.cluster import Cluster
from groupspec.impl.broker.coordinators import Answers
from groupspec.impl.broker.group import Group
from groupspec.impl.broker.log import WireEvent, WireLog
from groupspec.impl.broker.phantom import Phantom
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import Broker, TopicPartition
from groupspec.impl.runtime import Lock


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

    @property
    def coordinator(self) -> int:
        """The node that coordinates the groups. Setting it moves them: the old node then says NOT_COORDINATOR."""
        return self._cluster.coordinator

    @coordinator.setter
    def coordinator(self, node: int) -> None:
        self.begin_move(node)
        self.end_move()

    def begin_move(self, node: int) -> None:
        """The groups move to this node, which begins to load them: until `end_move`, with groups of several members."""
        if not 1 <= node <= self._nodes:
            raise ValueError(f"node {node} does not exist; there are 1 to {self._nodes}")
        with self._lock:
            self._cluster.coordinator = node
            coordinators = self._cluster.coordinators
            answers = coordinators.begin_move(node, self.log.now_ms()) if coordinators else {}
        self.note(f"node {node} coordinates from now on")
        self._deliver(answers)

    def end_move(self) -> None:
        """The node that coordinates has loaded the groups."""
        with self._lock:
            coordinators = self._cluster.coordinators
            answers = coordinators.end_move(self.log.now_ms()) if coordinators else {}
        self._deliver(answers)

    def _deliver(self, answers: Answers) -> None:
        """Requests that waited have their answers."""

    @contextlib.contextmanager
    def group(self, group_id: str) -> Iterator[Group]:
        """A group's state, to look at and to change; requests wait as long as the `with` lasts."""
        if self._cluster.coordinators is not None:
            raise ValueError(f"group {group_id!r} has several members; only a group for one client can be changed")
        with self._lock:
            yield self._cluster.group(group_id)

    def announce_rebalance(self, group_id: str) -> None:
        """Answer heartbeats with REBALANCE_IN_PROGRESS until the member has joined."""
        with self.group(group_id) as group:
            group.announce_rebalance()
        self.note(f"group {group_id}: a rebalance is announced")

    def add_phantom(self, group_id: str, *, leads: bool = False, takes: Sequence[TopicPartition] = ()) -> None:
        """A second member is in the next round; leading, it takes those partitions and leaves the client the others."""
        with self.group(group_id) as group:
            group.add_phantom(Phantom(leads=leads, takes=frozenset(takes)))
        self.note(f"group {group_id}: a phantom {'leads' if leads else 'takes part'} from the next round on")

    def remove_phantom(self, group_id: str) -> None:
        """The second member is gone from the next round on."""
        with self.group(group_id) as group:
            group.remove_phantom()
        self.note(f"group {group_id}: the phantom is gone")

    def set_partitions(self, topic: str, partitions: int) -> None:
        """Create a topic, or give it more partitions."""
        with self._lock:
            self._cluster.topics.set_partitions(topic, partitions)
            self._cluster.topic_ids.add(topic)
        self.note(f"topic {topic} has {partitions} partitions")

"""The brokers of a stress run: started, restarted, asked; and what their group coordinator has written."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import kafka
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.real_broker import instance, probe
from groupspec.conformance.stress import offsets_topic
from groupspec.conformance.stress.plan import BROKERS, GROUP, PARTITIONS, TOPIC
from groupspec.conformance.stress.timeline import Happening, Timeline
from groupspec.conformance.traces.dialects.base import LogEvent
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.traces.dialects.times import Clock

ANSWER_LIMIT_S: Final = 30.0
ATTEMPT_S: Final = 5.0
RETRY_S: Final = 0.2
SETTINGS: Final = {
    "offsets.topic.replication.factor": str(BROKERS),
    "auto.leader.rebalance.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "4000",
}
"""Every partition is on each broker; one that is dead is replaced soon, and gets nothing back by itself."""

STANDING: Final = {
    "session_expired": "expelled",
    "dropped": "expelled",
    "sync_expired": "expelled",
    "left": "left",
    "joining": "joined",
    "static_new": "joined",
    "static_replaced": "joined",  # by the process that has the instance id now
    "assigned": "led",
}
"""Lines of the coordinator's log that say who is a member, since when not, and who leads: the dialect's name, and ours.
"""


class _Broker:
    """One of them. `ways`: for each member the port that its proxy listens on, and the one behind it."""

    def __init__(self, directory: Path, node: instance.Node, lifetime_s: float, ports: Sequence[int]) -> None:
        self.directory = directory
        self.port, self.ways = ports[0], list(zip(ports[1::2], ports[2::2], strict=True))
        self._node = node
        self._lifetime_s = lifetime_s
        self._started: instance.Started | None = None

    def start(self, goes_on: bool = False) -> None:
        """Without anything, or with its data."""
        listeners = [
            instance.Listener(f"M{number}", broker_port, port) for number, (port, broker_port) in enumerate(self.ways)
        ]
        self._started = instance.start(
            self.directory,
            lifetime_s=self._lifetime_s,
            owned=True,
            port=self.port,
            settings=SETTINGS,
            listeners=listeners,
            node=self._node,
            goes_on=goes_on,
        )

    def stop(self) -> None:
        """Have it hand over what it leads, and end."""
        instance.stop(self.directory)
        if self._started is not None:
            keeper, self._started = self._started.keeper, None
            if keeper.stdin is not None:
                keeper.stdin.close()
            keeper.wait(ANSWER_LIMIT_S)

    def kill(self) -> None:
        """SIGKILL."""
        if self._started is not None:
            with suppress(ProcessLookupError):
                os.kill(self._started.running.pid, signal.SIGKILL)
        self.stop()


class Cluster:
    """Apache Kafka on loopback: brokers with a listener for each member. Use as a context manager.

    Attributes:
        ways: For each member, and each broker: the port that its proxy listens on, and the broker's behind it.
    """

    def __init__(self, directory: Path, members: int, lifetime_s: float, timeline: Timeline) -> None:
        self._timeline = timeline
        each = 2 * members + 1
        controller, *ports = probe.free_ports(1 + BROKERS * each)
        self._brokers = [
            _Broker(
                directory / f"broker-{number + 1}",
                instance.Node(number + 1, controller),
                lifetime_s,
                ports[number * each : (number + 1) * each],
            )
            for number in range(BROKERS)
        ]
        self.ways = list(zip(*(broker.ways for broker in self._brokers), strict=True))
        self._began_ms = time.time_ns() // 1_000_000 - time.monotonic_ns() // 1_000_000

    def __enter__(self) -> Cluster:
        try:
            with ThreadPoolExecutor() as together:
                list(together.map(_Broker.start, self._brokers))
            self._have(PARTITIONS, lambda admin: admin.create_topics([NewTopic(TOPIC, PARTITIONS, BROKERS)]))
            self._warm_up()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def bootstrap(self) -> str:
        """The listeners that have no proxy: host:port, with commas in between."""
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self._brokers)

    @property
    def _connection(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self.bootstrap, "log_level": 0}

    def stop(self, broker: int) -> None:
        """This one ends, and hands over what it leads."""
        self._timeline.note("broker down", text=f"broker {broker} stopped")
        self._brokers[broker - 1].stop()

    def kill(self, broker: int) -> None:
        """This one is no more."""
        self._timeline.note("broker down", text=f"broker {broker} killed")
        self._brokers[broker - 1].kill()

    def start(self, broker: int) -> None:
        """It comes back, with its data."""
        self._brokers[broker - 1].start(goes_on=True)
        self._timeline.note("broker up", text=f"broker {broker}")

    def move_coordinator(self) -> None:
        """The other broker becomes the group's coordinator.

        Raises:
            InternalProblem: it does not.
        """
        until = time.monotonic() + ANSWER_LIMIT_S
        leader = self._coordinator()
        target = leader % BROKERS + 1
        self._timeline.note("coordinator moves", text=f"from broker {leader} to broker {target}")
        partition = kafka.TopicPartition(offsets_topic.TOPIC, 0)
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap.split(","))
        try:
            while self._coordinator() != target:
                if time.monotonic() > until:
                    raise InternalProblem(f"broker {target} does not become the coordinator", where=offsets_topic.TOPIC)
                with suppress(KafkaError):  # a broker that was started a moment ago may not have caught up
                    admin.alter_partition_reassignments({partition: [target, target % BROKERS + 1]})
                    admin.elect_leaders(0, {offsets_topic.TOPIC: [0]})
                time.sleep(RETRY_S)
        finally:
            admin.close()
        self._timeline.note("coordinator moved", text=f"to broker {target}")

    def _coordinator(self) -> int:
        """The broker that leads the group's offsets partition, which makes it the coordinator; -1: none."""
        metadata = AdminClient(self._connection).list_topics(offsets_topic.TOPIC, timeout=ANSWER_LIMIT_S)
        return metadata.topics[offsets_topic.TOPIC].partitions[0].leader

    def grow(self, partitions: int) -> None:
        """Give the topic so many partitions."""
        self._have(partitions, lambda admin: admin.create_partitions([NewPartitions(TOPIC, partitions)]))
        self._timeline.note("grown", text=f"{partitions} partitions")

    def standings(self, processes: Sequence[Happening], instances: dict[str, str]) -> Iterator[Happening]:
        """When the coordinator's log says that a process became a member, was none any more, or led a rebalance.

        Args:
            processes: When each was started.
            instances: Process -> its group.instance.id, if it has one.
        """
        for event in self._coordinator_events():
            at_us = (event.at_ms - self._began_ms) * 1000
            if event.kind == "loaded":
                yield Happening(at_us, "loaded", text=event.place.file)
            if kind := STANDING.get(event.kind):
                for member_id in event.member_ids:
                    if process := _process(member_id, at_us, processes, instances):
                        yield Happening(at_us, kind, process, text=f"{event.kind} {member_id}")

    def commits(self) -> Iterator[Happening]:
        """What the group has committed, by the coordinator's own records: what is the same as before is left out."""
        last: dict[int, int] = {}
        for one in offsets_topic.read_commits(self.bootstrap):
            if (one.group, one.topic) == (GROUP, TOPIC) and last.get(one.partition) != one.offset:
                last[one.partition] = one.offset
                at_us = (one.at_ms - self._began_ms) * 1000
                yield Happening(at_us, "committed", partitions=(one.partition,), last=one.offset)

    def _coordinator_events(self) -> list[LogEvent]:
        """What the coordinators have written of the group, in the order of time."""
        events: list[LogEvent] = []
        for broker in self._brokers:
            file = broker.directory / "logs" / "coordinator.log"
            with file.open(encoding="utf-8", errors="replace") as lines:
                events += BrokerCoordinatorLog().parse(broker.directory.name, lines, Clock(), GROUP).events
        return sorted(events, key=lambda event: event.at_ms)

    def _stop(self) -> None:
        for broker in self._brokers:
            broker.kill()  # nobody needs what it has

    def _have(self, partitions: int, ask: Callable[[AdminClient], Mapping[str, Future[None]]]) -> None:
        """Ask until the topic has so many partitions: a cluster that is young may leave a question unanswered."""
        until = time.monotonic() + ANSWER_LIMIT_S
        while time.monotonic() < until:
            admin = AdminClient(self._connection)
            with suppress(KafkaException, TimeoutError):
                [asked] = ask(admin).values()
                asked.result(ATTEMPT_S)
            with suppress(KafkaException):
                topics = admin.list_topics(TOPIC, timeout=ATTEMPT_S).topics
                if len(topics[TOPIC].partitions) == partitions:
                    return
            time.sleep(RETRY_S)
        raise InternalProblem(f"{TOPIC} does not get {partitions} partitions", where=self.bootstrap)

    def _warm_up(self) -> None:
        """The first question about a group makes the broker create its offsets topic; answers are errors until then."""
        until = time.monotonic() + ANSWER_LIMIT_S
        consumer = Consumer({**self._connection, "group.id": "warm-up", "enable.auto.commit": False})
        try:
            while time.monotonic() < until:
                with suppress(KafkaException):
                    consumer.committed([TopicPartition(TOPIC, 0)], timeout=ANSWER_LIMIT_S)
                    return
                consumer.poll(0.1)  # serves the client's own events meanwhile
        finally:
            consumer.close()
        raise InternalProblem("the group coordinator did not come up", where=self.bootstrap)


def _process(member_id: str, at_us: int, processes: Sequence[Happening], instances: dict[str, str]) -> str:
    """Whose member id this was: of a dynamic member it begins with the client id, of a static one with the instance id.

    Of the processes with one instance id that is the last one that had been started.
    """
    found = ""
    for one in processes:
        begins = instances.get(one.process) or one.process
        if member_id.startswith(f"{begins}-") and one.at_us <= at_us:
            found = one.process
    return found

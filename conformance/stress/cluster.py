"""The broker of a stress run: started, restarted, asked; and what its group coordinator has written."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.real_broker import instance, probe
from groupspec.conformance.stress.plan import GROUP, PARTITIONS, TOPIC
from groupspec.conformance.stress.timeline import Happening, Timeline
from groupspec.conformance.traces.dialects.broker import BrokerCoordinatorLog
from groupspec.conformance.traces.dialects.times import Clock

ANSWER_LIMIT_S: Final = 30.0
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


class Cluster:
    """Apache Kafka on loopback, with a listener for each member. Use as a context manager.

    Attributes:
        ways: For each member the port that its proxy listens on, and the broker's behind it.
    """

    def __init__(self, directory: Path, members: int, lifetime_s: float, timeline: Timeline) -> None:
        self._directory = directory
        self._lifetime_s = lifetime_s
        self._timeline = timeline
        ports = probe.free_ports(2 * members + 1)
        self._port, self.ways = ports[0], list(zip(ports[1::2], ports[2::2], strict=True))
        self._started: instance.Started | None = None
        self._began_ms = time.time_ns() // 1_000_000 - time.monotonic_ns() // 1_000_000

    def __enter__(self) -> Cluster:
        listeners = [
            instance.Listener(f"M{number}", broker_port, port) for number, (port, broker_port) in enumerate(self.ways)
        ]
        self._started = instance.start(
            self._directory, lifetime_s=self._lifetime_s, owned=True, port=self._port, listeners=listeners
        )
        try:
            self._create_topic()
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
        """host:port of the listener that has no proxy."""
        return f"127.0.0.1:{self._port}"

    @property
    def _connection(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self.bootstrap, "log_level": 0}

    @property
    def coordinator_log(self) -> Path:
        """The file for `groupspec trace why`."""
        return self._directory / "logs" / "coordinator.log"

    def restart(self) -> None:
        """Stop it, and start it again with its data."""
        self._timeline.note("broker down")
        self._stop()
        self._started = instance.start(
            self._directory, lifetime_s=self._lifetime_s, owned=True, port=self._port, goes_on=True
        )
        self._timeline.note("broker up")

    def grow(self, partitions: int) -> None:
        """Give the topic so many partitions."""
        admin = AdminClient(self._connection)
        for future in admin.create_partitions([NewPartitions(TOPIC, partitions)]).values():
            future.result(ANSWER_LIMIT_S)

    def standings(self, processes: Sequence[Happening], instances: dict[str, str]) -> Iterator[Happening]:
        """When the coordinator's log says that a process became a member, was none any more, or led a rebalance.

        Args:
            processes: When each was started.
            instances: Process -> its group.instance.id, if it has one.
        """
        with self.coordinator_log.open(encoding="utf-8", errors="replace") as lines:
            log = BrokerCoordinatorLog().parse("coordinator.log", lines, Clock(), GROUP)
        for event in log.events:
            if kind := STANDING.get(event.kind):
                at_us = (event.at_ms - self._began_ms) * 1000
                for member_id in event.member_ids:
                    if process := _process(member_id, at_us, processes, instances):
                        yield Happening(at_us, kind, process, text=event.kind)

    def _stop(self) -> None:
        instance.stop(self._directory)
        if self._started is not None:
            keeper, self._started = self._started.keeper, None
            if keeper.stdin is not None:
                keeper.stdin.close()
            keeper.wait(ANSWER_LIMIT_S)

    def _create_topic(self) -> None:
        admin = AdminClient(self._connection)
        for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            future.result(ANSWER_LIMIT_S)

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
        raise InternalProblem("the group coordinator did not come up", where=str(self._directory))


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

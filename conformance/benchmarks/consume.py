"""How fast the reference reads a topic of a real broker, and what that and waiting cost, beside three other clients.

All clients read the same topics of the same broker, in turn, each in a process of its own (`readers`), so that what
else the machine does meets all of them: compare the ratios, not the figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from groupspec.conformance.benchmarks.figures import Figure, no_more
from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.real_broker import instance

OURS: Final = ("background", "heartbeat")
PEERS: Final = ("kafka-python", "aiokafka", "confluent-kafka")
ROUNDS: Final = 3
PARTITIONS: Final = 4
IDLE_S: Final = 5.0
RUN_LIMIT_S: Final = 150.0
BROKER_LIFETIME_S: Final = 1_800.0
ANSWER_LIMIT_S: Final = 60.0
GOALS: Final[dict[str, str | float]] = {"kafka-python": 5.0, "aiokafka": 1.0, "confluent-kafka": ""}
"""At least so many times the peer's records a second."""


@dataclass(frozen=True)
class Load:
    """What is read: so many records of so many bytes. Who reads these is left idle afterwards, too, if `then_idle`."""

    name: str
    count: int
    value_bytes: int
    then_idle: bool = False


LOADS: Final = (Load("1 M records of 100 B", 1_000_000, 100, then_idle=True), Load("100 k of 1 KiB", 100_000, 1024))


@dataclass(frozen=True)
class Read:
    """What one reader took: for all records, seconds and processor seconds; and of each idle second, the busy part."""

    seconds: float
    cpu_s: float
    idle_cpu: float | None = None


Reads = dict[str, list[Read]]
"""By client, a sample for each round."""


def measure(now: Callable[[str], None], loads: tuple[Load, ...] = LOADS, rounds: int = ROUNDS) -> list[Figure]:
    """Every load, by every client, in every round."""
    figures = []
    with broker(now, "consume") as bootstrap:
        for number, load in enumerate(loads):
            topic = f"load-{number}"
            now(f"consume: writing {load.name}")
            _write(bootstrap, topic, load)
            reads: Reads = {client: [] for client in (*OURS, *PEERS)}
            for done in range(rounds):
                for client, found in reads.items():
                    now(f"consume: {load.name}, round {done + 1} of {rounds}, {client}")
                    found.append(_read(client, bootstrap, topic, load))
            figures += _figures(load, reads)
    return figures


@contextmanager
def broker(now: Callable[[str], None], benchmark: str) -> Iterator[str]:
    """An Apache Kafka for the length of a benchmark: where it is."""
    now(f"{benchmark}: starting a broker")
    with tempfile.TemporaryDirectory(prefix=f"groupspec-{benchmark}-") as folder:
        started = instance.start(Path(folder), lifetime_s=BROKER_LIFETIME_S, owned=True)
        try:
            yield started.running.bootstrap
        finally:
            instance.stop(Path(folder))
            if started.keeper.stdin is not None:
                started.keeper.stdin.close()
            started.keeper.wait(ANSWER_LIMIT_S)


def create_topic(bootstrap: str, topic: str) -> None:
    """An empty one."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
        future.result(ANSWER_LIMIT_S)


def _write(bootstrap: str, topic: str, load: Load) -> None:
    create_topic(bootstrap, topic)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": load.count + 1}
    )
    value = bytes(load.value_bytes)
    for number in range(load.count):
        producer.produce(topic, value, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.poll(0)
    if left := producer.flush(ANSWER_LIMIT_S):
        raise InternalProblem(f"{left} records were not taken", where=topic)


def _read(client: str, bootstrap: str, topic: str, load: Load) -> Read:
    idle_s = IDLE_S if load.then_idle else 0.0
    command = [sys.executable, "-m", "groupspec.conformance.benchmarks.readers"]
    run = subprocess.run(
        [*command, client, bootstrap, topic, str(load.count), str(idle_s)],
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    if run.returncode != 0:
        raise InternalProblem(f"{client} ended with {run.returncode}: {run.stderr.strip()[-500:]}", where=load.name)
    return Read(**json.loads(run.stdout))


def _figures(load: Load, reads: Reads) -> list[Figure]:
    note = f"{PARTITIONS} partitions; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    figures = []
    for own in OURS:
        speeds = {client: [load.count / read.seconds for read in found] for client, found in reads.items()}
        figures += [
            Figure(f"{load.name}, {own}", "records/s", speeds[own], peer, speeds[peer], GOALS[peer], note=note)
            for peer in PEERS
        ]
        cpu = {client: [read.cpu_s * 1e6 / load.count for read in found] for client, found in reads.items()}
        name = f"CPU, {load.name}, {own}"
        figures.append(no_more(name, "s for 1 M records", cpu[own], "aiokafka", cpu["aiokafka"]))
        if load.then_idle:
            idle = {client: [1_000 * (read.idle_cpu or 0.0) for read in found] for client, found in reads.items()}
            name = f"idle CPU with poll(1000), {own}"
            figures.append(no_more(name, "ms in a second", idle[own], "aiokafka", idle["aiokafka"]))
    return figures

"""Real clients, each in its own process, find nothing strange about the scripted broker.

Each joins, reads every record, survives a rebalance that takes a partition away, commits, and leaves. What it is told
comes from the broker's default answers; a phantom leads the second round.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from groupspec.impl.broker.log import WireEvent
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.core.messages import FetchRequest, OffsetCommitRequest, SyncGroupResponse, TopicPartition
from groupspec.impl.core.protocol import decode_assignment

pytestmark = pytest.mark.realtime

BOUND_S = 20.0
RECORDS = 10
KEPT = tuple(TopicPartition("orders", number) for number in range(3))

KAFKA_PYTHON = """
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
assignors = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
consumer = KafkaConsumer(
    "orders", bootstrap_servers=bootstrap.split(","), group_id="readers", client_id="client",
    auto_offset_reset="earliest", enable_auto_commit=False, heartbeat_interval_ms=50, session_timeout_ms=6000,
    partition_assignment_strategy=[assignors[assignor]],
)
while not asked_to_end():
    consumer.poll(1000)  # a shorter poll, ending in a round that newer metadata called for, loses the round for good
consumer.commit()
consumer.close()
"""
AIOKAFKA = """
import asyncio
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
async def main():
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=bootstrap, group_id="readers", client_id="client", auto_offset_reset="earliest",
        enable_auto_commit=False, heartbeat_interval_ms=50, partition_assignment_strategy=[RangePartitionAssignor],
    )
    await consumer.start()
    while not asked_to_end():
        await consumer.getmany(timeout_ms=50)
    await consumer.commit()
    await consumer.stop()
asyncio.run(main())
"""
CONFLUENT_KAFKA = """
from confluent_kafka import Consumer
consumer = Consumer({
    "bootstrap.servers": bootstrap, "group.id": "readers", "client.id": "client", "auto.offset.reset": "earliest",
    "enable.auto.commit": False, "heartbeat.interval.ms": 50, "session.timeout.ms": 6000,
    "partition.assignment.strategy": assignor,
})
consumer.subscribe(["orders"])
while not asked_to_end():
    consumer.poll(0.05)
consumer.commit(asynchronous=False)
consumer.close()
"""
PREAMBLE = """
import select, sys
bootstrap, assignor = sys.argv[1:]
def asked_to_end():
    return bool(select.select([sys.stdin], [], [], 0)[0])
"""


@contextmanager
def running(program: str, bootstrap: str, assignor: str) -> Iterator[subprocess.Popen[str]]:
    """A client's process. It ends when its standard input does; in any case it is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PREAMBLE + program, bootstrap, assignor],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def answered(api: str, error: str = "NONE") -> dict[str, str]:
    return {"kind": "response", "api": api, "error": error}


def wait(broker: ScriptedBroker, since: WireEvent | None, **expected: str) -> WireEvent:
    return broker.wait_for(
        lambda event: all(getattr(event, name) == value for name, value in expected.items()),
        BOUND_S,
        f"an event with {expected}",
        since,
    )


def wait_until_read(broker: ScriptedBroker, partition: TopicPartition, since: WireEvent | None = None) -> None:
    broker.wait_for(
        lambda event: isinstance(event.message, FetchRequest) and event.message.offsets.get(partition) == RECORDS,
        BOUND_S,
        f"a fetch behind the last record of {partition}",
        since,
    )


@pytest.mark.parametrize(
    ("program", "assignor"),
    [
        pytest.param(KAFKA_PYTHON, "range", id="kafka-python-range"),
        pytest.param(KAFKA_PYTHON, "cooperative-sticky", id="kafka-python-cooperative"),
        pytest.param(AIOKAFKA, "range", id="aiokafka-range"),
        pytest.param(CONFLUENT_KAFKA, "range", id="confluent-kafka-range"),
        pytest.param(CONFLUENT_KAFKA, "cooperative-sticky", id="confluent-kafka-cooperative"),
    ],
)
def test_a_real_client_joins_reads_rebalances_commits_and_leaves(program: str, assignor: str) -> None:
    everything = (*KEPT, TopicPartition("orders", 3))
    with ScriptedBroker(2, {"orders": 4}, lifetime_s=120) as broker:
        for partition in everything:
            broker.append("orders", partition.partition, [b"%d" % number for number in range(RECORDS)])
        with running(program, broker.bootstrap, assignor) as process:
            asked = wait(broker, None, **answered("JoinGroup", "MEMBER_ID_REQUIRED"))
            synced = wait(broker, asked, **answered("SyncGroup"))
            for partition in everything:
                wait_until_read(broker, partition)
            wait(broker, synced, **answered("Heartbeat"))

            broker.add_phantom("readers", leads=True, takes=[everything[3]])
            broker.announce_rebalance("readers")
            told = wait(broker, synced, **answered("Heartbeat", "REBALANCE_IN_PROGRESS"))
            again = wait(broker, told, **answered("SyncGroup"))
            assert isinstance(again.message, SyncGroupResponse)  # and not the group: a cooperative client joins again
            assert decode_assignment(again.message.assignment).partitions == KEPT
            wait(broker, again, **answered("Heartbeat"))
            for partition in KEPT:
                wait_until_read(broker, partition, again)

            _, complaints = process.communicate("end\n", timeout=BOUND_S)
            assert process.returncode == 0, complaints
        committed = wait(broker, again, kind="request", api="OffsetCommit")
        assert isinstance(committed.message, OffsetCommitRequest)
        assert {position.offset for position in committed.message.offsets.values()} == {RECORDS}
        wait(broker, committed, **answered("OffsetCommit"))
        wait(broker, committed, **answered("LeaveGroup"))
        assert [event for event in broker.events if event.kind == "garbage"] == []

"""What is known of other clients is about what there is; and what can be shown without a whole run is shown."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.stress.judging import Finding
from groupspec.conformance.stress.known import KNOWN, Known, known_of
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN
from groupspec.spec.rules import RULES


@pytest.mark.parametrize("known", KNOWN.values(), ids=lambda known: known.id)
def test_an_entry_is_about_what_there_is(known: Known) -> None:
    assert known.client in BUILT_IN
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = BUILDS[known.client].version if known.client in BUILDS else known.version
    assert known.version == pinned, "another version: read it anew"
    assert known.client in BUILDS or f"{known.client}=={known.version}\n" in constraints, (
        "another version: read it anew"
    )
    assert known.rule in RULES
    assert known.upstream.startswith("https://")
    assert re.match(r"groupspec bench soak|pytest ", known.reproduction)
    assert all(known in known_of(Finding(promise, f"{known.client}-0-1", 0, "")) for promise in known.promises)


def test_nothing_is_known_of_the_reference() -> None:
    assert known_of(Finding("doubled", "reference-0-1", 0, "")) == []


class Member:
    """What JoinGroup's answer says of a member, as far as kafka-python's assignors look at it."""

    def __init__(self, name: str, instance: str | None) -> None:
        self.member_id, self.group_instance_id = name, instance
        self.metadata = RangePartitionAssignor.metadata(["orders"])


class Cluster:
    """Six partitions of one topic."""

    def partitions_for_topic(self, topic: str) -> set[int]:
        """As kafka-python's ClusterMetadata."""
        return set(range(6)) if topic == "orders" else set()


@pytest.mark.parametrize("assignor", [RangePartitionAssignor, RoundRobinPartitionAssignor])
def test_kafka_python_s_assignors_take_members_unsorted_and_give_some_nothing(assignor: Any) -> None:
    """Two dynamic members, one on each side of a static one: the first gets nothing."""
    members = [Member("a", None), Member("b", "instance-b"), Member("c", None)]
    unsorted = assignor.assign(Cluster(), members)
    assert [len(_partitions(unsorted[name])) for name in "abc"] == [0, 3, 3]
    in_order = assignor.assign(Cluster(), sorted(members, key=lambda one: not one.group_instance_id))
    assert [len(_partitions(in_order[name])) for name in "abc"] == [2, 2, 2]


def _partitions(assignment: Any) -> list[int]:
    return [number for _, partitions in assignment.assigned_partitions for number in partitions]


@pytest.mark.real_broker
def test_kafka_python_as_leader_forgets_a_round_that_a_poll_has_not_waited_for(tmp_path: Path) -> None:
    """The topic grows, and each poll() is shorter than a round: its member is put out, and never joins again."""
    with RealBroker(tmp_path / "broker", lifetime_s=120) as broker:
        broker.create_topic("orders", 2)
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=broker.bootstrap,
            group_id="billing",
            session_timeout_ms=2_000,
            heartbeat_interval_ms=200,
            metadata_max_age_ms=500,
        )
        _poll(consumer, lambda: len(consumer.assignment()) == 2, timeout_ms=500)  # longer than the first round

        def is_put_out() -> bool:
            return "has failed, removing it from the group" in broker.coordinator_log.read_text()

        for count in range(4, 22, 2):  # a poll() may be as long as a round after all: then there is another one
            broker.add_partitions("orders", count)
            _poll(consumer, lambda count=count: is_put_out() or len(consumer.assignment()) == count)  # type: ignore[misc]
            if is_put_out():
                break
        assert is_put_out()
        assert not consumer._coordinator.need_rejoin()
        assert consumer._coordinator._join_task.is_done  # SyncGroup's answer is in it, and nobody looks
        assert len(consumer.assignment()) == count - 2
        consumer.close(autocommit=False, timeout_ms=1_000)


def _poll(consumer: Any, until: Callable[[], bool], timeout_ms: int = 1) -> None:
    """Poll, as a rule for a millisecond at a time, until it is so."""
    end_s = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end_s
        consumer.poll(timeout_ms)

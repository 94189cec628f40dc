"""What is known of other clients is about what there is; and what can be shown without a broker is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

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
    assert known_of(Finding(known.promise, f"{known.client}-0-1", 0, "")) != []


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

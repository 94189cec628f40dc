"""What is counted and timed, under Kafka's names."""

from __future__ import annotations

from math import isnan
from typing import cast

from groupspec.impl.core.events import DescribeMetrics, Fetch
from groupspec.impl.core.messages import FetchedPartition, FetchResponse
from groupspec.impl.core.metrics import CONSUMER_GROUP, COORDINATOR_GROUP, FETCH_GROUP
from groupspec.impl.core.tests.scene import Scene, partitions

P0, P1 = partitions(0, 1)


def metrics(scene: Scene) -> dict[str, float]:
    """All of them, by name."""
    scene.outputs.clear()
    scene.do(DescribeMetrics(77))
    groups = cast("dict[str, dict[str, float]]", scene.result(77).result)
    assert list(groups) == [COORDINATOR_GROUP, FETCH_GROUP, CONSUMER_GROUP]
    return {name: value for group in groups.values() for name, value in group.items()}


def test_before_anything_has_happened_there_is_nothing_to_average() -> None:
    found = metrics(Scene().start())
    assert isnan(found["join-time-avg"])
    assert isnan(found["records-lag-max"])
    assert (found["join-total"], found["last-rebalance-seconds-ago"], found["assigned-partitions"]) == (0, -1, 0)


def test_a_rebalance_lasts_from_the_join_to_the_end_of_the_callback() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    scene.now_ms += 300
    scene.join_accepted()
    scene.now_ms += 40
    scene.sync_accepted(P0, P1)
    scene.now_ms += 1_000
    scene.assigned()
    scene.now_ms += 5_000
    found = metrics(scene)
    assert (found["rebalance-total"], found["rebalance-latency-max"], found["failed-rebalance-total"]) == (1, 1_340, 1)
    assert (found["join-total"], found["join-time-avg"], found["sync-time-max"]) == (1, 300, 40)
    assert (found["last-rebalance-seconds-ago"], found["assigned-partitions"]) == (5, 2)


def test_heartbeats_and_polls() -> None:
    scene = Scene().stable(0)
    scene.now_ms += 3_000
    scene.expire("heartbeat")
    scene.now_ms += 20
    scene.answer("Heartbeat")
    scene.poll()
    scene.now_ms += 2_500
    scene.poll()
    found = metrics(scene)
    assert (found["heartbeat-total"], found["heartbeat-response-time-max"]) == (1, 20)
    assert (found["last-heartbeat-seconds-ago"], found["last-poll-seconds-ago"]) == (2, 0)
    assert found["time-between-poll-max"] == 3_020
    assert found["time-between-poll-avg"] == (3_020 + 2_500) / 2


def test_fetches_and_what_is_left_to_read() -> None:
    scene = Scene().stable(0, committed=10)
    scene.do(Fetch())
    scene.now_ms += 7
    scene.respond("Fetch", FetchResponse({P0: FetchedPartition(b"0123456789", 99)}))
    found = metrics(scene)
    assert (found["fetch-total"], found["fetch-latency-avg"], found["fetch-size-max"]) == (1, 7, 10)
    assert found["records-lag-max"] == found["orders-0.records-lag"] == 89

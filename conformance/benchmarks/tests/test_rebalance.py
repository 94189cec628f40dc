"""The benchmarks of rebalances, with few of them: every figure has its peer, and a member that polls was not late."""

from __future__ import annotations

import pytest

from groupspec.conformance.benchmarks import lateness, rebalance

pytestmark = pytest.mark.real_broker


def test_a_second_member_of_every_client_joins_and_leaves() -> None:
    figures = rebalance.measure(lambda doing: None, rounds=1)
    assert {figure.against for figure in figures} >= {"kafka-python", "aiokafka", "confluent-kafka"}
    assert {figure.name.rpartition(", ")[2] for figure in figures} == {*rebalance.OURS}
    assert all(figure.ratio is not None and figure.ratio > 0 for figure in figures)


def test_poll_is_measured_beside_a_bare_wait_while_another_member_joins_and_leaves() -> None:
    figures = lateness.measure(lambda doing: None, seconds=2)
    assert [figure.name for figure in figures] == [f"poll(20) is late, 99.9 %, {driver}" for driver in lateness.DESIGNS]
    assert all(" 0 joins" not in figure.note for figure in figures)

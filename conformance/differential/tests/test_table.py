"""The reference coordinator and the group's table give the same answers to requests drawn from a seed."""

from __future__ import annotations

import pytest

from groupspec.conformance.differential.compare import EXPLANATIONS, Tally, compare
from groupspec.conformance.differential.drawing import Pace
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.coordinator.timers import Timers
from groupspec.spec.api import load_machine

STEPS = 120
UNTIMED = Pace()
TIMED = Pace(step_ms=500, sessions_ms=(3_001, 6_007, 9_013), rebalances_ms=(1_603, 4_111, 8_117), apart_ms=37)
REQUESTS = ("group_join", "group_sync", "group_heartbeat", "group_commit", "group_leave")
TIMERS = ("group_session_expired", "group_rebalance_timeout", "group_sync_timeout", "group_initial_delay_elapsed")
MOVE = ("group_unloaded", "group_loaded")
STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Loading")
MOVES = 0.05


def settings(seed: int, delay_ms: int) -> Settings:
    """Every third group is small."""
    most = 4 if seed % 3 == 0 else 2**31 - 1
    return Settings(
        min_session_timeout_ms=1_000, initial_rebalance_delay_ms=delay_ms, max_size=most, offsets_partitions=1
    )


def tally(groups: int, first_seed: int = 0) -> Tally:
    """So many groups with timeouts, and half as many without."""
    counted = Tally()
    for seed in range(first_seed, first_seed + groups):
        if seed % 2:
            compare(seed, settings(seed, 0), UNTIMED, STEPS, counted, MOVES)
        compare(seed, settings(seed, 1_000), TIMED, STEPS, counted, MOVES)
    return counted


def test_G1_G13_the_reference_answers_as_the_table_does() -> None:
    counted = tally(groups=32)
    assert counted.unexplained == []
    assert counted.steps > 3_000
    assert counted.ties < 30


@pytest.mark.exhaustive
def test_every_cell_of_the_table_is_compared_and_every_difference_is_explained() -> None:
    counted = tally(groups=800, first_seed=1_000)
    assert counted.unexplained == []
    assert set(counted.explained) == {each.name for each in EXPLANATIONS}, "an explanation that explains nothing"
    machine = load_machine("broker_group", "eager")
    wanted = [
        (state, event)
        for state in STATES
        for event in (*REQUESTS, *TIMERS, *MOVE)
        if any(row.kind == "transition" for row in machine.rows(state, event))
        and (state, event) != ("Loading", "group_unloaded")  # a group that moves on while it is read
    ]
    for state, event in wanted:
        print(f"{counted.cells[state, event]:7,} {state} {event}")
    seldom = {cell: counted.cells[cell] for cell in wanted if counted.cells[cell] < 50}
    assert seldom == {}


@pytest.mark.parametrize(("part", "name"), [(Rebalancing, "keep_alive"), (Timers, "stop_if")])
def test_a_wrong_reference_is_noticed(monkeypatch: pytest.MonkeyPatch, part: type, name: str) -> None:
    monkeypatch.setattr(part, name, lambda *_: None)
    assert tally(groups=10).unexplained

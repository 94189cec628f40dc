"""A loop's ticks: which came late, and what that says."""

from __future__ import annotations

from groupspec.impl.broker.ticks import LATE_US, TICK_US, Ticks


def test_a_loop_that_ticks_in_time_has_not_stood_still() -> None:
    ticks = Ticks(0)
    now_us = 0
    for _ in range(5):
        now_us += ticks.tick(now_us) + LATE_US
    assert ticks.stalls_us() == ()


def test_a_tick_that_comes_late_ends_a_stall_that_began_when_it_was_due() -> None:
    ticks = Ticks(0)
    assert ticks.tick(TICK_US) == TICK_US
    ticks.tick(2 * TICK_US + 200_000)
    assert ticks.stalls_us() == ((2 * TICK_US, 2 * TICK_US + 200_000),)
    assert ticks.stalls_us(since_us=300_000) == ()


def test_a_tick_before_its_time_counts_as_nothing() -> None:
    ticks = Ticks(0)
    assert ticks.tick(TICK_US - 1) == 1
    ticks.tick(TICK_US + LATE_US + 1)
    assert ticks.stalls_us() == ((TICK_US, TICK_US + LATE_US + 1),)

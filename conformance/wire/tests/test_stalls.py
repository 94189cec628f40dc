"""When nothing could go on: what several clocks say, put together."""

from __future__ import annotations

from pathlib import Path

from groupspec.conformance.history.timing import together
from groupspec.conformance.wire.stalls import TICK_NS, Waits, stolen


def test_what_any_clock_says_counts_once() -> None:
    assert together([(10, 20), (50, 60)], [(15, 30), (60, 70), (90, 95)]) == ((10, 30), (50, 70), (90, 95))
    assert together([], [(1, 2)]) == ((1, 2),)


def test_a_wait_that_is_longer_than_its_sample_fills_those_before() -> None:
    waits = Waits(0)
    waits.add(50_000, [])
    waits.add(100_000, [10_000])
    waits.add(150_000, [70_000, 1_500])
    assert list(waits) == [(50_000, 100_000, 30_000), (100_000, 150_000, 50_000)]


def test_a_wait_from_before_the_first_sample_is_no_concern_of_the_run() -> None:
    waits = Waits(0)
    waits.add(50_000, [3_000_000])
    waits.add(100_000, [0, 900])
    assert list(waits) == [(0, 50_000, 50_000)]


def test_every_processor_says_how_long_it_ran_for_others(tmp_path: Path) -> None:
    statistics = tmp_path / "stat"
    statistics.write_text(
        "cpu  90 0 50 700 4 0 2 30 0 0\ncpu0 45 0 25 350 2 0 1 10 0 0\ncpu1 45 0 25 350 2 0 1 20 0 0\nintr 7\n"
    )
    assert stolen(statistics) == {"cpu0": 10 * TICK_NS, "cpu1": 20 * TICK_NS}

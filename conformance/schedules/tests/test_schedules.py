"""The reference under the scheduler: no promise is broken; and what would break one is found by the same search."""

from __future__ import annotations

import pytest

from groupspec.conformance.schedules.campaign import play, search, strategy
from groupspec.conformance.schedules.scenario import draw
from groupspec.impl.scheduling import replay, run


def test_no_promise_is_broken_in_any_order_that_was_drawn() -> None:
    assert search(250, seed=1) is None


@pytest.mark.exhaustive
def test_no_promise_is_broken_in_many_orders() -> None:
    assert search(4_000, seed=1_000_000) is None


def test_a_run_is_the_same_step_by_step_when_it_is_replayed() -> None:
    for seed in range(5):
        scenario = draw(seed)
        first = run(play(scenario), strategy(seed))
        again = replay(play(scenario), first.schedule)
        assert again.trace == first.trace
        assert repr(again.trace).encode() == repr(first.trace).encode()


def test_a_scenario_is_drawn_from_its_number_alone() -> None:
    assert [draw(seed) for seed in range(50)] == [draw(seed) for seed in range(50)]
    assert len({str(draw(seed)) for seed in range(50)}) == 50

"""The reference under the scheduler, in both designs: no promise is broken; what breaks one is found by the search."""

from __future__ import annotations

import pytest

from groupspec.conformance.general_checks import SCHEDULES
from groupspec.conformance.schedules.campaign import play, search, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.impl.scheduling import replay, run
from groupspec.impl.threads.designs import DESIGNS, Design


@pytest.mark.parametrize(("design", "schedules"), [("background", 200), ("heartbeat", 150)])
def test_no_promise_is_broken_in_any_order_that_was_drawn(design: Design, schedules: int) -> None:
    assert search(schedules, seed=1, design=design) is None


@pytest.mark.exhaustive
@pytest.mark.parametrize(("design", "schedules"), SCHEDULES.items())
def test_no_promise_is_broken_in_many_orders(design: Design, schedules: int) -> None:
    assert search(schedules, seed=1_000_000, design=design) is None


@pytest.mark.parametrize("design", DESIGNS)
def test_a_run_is_the_same_step_by_step_when_it_is_replayed(design: Design) -> None:
    for seed in range(5):
        scenario = draw(seed)
        first = run(play(scenario, design), strategy(seed))
        again = replay(play(scenario, design), first.schedule)
        assert again.trace == first.trace
        assert repr(again.trace).encode() == repr(first.trace).encode()


def test_a_scenario_is_drawn_from_its_number_alone() -> None:
    assert [draw(seed) for seed in range(50)] == [draw(seed) for seed in range(50)]
    assert len({str(draw(seed)) for seed in range(50)}) == 50

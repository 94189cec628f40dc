"""The scheduler itself: it finds every classic bug, accuses no correct program, and replays what it found."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

from groupspec.impl.run_to_idle import Deadlock, LostWakeup, StepLimit
from groupspec.impl.scheduling import (
    Exploration,
    LockHeld,
    ScheduledRuntime,
    explore,
    explore_all,
    random_walks,
    replay,
    run,
)
from groupspec.impl.scheduling.exploring import Work
from groupspec.impl.scheduling.strategies import Listed
from groupspec.impl.scheduling.tests.classic_bugs import PROGRAMS

COUNTS_TIME = {"timeout_starts_again"}
"""Says how late a thread may be: true only where no thread is held up, so timers do not race."""

ERRORS = {
    "opposite_locks": Deadlock,
    "dining_philosophers": Deadlock,
    "looked_outside_the_lock": Deadlock,
    "look_after_the_wait": Deadlock,
    "nobody_is_told": LostWakeup,
    "stolen_wakeup": IndexError,
    "callback_under_a_lock": LockHeld,
    "after_you": StepLimit,
}
every_program = pytest.mark.parametrize("name", PROGRAMS)


def version(name: str, correct: bool) -> Work:
    return lambda runtime: PROGRAMS[name](runtime, correct)


def drawn_at_random(name: str, correct: bool, limit: int) -> Exploration:
    return explore(version(name, correct), random_walks(seed=1), limit, timers_race=name not in COUNTS_TIME)


def all_orders(name: str, correct: bool, limit: int) -> Exploration:
    return explore_all(version(name, correct), preemptions=2, limit=limit, timers_race=False)


@every_program
@pytest.mark.parametrize("search", [drawn_at_random, all_orders])
def test_every_classic_bug_is_found(name: str, search: object) -> None:
    assert callable(search)
    found = search(name, False, 3_000)
    assert found.failure is not None, f"not found in {found.schedules} schedules"
    assert type(found.failure.error) is ERRORS.get(name, AssertionError), found.failure


@every_program
@pytest.mark.parametrize("search", [drawn_at_random, all_orders])
def test_no_correct_program_is_accused(name: str, search: object) -> None:
    assert callable(search)
    found = search(name, True, 500)
    assert found.failure is None, found.failure


@every_program
def test_a_failure_replays_step_by_step(name: str) -> None:
    failure = drawn_at_random(name, False, 3_000).failure
    assert failure is not None
    again = [replay(version(name, False), failure.schedule, name not in COUNTS_TIME) for _ in range(3)]
    assert {outcome.trace for outcome in again} == {again[0].trace}
    assert {str(outcome.error) for outcome in again} == {str(failure.error)}


def test_hypothesis_draws_the_schedule_and_shrinks_it() -> None:
    def fails(schedule: list[int]) -> bool:
        return run(version("dining_philosophers", False), Listed(schedule)).error is not None

    shortest = find(
        st.lists(st.integers(0, 3), max_size=60),
        fails,
        settings=settings(max_examples=2_000, database=None, suppress_health_check=list(HealthCheck)),
    )
    assert fails(shortest)
    assert len([choice for choice in shortest if choice]) <= 3


def test_a_deadlock_names_the_cycle() -> None:
    failure = all_orders("dining_philosophers", False, 3_000).failure
    assert failure is not None
    for number in range(3):
        assert f"eat {number} waits for lock 'fork {(number + 1) % 3}'" in str(failure.error)


def test_the_search_of_all_orders_ends_and_runs_no_schedule_twice() -> None:
    seen: list[tuple[int, ...]] = []

    def work(runtime: ScheduledRuntime) -> None:
        PROGRAMS["lost_update"](runtime, True)
        seen.append(tuple(chosen for _, _, chosen in runtime.made))

    found = explore_all(work, preemptions=1, limit=10_000)
    assert found.failure is None
    assert len(set(seen)) == len(seen) == found.schedules >= 8

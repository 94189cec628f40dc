"""How many schedules of the whole consumer are run in a second, and how much faster than time groups are simulated.

Seconds are those of the processor: threads run one at a time, so nothing waits but for its turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.garbage import one_by_one
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.scenario import COOPERATIVE, TOPICS, Scenario
from groupspec.conformance.simulation.campaign import run_seed
from groupspec.conformance.simulation.run import Driver
from groupspec.impl.scheduling import run
from groupspec.impl.threads.designs import DESIGNS, Design

RUNS: Final = 5
SCHEDULES: Final = 100
"""In each run."""

SCHEDULES_GOAL: Final = 200.0
MEMBERS: Final = 3
SEEDS: Final[dict[Driver, int]] = {"core": 4, "background": 1, "heartbeat": 1}
"""In each run: a group of cores lives for hours, one of whole consumers for minutes."""

FASTER_GOAL: Final = 10_000.0

ONE_REBALANCE: Final = Scenario(
    assignors=COOPERATIVE,
    static=False,
    topics=TOPICS[:1],
    leads=False,
    grows_ms=0,
    fresh=(),
    reset="earliest",
    auto_commit=True,
    answers={"Heartbeat": ("REBALANCE_IN_PROGRESS",), "JoinGroup": ()},
    breaks=(),
    latency_ms=0,
    poll_ms=2_000,
    at_most=500,
    shares=((0, 1), (0,)),
    calls=("poll",),
    callbacks=(),
    others=(),
    others_wait_ms=0,
    timers_race=True,
    ending="close",
)
"""A first join, a rebalance that takes a partition away, and the end."""


def measure(now: Callable[[str], None]) -> list[Figure]:
    """Both designs' schedules; then every driver's simulation."""
    figures = []
    for design in DESIGNS:
        now(f"schedules of the {design} design")
        one = [_schedules_a_second(design, first, lambda _: ONE_REBALANCE) for first in _firsts(SCHEDULES)]
        drawn = [_schedules_a_second(design, first, draw) for first in _firsts(SCHEDULES)]
        goal = f">= {SCHEDULES_GOAL:.0f}" if design == "background" else ""
        figures += [
            Figure(f"schedules, {design}, one rebalance", "1/s", one, goal=goal, reached=median(one) >= SCHEDULES_GOAL),
            Figure(f"schedules, {design}, as they are drawn", "1/s", drawn),
        ]
    for driver in SEEDS:
        now(f"simulation of {MEMBERS} members, {driver}")
        run_seed(0, MEMBERS, driver)  # loads what all use
        faster = [_faster(driver, first) for first in _firsts(SEEDS[driver])]
        goal = f">= {FASTER_GOAL:,.0f}" if driver == "core" else ""
        reached = median(faster) >= FASTER_GOAL
        figures.append(
            Figure(f"simulated time, {MEMBERS} members, {driver}", "s/s", faster, goal=goal, reached=reached)
        )
    return figures


def _firsts(count: int) -> range:
    return range(1, 1 + RUNS * count, count)


def _schedules_a_second(design: Design, first: int, scenario: Callable[[int], Scenario]) -> float:
    begun = time.process_time()
    for seed in one_by_one(range(first, first + SCHEDULES)):
        error = run(play(scenario(seed), design), strategy(seed)).error
        assert error is None, f"schedule {seed} of the {design} design: {error}"
    return SCHEDULES / (time.process_time() - begun)


def _faster(driver: Driver, first: int) -> float:
    begun, virtual_ms = time.process_time(), 0
    for seed in one_by_one(range(first, first + SEEDS[driver])):
        virtual_ms += run_seed(seed, MEMBERS, driver).virtual_ms
    return virtual_ms / 1_000 / (time.process_time() - begun)

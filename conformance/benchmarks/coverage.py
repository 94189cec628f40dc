"""How long it takes to fire every feasible transition, and every feasible pair of them, in the reference."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.stateful.campaign import DRIVERS, run_suite

EXAMPLES: Final = 50
GOAL_PERCENT: Final = 97.0
GOAL_SECONDS: Final = 60.0


def measure(now: Callable[[str], None]) -> list[Figure]:
    """One run of each driver: percent of the feasible pairs, and seconds."""
    figures = []
    for driver in DRIVERS:
        result = run_suite(driver, EXAMPLES, seed=0, now=now)
        transitions = 100.0 * result.transitions["covered"] / result.transitions["total"]
        pairs = 100.0 * result.pairs["covered"] / result.pairs["feasible"]
        done = pairs >= GOAL_PERCENT and result.seconds <= GOAL_SECONDS and not result.failures
        goal = f">= {GOAL_PERCENT:.0f} in <= {GOAL_SECONDS:.0f} s"
        told = f"{result.pairs['covered']:,} of {result.pairs['feasible']:,} in {result.seconds:.1f} s"
        note = f"{told}, {result.steps:,} steps; {os.cpu_count()} cores"
        figures += [
            Figure(f"transitions fired, {driver}", "%", [transitions], goal="100", reached=transitions == 100.0),
            Figure(f"pairs fired, {driver}", "%", [pairs], goal=goal, reached=done, note=note),
        ]
    return figures

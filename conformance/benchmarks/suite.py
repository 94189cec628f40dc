"""How much of the generated suite's time is the suite's own, and not Hypothesis's.

The peer is the same Hypothesis machine, with the same rules, inputs and draws (one seed for both), whose bodies do
nothing: no model, no implementation, no comparison. What remains is what any Hypothesis state machine costs. Both are
given the same number of steps: those that were drawn, routes included.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.stateful.lockstep import LockstepRun
from groupspec.conformance.stateful.routes import MEMBER, goals
from groupspec.conformance.stateful.suite import Coverage, Start, make_machine, run_machine, start_core
from groupspec.spec.compiler.member import Member, MemberState, Offer

RUNS: Final = 5
EXAMPLES: Final = 150
REBALANCE: Final = "eager"
GOAL: Final = 0.4


class Nothing(LockstepRun):
    """A run that says yes to everything and does nothing."""

    def offer(self, offer: Offer, variant: int = 0) -> bool:
        """Nothing happens."""
        return True


def start_nothing(target: str, member: Member, state: MemberState) -> LockstepRun:
    """A run of nothing."""
    return Nothing(member, state)


def measure(now: Callable[[str], None]) -> list[Figure]:
    """Steps a second of both, alternating, each run with a seed of its own."""
    now("suite: finding the routes")
    goals(MEMBER, REBALANCE)
    ours: list[float] = []
    peer: list[float] = []
    for run in range(RUNS):
        now(f"suite: run {run + 1} of {RUNS}")
        drawn, idle = _run(start_nothing, run)
        _, busy = _run(start_core, run)
        ours.append(drawn / busy)
        peer.append(drawn / idle)
    against = "the same Hypothesis machine with empty bodies"
    return [Figure("generated suite, core", "steps/s", ours, against, peer, GOAL)]


def _run(start: Start, seed: int) -> tuple[int, float]:
    """Steps and seconds."""
    coverage = Coverage()
    machine = make_machine(MEMBER, REBALANCE, start, coverage)
    begun = time.perf_counter()
    run_machine(machine, EXAMPLES, seed_value=seed)
    return coverage.steps, time.perf_counter() - begun

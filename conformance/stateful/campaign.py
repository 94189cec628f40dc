"""The generated suite as one measured run: every route once, then examples drawn by Hypothesis, and what was covered.

The routes come first because they are the shortest way to every transition and pair, so that coverage does not hang on
luck; the drawn examples begin with a route too, and then go where nobody planned. A divergence is a result, not an
exception: the run goes on with the next target, and says what it found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.routes import infeasible_transitions, pair_routes, transition_routes
from groupspec.conformance.stateful.suite import (
    REBALANCES,
    TARGETS,
    Coverage,
    Start,
    cover,
    goals,
    make_machine,
    run_machine,
    start_background,
    start_core,
)

DRIVERS: Final[Mapping[str, Start]] = MappingProxyType({"core": start_core, "background": start_background})
"""What the suite can drive: the sans-IO core, and the whole consumer with its two threads in virtual time."""

MAX_FAILURES: Final = 20
"""Divergences that are told of one target; a broken handler breaks hundreds of routes."""


@dataclass
class SuiteResult:
    """What one run of the suite found.

    Attributes:
        driver: What was driven.
        covered: Transitions and pairs that fired, all targets together, of those that can.
        coverage: Table label -> row id -> how often it fired; only rows that can.
        missing: Feasible transitions and pairs that did not fire, in words.
        steps: Events that were brought about.
        failures: Divergences, each with the events that lead to it.
        preparing_seconds: Spent on finding the routes, which are the same for every driver.
        seconds: Spent on running.
    """

    driver: str
    transitions: tuple[int, int] = (0, 0)
    pairs: tuple[int, int] = (0, 0)
    coverage: dict[str, dict[str, int]] = field(default_factory=dict)
    infeasible: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    steps: int = 0
    examples: int = 0
    failures: list[str] = field(default_factory=list)
    preparing_seconds: float = 0.0
    seconds: float = 0.0

    def data(self) -> dict[str, object]:
        """The result in the shape of its JSON Schema."""
        return {
            "driver": self.driver,
            "transitions": {"covered": self.transitions[0], "total": self.transitions[1]},
            "pairs": {"covered": self.pairs[0], "feasible": self.pairs[1]},
            "steps": self.steps,
            "examples": self.examples,
            "seconds": round(self.seconds, 3),
            "preparing_seconds": round(self.preparing_seconds, 3),
            "failures": self.failures,
            "missing": self.missing,
            "coverage": self.coverage,
            "infeasible": self.infeasible,
        }


def run_suite(
    driver: str,
    examples: int,
    seed: int,
    now: Callable[[str], None] = lambda _: None,
) -> SuiteResult:
    """Runs it.

    Args:
        driver: One of `DRIVERS`.
        examples: Drawn examples for each target and protocol, after the routes.
        seed: Draws them.
        now: Told what is being done.
    """
    result = SuiteResult(driver)
    for target in TARGETS:
        for rebalance in REBALANCES:
            now(f"{driver}: finding the routes of the {target}, {rebalance}")
            began = time.perf_counter()
            goals(target, rebalance)
            result.preparing_seconds += time.perf_counter() - began
            now(f"{driver}: the {target}, {rebalance}")
            began = time.perf_counter()
            coverage = _run(result, target, rebalance, DRIVERS[driver], examples, seed)
            result.seconds += time.perf_counter() - began
            _count(result, target, rebalance, coverage)
    return result


def _run(result: SuiteResult, target: str, rebalance: str, start: Start, examples: int, seed: int) -> Coverage:
    coverage = Coverage()
    found = list(cover(target, rebalance, start, coverage))
    try:
        if examples:
            run_machine(make_machine(target, rebalance, start, coverage), examples, seed_value=seed)
    except AssertionError as divergence:
        notes = "\n".join(getattr(divergence, "__notes__", ()))
        found.append(f"{rebalance} {target}, drawn with seed {seed}: {divergence}\n{notes}".rstrip())
    if len(found) > MAX_FAILURES:
        found = [*found[:MAX_FAILURES], f"{rebalance} {target}: and {len(found) - MAX_FAILURES} more"]
    result.failures += found
    return coverage


def _count(result: SuiteResult, target: str, rebalance: str, coverage: Coverage) -> None:
    """Adds one target's coverage to the result."""
    transitions, pairs = transition_routes(target, rebalance), pair_routes(target, rebalance)
    fired = [goal for goal in transitions if goal in coverage.transitions]
    fired_pairs = [goal for goal in pairs if goal in coverage.pairs]
    result.transitions = result.transitions[0] + len(fired), result.transitions[1] + len(transitions)
    result.pairs = result.pairs[0] + len(fired_pairs), result.pairs[1] + len(pairs)
    result.steps += coverage.steps
    result.examples += coverage.examples
    for machine, row in transitions:
        label = f"{machine}.{rebalance}.deployed"
        result.coverage.setdefault(label, {})[row] = coverage.transitions[machine, row]
    for machine, row in infeasible_transitions(target, rebalance):
        result.infeasible.setdefault(f"{machine}.{rebalance}.deployed", []).append(row)
    result.missing += [
        f"{rebalance} {goal[0]}: {' then '.join(goal[1:])}"
        for goal in (*transitions, *pairs)
        if goal not in coverage.transitions and goal not in coverage.pairs
    ]

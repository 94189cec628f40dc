"""The generated suite as one measured run: every route once, then examples drawn by Hypothesis, and what was covered.

The routes come first because they are the shortest way to every transition and pair, so that coverage does not hang on
luck; the drawn examples begin with a route too, and then go where nobody planned. A divergence is a result, not an
exception: the run goes on with the next target, and says what it found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.routes import goals, infeasible_transitions, pair_routes, transition_routes
from groupspec.conformance.stateful.suite import (
    REBALANCES,
    TARGETS,
    Coverage,
    Start,
    cover,
    make_machine,
    run_machine,
    start_background,
    start_core,
    start_heartbeat,
)
from groupspec.impl.threads.designs import DESIGNS, Design

DRIVERS: Final[Mapping[str, Start]] = MappingProxyType(
    {"core": start_core, "background": start_background, "heartbeat": start_heartbeat}
)
"""What the suite can drive: the sans-IO core, and the whole consumer in either threading design, in virtual time."""

MAX_FAILURES: Final = 20
"""Divergences that are told of one target; a broken handler breaks hundreds of routes."""


def design_of(driver: str) -> Design | None:
    """The threading design of a driver; the core has none."""
    return next((design for design in DESIGNS if design == driver), None)


@dataclass
class SuiteResult:
    """What one run of the suite found, all targets together.

    Attributes:
        driver: What was driven.
        transitions: How many of those that can fire have fired.
        pairs: The same of pairs.
        steps: Events that were brought about.
        examples: Runs: routes, and what Hypothesis has drawn.
        seconds: Spent on running.
        preparing_seconds: Spent on finding the routes, which are the same for every driver.
        failures: Divergences, each with the events that lead to it.
        missing: Feasible transitions and pairs that did not fire, in words.
        coverage: Table label -> row id -> how often it fired; only rows that can.
        infeasible: Table label -> ids of the transitions that can't.
    """

    driver: str
    transitions: dict[str, int] = field(default_factory=lambda: {"covered": 0, "total": 0})
    pairs: dict[str, int] = field(default_factory=lambda: {"covered": 0, "feasible": 0})
    steps: int = 0
    examples: int = 0
    seconds: float = 0.0
    preparing_seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    coverage: dict[str, dict[str, int]] = field(default_factory=dict)
    infeasible: dict[str, list[str]] = field(default_factory=dict)

    def data(self) -> dict[str, object]:
        """The result in the shape of its JSON Schema."""
        seconds = {"seconds": round(self.seconds, 3), "preparing_seconds": round(self.preparing_seconds, 3)}
        return asdict(self) | seconds


def run_suite(driver: str, examples: int, seed: int, now: Callable[[str], None] = lambda _: None) -> SuiteResult:
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
            goals(target, rebalance, design_of(driver))
            result.preparing_seconds += time.perf_counter() - began
            now(f"{driver}: the {target}, {rebalance}")
            began = time.perf_counter()
            coverage = _run(result, target, rebalance, DRIVERS[driver], examples, seed)
            result.seconds += time.perf_counter() - began
            _count(result, target, rebalance, coverage)
    return result


def _run(result: SuiteResult, target: str, rebalance: str, start: Start, examples: int, seed: int) -> Coverage:
    coverage, design = Coverage(), design_of(result.driver)
    found = list(cover(target, rebalance, start, coverage, design))
    try:
        if examples:
            run_machine(make_machine(target, rebalance, start, coverage, design), examples, seed_value=seed)
    except AssertionError as divergence:
        notes = "\n".join(getattr(divergence, "__notes__", ()))
        found.append(f"{rebalance} {target}, drawn with seed {seed}: {divergence}\n{notes}".rstrip())
    if len(found) > MAX_FAILURES:
        found = [*found[:MAX_FAILURES], f"{rebalance} {target}: and {len(found) - MAX_FAILURES} more"]
    result.failures += found
    return coverage


def _count(result: SuiteResult, target: str, rebalance: str, coverage: Coverage) -> None:
    """Adds one target's coverage to the result."""
    design = design_of(result.driver)
    transitions, pairs = transition_routes(target, rebalance, design), pair_routes(target, rebalance, design)
    missing = coverage.missing([*transitions, *pairs])
    result.transitions["total"] += len(transitions)
    result.transitions["covered"] += sum(goal in coverage.transitions for goal in transitions)
    result.pairs["feasible"] += len(pairs)
    result.pairs["covered"] += sum(goal in coverage.pairs for goal in pairs)
    result.steps += coverage.steps
    result.examples += coverage.examples
    for machine, row in transitions:
        label = f"{machine}.{rebalance}.deployed"
        result.coverage.setdefault(label, {})[row] = coverage.transitions[machine, row]
    for machine, row in infeasible_transitions(target, rebalance, design):
        result.infeasible.setdefault(f"{machine}.{rebalance}.deployed", []).append(row)
    result.missing += [f"{rebalance} {goal[0]}: {' then '.join(goal[1:])}" for goal in missing]

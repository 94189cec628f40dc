"""The generated suite: for each machine a Hypothesis state machine, made from its table.

One rule for each event of the alphabet, with its inputs drawn; illegal events are among them, since an answer to
nothing can be offered in any state. Every example begins with a route to a drawn goal (a transition, or a pair of them)
and goes on at random. How far an event's timer would have been from expiry plays no part: timers are events here, and
expire in any order; `time_passes` is the rule that has them expire in the order of their deadlines instead.

Everything drawn is a choice among things known before the run, so that a failure shrinks to a short list of events and
replays from its seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from groupspec.conformance.stateful.core_adapter import CoreAdapter
from groupspec.conformance.stateful.driver_adapter import DriverAdapter
from groupspec.conformance.stateful.exploration import Goal
from groupspec.conformance.stateful.lockstep import Lockstep, LockstepRun
from groupspec.conformance.stateful.partition import PartitionAdapter, PartitionLockstep
from groupspec.conformance.stateful.partition_driver import PartitionDriverAdapter
from groupspec.conformance.stateful.routes import MEMBER, Route, goals, member_of
from groupspec.impl.threads.designs import Design
from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import Member, MemberState, Offer
from groupspec.spec.terms import Value

TARGETS = (MEMBER, "subscription")
REBALANCES = ("eager", "cooperative")
VARIANTS = 8
"""More than any event has errors that mean it, so that all are drawn; and whatever a driver does otherwise
(`driver_adapter`)."""


Start = Callable[[str, Member, MemberState], LockstepRun]
"""Begins a run of one target (`member` or `subscription`) from one configuration."""


def start_core(target: str, member: Member, state: MemberState) -> LockstepRun:
    """A run against the sans-IO core."""
    if target == MEMBER:
        return Lockstep(member, state, CoreAdapter(member, state))
    return PartitionLockstep(member, state, PartitionAdapter(member, state))


def _start_driver(design: Design, target: str, member: Member, state: MemberState) -> LockstepRun:
    """A run against the whole consumer: one of its threading designs, threads and all, in virtual time."""
    if target == MEMBER:
        return Lockstep(member, state, DriverAdapter(member, state, design))
    return PartitionLockstep(member, state, PartitionDriverAdapter(member, state, design))


start_background: Start = partial(_start_driver, "background")
start_heartbeat: Start = partial(_start_driver, "heartbeat")


@dataclass
class Coverage:
    """Which transitions and which pairs of them have fired, and how often."""

    transitions: Counter[Goal] = field(default_factory=Counter)
    pairs: Counter[Goal] = field(default_factory=Counter)
    steps: int = 0
    examples: int = 0

    def note(self, run: LockstepRun) -> None:
        """Count what one run has fired."""
        last: dict[str, str] = {}
        for machine, row in run.fired():
            self.transitions[machine, row] += 1
            if machine in last:
                self.pairs[machine, last[machine], row] += 1
            last[machine] = row
        self.examples += 1

    def missing(self, goals: Iterable[Goal]) -> list[Goal]:
        """Goals that have not been reached."""
        return [goal for goal in goals if goal not in self.transitions and goal not in self.pairs]


def walk(route: Route, target: str, rebalance: str, start: Start, variant: int = 0) -> tuple[LockstepRun, bool]:
    """Run one route; the run, which the caller ends, and whether every event of it could be brought about."""
    member = member_of(target, rebalance)
    run = start(target, member, member.initial(auto_commit=route.auto_commit, static=route.static))
    try:
        happened = [run.offer(offer, variant) for offer in route.offers]
    except BaseException:
        run.end()
        raise
    return run, all(happened)


def cover(target: str, rebalance: str, start: Start, coverage: Coverage, design: Design | None = None) -> Iterator[str]:
    """Run the route to every transition and pair feasible in the design; what is yielded are divergences, in words.

    What could not be brought about in one way is tried in another: in variants, which are different errors that mean
    the same, and whatever the application does otherwise; then by detours. What has diverged is not tried again.
    """
    routes = goals(target, rebalance, design)
    left = dict(routes)

    def tries() -> Iterator[tuple[Route, int]]:
        for variant in range(VARIANTS):
            yield from ((routes[goal], variant) for goal in coverage.missing(left))
        for goal in coverage.missing(left):
            for variant, route in product(range(VARIANTS), detours(goal, routes)):
                if goal in left and coverage.missing([goal]):
                    yield route, variant

    for route, variant in tries():
        try:
            run, _ = walk(route, target, rebalance, start, variant)
            run.end()
        except AssertionError as divergence:
            yield f"{rebalance} {target}, route to {' then '.join(route.goal[1:])}: {divergence}"
            left.pop(route.goal)
            continue
        coverage.note(run)
        coverage.steps += len(route.offers)


def detours(goal: Goal, routes: Mapping[Goal, Route]) -> Iterator[Route]:
    """Other routes to a pair: to its first row after any other one, and on with the event that fires the second.

    The shortest route may be none for a driver in which more matters than the machines know: a listener that was never
    told of partitions is not told of their loss, and then nothing comes between the begin and the end of that callback.
    """
    *_, last = routes[goal].offers
    for other, route in routes.items():
        if len(goal) == len(other) == 3 and (other[0], other[2]) == goal[:2]:
            yield replace(route, goal=goal, offers=(*route.offers, last))


def make_machine(
    target: str, rebalance: str, start: Start, coverage: Coverage, design: Design | None = None
) -> type[RuleBasedStateMachine]:
    """The Hypothesis state machine of one target under one protocol."""
    member = member_of(target, rebalance)
    routes = list(goals(target, rebalance, design).values())
    namespace: dict[str, Any] = {"__doc__": f"{target}, {rebalance}: model and implementation in lockstep."}

    def begin(self: Any, route: Route, variant: int) -> None:
        self.run, _ = walk(route, target, rebalance, start, variant)
        coverage.steps += len(route.offers)

    namespace["begin"] = initialize(route=st.sampled_from(routes), variant=st.integers(0, VARIANTS))(begin)
    for event in sorted({offer for offer, _ in member.offers}):
        namespace[event] = _rule(event, coverage)

    def time_passes(self: Any) -> None:
        self.run.time_passes()
        coverage.steps += 1

    def teardown(self: Any) -> None:
        if hasattr(self, "run"):
            self.run.end()
            coverage.note(self.run)

    namespace["time_passes"] = rule()(time_passes)
    namespace["teardown"] = teardown
    return type(f"{rebalance.title()}{target.title()}", (RuleBasedStateMachine,), namespace)


def _rule(event: str, coverage: Coverage) -> Any:
    names = vocabulary.EVENTS[event].inputs
    inputs: dict[str, Any] = {name: st.sampled_from(vocabulary.VARIABLES[name].domain) for name in names}

    def happen(self: Any, variant: int, **told: Value) -> None:
        coverage.steps += self.run.offer(Offer(event, tuple((name, told[name]) for name in names)), variant)

    happen.__name__ = event
    made_a_rule: Any = rule(variant=st.integers(0, VARIANTS), **inputs)
    return made_a_rule(happen)


def run_machine(
    machine: type[RuleBasedStateMachine], examples: int, steps: int = 20, seed_value: int | None = None
) -> None:
    """Run a generated machine.

    Raises:
        Divergence: with the shrunk list of events that shows it.
    """
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        derandomize=seed_value is None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    if seed_value is not None:
        machine = seed(seed_value)(machine)
    run_state_machine_as_test(machine, settings=chosen)

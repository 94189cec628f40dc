"""Does every handler matter? The suite, in the order in which it finds the lack of one handler soonest.

The suite has two parts: *walks*, every transition of the specification along its shortest route, with each of the
errors that mean the same in turn; and the whole table of request handling. A handler that does nothing must make one of
them fail. All handlers get the same walks and cases; only the order differs: first the cases about the handler's input,
then the routes on which that input happens, shortest first, then all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from groupspec.conformance.stateful.routes import Route, transition_routes
from groupspec.conformance.stateful.suite import REBALANCES, TARGETS, VARIANTS, start_core, walk
from groupspec.conformance.stateful.tests.preconditions import key_of
from groupspec.conformance.stateful.tests.request_handling import check
from groupspec.conformance.stateful.translation import COMMANDS, EVENTS_OF, TIMERS
from groupspec.spec.request_handling import HANDLINGS, Handling
from groupspec.spec.vocabulary import RESPONSES

Key = tuple[str, str]
"""What the implementation calls an input: (command, ""), ("TimerExpired", timer) or (API, error)."""

SPECIFIED_BY_MACHINES = frozenset(
    {
        *RESPONSES,
        *((kind.__name__, "") for kind in COMMANDS),
        *(("TimerExpired", timer) for timer in TIMERS),
        ("Subscribe", ""),
        ("Fetch", ""),
    }
)
"""Inputs that are events of the specification's machines. A Subscribe is one of two, a Fetch is a partition's."""

SPECIFIED_BY_CASES = frozenset(key_of(case) for case in HANDLINGS)
"""Inputs that stand in the table of request handling."""


@dataclass(frozen=True)
class Walk:
    """One route of one target, with one choice of errors."""

    route: Route
    target: str
    rebalance: str
    variant: int

    def run(self) -> None:
        """Divergence: the implementation does something else."""
        walk(self.route, self.target, self.rebalance, start_core, self.variant)


@dataclass(frozen=True)
class Check:
    """One case under one protocol."""

    case: Handling
    rebalance: str

    def run(self) -> None:
        """Divergence: something else follows."""
        check(self.case, cooperative=self.rebalance == "cooperative")


Part = Walk | Check


@cache
def checks() -> tuple[Check, ...]:
    """Every case, under both protocols."""
    return tuple(Check(case, rebalance) for rebalance in REBALANCES for case in HANDLINGS)


@cache
def walks() -> tuple[Walk, ...]:
    """Every transition, with each of the errors that mean the same in turn; the shortest routes first."""
    every = [
        Walk(route, target, rebalance, variant)
        for variant in range(VARIANTS)
        for rebalance in REBALANCES
        for target in TARGETS
        for route in transition_routes(target, rebalance).values()
    ]
    return tuple(sorted(every, key=lambda walk: len(walk.route.offers)))


def suite() -> Iterator[Part]:
    """Everything."""
    yield from walks()
    yield from checks()


def suite_for(key: Key) -> Iterator[Part]:
    """Everything, those parts first that are likely to need the handler of this input."""
    about = [one for one in checks() if key_of(one.case) == key]
    yield from about
    on_the_way = [walk for walk in walks() if _happens_in(walk, key)]
    yield from on_the_way
    known = {*about, *on_the_way}
    yield from (part for part in suite() if part not in known)


def _happens_in(walk: Walk, key: Key) -> bool:
    """Whether one of the walk's events comes to this input, with the walk's choice of errors."""
    return any(_means(event, key, walk.variant) for event in {offer.event for offer in walk.route.offers})


def _means(event: str, key: Key, variant: int) -> bool:
    if event in EVENTS_OF:
        answers = EVENTS_OF[event]
        return answers[variant % len(answers)] == key
    kind, detail = key
    if kind == "TimerExpired":
        return TIMERS.get(detail) == event
    return any(command.__name__ == kind and name == event for command, name in COMMANDS.items())


def first_failure(key: Key) -> Part | None:
    """The suite, until something fails: the part that failed; None if nothing does."""
    for part in suite_for(key):
        try:
            part.run()
        except Exception:  # of any kind: a test fails when anything is raised
            return part
    return None

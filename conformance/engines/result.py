"""What an engine found."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from groupspec.conformance.engines.process import Ended
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.compiler.model_check import ModelError

Outcome: TypeAlias = Literal["complete", "inconclusive", "failed", "absent"]
Answer: TypeAlias = Literal["holds", "violated", "not expressed", "not decided"]


@dataclass(frozen=True)
class EngineRun:
    """One engine on one model.

    Attributes:
        engine: `explorer` (of this project), `tlc` or `spin`.
        version: Of the engine; empty if it was not found.
        outcome: *complete*: every state was visited. *inconclusive*: a limit came first. *failed*: the engine itself
            did. *absent*: it is not on this machine. `problem` says more about the last three.
        states: Distinct states.
        edges: Enabled alternatives over all states. Not compared: TLC counts one as often as its guard has disjuncts
            that hold, SPIN one more for a state in which nothing can happen. None: the engine did not get through.
        depth: Steps to the farthest state; None if the engine does not search breadth first.
        seconds: Of the search, with what the engine needs to start, and without compiling.
        properties: What it says of each property of the model.
        traces: For each property that is violated or reached, and if the engine tells, the actions on the way.
        problem: What is wrong, and what to do.
        missing_actions: Actions that could never happen; what no engine but the explorer says.
        liveness_seconds: Of a second search, for leads-to properties; TLC's alone.
        left_out: Kind of property that this run was not asked about, or cannot be, to the reason.
    """

    engine: str
    version: str
    model: str
    outcome: Outcome
    states: int = 0
    edges: int | None = None
    depth: int | None = None
    seconds: float = 0.0
    properties: Mapping[str, Answer] = field(default_factory=dict)
    traces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""
    missing_actions: tuple[str, ...] = ()
    liveness_seconds: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def decided(self) -> frozenset[str]:
        """The properties of which it says whether they hold."""
        return frozenset(claim for claim, answer in self.properties.items() if answer in ("holds", "violated"))

    @property
    def violated(self) -> frozenset[str]:
        """The properties that do not hold."""
        return frozenset(claim for claim, answer in self.properties.items() if answer == "violated")

    @property
    def states_per_second(self) -> float:
        """Distinct states a second."""
        return self.states / self.seconds if self.seconds else 0.0


RECOVERABILITY: Final = {"recoverable": "recoverability is the explorer's alone"}
"""What TLC and SPIN leave out: it is about branching time, which neither temporal logic has."""


def watched(claim: ModelProperty, seen: Set[tuple[str, str]], complete: bool) -> Answer:
    """What an engine that says ("violated", id) and ("reached", id) on its way says of a property."""
    match claim.kind:
        case "invariant":
            return "violated" if ("violated", claim.id) in seen else "holds" if complete else "not decided"
        case "reachable":
            return "holds" if ("reached", claim.id) in seen else "violated" if complete else "not decided"
        case _:
            return "not expressed"


def at_a_limit(run: EngineRun, ended: Ended, out_of_memory: bool, about: str = "") -> EngineRun | None:
    """The run of a program that its time or its memory has ended; None if neither has."""
    if ended.code is not None and not out_of_memory:
        return None
    what, more = (
        (f"its time was up after {ended.seconds:.0f} s", "--max-seconds")
        if ended.code is None
        else ("out of memory", "--max-memory")
    )
    said = f"{what}; {about}{run.states:,} states were found: allow more with {more}"
    return replace(run, outcome="inconclusive", problem=said)


def model_problem(found: ModelError) -> UsageProblem:
    """A model that cannot be explored, told with the files in which its author can correct it."""
    of_properties = all(each.place.startswith("property") for each in found.problems)
    file = "spec/data/properties" if of_properties else "spec/composition"
    return UsageProblem(str(found), file, next_step="correct it there; nothing was explored")

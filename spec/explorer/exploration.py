"""What an exploration is asked, what it says on the way, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer.layout import State

Verdict: TypeAlias = Literal["complete", "inconclusive"]
GIB = 1 << 30
NO_STATE = 0xFFFFFFFF
"""The number of no state: parent of the first one, and of a property that no state decided."""


class ExplorerProblem(Exception):
    """An exploration that cannot be carried out as asked: what, where, what is allowed, and what to do next."""

    def __init__(self, what: str, where: str = "", allowed: str = "", next_step: str = "") -> None:
        self.what = what
        self.where = where
        self.allowed = allowed
        self.next_step = next_step
        labelled = (("where", where), ("allowed", allowed), ("next", next_step))
        super().__init__("\n".join([what, *(f"  {label + ':':<9}{text}" for label, text in labelled if text)]))


@dataclass(frozen=True)
class Limits:
    """When to stop before everything is explored; None: never.

    Attributes:
        max_states: Distinct states; no state is expanded once there are so many. TLC and SPIN cannot be told.
        max_seconds: By the wall clock, and looked at between two chunks of work. Compiling is not counted.
        max_memory: Bytes for states and the table that finds them.
    """

    max_states: int | None = None
    max_seconds: float | None = None
    max_memory: int = 6 * GIB


@dataclass(frozen=True)
class Progress:
    """Where an exploration is.

    Attributes:
        states: Distinct states found.
        frontier: Found, but not yet expanded.
        edges: Alternatives that were enabled in expanded states.
        depth: Steps from the initial state to the states that are being expanded.
        seconds: Since the beginning.
        memory_bytes: As in `Limits`.
    """

    model: str
    states: int
    frontier: int
    edges: int
    depth: int
    seconds: float
    memory_bytes: int

    def __str__(self) -> str:
        speed = self.states / (self.seconds or 1)
        return (
            f"{self.model}: {self.states:,} states ({speed:,.0f}/s), {self.frontier:,} to go, "
            f"depth {self.depth}, {self.memory_bytes / GIB:.2f} GiB, {self.seconds:.0f} s"
        )


@dataclass(frozen=True)
class TraceStep:
    """One action of a trace with its parameters by name, and the state after it."""

    action: str
    arguments: Mapping[str, int]
    state: State

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={index}' for name, index in self.arguments.items())})"


@dataclass(frozen=True)
class Trace:
    """A shortest way from the initial state to the one that matters, which is the last."""

    model: Model
    initial: State
    steps: tuple[TraceStep, ...]

    @property
    def last(self) -> State:
        """The state at its end."""
        return self.steps[-1].state if self.steps else self.initial

    def changes(self) -> list[dict[str, object]]:
        """For each step, the variables that it changed and their new values: `{"client[1]": "WAITING"}`."""
        flat = [_flat(self.initial), *(_flat(step.state) for step in self.steps)]
        return [
            {name: value for name, value in after.items() if before[name] != value} for before, after in pairwise(flat)
        ]

    def __str__(self) -> str:
        lines = [f"{self.model.name}: {len(self.steps)} steps"]
        for number, (step, changed) in enumerate(zip(self.steps, self.changes(), strict=True), 1):
            lines.append(f"  {number:>3}. {step}: {', '.join(f'{n} = {v}' for n, v in changed.items()) or 'no change'}")
        return "\n".join(lines)


def _flat(value: object, name: str = "") -> dict[str, object]:
    """Each value by the name of its variable with its indices: `owns[1][2]`."""
    if not isinstance(value, dict):
        return {name: value}
    inner = (_flat(part, f"{name}[{key}]" if name else key) for key, part in value.items())
    return {place: leaf for found in inner for place, leaf in found.items()}


@dataclass(frozen=True)
class Exploration:
    """What was found.

    Attributes:
        verdict: *complete*: every reachable state was expanded. *inconclusive*: a limit came first, and `reason` says
            which; what is in `violations` and `reached` holds all the same.
        states: Distinct states; with folding, distinct up to renaming.
        unfolded_states: How many there are without folding. The same as `states` if nothing was folded.
        expanded: States whose every alternative was tried.
        edges: Enabled alternatives of all expanded states: those that lead to known states, or nowhere, count too.
        depth: Steps to the state that is farthest from the initial one.
        memory_bytes: At the end, for states and the table that finds them.
        violations: Per invariant that fails a shortest trace to a state in which it does; per recoverable property that
            fails a shortest trace to a state from which there is no way back.
        reached: Per reachable property that is met a shortest trace to it.
        missing: Reachable and recoverable properties that fail. Known only if complete.
        unchecked: Properties about which nothing can be said, and why: leads_to always, others after a limit.
        fired: How often each action was enabled, over all expanded states and parameters.
        dead_ends: Expanded states in which nothing can happen.
        dead_end: A shortest trace to one, if there are any.
    """

    model: Model
    verdict: Verdict
    reason: str
    states: int
    unfolded_states: int
    expanded: int
    edges: int
    depth: int
    seconds: float
    memory_bytes: int
    violations: Mapping[str, Trace]
    reached: Mapping[str, Trace]
    missing: tuple[str, ...]
    unchecked: Mapping[str, str]
    fired: Mapping[str, int]
    dead_ends: int
    dead_end: Trace | None

    @property
    def never_fired(self) -> tuple[str, ...]:
        """Actions that were enabled in no expanded state."""
        return tuple(name for name, times in self.fired.items() if not times)

"""Explores a model: the loop around an engine, and what its numbers mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer.c_source import c_source
from groupspec.spec.explorer.exploration import (
    NO_STATE,
    Exploration,
    Limits,
    Progress,
    Trace,
    TraceStep,
)
from groupspec.spec.explorer.folding import Folding, folding, require_symmetry
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state, replay
from groupspec.spec.explorer.native import Counts, NativeEngine, Steps, Stop, build
from groupspec.spec.explorer.program import Program, program

CHUNK = 200_000
"""Expansions between two looks at the clock."""

LIVENESS = "liveness under fairness: the search for fair circles says (explorer/liveness.py), and TLC"

ProgressCallback = Callable[[Progress], None]


def explore(
    model: Model,
    *,
    limits: Limits | None = None,
    fold: bool = False,
    progress: ProgressCallback | None = None,
    stop_at_violation: bool = False,
) -> Exploration:
    """Every state of a model, breadth first.

    Args:
        model: What to explore.
        limits: When to stop before the end.
        fold: Count states that differ by a renaming only as one; the model must be symmetric.
        progress: Told how far it is, after each chunk of work.
        stop_at_violation: Stop at the first state that violates an invariant, which is one that is nearest.

    Raises:
        ModelError: the model has problems.
        ExplorerProblem: it cannot be done as asked, or there is no C compiler.
    """
    prepared = program(model)
    folded = folding(prepared) if fold else None
    library = build(c_source(prepared, folded))
    if folded is not None:
        require_symmetry(prepared, folded, Steps(prepared, library))
    search = Search(prepared, library, limits or Limits(), folded=folded, stop_at_violation=stop_at_violation)
    return search.run(progress)


class Search:
    """One search through a program's base, or through one of its variants."""

    def __init__(
        self,
        prepared: Program,
        library: Path,
        limits: Limits,
        *,
        folded: Folding | None = None,
        variant: int = 0,
        model: Model | None = None,
        stop_at_violation: bool = False,
    ) -> None:
        """`variant` is the number of the model that is explored, `model`, if it is not the program's base."""
        self._program = prepared
        self._model = model or prepared.model
        self._limits = limits
        self._folded = folded
        self._engine = NativeEngine(prepared, library, variant, stop_at_violation)
        self._began = time.monotonic()

    def run(self, progress: ProgressCallback | None = None) -> Exploration:
        """Explores until the end or a limit, and says what was found."""
        stop, limits = Stop.MORE, self._limits
        with closing(self._engine) as engine:
            engine.limit(limits.max_states, limits.max_memory)
            while stop is Stop.MORE:
                if limits.max_seconds is not None and self._seconds() >= limits.max_seconds:
                    stop = Stop.SECONDS
                    break
                stop = engine.run(CHUNK)
                if progress is not None:
                    counts, memory = engine.counts(), engine.memory()
                    frontier = counts.states - counts.expanded
                    seconds = self._seconds()
                    progress(
                        Progress(self._model.name, counts.states, frontier, counts.edges, counts.depth, seconds, memory)
                    )
            return self._result(stop)

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _result(self, stop: Stop) -> Exploration:
        seconds = self._seconds()
        engine, counts, complete = self._engine, self._engine.counts(), stop is Stop.COMPLETE
        violations: dict[str, Trace] = {}
        reached: dict[str, Trace] = {}
        missing: list[str] = []
        unchecked = {known.claim.id: LIVENESS for known in self._program.leads_to}
        for number, known in enumerate(self._program.properties):
            claim, first = known.claim, counts.first[number]
            if claim.kind == "recoverable":
                if not complete:
                    unchecked[claim.id] = "not everything was explored"
                elif (lost := engine.unrecoverable(number)) is not None:
                    violations[claim.id] = self._trace(lost)
                    missing.append(claim.id)
            elif first != NO_STATE:
                (violations if claim.kind == "invariant" else reached)[claim.id] = self._trace(first)
            elif not complete:
                unchecked[claim.id] = f"decided by none of {counts.states:,} states, and not everything was explored"
            elif claim.kind == "reachable":
                missing.append(claim.id)
        return Exploration(
            model=self._model,
            verdict="complete" if complete else "inconclusive",
            reason=self._reason(stop, counts),
            states=counts.states,
            unfolded_states=counts.unfolded,
            expanded=counts.expanded,
            edges=counts.edges,
            depth=counts.depth,
            seconds=seconds,
            memory_bytes=engine.memory(),
            violations=violations,
            reached=reached,
            missing=tuple(missing),
            unchecked=unchecked,
            fired=dict(zip((action.name for action in self._model.actions), counts.fired, strict=True)),
            dead_ends=counts.dead_ends,
            dead_end=self._trace(counts.first_dead) if counts.dead_ends else None,
        )

    def _reason(self, stop: Stop, counts: Counts) -> str:
        limits = self._limits
        why = {
            Stop.SECONDS: f"max_seconds = {limits.max_seconds or 0:g} was reached",
            Stop.STATES: f"max_states = {limits.max_states or NO_STATE:,} was reached",
            Stop.MEMORY: f"max_memory = {limits.max_memory:,} bytes was reached",
            Stop.VIOLATED: "an invariant is violated",
        }
        covered = f"{counts.expanded:,} of {counts.states:,} states found were expanded, to depth {counts.depth}"
        return f"{why[stop]}: {covered}" if stop in why else ""

    def _trace(self, state: int) -> Trace:
        """A shortest trace to a state, run by the interpreter, which must come to the same state as the engine.

        Raises:
            AssertionError: it does not: then the engine is wrong.
        """
        layout, numbers, path = self._program.layout, list[int](), [state]
        while (parent := self._engine.parent(path[-1]))[0] != NO_STATE:
            path.append(parent[0])
            numbers.append(parent[1])
        if self._folded is not None:
            return self._unfolded([self._engine.packed(each) for each in path[-2::-1]], self._folded)
        alternatives = (layout.alternatives[number] for number in reversed(numbers))
        trace = replay(self._model, [(action.name, arguments) for action, arguments in alternatives])
        if layout.pack(layout.encode(trace.last)) != self._engine.packed(state):
            raise AssertionError(f"engine and interpreter disagree about the end of {trace}")
        return trace

    def _unfolded(self, path: Sequence[int], folding: Folding) -> Trace:
        """A way through states that differ from the stored ones by a renaming only, each by its own."""
        model, layout = self._model, self._program.layout
        state = initial_state(model)
        steps: list[TraceStep] = []
        for wanted in path:
            for action, arguments in enabled(model, state):
                after = apply(model, state, action, arguments)
                if layout.pack(folding.canonical(layout.encode(after))[0]) == wanted:
                    break
            else:
                way = ", ".join(map(str, steps))
                raise AssertionError(f"folding lost the way after {way}: is {model.name} symmetric?")
            state = after
            steps.append(TraceStep(action, arguments, state))
        return Trace(model, initial_state(model), tuple(steps))

"""Explores a model: the loop around an engine, and what its numbers mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

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
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state, replay
from groupspec.spec.explorer.layout import Layout, State
from groupspec.spec.explorer.native import NativeEngine, Steps, Stop, build
from groupspec.spec.explorer.program import Program, program
from groupspec.spec.explorer.symmetry import folding, require_symmetry

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
    running = NativeEngine(prepared, library, stop_at_violation=stop_at_violation)
    try:
        search = Search(prepared, running, limits or Limits(), folded)
        search.run(progress)
        return search.result()
    finally:
        running.close()


def native_source(model: Model, fold: bool = False) -> str:
    """The C that would be compiled, for readers."""
    prepared = program(model)
    return c_source(prepared, folding(prepared) if fold else None)


class Search:
    """One engine on its way through one model.

    Attributes:
        stop: Why it stopped.
    """

    def __init__(
        self,
        prepared: Program,
        engine: NativeEngine,
        limits: Limits,
        folded: Folding | None = None,
        model: Model | None = None,
    ) -> None:
        """`model` is the variant that is explored, if it is not the program's base."""
        self._program = prepared
        self._model = model or prepared.model
        self._engine = engine
        self._limits = limits
        self._folded = folded
        self._began = time.monotonic()
        self._out_of_time = False
        self.stop = Stop.MORE

    def seconds(self) -> float:
        """What it took until now."""
        return time.monotonic() - self._began

    def run(self, progress: ProgressCallback | None = None) -> None:
        """Explores until the end or a limit."""
        self._engine.limit(self._limits.max_states, self._limits.max_memory)
        while self.stop is Stop.MORE:
            if self._limits.max_seconds is not None and self.seconds() >= self._limits.max_seconds:
                self._out_of_time = True
                break
            self.stop = self._engine.run(CHUNK)
            if progress is not None:
                progress(self._progress())

    def _progress(self) -> Progress:
        counts, now = self._engine.counts(), self.seconds()
        return Progress(
            self._model.name,
            counts.states,
            counts.states - counts.expanded,
            counts.edges,
            counts.depth,
            now,
            counts.states / now if now else 0.0,
            self._engine.memory(),
        )

    def result(self) -> Exploration:
        """What was found."""
        seconds = self.seconds()
        engine, counts, complete = self._engine, self._engine.counts(), self.stop is Stop.COMPLETE
        violations: dict[str, Trace] = {}
        reached: dict[str, Trace] = {}
        missing: list[str] = []
        unchecked = {claim.id: LIVENESS for claim in self._program.model.properties if claim.kind == "leads_to"}
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
            reason=self._reason(),
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

    def _reason(self) -> str:
        counts, limits = self._engine.counts(), self._limits
        covered = f"{counts.expanded:,} of {counts.states:,} states found were expanded, to depth {counts.depth}"
        if self._out_of_time:
            return f"max_seconds = {limits.max_seconds:g} was reached: {covered}"
        match self.stop:
            case Stop.STATES:
                return f"max_states = {limits.max_states or NO_STATE:,} was reached: {covered}"
            case Stop.MEMORY:
                return f"max_memory = {limits.max_memory or 0:,} bytes was reached: {covered}"
            case Stop.VIOLATED:
                return f"an invariant is violated: {covered}"
            case _:
                return ""

    def _trace(self, state: int) -> Trace:
        return trace_to(self._model, self._program.layout, self._engine, state, self._folded)


def trace_to(model: Model, layout: Layout, engine: NativeEngine, state: int, folding: Folding | None = None) -> Trace:
    """A shortest trace to a state, run by the interpreter, which must come to the same state as the engine.

    Raises:
        AssertionError: it does not: then an engine is wrong.
    """
    numbers: list[int] = []
    path = [state]
    while (parent := engine.parent(path[-1]))[0] != NO_STATE:
        path.append(parent[0])
        numbers.append(parent[1])
    path.reverse()
    if folding is not None:
        return _unfolded(model, layout, [engine.packed(each) for each in path], folding)
    steps = []
    for number in reversed(numbers):
        alternative = layout.alternatives[number]
        names = [name for name, _ in alternative.action.parameters]
        steps.append((alternative.action.name, dict(zip(names, alternative.arguments, strict=True))))
    trace = replay(model, steps)
    if layout.pack(layout.encode(trace.last)) != engine.packed(state):
        raise AssertionError(f"engine and interpreter disagree about the end of {trace}")
    return trace


def _unfolded(model: Model, layout: Layout, path: Sequence[int], folding: Folding) -> Trace:
    """The stored states are renamed, each in its own way: a real way is found that leads through states like them."""

    def folded(after: State) -> int:
        return layout.pack(folding.canonical(layout.encode(after))[0])

    state = initial_state(model)
    steps: list[TraceStep] = []
    for wanted in path[1:]:
        for action, arguments in enabled(model, state):
            after = apply(model, state, action, arguments)
            if folded(after) == wanted:
                break
        else:
            raise AssertionError(f"folding lost the way after {', '.join(map(str, steps))}: is {model.name} symmetric?")
        state = after
        steps.append(TraceStep(action, arguments, state))
    return Trace(model, initial_state(model), tuple(steps))

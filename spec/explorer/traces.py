"""From a state's number to the way that leads there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer.exploration import NO_STATE, Trace, TraceStep
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state, replay
from groupspec.spec.explorer.layout import Layout, State
from groupspec.spec.explorer.native import NativeEngine
from groupspec.spec.explorer.python import PythonEngine

Engine: TypeAlias = NativeEngine | PythonEngine
"""A search: both have the same methods."""


def trace_to(model: Model, layout: Layout, engine: Engine, state: int, folding: Folding | None = None) -> Trace:
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
        raise AssertionError(f"{engine.name} engine and interpreter disagree about the end of {trace}")
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

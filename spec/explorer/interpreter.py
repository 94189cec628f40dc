"""One action of a model, by the book: Python evaluates the model's own text on the state as a reader sees it.

Slow, simple, and made of nothing that the engine is made of: no domains, no codes, no generated text. So it can say
whether the engine is right, and it is what turns a counterexample's action names into states.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

from groupspec.spec.compiler.model import Block, Call, For, If, Model, Set
from groupspec.spec.compiler.writing import notes_of
from groupspec.spec.explorer.exploration import ExplorerProblem, Trace, TraceStep
from groupspec.spec.explorer.layout import State


class Taken(NamedTuple):
    """A branch that was taken: the procedure (or action) that it is part of, and its note."""

    procedure: str
    note: str


def initial_state(model: Model) -> State:
    """The state in which everything begins."""
    state: State = {}
    for variable in model.variables:
        value: object = variable.initial
        for over in reversed(variable.over):
            value = {index: copy.copy(value) for index in model.indices(over)}
        state[variable.name] = value
    return state


def holds(model: Model, state: State, text: str, indices: Mapping[str, object] | None = None) -> bool:
    """Whether an expression holds in a state."""
    return bool(_value(model, state, text, indices or {}))


def enabled(model: Model, state: State, only: str | None = None) -> Iterator[tuple[str, dict[str, int]]]:
    """Every alternative that is possible in a state, in the order of the engine.

    Of one action `only`, if one is named.
    """
    for action in model.actions:
        if only in (None, action.name):
            for arguments in model.arguments(action):
                if holds(model, state, action.guard or "True", arguments):
                    yield action.name, arguments


def apply(
    model: Model, state: State, action: str, arguments: Mapping[str, int], taken: list[Taken] | None = None
) -> State:
    """The state after an action, which must be possible; the one given is not changed.

    The branches that are taken on the way are appended to `taken`, as far as they have a note.
    """
    after = copy.deepcopy(state)
    body = next(known.body for known in model.actions if known.name == action)
    _run(model, after, body, dict(arguments), action, [] if taken is None else taken)
    return after


def branches_taken(trace: Trace) -> list[list[Taken]]:
    """For each step of a trace what fired in it, in order: in a model of machines, their rows."""
    found: list[list[Taken]] = []
    state = trace.initial
    for step in trace.steps:
        found.append([])
        state = apply(trace.model, state, step.action, step.arguments, found[-1])
    return found


def replay(model: Model, steps: Sequence[tuple[str, Mapping[str, int]]]) -> Trace:
    """The trace that these actions make.

    Raises:
        ExplorerProblem: one of them is unknown, or not possible where it stands.
    """
    state = first = initial_state(model)
    done: list[TraceStep] = []
    for number, (action, arguments) in enumerate(steps, 1):
        if (action, dict(arguments)) not in enabled(model, state, action):
            possible = [f"{name}{values}" for name, values in enabled(model, state)]
            raise ExplorerProblem(
                f"step {number}, {action}{dict(arguments)}, is not possible here",
                f"model {model.name}, after {', '.join(map(str, done)) or 'nothing'}",
                "; ".join(possible) or "nothing: a dead end",
                "the trace belongs to another version of the model: explore again",
            )
        state = apply(model, state, action, arguments)
        done.append(TraceStep(action, dict(arguments), state))
    return Trace(model, first, tuple(done))


def _run(
    model: Model, state: State, block: Block, names: dict[str, object], procedure_name: str, taken: list[Taken]
) -> None:
    for statement in block:
        match statement:
            case Set():
                values = [_value(model, state, text, names) for _, text in statement.assignments]
                for (target, _), value in zip(statement.assignments, values, strict=True):
                    _assign(model, state, target, value, names)
            case If():
                for (condition, body), note in zip(statement.branches, notes_of(statement), strict=False):
                    if holds(model, state, condition, names):
                        if note:
                            taken.append(Taken(procedure_name, note))
                        _run(model, state, body, names, procedure_name, taken)
                        break
                else:
                    _run(model, state, statement.otherwise, names, procedure_name, taken)
            case For():
                for index in model.indices(statement.over):
                    _run(model, state, statement.body, {**names, statement.index: index}, procedure_name, taken)
            case Call():
                procedure = model.procedure(statement.procedure)
                formal = [*(name for name, _ in procedure.indices), *(name for name, _ in procedure.inputs)]
                actual = [_value(model, state, text, names) for text in statement.arguments]
                _run(model, state, procedure.body, dict(zip(formal, actual, strict=True)), procedure.name, taken)


def _assign(model: Model, state: State, target: str, value: object, names: Mapping[str, object]) -> None:
    name, *subscripts = target.replace("]", "").split("[")
    *outer, last = [name, *(_value(model, state, text, names) for text in subscripts)]
    place: Any = state
    for key in outer:
        place = place[key]
    place[last] = value


@cache
def _code(text: str) -> CodeType:
    return compile(text.strip() or "True", f"<model: {text}>", "eval")


def _value(model: Model, state: State, text: str, names: Mapping[str, object]) -> object:
    # One dictionary of globals: what a generator expression reads is looked up there, and only there.
    known = {
        "__builtins__": {"all": all, "any": any},
        "members": model.indices("members"),
        "partitions": model.indices("partitions"),
        **state,
        **names,
    }
    return eval(_code(text), known)

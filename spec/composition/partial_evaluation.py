"""A model with some of its variables frozen: they keep one value, and everything that this decides is decided.

A feature that a model leaves out is a variable that never changes. Freezing it takes it out of guards and bodies, and
with it the branches and actions that could not happen any more, so that what is left is what a reader would have
written without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from groupspec.spec.compiler.formula import Formula, formula, tree_of
from groupspec.spec.compiler.guards import simplify
from groupspec.spec.compiler.model import Action, Block, Call, For, If, Model, Procedure, Set, Statement, callees
from groupspec.spec.terms import Value


def freeze(model: Model, frozen: Mapping[str, Value]) -> Model:
    """The model with each variable of `frozen` at its value, for every index."""
    if not frozen:
        return model
    procedures = prune([replace(p, body=frozen_block(p.body, frozen)) for p in model.procedures])
    known = frozenset(p.name for p in procedures)
    actions = [
        replace(a, guard=fold(a.guard, frozen), body=pruned(frozen_block(a.body, frozen), known)) for a in model.actions
    ]
    return replace(
        model,
        variables=tuple(v for v in model.variables if v.name not in frozen),
        procedures=tuple(_used(procedures, actions)),
        actions=tuple(a for a in actions if a.guard != "False" and a.body),
        properties=tuple(
            replace(p, holds=fold(p.holds, frozen), when=p.when and fold(p.when, frozen)) for p in model.properties
        ),
    )


def fold(text: str, frozen: Mapping[str, Value]) -> str:
    """The expression with the frozen variables replaced, and what that decides folded away."""
    # The same few expressions come again and again, from one model to the next. (True and 1 are equal, their texts are
    # not.)
    return _folded(text, tuple(sorted((name, repr(value), value) for name, value in frozen.items())))


@cache
def _folded(text: str, frozen: tuple[tuple[str, str, Value], ...]) -> Formula:
    return formula(simplify(tree_of(text), {name: value for name, _, value in frozen}))


def _used(procedures: list[Procedure], actions: list[Action]) -> Iterator[Procedure]:
    """Without procedures that nobody calls any more."""
    bodies = {p.name: p.body for p in procedures}
    called: set[str] = set()
    waiting = [name for action in actions for name in callees(action.body)]
    while waiting:
        name = waiting.pop()
        if name not in called:
            called.add(name)
            waiting += callees(bodies[name])
    yield from (p for p in procedures if p.name in called)


def frozen_block(block: Block, frozen: Mapping[str, Value]) -> Block:
    """The same for a body alone."""
    return tuple(kept for statement in block for kept in _statement(statement, frozen))


def _statement(statement: Statement, frozen: Mapping[str, Value]) -> Iterator[Statement]:
    match statement:
        case Set():
            kept = tuple((t, fold(v, frozen)) for t, v in statement.assignments if t.partition("[")[0] not in frozen)
            kept = tuple((target, value) for target, value in kept if target != value)
            if kept:
                yield replace(statement, assignments=kept)
        case If():
            yield from _if(statement, frozen)
        case For():
            body = frozen_block(statement.body, frozen)
            if body:
                yield replace(statement, body=body)
        case Call():
            yield replace(statement, arguments=tuple(fold(a, frozen) for a in statement.arguments))


def _if(statement: If, frozen: Mapping[str, Value]) -> Iterator[Statement]:
    branches, notes = [], []
    otherwise = frozen_block(statement.otherwise, frozen)
    for number, (guard, body) in enumerate(statement.branches):
        decided = fold(guard, frozen)
        if decided == "True":
            otherwise = frozen_block(body, frozen)
            break
        if decided != "False":
            branches.append((decided, frozen_block(body, frozen)))
            notes.append(statement.notes[number] if statement.notes else "")
    if any(body for _, body in branches):
        yield If(tuple(branches), otherwise, tuple(notes) if statement.notes else ())
    elif branches and otherwise:
        yield If(tuple(branches), otherwise)
    else:
        yield from otherwise if not branches else ()


def prune(procedures: list[Procedure]) -> list[Procedure]:
    """Without calls of procedures that do nothing, and without those; as often as that leaves new ones."""
    while True:
        known = frozenset(p.name for p in procedures)
        kept = [replace(p, body=pruned(p.body, known)) for p in procedures]
        kept = [p for p in kept if p.body]
        if kept == procedures:
            return kept
        procedures = kept


def pruned(block: Block, known: frozenset[str]) -> Block:
    """The block without calls of unknown procedures, and without what is empty then."""
    return tuple(kept for statement in block for kept in _pruned(statement, known))


def _pruned(statement: Statement, known: frozenset[str]) -> Iterator[Statement]:
    match statement:
        case Call():
            if statement.procedure in known:
                yield statement
        case If():
            branches = [(guard, pruned(body, known)) for guard, body in statement.branches]
            otherwise = pruned(statement.otherwise, known)
            if any(body for _, body in branches) or otherwise:
                yield If(tuple(branches), otherwise, statement.notes)
        case _:
            yield statement

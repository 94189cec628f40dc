"""A model with some of its variables frozen: they keep one value, and everything that this decides is decided.

A feature that a model leaves out is a variable that never changes. Freezing it takes it out of guards and bodies, and
with it the branches and actions that could not happen any more, so that what is left is what a reader would have
written without it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from groupspec.spec.compiler.formula import Formula, formula, subscripts, tree_of
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
    return formula(_Fold({name: value for name, _, value in frozen}).visit(tree_of(text)))


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


class _Fold(ast.NodeTransformer):
    def __init__(self, frozen: Mapping[str, Value]) -> None:
        self.frozen = frozen

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.frozen[node.id]) if node.id in self.frozen else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name, _ = subscripts(node)
        return ast.Constant(self.frozen[name]) if name in self.frozen else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        return ast.Constant(not operand.value) if isinstance(operand, ast.Constant) else ast.UnaryOp(node.op, operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        deciding = isinstance(node.op, ast.Or)
        left = []
        for value in map(self.visit, node.values):
            if isinstance(value, ast.Constant):
                if bool(value.value) is deciding:
                    return ast.Constant(deciding)
                continue
            left.append(value)
        if not left:
            return ast.Constant(not deciding)
        return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        one, other = self.visit(node.left), self.visit(node.comparators[0])
        if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
            return ast.Constant((one.value == other.value) is isinstance(node.ops[0], ast.Eq))
        return ast.Compare(one, node.ops, [other])

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test, body, orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        if isinstance(test, ast.Constant):
            return body if test.value else orelse  # type: ignore[no-any-return]
        return body if ast.dump(body) == ast.dump(orelse) else ast.IfExp(test, body, orelse)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        (generator,) = node.args
        assert isinstance(generator, ast.GeneratorExp)
        element = self.visit(generator.elt)
        if isinstance(element, ast.Constant):
            whole = node.func.id == "all" if isinstance(node.func, ast.Name) else False
            if bool(element.value) is whole:
                return ast.Constant(whole)
        inner = generator.generators[0]
        kept = [test for test in map(self.visit, inner.ifs) if not (isinstance(test, ast.Constant) and test.value)]
        inner = ast.comprehension(inner.target, inner.iter, kept, 0)
        return ast.Call(node.func, [ast.GeneratorExp(element, [inner])], [])

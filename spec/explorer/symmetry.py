"""Is a model symmetric, so that states that differ only in who is called 1 and who 2 can be one state?

If it is, whatever can happen in a state can happen renamed in the renamed one, and one of each orbit is enough. How
many renamings it has says how many states it stands for, and the sum of these must be what is counted without folding.

Whether a variable with the domain (0, 1, ..., n) holds an index or merely counts is nowhere declared. It holds one if
it is compared with an index, assigned one, or the same is true of a variable that it is compared with or assigned to.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from groupspec.spec.compiler.expressions import Choice, Comparison, Expression, Index, Input, Read, operands
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.resolved import Assign, Body, Branch, Invoke, Loop
from groupspec.spec.explorer.exploration import ExplorerProblem
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.native import Steps
from groupspec.spec.explorer.program import Program

_Holder: TypeAlias = tuple[str, str]
"""A place that can hold an index: ("", variable), (procedure, input), or the index itself."""

_INDEX: _Holder = ("", "")


def folding(prepared: Program) -> Folding:
    """How a model is folded that says that it is symmetric; `require_symmetry` says whether it is.

    Raises:
        ExplorerProblem: it does not say so, or cannot be.
    """
    model = prepared.model
    if not model.symmetric:
        raise ExplorerProblem(
            "only a symmetric model can be folded",
            f"model {model.name}",
            "a model with symmetric=True",
            "explore it without folding; or declare it symmetric, if renaming members and partitions changes nothing",
        )
    holders = index_holders(prepared)
    for variable in model.variables:
        if variable.name in holders and variable.initial != 0:
            raise _asymmetric(model, f"{variable.name} holds an index and begins as {variable.initial!r}, not as 0")
    return Folding(prepared.layout, holders)


def require_symmetry(prepared: Program, folding: Folding, steps: Steps, walk: int = 1500, seed: int = 1) -> None:
    """Looks for a state whose renamings behave in another way.

    Along a random walk each renamed state must have the renamed successors, and every property must hold in both or in
    neither. That finds a body that prefers the member 1, and a loop whose outcome depends on its order; it is no proof.
    What is one, for a model of two members: that folding, done with, stands for as many states as there are without.

    Raises:
        ExplorerProblem: there is one.
    """
    model, layout = prepared.model, prepared.layout
    if len(folding.folds) == 1:
        return
    chance, codes = random.Random(seed), layout.initial
    for _ in range(walk):
        fold = chance.choice(folding.folds[1:])
        mirrored, after = fold.apply(codes), steps.successors(codes)
        for number, known in enumerate(prepared.properties):
            if steps.holds(number, codes) is not steps.holds(number, mirrored):
                what = f"property {known.claim.id} says one thing of a state and another of it renamed"
                raise _asymmetric(model, f"{what}: {layout.decode(codes)}")
        expected = Counter((layout.alternatives[number].action.name, fold.apply(one)) for number, one in after)
        found = Counter((layout.alternatives[number].action.name, one) for number, one in steps.successors(mirrored))
        if expected != found:
            names = ", ".join(sorted({name for name, _ in expected.keys() ^ found.keys()}))
            what = f"after a renaming {names} gives something else, first in the state {layout.decode(codes)}"
            raise _asymmetric(model, what)
        # From a dead end the walk begins again.
        codes = chance.choice(after)[1] if after else layout.initial


def _asymmetric(model: Model, why: str) -> ExplorerProblem:
    return ExplorerProblem(
        f"the model says that it is symmetric, and is not: {why}",
        f"model {model.name}",
        "bodies and properties that treat all members alike, and all partitions",
        "explore it without folding, or mend that",
    )


def index_holders(prepared: Program) -> frozenset[str]:
    """The variables that hold an index."""
    beside: dict[_Holder, set[_Holder]] = {}
    for group in _groups(prepared):
        for holder in group:
            beside.setdefault(holder, set()).update(group)
    found, waiting = {_INDEX}, [_INDEX]
    while waiting:
        new = beside.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(name for procedure, name in found if name and not procedure)


def _groups(prepared: Program) -> Iterator[set[_Holder]]:
    """Places whose values are compared with each other, or assigned to each other."""
    for procedure, (body, *_) in prepared.procedures:
        yield from _in_body(body, procedure.name)
    for _, ((guard, body), *_) in prepared.actions:
        yield from _in_expression(guard, "")
        yield from _in_body(body, "")
    for condition in prepared.conditions:
        yield from _in_expression(condition, "")


def _in_body(body: Body, procedure: str) -> Iterator[set[_Holder]]:
    for instruction in body:
        match instruction:
            case Assign(pairs=pairs):
                for target, value in pairs:
                    yield _holders(target, procedure) | _holders(value, procedure)
                    yield from _in_expression(value, procedure)
            case Branch(branches=branches, otherwise=otherwise):
                for condition, block in (*branches, (None, otherwise)):
                    yield from _in_expression(condition, procedure) if condition is not None else ()
                    yield from _in_body(block, procedure)
            case Loop(body=block):
                yield from _in_body(block, procedure)
            case Invoke(procedure=callee, inputs=inputs):
                for (name, _), value in zip(callee.inputs, inputs, strict=True):
                    yield {(callee.name, name)} | _holders(value, procedure)
                    yield from _in_expression(value, procedure)


def _in_expression(node: Expression, procedure: str) -> Iterator[set[_Holder]]:
    if isinstance(node, Comparison):
        yield _holders(node.left, procedure) | _holders(node.right, procedure)
    for part in operands(node):
        yield from _in_expression(part, procedure)


def _holders(node: Expression, procedure: str) -> set[_Holder]:
    """The places from which the expression may take its value."""
    match node:
        case Choice(then=then, otherwise=otherwise):
            return _holders(then, procedure) | _holders(otherwise, procedure)
        case Index():
            return {_INDEX}
        case Read(variable=variable):
            return {("", variable.name)}
        case Input(name=name):
            return {(procedure, name)}
        case _:
            return set()

"""Is a model symmetric, so that states that differ only in who is called 1 and who 2 can be one state?

If it is, whatever can happen in a state can happen renamed in the renamed one, and one of each orbit is enough. How
many renamings it has says how many states it stands for, and the sum of these must be what is counted without folding.

Whether a variable with the domain (0, 1, ..., n) holds an index or merely counts is nowhere declared. It holds one if
it is compared with an index, assigned one, or the same is true of a variable that it is compared with or assigned to.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TypeAlias

from groupspec.spec.compiler.expressions import (
    Choice,
    Comparison,
    Connective,
    Expression,
    Index,
    Input,
    Not,
    Quantified,
    Read,
)
from groupspec.spec.compiler.model import Procedure
from groupspec.spec.compiler.model_check import resolve_model
from groupspec.spec.compiler.resolved import Assign, Body, Branch, Invoke, Loop, ResolvedModel
from groupspec.spec.explorer.exploration import ExplorerProblem
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.layout import Layout
from groupspec.spec.explorer.program import Program
from groupspec.spec.explorer.python_source import python_module

_Holder: TypeAlias = tuple[str, str]
"""A place that can hold an index: ("", variable), (procedure, input), or the index itself."""

_INDEX: _Holder = ("", "")


def folding(prepared: Program) -> Folding:
    """How a symmetric model is folded.

    Raises:
        ExplorerProblem: the model does not say that it is symmetric, or says so and is not.
    """
    model = prepared.model
    if not model.symmetric:
        raise ExplorerProblem(
            "only a symmetric model can be folded",
            f"model {model.name}",
            "a model with symmetric=True",
            "explore it without folding; or declare it symmetric, if renaming members and partitions changes nothing",
        )
    problem = asymmetry(prepared)
    if problem:
        raise ExplorerProblem(
            f"the model says that it is symmetric, and is not: {problem}",
            f"model {model.name}",
            "bodies and properties that treat all members alike, and all partitions",
            "explore it without folding, or mend that",
        )
    return Folding(prepared.layout, index_holders(resolve_model(model)))


def index_holders(resolved: ResolvedModel) -> frozenset[str]:
    """The variables that hold an index."""
    groups = _Groups(resolved)
    return frozenset(v.name for v in resolved.model.variables if groups.with_index(("", v.name)))


def asymmetry(prepared: Program, walk: int = 1500, seed: int = 1) -> str:
    """Why a model is not symmetric; empty if nothing was found.

    Along a random walk each renamed state must have the renamed successors, and every property must hold in both or in
    neither. That finds a body that prefers the member 1, and a loop whose outcome depends on its order; it is no proof.
    What is one, for a model of two members: that folding, done with, stands for as many states as there are without.
    """
    model, layout = prepared.model, prepared.layout
    holders = index_holders(resolve_model(model))
    for variable in model.variables:
        if variable.name in holders and variable.initial != 0:
            return f"{variable.name} holds an index and begins as {variable.initial!r}, not as 0"
    all_folds = Folding(layout, holders).folds[1:]
    if not all_folds:
        return ""
    generated = python_module(prepared)
    chance, codes = random.Random(seed), layout.initial
    for _ in range(walk):
        fold = chance.choice(all_folds)
        mirrored, after = fold.apply(codes), generated.successors(codes)
        for known, holds in zip(prepared.properties, generated.holds, strict=True):
            if bool(holds(codes)) is not bool(holds(mirrored)):
                return (
                    f"property {known.claim.id} says one thing of a state and another of it renamed: "
                    f"{layout.decode(codes)}"
                )
        expected = sorted((_action_of(layout, number), fold.apply(one)) for number, one in after)
        found = sorted((_action_of(layout, number), one) for number, one in generated.successors(mirrored))
        if expected != found:
            names = sorted({name for name, _ in set(expected) ^ set(found)})
            return (
                f"after a renaming {', '.join(names)} gives something else, first in the state {layout.decode(codes)}"
            )
        # From a dead end the walk begins again.
        codes = chance.choice(after)[1] if after else layout.initial
    return ""


def _action_of(layout: Layout, number: int) -> str:
    return layout.alternatives[number].action.name


class _Groups:
    """Which places hold the same kind of thing, found by what is compared with and assigned to what."""

    def __init__(self, resolved: ResolvedModel) -> None:
        self.parent: dict[_Holder, _Holder] = {}
        for procedure, body in resolved.procedures:
            self._body(body, procedure)
        for action in resolved.actions:
            self._expression(action.guard, None)
            self._body(action.body, None)
        for claim in resolved.properties:
            self._expression(claim.holds, None)

    def with_index(self, holder: _Holder) -> bool:
        """Whether an index can be there."""
        return self._root(holder) == self._root(_INDEX)

    def _root(self, holder: _Holder) -> _Holder:
        while (above := self.parent.get(holder, holder)) != holder:
            holder = above
        return holder

    def _link(self, holders: list[_Holder]) -> None:
        for other in holders[1:]:
            self.parent[self._root(other)] = self._root(holders[0])

    def _body(self, body: Body, inside: Procedure | None) -> None:
        for instruction in body:
            match instruction:
                case Assign(pairs=pairs):
                    for target, value in pairs:
                        self._together([target, value], inside)
                case Branch(branches=branches, otherwise=otherwise):
                    for condition, block in branches:
                        self._expression(condition, inside)
                        self._body(block, inside)
                    self._body(otherwise, inside)
                case Loop(body=block):
                    self._body(block, inside)
                case Invoke(procedure=procedure, inputs=inputs):
                    for (name, _), value in zip(procedure.inputs, inputs, strict=True):
                        self._together([value], inside, (procedure.name, name))

    def _together(self, nodes: list[Expression], inside: Procedure | None, *more: _Holder) -> None:
        holders = list(more)
        for node in nodes:
            self._expression(node, inside)
            for leaf in _leaves(node):
                match leaf:
                    case Index():
                        holders.append(_INDEX)
                    case Read(variable=variable):
                        holders.append(("", variable.name))
                    case Input(name=name) if inside is not None:
                        holders.append((inside.name, name))
        self._link(holders)

    def _expression(self, node: Expression, inside: Procedure | None) -> None:
        match node:
            case Not(operand=operand):
                self._expression(operand, inside)
            case Connective(parts=parts):
                for part in parts:
                    self._expression(part, inside)
            case Comparison(left=left, right=right):
                self._together([left, right], inside)
            case Choice(test=test, then=then, otherwise=otherwise):
                for part in (test, then, otherwise):
                    self._expression(part, inside)
            case Quantified(condition=condition, body=body):
                if condition is not None:
                    self._expression(condition, inside)
                self._expression(body, inside)


def _leaves(node: Expression) -> Iterator[Expression]:
    """The expressions whose value the whole may have."""
    if isinstance(node, Choice):
        yield from _leaves(node.then)
        yield from _leaves(node.otherwise)
    else:
        yield node

"""Hundreds of models that differ from one base in a body or two, explored with a few compilations.

Mutation testing asks of each: which property is violated? And of those that violate none: can anyone see a difference
at all? The second question is a search through pairs. Base and variant run side by side, as one model with every
variable twice. An action that both can do is done by both; one that only one of them can do sets the variable
`differs`. If that never happens, and what is shown is the same in every state of the pair, nobody who looks at what is
shown and at what can happen can tell them apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from groupspec.spec.compiler.formula import formula
from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    For,
    If,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Set,
    Statement,
)
from groupspec.spec.explorer.c_source import c_source
from groupspec.spec.explorer.exploration import Exploration, ExplorerProblem, Limits
from groupspec.spec.explorer.explore import Search
from groupspec.spec.explorer.native import build
from groupspec.spec.explorer.program import program

VARIANTS_PER_COMPILATION = 100
SAME_ALTERNATIVES = "same-alternatives"
SAME_OBSERVED = "same-observed"
_DIFFERS = "differs"
_OTHER = "other_"


def explore_variants(
    model: Model,
    variants: Mapping[str, Model],
    limits: Limits | None = None,
    *,
    optimise: str = "-O1",
    stop_at_violation: bool = True,
) -> dict[str, Exploration]:
    """Every variant, held to the properties of the base; each stops at the first state that violates an invariant.

    Args:
        model: The base.
        variants: By name; they may differ from the base in guards and bodies only.
        limits: For each of them.
        optimise: For the C compiler, which needs as long for a body that runs once as for one that runs a million
            times.
        stop_at_violation: False: explore to the end, so that every violated property is found.

    Raises:
        ModelError: a variant has problems.
        ExplorerProblem: a variant differs in more than guards and bodies.
    """
    found: dict[str, Exploration] = {}
    for batch in _batches(variants):
        prepared = program(model, list(batch.values()))
        library = build(c_source(prepared), optimise)
        for number, (name, variant) in enumerate(batch.items(), 1):
            search = Search(
                prepared,
                library,
                limits or Limits(),
                variant=number,
                model=variant,
                stop_at_violation=stop_at_violation,
            )
            found[name] = search.run()
    return found


def _batches(variants: Mapping[str, Model]) -> Iterator[dict[str, Model]]:
    items = iter(variants.items())
    while batch := dict(islice(items, VARIANTS_PER_COMPILATION)):
        yield batch


def equivalents(
    model: Model,
    variants: Mapping[str, Model],
    observe: Sequence[str],
    limits: Limits | None = None,
    *,
    optimise: str = "-O1",
) -> dict[str, bool | None]:
    """Per variant whether anyone can tell it from the base; None: a limit came before the end.

    `observe` are the variables whose values can be seen; that an action is possible can always be seen. `limits` are
    for each pair, `optimise` is as in `explore_variants`.
    """
    beside = Beside(model, observe)
    base = beside.pair(model)
    pairs = {name: beside.pair(variant) for name, variant in variants.items()}
    return {
        name: False if found.violations else True if found.verdict == "complete" else None
        for name, found in explore_variants(base, pairs, limits, optimise=optimise).items()
    }


class Beside:
    """A model, to put others beside it. What they share with it is renamed once."""

    def __init__(self, model: Model, observe: Sequence[str]) -> None:
        """Raises ExplorerProblem if `observe` names something that is no variable."""
        known = [variable.name for variable in model.variables]
        unknown = [name for name in observe if name not in known]
        if unknown:
            raise ExplorerProblem(
                f"what is to be observed is no variable: {', '.join(unknown)}",
                f"model {model.name}",
                ", ".join(known),
                "name variables of the model",
            )
        self._model = model
        self._claims = tuple(_claims(model, observe))
        self._rename = _Rename({name: _OTHER + name for name in known})
        self._procedures = {p.name: (p, self._rename.procedure(p)) for p in model.procedures}
        self._actions = {a.name: (a, _both(a, a, self._rename)) for a in model.actions}

    def pair(self, variant: Model) -> Model:
        """Both models side by side, with the claim that they can do and show the same."""
        model = self._model
        others = tuple(replace(variable, name=_OTHER + variable.name) for variable in variant.variables)
        return Model(
            name=f"{model.name}-beside-{variant.name}",
            sizes=model.sizes,
            variables=(*model.variables, *others, ModelVariable(_DIFFERS, (False, True), False)),
            procedures=(*model.procedures, *map(self._procedure, variant.procedures)),
            actions=tuple(self._action(*both) for both in zip(model.actions, variant.actions, strict=True)),
            properties=self._claims,
            doc="Two models side by side.",
        )

    def _procedure(self, procedure: Procedure) -> Procedure:
        shared, renamed = self._procedures.get(procedure.name, (None, procedure))
        return renamed if procedure is shared else self._rename.procedure(procedure)

    def _action(self, one: Action, other: Action) -> Action:
        return self._actions[one.name][1] if other is one else _both(one, other, self._rename)


def _both(one: Action, other: Action, rename: _Rename) -> Action:
    mine, others = one.guard.strip() or "True", rename.text(other.guard.strip() or "True")
    together = (f"({mine}) and ({others})", (*one.body, *rename.block(other.body)))
    body = If((together,), (Set(((_DIFFERS, "True"),)),), ("both can", "only one of them can"))
    return replace(one, guard=f"({mine}) or ({others})", body=(body,))


def _claims(model: Model, observe: Sequence[str]) -> Iterator[ModelProperty]:
    yield ModelProperty(SAME_ALTERNATIVES, "invariant", f"not {_DIFFERS}")
    if observe:
        shown = (_shown(model.variable(name), _OTHER + name) for name in observe)
        yield ModelProperty(SAME_OBSERVED, "invariant", " and ".join(f"({text})" for text in shown))


def _shown(variable: ModelVariable, other: str) -> str:
    names = ("seen_i", "seen_p")[: len(variable.over)]
    at = "".join(f"[{name}]" for name in names)
    text = f"{variable.name}{at} == {other}{at}"
    for name, over in reversed(list(zip(names, variable.over, strict=True))):
        text = f"all({text} for {name} in {over})"
    return text


class _Rename(ast.NodeTransformer):
    """Gives every variable of a model, and every procedure, another name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """One name."""
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def text(self, text: str) -> str:
        """An expression."""
        return formula(self.visit(ast.parse(text.strip(), mode="eval").body))

    def procedure(self, procedure: Procedure) -> Procedure:
        """A procedure."""
        return replace(procedure, name=_OTHER + procedure.name, body=self.block(procedure.body))

    def block(self, block: Block) -> Block:
        """A body."""
        return tuple(self._statement(statement) for statement in block)

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case Set(assignments=assignments):
                return replace(statement, assignments=tuple((self.text(t), self.text(v)) for t, v in assignments))
            case If(branches=branches, otherwise=otherwise):
                renamed = tuple((self.text(condition), self.block(body)) for condition, body in branches)
                return replace(statement, branches=renamed, otherwise=self.block(otherwise))
            case For(body=body):
                return replace(statement, body=self.block(body))
            case Call(procedure=procedure, arguments=arguments):
                return Call(_OTHER + procedure, tuple(self.text(argument) for argument in arguments))

"""A model whose every expression is understood: what the engines are written from.

`resolve_model` goes once through all bodies. What is wrong is collected, not raised, so that an author sees everything
at once; `model_check` adds what can be said of a model as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from groupspec.spec.compiler.expressions import (
    BOOLEAN,
    DECLARE,
    Expression,
    ExpressionProblem,
    Index,
    Read,
    Scope,
    refuse_rebinding,
    resolve,
    resolve_index,
)
from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    For,
    If,
    IndexSet,
    Model,
    ModelProperty,
    Procedure,
    Set,
)
from groupspec.spec.problems import did_you_mean


@dataclass(frozen=True, order=True)
class ModelProblem:
    """One thing that is wrong with a model.

    Attributes:
        model: The model's name.
        place: `action ask`, `procedure grant`, `property one-holder`, `variable owner`; empty for the whole model.
        what: What is wrong.
        allowed: What would have been accepted; may be empty.
        remedy: What to do about it.
    """

    model: str
    place: str
    what: str
    allowed: str
    remedy: str

    def __str__(self) -> str:
        head = f"{self.model}: {self.place}: {self.what}" if self.place else f"{self.model}: {self.what}"
        allowed = f"\n    allowed: {self.allowed}" if self.allowed else ""
        return f"{head}{allowed}\n    next: {self.remedy}"


@dataclass(frozen=True)
class Assign:
    """`Set`: all values are computed before any is assigned."""

    pairs: tuple[tuple[Read, Expression], ...]


@dataclass(frozen=True)
class Branch:
    """`If`."""

    branches: tuple[tuple[Expression, Body], ...]
    otherwise: Body


@dataclass(frozen=True)
class Loop:
    """`For`."""

    index: str
    over: IndexSet
    body: Body


@dataclass(frozen=True)
class Invoke:
    """`Call`: the indices, then the inputs, computed before."""

    procedure: Procedure
    indices: tuple[Index, ...]
    inputs: tuple[Expression, ...]


Instruction: TypeAlias = Assign | Branch | Loop | Invoke
Body: TypeAlias = tuple[Instruction, ...]


@dataclass(frozen=True)
class ResolvedProperty:
    """A property with its expressions understood; `when` is None but for leads_to."""

    claim: ModelProperty
    holds: Expression
    when: Expression | None


@dataclass(frozen=True)
class ResolvedModel:
    """A model, understood: each procedure with its body, each action with its guard and body."""

    model: Model
    procedures: tuple[tuple[Procedure, Body], ...]
    actions: tuple[tuple[Action, Expression, Body], ...]
    properties: tuple[ResolvedProperty, ...]


class Bodies:
    """Resolves the bodies of one model; what is wrong is in `problems`."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.problems: list[ModelProblem] = []

    def procedure(self, procedure: Procedure) -> Body:
        """A procedure's body."""
        place = f"procedure {procedure.name}"
        scope = self._bound(place, Scope(self.model, {}, dict(procedure.inputs)), procedure.indices)
        return self._body(place, procedure.body, scope)

    def action(self, action: Action) -> tuple[Action, Expression, Body] | None:
        """An action; None if its guard means nothing."""
        place = f"action {action.name}"
        scope = self._bound(place, Scope(self.model), action.parameters)
        guard = self.condition(f"{place}, guard", action.guard, scope)
        body = self._body(place, action.body, scope)
        return None if guard is None else (action, guard, body)

    def property(self, claim: ModelProperty) -> ResolvedProperty | None:
        """A property; None if it means nothing."""
        holds = self.condition(f"property {claim.id}", claim.holds, Scope(self.model))
        when = self.condition(f"property {claim.id}, when", claim.when, Scope(self.model)) if claim.when else None
        return None if holds is None else ResolvedProperty(claim, holds, when)

    def condition(self, place: str, text: str, scope: Scope) -> Expression | None:
        """An expression that is true or false; empty text is True."""
        try:
            return resolve(text.strip() or "True", scope, BOOLEAN)
        except ExpressionProblem as problem:
            self._note(place, problem)
            return None

    def _bound(self, place: str, scope: Scope, indices: tuple[tuple[str, IndexSet], ...]) -> Scope:
        for name, over in indices:
            try:
                refuse_rebinding(name, scope)
            except ExpressionProblem as problem:
                self._note(place, problem)
            scope = scope.bind(name, over)
        return scope

    def _body(self, place: str, block: Block, scope: Scope) -> Body:
        done: list[Instruction] = []
        for statement in block:
            try:
                match statement:
                    case Set():
                        done.append(self._assign(statement, scope))
                    case If():
                        done.append(self._branch(place, statement, scope))
                    case For():
                        refuse_rebinding(statement.index, scope)
                        inner = scope.bind(statement.index, statement.over)
                        done.append(Loop(statement.index, statement.over, self._body(place, statement.body, inner)))
                    case Call():
                        done.append(self._invoke(statement, scope))
            except ExpressionProblem as problem:
                self._note(place, problem)
        return tuple(done)

    def _assign(self, statement: Set, scope: Scope) -> Assign:
        pairs: list[tuple[Read, Expression]] = []
        for target_text, text in statement.assignments:
            target = resolve(target_text, scope)
            if not isinstance(target, Read):
                raise ExpressionProblem(
                    f"`{target_text}` is assigned to, and is no variable",
                    "`x`, `x[i]`, `x[i][p]`, where x is a variable of the model",
                    "assign to a variable; indices and inputs keep their values",
                )
            if any(target == other for other, _ in pairs):
                raise ExpressionProblem(
                    f"`{target_text}` is assigned twice at once", "each target once in a Set", "use two Sets"
                )
            pairs.append((target, resolve(text, scope, target.domain)))
        return Assign(tuple(pairs))

    def _branch(self, place: str, statement: If, scope: Scope) -> Branch:
        branches: list[tuple[Expression, Body]] = []
        for text, block in statement.branches:
            condition = self.condition(place, text, scope)
            body = self._body(place, block, scope)
            if condition is not None:
                branches.append((condition, body))
        return Branch(tuple(branches), self._body(place, statement.otherwise, scope))

    def _invoke(self, statement: Call, scope: Scope) -> Invoke:
        known = [procedure.name for procedure in self.model.procedures]
        if statement.procedure not in known:
            raise ExpressionProblem(
                f"calls the unknown procedure {statement.procedure!r}",
                ", ".join(known) or "none: the model has no procedures",
                did_you_mean(statement.procedure, known, DECLARE),
            )
        callee = self.model.procedure(statement.procedure)
        needed = len(callee.indices) + len(callee.inputs)
        if len(statement.arguments) != needed:
            words = [*(f"{name} (of {over})" for name, over in callee.indices), *(name for name, _ in callee.inputs)]
            raise ExpressionProblem(
                f"calls {callee.name!r} with {len(statement.arguments)} arguments",
                f"{needed}: {', '.join(words) or 'none'}",
                "give the indices first, then the inputs",
            )
        texts = iter(statement.arguments)
        indices = tuple(resolve_index(next(texts), over, scope) for _, over in callee.indices)
        inputs = tuple(resolve(next(texts), scope, domain) for _, domain in callee.inputs)
        return Invoke(callee, indices, inputs)

    def _note(self, place: str, problem: ExpressionProblem) -> None:
        self.problems.append(ModelProblem(self.model.name, place, str(problem), problem.allowed, problem.remedy))

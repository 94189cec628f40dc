"""The expressions of a model, understood: what every name is, and in which domain every value lies.

A model's expressions are text. An engine that is not Python stores a value as its place in the domain, so that it must
know for each constant which domain is meant: in `client[i] == 'IDLE'` it is the client's. Here that is found out once,
for all of them, and what cannot be is refused with a reason.

The rules are few. A constant takes the domain of what it is compared with or assigned to. An index (`i`, or 2) has the
domain (0, 1, ..., n), where 0 is nobody, so that its code is itself. What `and`, `or`, `not`, `all`, `any` and
comparisons give has the domain (False, True).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as Word
from typing import TypeAlias

from groupspec.spec.compiler.formula import subscripts, tree_of
from groupspec.spec.compiler.model import IndexSet, Model, ModelVariable
from groupspec.spec.problems import did_you_mean
from groupspec.spec.terms import Value

Domain: TypeAlias = tuple[Value, ...]

BOOLEAN: Domain = (False, True)
LANGUAGE = (
    "`and`, `or`, `not`, `==`, `!=`, `a if c else b`, names, constants, `x[i]`, `x[i][p]`, "
    "`all(... for j in members if ...)` and `any(...)`"
)


DECLARE = "declare it in the model"
"""What to do about an unknown name."""


class ExpressionProblem(ValueError):
    """An expression that means nothing in a model; `allowed` is what would have been accepted."""

    def __init__(self, what: str, allowed: str, remedy: str) -> None:
        super().__init__(what)
        self.allowed = allowed
        self.remedy = remedy


@dataclass(frozen=True)
class Constant:
    """A value of a domain; `code` is its place there, counted from 0."""

    value: Value
    domain: Domain

    @property
    def code(self) -> int:
        """Its place in the domain."""
        return code_of(self.value, self.domain)


@dataclass(frozen=True)
class Index:
    """An index: a bound name, or (with an empty name) a number from 1."""

    name: str
    number: int
    over: IndexSet
    domain: Domain


@dataclass(frozen=True)
class Input:
    """A value that came with the call of a procedure."""

    name: str
    domain: Domain


@dataclass(frozen=True)
class Read:
    """A variable's value, at as many indices as the variable has."""

    variable: ModelVariable
    at: tuple[Index, ...]

    @property
    def domain(self) -> Domain:
        """The variable's."""
        return self.variable.domain


@dataclass(frozen=True)
class Not:
    """The negation."""

    operand: Expression
    domain: Domain = BOOLEAN


@dataclass(frozen=True)
class Connective:
    """`and` or `or` of two or more."""

    operator: Word["and", "or"]
    parts: tuple[Expression, ...]
    domain: Domain = BOOLEAN


@dataclass(frozen=True)
class Comparison:
    """Whether two values of one domain are the same (`==`), or differ."""

    left: Expression
    same: bool
    right: Expression
    domain: Domain = BOOLEAN


@dataclass(frozen=True)
class Choice:
    """`then if test else otherwise`."""

    test: Expression
    then: Expression
    otherwise: Expression
    domain: Domain


@dataclass(frozen=True)
class Quantified:
    """`all` (every) or `any` of `body` for each index for which `condition` holds; None: for each."""

    every: bool
    index: str
    over: IndexSet
    condition: Expression | None
    body: Expression
    domain: Domain = BOOLEAN


Expression: TypeAlias = Constant | Index | Input | Read | Not | Connective | Comparison | Choice | Quantified


def operands(node: Expression) -> tuple[Expression, ...]:
    """The expressions that this one is computed from."""
    match node:
        case Not(operand=operand):
            return (operand,)
        case Connective(parts=parts):
            return parts
        case Comparison(left=left, right=right):
            return (left, right)
        case Choice(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Quantified(condition=condition, body=body):
            return (body,) if condition is None else (condition, body)
        case _:
            return ()


@dataclass(frozen=True)
class Scope:
    """What names mean at one place of a model: its variables, the bound indices, and the procedure's inputs."""

    model: Model
    indices: Mapping[str, IndexSet] = field(default_factory=dict)
    inputs: Mapping[str, Domain] = field(default_factory=dict)

    def bind(self, name: str, over: IndexSet) -> Scope:
        """The same with one index more."""
        return Scope(self.model, {**self.indices, name: over}, self.inputs)

    def names(self) -> list[str]:
        """Everything that may be read here."""
        return [*self.indices, *self.inputs, *(variable.name for variable in self.model.variables)]


def same_domain(one: Domain, other: Domain) -> bool:
    """Whether two domains have the same values in the same order; False is not 0 here, though Python says so."""
    return repr(one) == repr(other)


def code_of(value: Value, domain: Domain) -> int:
    """The place of a value in its domain, from 0.

    Raises:
        ValueError: it is not there.
    """
    for code, known in enumerate(domain):
        if known == value and type(known) is type(value):
            return code
    raise ValueError(f"{value!r} is not in {domain!r}")


def index_domain(model: Model, over: IndexSet) -> Domain:
    """The domain of an index of this set: 0 for nobody, then 1 to the set's size."""
    return tuple(range(model.sizes[over] + 1))


def resolve(text: str, scope: Scope, wanted: Domain | None = None) -> Expression:
    """The expression that `text`, in the language of `model.py`, says at this place; of the domain `wanted`, if given.

    Raises:
        ExpressionProblem: an unknown name, a wrong domain, or something that is not in the language.
    """
    resolver = _Resolver(text, scope)
    return resolver.typed(resolver.tree, wanted)


def resolve_index(text: str, over: IndexSet, scope: Scope) -> Index:
    """The index that `text` says: a name bound over this set, or a number.

    Raises:
        ExpressionProblem: it is neither.
    """
    resolver = _Resolver(text, scope)
    return resolver.index(resolver.tree, over)


class _Resolver:
    """Resolves one expression at one place; keeps its text for messages."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        try:
            self.tree = tree_of(text)
        except SyntaxError as problem:
            what = f"`{text}` is not an expression: {problem.msg}"
            raise ExpressionProblem(what, LANGUAGE, "correct the expression") from problem

    def typed(self, node: ast.expr, wanted: Domain | None) -> Expression:
        found = self._resolve(node, wanted)
        if wanted is not None and not same_domain(found.domain, wanted):
            raise self._wrong_domain(node, found.domain, wanted)
        return found

    def _resolve(self, node: ast.expr, wanted: Domain | None) -> Expression:
        match node:
            case ast.Constant(value=value) if isinstance(value, (bool, int, str)):
                return self._constant(value, wanted)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Subscript():
                return self._read(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.typed(operand, BOOLEAN))
            case ast.BoolOp(op=operator, values=parts):
                word: Word["and", "or"] = "and" if isinstance(operator, ast.And) else "or"
                return Connective(word, tuple(self.typed(part, BOOLEAN) for part in parts))
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as sign], comparators=[right]):
                return self._comparison(left, isinstance(sign, ast.Eq), right)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                domain = wanted or self._domain(then) or self._domain(otherwise)
                if domain is None:
                    raise self._unknown_domain(node)
                choices = (self.typed(then, domain), self.typed(otherwise, domain))
                return Choice(self.typed(test, BOOLEAN), *choices, domain)
            case ast.Call(
                func=ast.Name(id="all" | "any" as quantifier), args=[ast.GeneratorExp() as loop], keywords=[]
            ):
                return self._quantified(quantifier == "all", loop)
            case _:
                raise ExpressionProblem(
                    f"`{ast.unparse(node)}` in `{self.text}` is not in the language of models",
                    LANGUAGE,
                    "write it with these; `x == 'a' or x == 'b'` instead of `in`; a call is a statement, Call(...)",
                )

    def _constant(self, value: Value, wanted: Domain | None) -> Expression:
        domain = BOOLEAN if wanted is None and isinstance(value, bool) else wanted
        if domain is None:
            raise self._unknown_domain(ast.Constant(value))
        try:
            code_of(value, domain)
        except ValueError:
            raise ExpressionProblem(
                f"{value!r} in `{self.text}` stands where it can never be",
                f"one of {', '.join(map(repr, domain))}",
                "correct the value, or add it to the variable's domain",
            ) from None
        return Constant(value, domain)

    def _name(self, name: str) -> Expression:
        scope = self.scope
        if name in scope.indices:
            over = scope.indices[name]
            return Index(name, 0, over, index_domain(scope.model, over))
        if name in scope.inputs:
            return Input(name, scope.inputs[name])
        return Read(self._variable(name, 0), ())

    def _read(self, node: ast.Subscript) -> Expression:
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            base = base.value
        if not isinstance(base, ast.Name):
            raise ExpressionProblem(
                f"`{ast.unparse(node)}` in `{self.text}` indexes something that is no variable",
                "`x[i]` and `x[i][p]`, where x is a variable",
                "name a variable",
            )
        name, indices = subscripts(node)
        variable = self._variable(name, len(indices))
        return Read(variable, tuple(self.index(i, over) for i, over in zip(indices, variable.over, strict=True)))

    def _variable(self, name: str, indices: int) -> ModelVariable:
        """The variable of this name, which must have so many indices."""
        variable = next((known for known in self.scope.model.variables if known.name == name), None)
        if variable is None:
            known = self.scope.names()
            raise ExpressionProblem(
                f"unknown name {name!r} in `{self.text}`",
                ", ".join(known) or "none: the model has no variables",
                did_you_mean(name, known, DECLARE),
            )
        if len(variable.over) != indices:
            right = name + "".join(f"[{'ip'[over == 'partitions']}]" for over in variable.over)
            raise ExpressionProblem(
                f"{name!r} in `{self.text}` has {indices} indices and needs {len(variable.over)}",
                f"`{right}`, by {' and '.join(variable.over) or 'nothing'}",
                f"write `{right}`",
            )
        return variable

    def index(self, node: ast.expr, over: IndexSet) -> Index:
        """An index of this set: a bound name, or a number."""
        scope = self.scope
        domain = index_domain(scope.model, over)
        bound = [name for name, known in scope.indices.items() if known == over]
        match node:
            case ast.Name(id=name) if name in bound:
                return Index(name, 0, over, domain)
            case ast.Constant(value=int() as number) if type(number) is int and 1 <= number <= scope.model.sizes[over]:
                return Index("", number, over, domain)
        raise ExpressionProblem(
            f"`{ast.unparse(node)}` in `{self.text}` is no index of {over} here",
            f"{', '.join(bound) or 'no bound name'}, or a number from 1 to {scope.model.sizes[over]}",
            "bind it: as a parameter of the action, an index of the procedure, with For, or with all/any",
        )

    def _comparison(self, left: ast.expr, same: bool, right: ast.expr) -> Expression:
        domain = self._domain(left) or self._domain(right)
        if domain is not None:
            return Comparison(self.typed(left, domain), same, self.typed(right, domain))
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            equal = left.value == right.value and type(left.value) is type(right.value)
            return Constant(equal is same, BOOLEAN)
        raise self._unknown_domain(left)

    def _quantified(self, every: bool, loop: ast.GeneratorExp) -> Expression:
        match loop.generators:
            case [
                ast.comprehension(
                    target=ast.Name(id=name), iter=ast.Name(id="members" | "partitions" as over), ifs=ifs, is_async=0
                )
            ] if len(ifs) <= 1:
                refuse_rebinding(name, self.scope)
                # mypy sees a string; the pattern has narrowed it to the two words.
                indices: IndexSet = "members" if over == "members" else "partitions"
                inner = _Resolver(self.text, self.scope.bind(name, indices))
                condition = inner.typed(ifs[0], BOOLEAN) if ifs else None
                return Quantified(every, name, indices, condition, inner.typed(loop.elt, BOOLEAN))
        raise ExpressionProblem(
            f"`{ast.unparse(loop)}` in `{self.text}` is not a loop over an index set",
            "`for j in members`, `for p in partitions`, with one `if` or none",
            "nest one all/any in another for two indices; join conditions with `and`",
        )

    def _domain(self, node: ast.expr) -> Domain | None:
        """The domain that the expression has by itself; None for constants, which take their neighbour's."""
        match node:
            case ast.Constant(value=value):
                return BOOLEAN if isinstance(value, bool) else None
            case ast.IfExp(body=then, orelse=otherwise):
                return self._domain(then) or self._domain(otherwise)
            case ast.Name(id=name):
                return self._name(name).domain
            case ast.Subscript():
                return self._read(node).domain
            case _:
                return BOOLEAN

    def _unknown_domain(self, node: ast.expr) -> ExpressionProblem:
        return ExpressionProblem(
            f"nothing says in which domain `{ast.unparse(node)}` in `{self.text}` lies",
            "a constant beside a variable, an index or an input",
            "compare it with, or assign it to, something that has a domain",
        )

    def _wrong_domain(self, node: ast.expr, found: Domain, wanted: Domain) -> ExpressionProblem:
        said = f"`{ast.unparse(node)}` in `{self.text}`"
        if same_domain(wanted, BOOLEAN):
            what = f"{said} stands for true or false, and is one of {found!r}"
            return ExpressionProblem(what, "something of the domain (False, True)", "compare it with a value")
        return ExpressionProblem(
            f"{said} is of the domain {found!r}",
            f"the domain {wanted!r}, or a constant from it",
            "give both the same domain, value for value and in the same order",
        )


def refuse_rebinding(name: str, scope: Scope) -> None:
    """An index must not hide another name: TLA+ refuses that, and readers stumble over it.

    Raises:
        ExpressionProblem: the name means something already.
    """
    if name in (*scope.names(), "members", "partitions"):
        raise ExpressionProblem(
            f"the index {name!r} hides another {name!r}", "a name that means nothing here yet", "rename the index"
        )

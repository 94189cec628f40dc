"""Guards and effect expressions: parsed, checked, partially evaluated, printed.

A guard is a Python expression small enough that the library, Python, TLA+ and Promela can all say it: `and`, `or`,
`not`, `==`, `!=`, parentheses, names and constants. What an effect assigns may also be `a if condition else b`.

The library reads three more signs, and they are traps: `!` (not), `^` (and) and a lone `v` (or). They are refused,
and with them whatever would be one thing here and another elsewhere: calls, attributes, lambdas, `in`, arithmetic.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import TypeAlias

from groupspec.spec.compiler.formula import Formula, subscripts
from groupspec.spec.terms import Value, Variable

Expression: TypeAlias = ast.expr
Domains: TypeAlias = Mapping[str, tuple[Value, ...]]

_LIBRARY_SIGNS = re.compile(r"!(?!=)|\^|\bv\b")


class GuardProblem(ValueError):
    """An expression that is not in the language; the message says why, and `remedy` what to write instead."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


def parse(text: str, conditional: bool = False) -> Expression:
    """The expression that `text` says; empty text is True. `conditional` allows `a if condition else b`.

    Raises:
        GuardProblem: `text` is not in the language.
    """
    return text.tree if isinstance(text, Formula) else _parse(text, conditional)


@cache
def _parse(text: str, conditional: bool) -> Expression:
    if not text.strip():
        return ast.Constant(True)
    sign = _LIBRARY_SIGNS.search(text)
    if sign:
        raise GuardProblem(
            f"`{sign.group()}` in `{text}` means something else to the library than to Python",
            "write `not`, `and`, `or`; rename a variable or value that is called v",
        )
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise GuardProblem(f"`{text}` is not an expression: {problem.msg}", "correct the expression") from problem
    _validate(expression, text, conditional)
    return expression


def _validate(node: Expression, text: str, conditional: bool) -> None:
    match node:
        case ast.BoolOp(values=parts):
            pass
        case ast.UnaryOp(op=ast.Not(), operand=part):
            parts = [part]
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            parts = [left, right]
        case ast.IfExp(test=test, body=body, orelse=orelse) if conditional:
            parts = [test, body, orelse]
        case ast.Name():
            parts = []
        case ast.Constant(value=value) if isinstance(value, (bool, int, str)):
            parts = []
        case _:
            raise GuardProblem(
                f"`{ast.unparse(node)}` in `{text}` cannot be compiled",
                "use and, or, not, ==, !=, parentheses, variables and constants"
                + (", and `a if b else c`" if conditional else "; `x == 'a' or x == 'b'` instead of `in`"),
            )
    for part in parts:
        _validate(part, text, conditional)


@lru_cache(maxsize=1 << 16)  # parsed expressions are shared, and asked for their names very often
def names(expression: Expression) -> tuple[str, ...]:
    """The names that it reads, in order of first appearance."""
    found = (node.id for node in _walk(expression) if isinstance(node, ast.Name))
    return tuple(dict.fromkeys(found))


def constants_compared(expression: Expression) -> Iterator[tuple[str, Value]]:
    """Every (name, constant) that a comparison in it holds against each other."""
    for node in _walk(expression):
        match node:
            case (
                ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=value)])
                | ast.Compare(left=ast.Constant(value=value), comparators=[ast.Name(id=name)])
            ) if isinstance(value, (bool, int, str)):
                yield name, value


def _walk(expression: Expression) -> Iterator[ast.AST]:
    """Depth first, left to right: the order in which a reader meets the names."""
    yield expression
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield from _walk(child)


def simplify(expression: Expression, known: Mapping[str, Value]) -> Expression:
    """The same expression with the `known` names replaced by their values, and everything folded that this decides.

    Also of models' expressions: an indexed variable that is known has its value for every index.
    """
    match expression:
        case ast.Name(id=name) if name in known:
            return ast.Constant(known[name])
        case ast.UnaryOp(operand=operand):
            return _negation(simplify(operand, known))
        case ast.BoolOp(op=operator, values=values):
            return _connective(operator, [simplify(value, known) for value in values])
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _comparison(simplify(left, known), operator, simplify(right, known))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            decided = simplify(test, known)
            if isinstance(decided, ast.Constant):
                return simplify(body if decided.value else orelse, known)
            chosen, other = simplify(body, known), simplify(orelse, known)
            return chosen if ast.dump(chosen) == ast.dump(other) else ast.IfExp(decided, chosen, other)
        case ast.Subscript() if (name := subscripts(expression)[0]) in known:
            return ast.Constant(known[name])
        case ast.Call(func=ast.Name() as quantifier, args=[ast.GeneratorExp(elt=element, generators=[over])]):
            return _quantified(quantifier, simplify(element, known), over, [simplify(test, known) for test in over.ifs])
        case _:
            return expression


def _quantified(
    quantifier: ast.Name, element: Expression, over: ast.comprehension, tests: list[Expression]
) -> Expression:
    """`all` of what is always true is true, and `any` of what is never true is false; tests that always hold go."""
    if isinstance(element, ast.Constant) and bool(element.value) is (quantifier.id == "all"):
        return ast.Constant(element.value)
    kept = [test for test in tests if not (isinstance(test, ast.Constant) and test.value)]
    generator = ast.GeneratorExp(element, [ast.comprehension(over.target, over.iter, kept, 0)])
    return ast.Call(quantifier, [generator], [])


def _negation(operand: Expression) -> Expression:
    match operand:
        case ast.Constant(value=value):
            return ast.Constant(not value)
        case ast.UnaryOp(operand=inner):
            return inner
        case _:
            return ast.UnaryOp(ast.Not(), operand)


def _connective(operator: ast.boolop, values: Sequence[Expression]) -> Expression:
    deciding = isinstance(operator, ast.Or)  # the value that decides the whole: True for `or`, False for `and`
    parts: dict[str, Expression] = {}
    for value in values:
        if isinstance(value, ast.Constant):
            if bool(value.value) is deciding:
                return ast.Constant(deciding)
            continue
        inner = value.values if isinstance(value, ast.BoolOp) and type(value.op) is type(operator) else [value]
        parts.update((_text(part, 0), part) for part in inner)
    if not parts:
        return ast.Constant(not deciding)
    left = list(parts.values())
    return left[0] if len(left) == 1 else ast.BoolOp(operator, left)


def _comparison(left: Expression, operator: ast.cmpop, right: Expression) -> Expression:
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return ast.Constant((left.value == right.value) is isinstance(operator, ast.Eq))
    return ast.Compare(left, [operator], [right])


def show(expression: Expression) -> Formula:
    """The expression as text, always in the same form; a guard that is always true is the empty string."""
    always = isinstance(expression, ast.Constant) and expression.value is True
    return Formula("" if always else _text(expression, 0), expression)


def _text(expression: Expression, inside: int) -> str:
    """Like ast.unparse, with no more parentheses than a reader needs; `inside` is the precedence around it."""
    match expression:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            own, text = 0, f"{_text(body, 1)} if {_text(test, 1)} else {_text(orelse, 0)}"
        case ast.BoolOp(op=ast.Or(), values=values):
            own, text = 1, " or ".join(_text(value, 2) for value in values)
        case ast.BoolOp(values=values):
            own, text = 2, " and ".join(_text(value, 3) for value in values)
        case ast.UnaryOp(operand=operand):
            own, text = 3, f"not {_text(operand, 3)}"
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            sign = "==" if isinstance(operator, ast.Eq) else "!="
            own, text = 4, f"{_text(left, 5)} {sign} {_text(right, 5)}"
        case _:
            own, text = 5, ast.unparse(expression)
    return f"({text})" if own < inside else text


@cache
def predicate(text: str, arguments: tuple[str, ...], conditional: bool = False) -> Callable[..., Value]:
    """`text` as a function of `arguments`, by position. The text is in the language, so that nothing else is run."""
    parse(text, conditional)
    source = f"lambda {', '.join(arguments)}: {text.strip() or 'True'}"
    function: Callable[..., Value] = eval(compile(source, f"<guard {text}>", "eval"), {"__builtins__": {}})
    return function


def domains(names_read: Sequence[str], variables: Mapping[str, Variable]) -> list[tuple[Value, ...]]:
    """The domains of the names, in order."""
    return [variables[name].domain for name in names_read]


def satisfiable(text: str, variables: Mapping[str, Variable]) -> bool:
    """Whether any values of the variables that `text` reads make it true."""
    read = names(parse(text))
    holds = predicate(text, read)
    return any(holds(*values) for values in product(*domains(read, variables)))

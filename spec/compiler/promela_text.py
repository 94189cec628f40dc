"""Promela for what stands inside a model's bodies: names, and expressions.

Words of a model may be words of Promela, of C, or of both at once (`empty`, `run`, `int`): every name gets a form that
neither has, and no two names the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from groupspec.spec.compiler.formula import subscripts
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.writing import quantifier
from groupspec.spec.terms import Value

_PROMELA = """
active assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan d_proctype d_step do else empty
enabled eval false fi final for full get_p goto hidden if in init inline int len local ltl mtype nempty never nfull
notrace np_ od of pc_value pid print printf printm priority proctype provided return run select separator set_p short
show skip STDIN timeout trace true typedef unless unsigned xr xs X U V W R F G"""
_C = """
auto case char const continue default double enum extern float long register restrict signed sizeof static struct switch
union void volatile while main"""
_OURS = "now note noted look system AT MEMBERS PARTITIONS"
RESERVED = frozenset(f"{_PROMELA} {_C} {_OURS}".split())
"""What no name may be."""


def identifier(text: str, taken: Iterable[str]) -> str:
    """A name for `text` that is not taken, and is a word of neither language."""
    name = re.sub(r"\W", "_", text)
    name = f"v_{name}" if not name[:1].isalpha() else name
    while name in RESERVED or name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class Names:
    """What variables, values that are strings, and procedures are called in Promela, by their names in the model."""

    variables: Mapping[str, str]
    values: Mapping[str, str]
    procedures: Mapping[str, str]


def names_of(model: Model) -> Names:
    """Names for a model; the same model gives the same ones."""
    taken: set[str] = set()

    def take(texts: Iterable[str]) -> dict[str, str]:
        found = {}
        for text in texts:
            found[text] = identifier(text, taken)
            taken.add(found[text])
        return found

    variables = take(variable.name for variable in model.variables)
    procedures = take(procedure.name for procedure in model.procedures)
    domains = [variable.domain for variable in model.variables]
    domains += [domain for procedure in model.procedures for _, domain in procedure.inputs]
    strings = dict.fromkeys(value for domain in domains for value in domain if isinstance(value, str))
    return Names(variables, take(strings), procedures)


class Expressions:
    """Writes expressions, with quantifiers written out.

    `bound` are the indices and inputs in scope, and what to write for them. In C (`c`) variables live in `now`.
    """

    def __init__(self, model: Model, names: Names, bound: Mapping[str, str], c: bool = False) -> None:
        self.model = model
        self.names = names
        self.bound = dict(bound)
        self.c = c

    def text(self, node: ast.expr) -> str:
        """The expression, in parentheses unless it is one word or stands on its own anyway."""
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, (bool, int, str))
                return self.constant(value)
            case ast.Name(id=name):
                return self.bound.get(name) or self._variable(name)
            case ast.Subscript():
                return self.place(node)
            case ast.UnaryOp(operand=part):
                # `!!` would be a sign of Promela's own.
                return f"!({self.text(part)})" if isinstance(part, ast.UnaryOp) else f"!{self._operand(part)}"
            case ast.BoolOp(op=operator, values=parts):
                return (" && " if isinstance(operator, ast.And) else " || ").join(map(self._operand, parts))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                sign = "==" if isinstance(operator, ast.Eq) else "!="
                return f"{self._operand(left)} {sign} {self._operand(right)}"
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                sign = "?" if self.c else "->"
                return f"({self._operand(test)} {sign} {self._operand(then)} : {self._operand(otherwise)})"
            case ast.Call():
                return self._quantifier(node)
        raise ValueError(f"`{ast.unparse(node)}` is not in the language of models")

    def constant(self, value: Value) -> str:
        """A value as Promela writes it."""
        if isinstance(value, bool):
            return str(int(value)) if self.c else str(value).lower()
        return self.names.values[value] if isinstance(value, str) else str(value)

    def place(self, node: ast.expr) -> str:
        """A variable, as it is read and as it is assigned to."""
        name, indices = subscripts(node)
        written = [self.text(index) for index in indices]
        if not written:
            return self._variable(name)
        return f"{self._variable(name)}[{written[0] if len(written) == 1 else f'AT({written[0]}, {written[1]})'}]"

    def _variable(self, name: str) -> str:
        return ("now." if self.c else "") + self.names.variables[name]

    def _operand(self, node: ast.expr) -> str:
        whole = isinstance(node, (ast.Constant, ast.Name, ast.Subscript, ast.IfExp))
        if isinstance(node, ast.Call):
            text = self.text(node)
            return text if text.startswith("(") or text.isalnum() else f"({text})"
        return self.text(node) if whole or isinstance(node, ast.UnaryOp) else f"({self.text(node)})"

    def _quantifier(self, node: ast.Call) -> str:
        found = quantifier(node)
        parts = []
        for index in self.model.indices(found.over):
            inner = Expressions(self.model, self.names, {**self.bound, found.index: str(index)}, self.c)
            part = inner._operand(found.body)
            given = inner.text(found.condition) if found.condition is not None else "0 == 0"
            if _known(given) is False:
                continue
            if _known(given) is None:
                part = f"(!({given}) || {part})" if found.every else f"(({given}) && {part})"
            parts.append(part)
        if not parts:
            return self.constant(found.every)
        return parts[0] if len(parts) == 1 else f"({(' && ' if found.every else ' || ').join(parts)})"


def _known(condition: str) -> bool | None:
    """What a comparison of two numbers gives: `1 != 2`; None if it is something else."""
    match = re.fullmatch(r"(\d+) ([=!]=) (\d+)", condition)
    return (int(match[1]) == int(match[3])) == (match[2] == "==") if match else None

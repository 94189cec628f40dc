"""TLA+ for what stands inside a model's bodies: expressions, and layout that keeps them readable.

A piece of text is a list of lines that starts at column 0; whoever puts it somewhere indents all of it. That matters
more here than elsewhere: TLA+ reads lists of conjuncts and disjuncts by the column they stand in.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from groupspec.spec.compiler.formula import subscripts
from groupspec.spec.terms import Value

WIDTH = 110
"""Characters a line may have before it is broken."""

Lines = list[str]


def hang(prefix: str, lines: Sequence[str], suffix: str = "") -> Lines:
    """The lines behind a prefix, those after the first below its end."""
    found = [prefix + lines[0], *(" " * len(prefix) + line for line in lines[1:])]
    return [*found[:-1], found[-1] + suffix]


def comment(text: str, width: int = WIDTH) -> Lines:
    """Prose as comment lines; an empty line separates paragraphs, and one that begins with a space is kept."""
    lines: Lines = []
    for paragraph in text.split("\n\n"):
        lines += ["\\*"] if lines else []
        if paragraph.startswith(" "):
            lines += [f"\\*{line}" for line in paragraph.splitlines()]
            continue
        line = "\\*"
        for word in paragraph.split():
            if len(line) + 1 + len(word) > width and line != "\\*":
                lines.append(line)
                line = "\\*"
            line += " " + word
        lines.append(line)
    return lines


def constant(value: Value) -> str:
    """A value as TLA+ writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f'"{value}"' if isinstance(value, str) else str(value)


def values(domain: Sequence[Value], width: int = WIDTH) -> Lines:
    """A set of values, in as many lines as it needs."""
    lines, line = [], "{"
    for position, value in enumerate(domain):
        word = constant(value) + ("}" if position == len(domain) - 1 else ", ")
        if len(line) + len(word.rstrip()) > width:
            lines.append(line.rstrip())
            line = " "
        line += word
    return [*lines, line]


class Expressions:
    """Writes expressions.

    Attributes:
        state: The record that variables are read from: `state` in actions and properties, `s`, `s1`, ... in procedures.
        bound: The names that are not variables: indices and inputs, and what they are called here.
    """

    def __init__(self, state: str, bound: Mapping[str, str]) -> None:
        self.state = state
        self.bound = dict(bound)

    def lines(self, node: ast.expr, width: int = WIDTH) -> Lines:
        """The expression, broken where it is too wide. It can stand alone, or as one item of a list."""
        text = self.flat(node)
        if len(text) <= width:
            return [text]
        match node:
            case ast.BoolOp(op=operator, values=parts):
                sign = "/\\ " if isinstance(operator, ast.And) else "\\/ "
                return [line for part in parts for line in hang(sign, self.lines(part, width - 3))]
            case ast.UnaryOp(operand=part):
                return hang("~(", self.lines(part, width - 3), ")")
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                words = (("IF ", test), ("THEN ", then), ("ELSE ", otherwise))
                return [line for word, part in words for line in hang(word, self.lines(part, width - 5))]
            case ast.Call():
                head, inner, part, condition = self._quantifier(node)
                if condition is None:
                    return [head, *hang("    ", inner.lines(part, width - 4))]
                sign = "/\\ " if head.startswith("\\E") else "=> "
                given = hang("    (", inner.lines(condition, width - 6), ")")
                return [head, *given, *hang(f"    {sign}(", inner.lines(part, width - 9), ")")]
        return [text]

    def flat(self, node: ast.expr) -> str:
        """The expression in one line."""
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, (bool, int, str))
                return constant(value)
            case ast.Name(id=name):
                return self.bound.get(name, f"{self.state}.{name}")
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return f"~{self._operand(part)}"
            case ast.BoolOp(op=operator, values=parts):
                sign = " /\\ " if isinstance(operator, ast.And) else " \\/ "
                return sign.join(map(self._item, parts))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                sign = "=" if isinstance(operator, ast.Eq) else "/="
                return f"{self._operand(left)} {sign} {self._operand(right)}"
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return f"IF {self.flat(test)} THEN {self.flat(then)} ELSE {self.flat(otherwise)}"
            case ast.Call():
                head, inner, part, condition = self._quantifier(node)
                if condition is None:
                    return f"{head} {inner.flat(part)}"
                sign = "/\\" if head.startswith("\\E") else "=>"
                return f"{head} {inner._item(condition)} {sign} {inner._item(part)}"
        raise ValueError(f"`{ast.unparse(node)}` is not in the language of models")

    def target(self, node: ast.expr) -> str:
        """The target of an assignment, as EXCEPT names it: `!.owns[i][p]`."""
        name, indices = subscripts(node)
        return f"!.{name}" + "".join(f"[{self.flat(index)}]" for index in indices)

    def _item(self, node: ast.expr) -> str:
        """An operand of a connective; those bind less than comparisons and negation."""
        loose = isinstance(node, (ast.BoolOp, ast.IfExp, ast.Call))
        return f"({self.flat(node)})" if loose else self.flat(node)

    def _operand(self, node: ast.expr) -> str:
        text = self.flat(node)
        return text if isinstance(node, (ast.Constant, ast.Name, ast.Subscript)) else f"({text})"

    def _subscript(self, node: ast.expr) -> str:
        name, indices = subscripts(node)
        return f"{self.state}.{name}" + "".join(f"[{self.flat(index)}]" for index in indices)

    def _quantifier(self, node: ast.Call) -> tuple[str, Expressions, ast.expr, ast.expr | None]:
        """The opening up to the colon, how to write what is behind it, what that is, and what j is limited by."""
        generator = node.args[0]
        assert isinstance(node.func, ast.Name)
        assert isinstance(generator, ast.GeneratorExp)
        loop = generator.generators[0]
        assert isinstance(loop.target, ast.Name)
        assert isinstance(loop.iter, ast.Name)
        name = loop.target.id
        # TLA+ refuses a name that is bound already.
        written = name
        while written in self.bound.values() or written == self.state:
            written += "_"
        sign = "\\A" if node.func.id == "all" else "\\E"
        condition = ast.BoolOp(ast.And(), loop.ifs) if len(loop.ifs) > 1 else loop.ifs[0] if loop.ifs else None
        inner = Expressions(self.state, {**self.bound, name: written})
        return f"{sign} {written} \\in {loop.iter.id.title()} :", inner, generator.elt, condition


def parts_of(condition: ast.expr) -> list[ast.expr]:
    """The conditions that a conjunction is made of; one that is none stands for itself."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        return list(condition.values)
    return [condition]

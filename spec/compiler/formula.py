"""An expression as text that keeps its syntax tree: from its file to the back ends it is parsed once.

Guards, what effects assign (`guards`), and the conditions and values of models (`model`) are such texts. Text decides:
two formulas are equal if their texts are, and the files and hashes hold texts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache


class Formula(str):
    """A text and its tree; trees are shared, and never changed."""

    tree: ast.expr

    def __new__(cls, text: str, tree: ast.expr) -> Formula:
        """The caller sees to it that the text, parsed, gives the tree."""
        made = super().__new__(cls, text)
        made.tree = tree
        return made

    def __reduce__(self) -> tuple[type[Formula], tuple[str, ast.expr]]:
        return Formula, (str(self), self.tree)

    def __deepcopy__(self, _: object) -> Formula:
        return self


def formula(tree: ast.expr) -> Formula:
    """The tree as Python writes it."""
    return Formula(ast.unparse(tree), tree)


def tree_of(text: str) -> ast.expr:
    """The syntax tree of an expression; that of a formula is at hand.

    Raises:
        SyntaxError: it is none.
    """
    return text.tree if isinstance(text, Formula) else _parsed(text.strip())


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def substitute(tree: ast.expr, meaning: Callable[[str], ast.expr]) -> ast.expr:
    """The tree of a guard, or of what an effect assigns, with something else for each of its names."""
    match tree:
        case ast.Name(id=name):
            return meaning(name)
        case ast.UnaryOp(op=sign, operand=operand):
            return ast.UnaryOp(sign, substitute(operand, meaning))
        case ast.BoolOp(op=sign, values=values):
            return ast.BoolOp(sign, [substitute(value, meaning) for value in values])
        case ast.Compare(left=left, ops=signs, comparators=[right]):
            return ast.Compare(substitute(left, meaning), signs, [substitute(right, meaning)])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ast.IfExp(*(substitute(part, meaning) for part in (test, body, orelse)))
        case _:
            return tree


def subscripts(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """`owns[i][p]` as the name and its indices."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    assert isinstance(node, ast.Name)
    return node.id, indices

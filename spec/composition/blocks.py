"""How models' statements and conditions are written here: short words for what `compiler.model` spells out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from typing import Final

from groupspec.spec.compiler.formula import Formula, tree_of
from groupspec.spec.compiler.model import Block, For, If, IndexSet, Set
from groupspec.spec.properties import FAULT

NO_FAULT: Final = f"{FAULT} == 'none'"
"""No assertion has failed: the guard of everything that happens."""


def conjunction(*parts: str) -> str:
    """All of the parts, with parentheses where `or` or a conditional needs them."""
    kept = [(part, tree_of(part)) for part in parts if part != "True"]
    if not kept:
        return "True"
    if len(kept) == 1:
        return kept[0][0]
    texts = (f"({part})" if _is_loose(tree) else part for part, tree in kept)
    trees = (tree.values if isinstance(tree, ast.BoolOp) and not _is_loose(tree) else [tree] for _, tree in kept)
    return Formula(" and ".join(texts), ast.BoolOp(ast.And(), list(chain.from_iterable(trees))))


def _is_loose(tree: ast.expr) -> bool:
    return isinstance(tree, ast.IfExp) or (isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or))


def sets(text: str) -> Block:
    """Assignments that happen at once, separated by semicolons: `sets("request[i] = 'none'; leader = 0")`."""
    return (Set(tuple(pairs(text))),) if text else ()


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """The assignments of `sets`: target and expression."""
    for assignment in text.split("; "):
        target, _, value = assignment.partition(" = ")
        yield target, value


def when(condition: str, body: Block, otherwise: Block = ()) -> Block:
    """The body if the condition holds, and else the other one."""
    return body if condition == "True" else (If(((condition, body),), otherwise),)


def cases(*branches: tuple[str, Block]) -> Block:
    """The body of the first branch whose condition holds."""
    return (If(branches),)


def each(index: str, body: Block, over: IndexSet = "members") -> Block:
    """The body for each index in turn."""
    return (For(index, over, body),)


def claim(name: str, holds: str = "") -> Block:
    """An assertion at this point; without `holds` it fails. The first one that does counts."""
    return when(f"{NO_FAULT} and not ({holds})" if holds else NO_FAULT, sets(f"{FAULT} = '{name}'"))

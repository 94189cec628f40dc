r"""Statements that only assign, brought into one form: what is assigned to which part of the state.

`For p: will_have[i][p] = False` assigns every element of `will_have[i]`. If no element's value depends on what was
assigned to another one, the order does not matter, and it is `will_have[i] = [p \in Partitions |-> FALSE]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groupspec.spec.compiler.formula import tree_of
from groupspec.spec.compiler.model import For, Set, Statement

Over = tuple[str, str]
"""An index, and what it ranges over."""


@dataclass(frozen=True)
class Assigning:
    """Assignments that happen at once.

    Attributes:
        targets: What is assigned to, the value, and the index that the value is a function of, if any.
        note: What they are, for readers.
    """

    targets: tuple[tuple[ast.expr, ast.expr, Over | None], ...]
    note: str


def as_assigning(statement: Statement) -> Assigning | None:
    """A statement in that form, if it can be brought into it."""
    match statement:
        case Set(assignments, note):
            return Assigning(tuple((tree_of(t), tree_of(v), None) for t, v in assignments), note)
        case For(index, over, (Set(assignments, note),)):
            pairs = [(tree_of(target), tree_of(value)) for target, value in assignments]
            if all(_is_element(target, index) for target, _ in pairs) and _in_any_order(pairs):
                whole = [(target.value, value) for target, value in pairs if isinstance(target, ast.Subscript)]
                return Assigning(tuple((target, value, (index, over)) for target, value in whole), note)
    return None


def independent(earlier: Sequence[Assigning], later: Assigning) -> bool:
    """Whether `later` reads nothing that `earlier` assigns, so that they may happen at once."""
    assigned = {_name(target) for assigning in earlier for target, _, _ in assigning.targets}
    return not assigned & {name for target, value, _ in later.targets for name in _read(target, value)}


def _read(target: ast.expr, value: ast.expr) -> Iterator[str]:
    """The names that an assignment looks at: those of the value, and those in the target's indices."""
    yield from (node.id for node in ast.walk(value) if isinstance(node, ast.Name))
    while isinstance(target, ast.Subscript):
        yield from (node.id for node in ast.walk(target.slice) if isinstance(node, ast.Name))
        target = target.value


def _name(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript):
        target = target.value
    assert isinstance(target, ast.Name)
    return target.id


def _is_element(target: ast.expr, index: str) -> bool:
    """Whether it is `x[...][index]`, with the index nowhere else."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name) or target.slice.id != index:
        return False
    return all(node.id != index for node in ast.walk(target.value) if isinstance(node, ast.Name))


def _in_any_order(pairs: Sequence[tuple[ast.expr, ast.expr]]) -> bool:
    """Whether a value reads what is assigned only at the very element that is assigned.

    No other step of the loop changes it.
    """
    elements = {_name(target): ast.dump(target) for target, _ in pairs}
    if len(elements) < len(pairs):
        return False
    return all(_reads_own(value, elements) for _, value in pairs)


def _reads_own(node: ast.expr, elements: dict[str, str]) -> bool:
    if isinstance(node, ast.Subscript) and _base(node) in elements:
        return ast.dump(node) == elements[_base(node)]
    if isinstance(node, ast.Name):
        return node.id not in elements
    return all(_reads_own(child, elements) for child in _children(node))


def _children(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        else:
            yield from _children(child)


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""

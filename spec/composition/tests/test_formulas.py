"""An expression's text and its syntax tree say the same, from the tables to the models."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Iterator

import pytest

from groupspec.spec import composition
from groupspec.spec.compiler.formula import Formula, tree_of
from groupspec.spec.compiler.guards import parse
from groupspec.spec.compiler.model import If, Model, Set, statements
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import each_table, whole_tables


def same(text: str, tree: ast.expr) -> bool:
    return ast.dump(ast.parse(text, mode="eval").body) == ast.dump(tree)


def expressions(model: Model) -> Iterator[str]:
    """All that a model's bodies and actions hold."""
    for block in (*(p.body for p in model.procedures), *(a.body for a in model.actions)):
        for statement in statements(block):
            match statement:
                case If():
                    yield from (condition for condition, _ in statement.branches)
                case Set():
                    yield from (value for _, value in statement.assignments)
    yield from (action.guard for action in model.actions)


@pytest.mark.parametrize("table", [*whole_tables().values(), *each_table()], ids=lambda table: table.label)
def test_a_rows_guard_keeps_its_tree(table: Table) -> None:
    guards = [row.guard for row in table.rows if row.guard]
    assert all(isinstance(guard, Formula) and same(guard, parse(guard)) for guard in guards)


@pytest.mark.parametrize("name", ["open-member-eager-deployed", "open-commit", "base-static-cooperative-deployed-2"])
def test_a_models_expressions_keep_the_trees_of_the_rows(name: str) -> None:
    found = list(expressions(composition.models()[name]()))
    kept = [text for text in found if isinstance(text, Formula)]
    assert len(kept) > len(found) / 3
    assert [text for text in kept if not same(text, tree_of(text))] == []


def test_a_formula_is_its_text_wherever_it_goes() -> None:
    one = next(row.guard for row in whole_tables()["rebalance"].rows if row.guard)
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert isinstance(other, Formula)
        assert other == one == str(one)
        assert same(one, tree_of(other))

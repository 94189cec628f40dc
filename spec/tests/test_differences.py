"""The book of differences says where the two profiles' tables differ: everywhere they do, and nowhere else."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from groupspec.spec.compiler.tables import tables, whole_tables
from groupspec.spec.differences import DIFFERENCES, Difference
from groupspec.spec.rules import RULES


def cells_that_differ() -> set[str]:
    """`machine:STATE.event` of every cell that is not the same in both profiles, under either protocol."""
    different = set()
    for name, whole in whole_tables().items():
        for rebalance in ("eager", "cooperative"):
            published, deployed = tables()[name, rebalance, "published"], tables()[name, rebalance, "deployed"]
            for state, event, _ in whole.cells():
                if published.cell(state, event.name) != deployed.cell(state, event.name):
                    different.add(f"{name}:{state}.{event.name}")
    return different


def test_every_cell_that_differs_is_in_the_book() -> None:
    patterns = [pattern for difference in DIFFERENCES.values() for pattern in difference.rows]
    unexplained = {cell for cell in cells_that_differ() if not any(fnmatchcase(cell, p) for p in patterns)}

    assert not unexplained


@pytest.mark.parametrize("difference", DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_an_entry_has_two_sides_and_shows_somewhere(difference: Difference) -> None:
    assert len(difference.statements) >= 2
    assert all(statement.says and statement.source for statement in difference.statements)
    assert difference.reason and difference.choice
    assert set(difference.rules) <= set(RULES)
    assert difference.rows or difference.seen_in


@pytest.mark.parametrize("pattern", [pattern for difference in DIFFERENCES.values() for pattern in difference.rows])
def test_a_cell_that_the_book_names_does_differ(pattern: str) -> None:
    assert any(fnmatchcase(cell, pattern) for cell in cells_that_differ())

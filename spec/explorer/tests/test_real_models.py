"""The same two ways, on the models of the specification itself: the beginning of one of each family.

More of them in `make check`.
"""

from __future__ import annotations

import random

import pytest

from groupspec.spec.composition import models
from groupspec.spec.explorer import Limits, explore
from groupspec.spec.explorer.c_source import c_source
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state
from groupspec.spec.explorer.layout import Layout
from groupspec.spec.explorer.native import Steps, build
from groupspec.spec.explorer.program import program
from groupspec.spec.explorer.tests.by_the_book import by_the_book, numbers

FAMILIES = sorted({name.split("-")[0]: name for name in sorted(models())}.values())


@pytest.mark.parametrize("name", FAMILIES)
def test_engine_and_book_walk_alike(name: str) -> None:
    model = models()[name]()
    layout, chance, state = Layout(model), random.Random(3), initial_state(model)
    prepared = program(model)
    steps = Steps(prepared, build(c_source(prepared)))
    for _ in range(12):
        by_the_book = [layout.encode(apply(model, state, *alternative)) for alternative in enabled(model, state)]
        found = steps.successors(layout.encode(state))
        assert [codes for _, codes in found] == by_the_book
        state = layout.decode(chance.choice(found)[1])


@pytest.mark.parametrize("name", FAMILIES)
def test_engine_and_book_begin_alike(name: str) -> None:
    model = models()[name]()
    assert numbers(explore(model, limits=Limits(max_states=300))) == by_the_book(model, most=300)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FAMILIES)
def test_engine_and_book_find_the_same(name: str) -> None:
    model = models()[name]()
    assert numbers(explore(model, limits=Limits(max_states=8000))) == by_the_book(model, most=8000)
    if model.symmetric:
        folded = explore(model, fold=True, limits=Limits(max_states=100_000))
        assert folded.verdict == "inconclusive" or folded.unfolded_states == explore(model).states

"""The same three ways, on the models of the specification itself: the beginning of one of each family.

Whole ones in `make check`.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from groupspec.spec.composition import models
from groupspec.spec.explorer import Exploration, Limits, explore
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state
from groupspec.spec.explorer.layout import Layout
from groupspec.spec.explorer.program import program
from groupspec.spec.explorer.python_source import python_module

FAMILIES = sorted({name.split("-")[0]: name for name in sorted(models())}.values())


def _same(found: Exploration) -> Exploration:
    return replace(found, seconds=0.0, memory_bytes=0, engine="")


@pytest.mark.parametrize("name", FAMILIES)
def test_the_book_and_generated_python_walk_alike(name: str) -> None:
    model = models()[name]()
    layout, chance, state = Layout(model), random.Random(3), initial_state(model)
    generated = python_module(program(model))
    for _ in range(12):
        by_the_book = [layout.encode(apply(model, state, *alternative)) for alternative in enabled(model, state)]
        found = generated.successors(layout.encode(state))
        assert [codes for _, codes in found] == by_the_book
        state = layout.decode(chance.choice(found)[1])


@pytest.mark.parametrize("name", FAMILIES)
def test_both_engines_begin_alike(name: str) -> None:
    model, limits = models()[name](), Limits(max_states=1000)
    assert _same(explore(model, engine="native", limits=limits)) == _same(
        explore(model, engine="python", limits=limits)
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FAMILIES)
def test_both_engines_find_the_same(name: str) -> None:
    model, limits = models()[name](), Limits(max_states=100_000)
    assert _same(explore(model, engine="native", limits=limits)) == _same(
        explore(model, engine="python", limits=limits)
    )
    if model.symmetric:
        folded = explore(model, fold=True, limits=limits)
        assert folded.verdict == "inconclusive" or folded.unfolded_states == explore(model).states

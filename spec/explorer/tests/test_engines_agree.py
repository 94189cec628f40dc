"""Two ways to run a model, one outcome: generated C, and the interpreter that reads the model's text."""

from __future__ import annotations

import random

import pytest

from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer import Limits, explore, native
from groupspec.spec.explorer.c_source import c_source
from groupspec.spec.explorer.folding import folding
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state
from groupspec.spec.explorer.layout import Layout
from groupspec.spec.explorer.program import program
from groupspec.spec.explorer.tests.by_the_book import by_the_book, numbers
from groupspec.spec.explorer.tests.random_models import random_model


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("fold", [False, True])
def test_engine_and_book_find_the_same_in_the_toy(members: int, broken: bool, fold: bool) -> None:
    model = toy_model(members, broken)
    found = explore(model, fold=fold)
    assert numbers(found) == by_the_book(model, folding=folding(program(model)) if fold else None)
    assert found.states > 5


def test_the_toy_has_the_states_that_were_counted_by_hand() -> None:
    assert explore(toy_model(2, broken=True)).states == 124


@pytest.mark.parametrize("seed", [*range(40), *range(100, 108)])
def test_engine_and_book_find_the_same_in_random_models(seed: int) -> None:
    model = random_model(seed)
    assert numbers(explore(model, limits=Limits(max_states=300))) == by_the_book(model, most=300)


@pytest.mark.parametrize("model", [toy_model(3), toy_model(3, broken=True), random_model(100)], ids=lambda m: m.name)
def test_the_engine_walks_as_the_book_does(model: Model) -> None:
    prepared = program(model)
    steps = native.Steps(prepared, native.build(c_source(prepared)))
    layout, chance, state = Layout(model), random.Random(7), initial_state(model)
    for _ in range(60):
        by_the_book = [
            (action, tuple(arguments.values()), layout.encode(apply(model, state, action, arguments)))
            for action, arguments in enabled(model, state)
        ]
        generated = [
            (action.name, tuple(arguments.values()), codes)
            for number, codes in steps.successors(layout.encode(state))
            for action, arguments in [layout.alternatives[number]]
        ]
        assert generated == by_the_book
        if not generated:
            break
        state = layout.decode(chance.choice(generated)[2])


def test_how_many_threads_there_are_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    model, found = toy_model(5, broken=True), []
    for workers in (0, 1, 3):
        monkeypatch.setattr(native, "workers", lambda workers=workers: workers)
        found.append(numbers(explore(model, limits=Limits(max_states=130_000))))
    assert found[0] == found[1] == found[2]
    assert int(str(found[0]["states"])) > 100_000, "fewer are not worth a pool"

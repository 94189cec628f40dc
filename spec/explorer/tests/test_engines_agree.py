"""Three ways to run a model, one outcome: generated C, generated Python, and the interpreter that reads the text."""

from __future__ import annotations

import random

import pytest

from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.model_check import check_model
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer import Exploration, Limits, explore, native
from groupspec.spec.explorer.interpreter import apply, enabled, holds, initial_state
from groupspec.spec.explorer.layout import Layout, State
from groupspec.spec.explorer.program import program
from groupspec.spec.explorer.python_source import python_source
from groupspec.spec.explorer.tests.random_models import random_model


def _numbers(found: Exploration) -> dict[str, object]:
    return {
        "states": found.states,
        "unfolded": found.unfolded_states,
        "edges": found.edges,
        "depth": found.depth,
        "fired": found.fired,
        "dead ends": found.dead_ends,
        "violations": {name: str(trace) for name, trace in found.violations.items()},
        "reached": {name: str(trace) for name, trace in found.reached.items()},
        "missing": found.missing,
    }


def _by_the_book(model: Model) -> dict[str, object]:
    """States, edges and dead ends as the interpreter finds them, with nothing of an engine."""
    layout = Layout(model)
    todo: list[State] = [initial_state(model)]
    known = {layout.encode(todo[0])}
    edges = dead_ends = 0
    for state in todo:
        alternatives = list(enabled(model, state))
        edges += len(alternatives)
        dead_ends += not alternatives
        for action, arguments in alternatives:
            after = apply(model, state, action, arguments)
            if (codes := layout.encode(after)) not in known:
                known.add(codes)
                todo.append(after)
    violated = any(not holds(model, state, model.properties[0].holds) for state in todo)
    return {"states": len(known), "edges": edges, "dead ends": dead_ends, "violated": violated}


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("fold", [False, True])
def test_both_engines_find_the_same_in_the_toy(members: int, broken: bool, fold: bool) -> None:
    model = toy_model(members, broken)
    native, python = (explore(model, engine=engine, fold=fold) for engine in ("native", "python"))
    assert _numbers(native) == _numbers(python)
    assert native.states > 5


def test_the_toy_has_the_states_that_the_book_counts() -> None:
    model = toy_model(2, broken=True)
    found = explore(model, engine="python")
    by_hand = _by_the_book(model)
    assert (found.states, found.edges, found.dead_ends) == (by_hand["states"], by_hand["edges"], by_hand["dead ends"])
    assert found.states == 124


@pytest.mark.parametrize("seed", range(40))
def test_generated_python_and_the_book_agree_on_random_models(seed: int) -> None:
    model = random_model(seed)
    assert check_model(model) == []
    found = explore(model, engine="python", limits=Limits(max_states=300))
    too_large_for_the_book = found.verdict == "inconclusive"
    assert too_large_for_the_book or {
        "states": found.states,
        "edges": found.edges,
        "dead ends": found.dead_ends,
        "violated": "always" in found.violations,
    } == _by_the_book(model)


@pytest.mark.parametrize("seed", range(100, 108))
def test_both_engines_find_the_same_in_random_models(seed: int) -> None:
    model, limits = random_model(seed), Limits(max_states=20_000)
    assert _numbers(explore(model, engine="native", limits=limits)) == _numbers(
        explore(model, engine="python", limits=limits)
    )


@pytest.mark.parametrize("model", [toy_model(3), toy_model(3, broken=True), random_model(100)], ids=lambda m: m.name)
def test_generated_python_walks_as_the_book_does(model: Model) -> None:
    space: dict[str, object] = {}
    exec(python_source(program(model)), space)
    successors = space["successors"]
    assert callable(successors)
    layout, chance, state = Layout(model), random.Random(7), initial_state(model)
    for _ in range(60):
        by_the_book = [
            (action, tuple(arguments.values()), layout.encode(apply(model, state, action, arguments)))
            for action, arguments in enabled(model, state)
        ]
        generated = [
            (layout.alternatives[number].action.name, layout.alternatives[number].arguments, codes)
            for number, codes in successors(layout.encode(state))
        ]
        assert generated == by_the_book
        if not generated:
            break
        state = layout.decode(chance.choice(generated)[2])


def test_how_many_threads_there_are_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    model, found = toy_model(5, broken=True), []
    for workers in (0, 1, 3):
        monkeypatch.setattr(native, "workers", lambda workers=workers: workers)
        found.append(_numbers(explore(model, engine="native", limits=Limits(max_states=130_000))))
    assert found[0] == found[1] == found[2]
    assert int(str(found[0]["states"])) > 100_000, "fewer are not worth a pool"

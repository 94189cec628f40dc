"""What an exploration finds, when it stops, and what it refuses to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.model_check import ModelError
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer import ExplorerProblem, Limits, Progress, explore, replay
from groupspec.spec.explorer.c_source import c_source
from groupspec.spec.explorer.explore import LIVENESS
from groupspec.spec.explorer.program import program
from groupspec.spec.explorer.tests.samples import (
    counter_model,
    counting_model,
    dead_end_model,
    ordered_model,
    trap_model,
)


def test_a_violation_comes_with_a_shortest_trace() -> None:
    found = explore(toy_model(2, broken=True))
    trace = found.violations["one-holder"]
    assert [str(step) for step in trace.steps] == [
        "ask(i=1)",
        "ask(i=2)",
        "lend(i=1)",
        "lend(i=2)",
        "receive(i=1)",
        "receive(i=2)",
    ]
    assert trace.last["client"] == {1: "HOLDING", 2: "HOLDING"}
    assert trace.changes()[2] == {"message[1]": "grant", "owner": 1}
    assert "  3. lend(i=1): message[1] = grant, owner = 1" in str(trace)


def test_a_trace_replays_step_by_step() -> None:
    trace = explore(toy_model(2)).reached["held"]
    assert replay(trace.model, [(step.action, step.arguments) for step in trace.steps]) == trace


def test_a_state_from_which_there_is_no_way_back_is_found_with_the_way_into_it() -> None:
    found = explore(trap_model())
    assert found.verdict == "complete"
    assert found.missing == ("home-again", "flies")
    assert list(found.violations) == ["home-again"]
    assert [step.action for step in found.violations["home-again"].steps] == ["leave", "cross", "fall"]
    assert found.never_fired == ("fly",)
    assert found.dead_ends == 0


def test_a_dead_end_is_counted_and_shown() -> None:
    found = explore(dead_end_model())
    assert found.dead_ends == 1
    assert found.dead_end is not None
    assert found.dead_end.last == {"place": "hole"}


def test_recoverability_through_a_long_row_of_states() -> None:
    found = explore(counter_model(10))
    assert (found.states, found.edges, found.depth) == (1024, 2048, 1023)
    assert found.missing == ()
    assert len(found.violations["never-full"].steps) == 1023


def test_liveness_is_left_to_engines_with_fairness() -> None:
    assert explore(toy_model()).unchecked == {"waiting-ends": LIVENESS}


def test_a_limit_of_states_is_inconclusive_and_says_what_was_covered() -> None:
    found = explore(counter_model(16), limits=Limits(max_states=1000))
    assert found.verdict == "inconclusive"
    assert found.reason == "max_states = 1,000 was reached: 999 of 1,000 states found were expanded, to depth 998"
    assert found.unchecked["never-full"] == "decided by none of 1,000 states, and not everything was explored"
    assert found.unchecked["zero-again"] == "not everything was explored"
    assert found.missing == ()


def test_a_limit_of_time_is_looked_at_before_anything_is_done() -> None:
    found = explore(counter_model(16), limits=Limits(max_seconds=0))
    assert found.verdict == "inconclusive"
    assert found.reason == "max_seconds = 0 was reached: 0 of 1 states found were expanded, to depth 0"


def test_a_limit_of_memory_is_inconclusive() -> None:
    model = counter_model(13)
    whole = explore(model)
    assert explore(model, limits=Limits(max_memory=2 * whole.memory_bytes)).verdict == "complete"
    least = explore(model, limits=Limits(max_memory=whole.memory_bytes // 2))
    assert least.verdict == "inconclusive"
    assert least.reason.startswith("max_memory = ")
    assert least.memory_bytes <= whole.memory_bytes * 2 // 3


def test_stopping_at_the_first_violation() -> None:
    model = toy_model(3, broken=True)
    found = explore(model, stop_at_violation=True)
    assert found.verdict == "inconclusive"
    assert found.reason.startswith("an invariant is violated: ")
    assert found.states < explore(model).states
    assert len(found.violations["one-holder"].steps) == 6


def test_progress_is_told() -> None:
    told: list[Progress] = []
    found = explore(toy_model(3), progress=told.append)
    assert told[-1].states == found.states == 80
    assert told[-1].frontier == 0
    assert "toy-3: 80 states (" in str(told[-1])


@pytest.mark.parametrize("model", [toy_model(2), toy_model(2, broken=True), counting_model()], ids=lambda m: m.name)
def test_folded_states_stand_for_as_many_as_are_counted_without_folding(model: Model) -> None:
    folded, whole = explore(model, fold=True), explore(model)
    assert folded.unfolded_states == whole.states == whole.unfolded_states
    assert folded.states < whole.states
    assert folded.depth == whole.depth
    assert {k: len(t.steps) for k, t in folded.violations.items()} == {
        k: len(t.steps) for k, t in whole.violations.items()
    }


def test_a_model_that_is_not_symmetric_is_not_folded() -> None:
    with pytest.raises(ExplorerProblem, match="only a symmetric model can be folded"):
        explore(trap_model(), fold=True)


def test_a_loop_whose_outcome_depends_on_its_order_is_not_symmetric() -> None:
    with pytest.raises(ExplorerProblem, match="is not: after a renaming elect gives something else"):
        explore(ordered_model(), fold=True)


def test_a_property_about_one_member_is_not_symmetric() -> None:
    model = toy_model()
    claims = tuple(replace(claim, holds="client[1] == 'IDLE'") for claim in model.properties[:1])
    with pytest.raises(
        ExplorerProblem, match="property one-holder says one thing of a state and another of it renamed"
    ):
        explore(replace(model, properties=claims), fold=True)


def test_a_model_with_problems_is_not_explored() -> None:
    model = toy_model()
    with pytest.raises(ModelError, match="unknown name 'lent'"):
        explore(replace(model, actions=(replace(model.actions[0], guard="lent"),)))


def test_a_trace_of_another_model_does_not_replay() -> None:
    trace = explore(toy_model(2, broken=True)).violations["one-holder"]
    with pytest.raises(ExplorerProblem, match=r"step 4, lend\{'i': 2\}, is not possible here") as caught:
        replay(toy_model(2), [(step.action, step.arguments) for step in trace.steps])
    assert "receive{'i': 1}" in caught.value.allowed
    assert caught.value.next_step


def test_a_compiler_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setenv("CC", "false")
    assert not list(empty_cache.iterdir())
    with pytest.raises(ExplorerProblem, match="the C compiler failed"):
        explore(toy_model(1))


@pytest.mark.exhaustive
def test_what_was_compiled_is_kept(empty_cache: Path) -> None:
    explore(toy_model(1))
    (library,) = empty_cache.glob("*.so")
    before = library.stat().st_mtime_ns
    explore(toy_model(1))
    assert [(each, each.stat().st_mtime_ns) for each in empty_cache.glob("*.so")] == [(library, before)]


def test_the_generated_c_keeps_the_names_of_the_model() -> None:
    source = c_source(program(toy_model()))
    assert "static void p_grant(State *s, int i_i, int n_polite)" in source
    assert "s->v_client[i_i - 1]" in source

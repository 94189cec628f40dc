"""Three engines, one number, on the specification's own models: all that have at most 80,000 states, nightly 500,000.

Two of them say what leads to what, and agree, whatever is fair.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from groupspec.conformance.engines import EngineRun, run_engine
from groupspec.conformance.engines.counts import is_large
from groupspec.conformance.engines.judge import Judgement
from groupspec.conformance.engines.tlc import check_liveness
from groupspec.conformance.engines.tlc_program import find_tlc
from groupspec.spec import composition
from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer import Limits

LIMITS = Limits(max_seconds=900, max_memory=3 << 30)
AT_ONCE = 2
"""TLC has one worker, so that two models can be checked at once; each may need 3 GiB."""


def models_of(most_states: int) -> Iterator[tuple[Model, EngineRun]]:
    """The models that three engines go through, and what the explorer found."""
    limits = Limits(max_states=2 * most_states, max_seconds=300)
    for make in composition.models().values():
        model = make()
        if not is_large(model):
            run = run_engine("explorer", model, limits)
            if run.states <= most_states:
                yield model, run


def judged(model: Model, explored: EngineRun) -> Judgement:
    """What SPIN and TLC say too."""
    others = [run_engine(engine, model, LIMITS, liveness=False) for engine in ("spin", "tlc")]
    return Judgement(model, [explored, *others], composition.expected_violations(model.name))


@pytest.mark.parametrize(
    "most_states",
    [pytest.param(80_000, marks=pytest.mark.exhaustive), pytest.param(500_000, marks=pytest.mark.nightly)],
)
def test_three_engines_find_the_same_number_of_states_in_every_model(most_states: int) -> None:
    models = list(models_of(most_states))
    assert len(models) >= 10, "the catalogue has lost its models"
    with ThreadPoolExecutor(AT_ONCE) as pool:
        judgements = list(pool.map(lambda pair: judged(*pair), models))
    for judgement in judgements:
        problems = [run.problem for run in judgement.runs if run.problem]
        assert judgement.verdict == "ok", (judgement.model.name, judgement.counts, judgement.new, problems)
        assert len(judgement.counts) == 3


@pytest.mark.tools
def test_spin_and_the_explorer_agree_on_one_member_in_any_environment() -> None:
    """The quick one: seconds, against minutes for all of them."""
    model = composition.models()["open-member-cooperative-deployed"]()
    judgement = Judgement(model, [run_engine(engine, model, LIMITS) for engine in ("explorer", "spin")], frozenset())
    assert judgement.verdict == "ok", (judgement.counts, judgement.new, [run.problem for run in judgement.runs])


def leading(model: Model, *claims: str) -> Model:
    """The model with its leads-to properties alone, or with these."""
    kept = [c for c in model.properties if (c.id in claims if claims else c.kind == "leads_to")]
    return replace(model, properties=tuple(kept))


def unfair(model: Model, action: str) -> Model:
    """The model, in which one action need never happen."""
    assert any(a.name == action and a.fair for a in model.actions)
    return replace(model, actions=tuple(replace(a, fair="") if a.name == action else a for a in model.actions))


def liveness(model: Model) -> Judgement:
    """What the explorer and TLC say of what leads to what; TLC's look at each state, which comes first, is left out."""
    explored = run_engine("explorer", model, LIMITS)
    visited = replace(explored, engine="tlc", properties={}, traces={})
    return Judgement(model, [explored, check_liveness(model, find_tlc(), LIMITS, visited)], frozenset())


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["base-faults-stop-eager-deployed-2", "queues-3", "open-group", "commits-2"])
def test_what_leads_to_what_is_confirmed_by_tlc_under_the_stated_fairness(name: str) -> None:
    """J2 K2 L2 G5 T3: a group that is disturbed no more settles, closing ends, every call ends."""
    judgement = liveness(leading(composition.models()[name]()))
    assert judgement.verdict == "ok", [run.problem for run in judgement.runs]
    assert all(set(run.properties.values()) == {"holds"} for run in judgement.runs)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "action", "claim"),
    [
        ("open-group", "sync_timeout", "sync-phase-ends"),
        ("commits-2", "coordinator_found", "commit-1-ends"),
        ("base-faults-stop-eager-deployed-2", "sync_timeout", "awaiting-is-answered"),
    ],
)
def test_without_the_fairness_of_one_action_tlc_and_the_explorer_find_the_same_violated(
    name: str, action: str, claim: str
) -> None:
    judgement = liveness(leading(unfair(composition.models()[name](), action), claim))
    assert judgement.violated == {claim}
    assert judgement.disputed == (), [run.properties for run in judgement.runs]
    assert all(run.outcome == "complete" for run in judgement.runs), [run.problem for run in judgement.runs]

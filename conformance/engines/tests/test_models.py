"""Three engines, one number, on the specification's own models: those of two members that have at most 500,000 states."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from groupspec.conformance.engines import EngineLimits, EngineRun, run_engine
from groupspec.conformance.engines.judge import Judgement
from groupspec.spec import composition
from groupspec.spec.compiler.model import Model

MOST_STATES = 500_000
LIMITS = EngineLimits(max_seconds=900, max_memory=3 << 30)
AT_ONCE = 2
"""TLC has one worker, so that two models can be checked at once; each may need 3 GiB."""


def checked_in_ci() -> Iterator[tuple[Model, EngineRun]]:
    """The models that three engines go through, and what the explorer found."""
    limits = EngineLimits(max_states=2 * MOST_STATES, max_seconds=300)
    for make in composition.models().values():
        model = make()
        if model.sizes["members"] <= 2:
            run = run_engine("python", model, limits)
            if run.states <= MOST_STATES:
                yield model, run


def judged(model: Model, explored: EngineRun) -> Judgement:
    """What SPIN and TLC say too."""
    others = [run_engine(engine, model, LIMITS, liveness=False) for engine in ("spin", "tlc")]
    return Judgement(model, [explored, *others], composition.expected_violations(model.name))


@pytest.mark.exhaustive
def test_three_engines_find_the_same_number_of_states_in_every_model() -> None:
    models = list(checked_in_ci())
    assert len(models) >= 10, "the catalogue has lost its models"
    with ThreadPoolExecutor(AT_ONCE) as pool:
        judgements = list(pool.map(lambda pair: judged(*pair), models))
    for judgement in judgements:
        problems = [run.problem for run in judgement.runs if run.problem]
        assert judgement.verdict == "ok", (judgement.model.name, judgement.counts, judgement.new, problems)
        assert len(judgement.counts) == 3


def test_spin_and_the_explorer_agree_on_one_member_in_any_environment() -> None:
    """The quick one: seconds, against minutes for all of them."""
    model = composition.models()["alone-cooperative-deployed"]()
    judgement = Judgement(model, [run_engine(engine, model, LIMITS) for engine in ("python", "spin")], frozenset())
    assert judgement.verdict == "ok", (judgement.counts, judgement.new, [run.problem for run in judgement.runs])

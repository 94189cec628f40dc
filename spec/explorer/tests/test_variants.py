"""Mutants of one base: which property each violates, and whether anyone can see a difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.spec.compiler.model import Block, Model, Set
from groupspec.spec.compiler.model_check import ModelError
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer import (
    Exploration,
    ExplorerProblem,
    Limits,
    equivalents,
    explore,
    explore_variants,
)
from groupspec.spec.explorer.variants import Beside

SEEN = ("client", "message", "owner", "marked")


def _guard(action: str, guard: str) -> Model:
    model = toy_model()
    return replace(model, actions=tuple(replace(a, guard=guard) if a.name == action else a for a in model.actions))


def _body(action: str, body: Block) -> Model:
    model = toy_model()
    return replace(model, actions=tuple(replace(a, body=body) if a.name == action else a for a in model.actions))


def _procedure(name: str, body: Block) -> Model:
    model = toy_model()
    return replace(model, procedures=tuple(replace(p, body=body) if p.name == name else p for p in model.procedures))


VARIANTS = {
    "does not look whether it is lent": _guard("lend", "message[i] == 'ask' and owner != i"),
    "marks stay": _procedure("clear_marks", ()),
    "a grant that is lost": _procedure("grant", (Set((("owner", "i"), ("message[i]", "'none'"))),)),
    "takes back before it was given": _guard("take_back", "message[i] == 'ask'"),
    "the same in other words": _guard("ask", "not (client[i] != 'IDLE' or message[i] != 'none')"),
}


def equivalent(model: Model, variant: Model, observe: tuple[str, ...], limits: Limits | None = None) -> bool | None:
    return equivalents(model, {"variant": variant}, observe, limits)["variant"]


def test_each_variant_is_explored_as_if_it_were_alone() -> None:
    together = explore_variants(toy_model(), VARIANTS, stop_at_violation=False)
    assert list(together) == list(VARIANTS)
    for name, variant in VARIANTS.items():
        assert _same(together[name]) == _same(explore(variant)), name


def _same(found: Exploration) -> Exploration:
    return replace(found, seconds=0.0, memory_bytes=0)


def test_a_variant_stops_at_its_first_violation() -> None:
    found = explore_variants(toy_model(), VARIANTS)
    assert {name: list(one.violations) for name, one in found.items()} == {
        "does not look whether it is lent": ["one-holder"],
        "marks stay": [],
        "a grant that is lost": ["all-idle-again"],
        "takes back before it was given": ["all-idle-again"],
        "the same in other words": [],
    }
    assert found["a grant that is lost"].missing == ("held", "all-idle-again")
    assert found["does not look whether it is lent"].reason.startswith("an invariant is violated")


def test_only_the_variant_in_other_words_cannot_be_told_from_the_base() -> None:
    found = equivalents(toy_model(), VARIANTS, SEEN)
    assert [name for name, same in found.items() if same] == ["the same in other words"]


def test_what_is_not_observed_may_differ_if_nothing_follows_from_it() -> None:
    model = toy_model()
    idle = next(a for a in model.actions if a.name == "take_back").body
    never_read = _body("take_back", (*idle, Set((("fault", "'grant-unasked'"),))))
    assert equivalent(model, never_read, SEEN)
    assert equivalent(model, never_read, ("fault",)) is False
    assert equivalent(model, VARIANTS["marks stay"], ("client", "message", "owner")) is False, (
        "mark is not possible twice"
    )


def test_a_difference_comes_with_the_way_to_it() -> None:
    trace = explore(Beside(toy_model(), ()).pair(VARIANTS["marks stay"])).violations["same-alternatives"]
    assert [step.action for step in trace.steps].count("mark") == 2
    assert trace.steps[-1].action == "mark"


def test_a_comparison_that_a_limit_ends_is_undecided() -> None:
    assert equivalent(toy_model(), VARIANTS["the same in other words"], SEEN, Limits(max_states=5)) is None


def test_a_variant_that_differs_in_more_than_bodies_is_refused() -> None:
    with pytest.raises(ExplorerProblem, match="differs from its base in variables"):
        explore_variants(toy_model(), {"odd": replace(toy_model(), variables=toy_model().variables[:-1])})


def test_a_variant_that_means_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="unknown name 'lent'"):
        explore_variants(toy_model(), {"odd": _guard("lend", "lent")})


def test_only_variables_can_be_observed() -> None:
    with pytest.raises(ExplorerProblem, match="no variable: colour"):
        equivalent(toy_model(), toy_model(), ("colour",))

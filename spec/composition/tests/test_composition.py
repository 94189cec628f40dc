"""The composition says what the tables say: checked against the member's own machines, and by breaking it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from groupspec.spec import composition
from groupspec.spec.compiler.member import Member, MemberState
from groupspec.spec.compiler.model import Model, ModelVariable
from groupspec.spec.composition import group
from groupspec.spec.composition.base import base_model
from groupspec.spec.composition.open_member import CONFIGURATION, open_member_model
from groupspec.spec.composition.partial_evaluation import fold, freeze
from groupspec.spec.explorer.exploration import Limits
from groupspec.spec.explorer.explore import explore
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state

QUICK = Limits(max_states=1_000_000, max_seconds=120)


@pytest.mark.exhaustive
def test_what_is_known_of_a_model_before_it_is_made_is_so() -> None:
    for name, maker in composition.models().items():
        model = maker()
        assert (maker.name, maker.scope, maker.members) == (model.name, model.scope, model.sizes["members"])
        assert name == model.name


@pytest.mark.parametrize("profile", ["published", "deployed"])
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_a_member_alone_does_in_the_model_what_its_machines_do(rebalance: str, profile: str) -> None:
    """A thousand random events: the model's interpreter and the composed tables go through the same states."""
    member = Member(rebalance, profile)
    model = open_member_model(rebalance, profile)
    offers = {_name(event, inputs): (event, inputs) for event, inputs in member.offers}
    chosen = random.Random(f"{rebalance} {profile}")
    for _ in range(20):
        state = initial_state(model)
        configured = chosen.choice([name for name, _ in enabled(model, state)])
        state = apply(model, state, configured, {})
        at = member.initial(**{name: state[name] for name in CONFIGURATION})  # type: ignore[arg-type]
        for _ in range(50):
            possible = [name for name, _ in enabled(model, state)]
            if not possible:
                break
            action = chosen.choice(possible)
            state = apply(model, state, action, {})
            at = member.react(at, *offers[action]).state
            assert _same(member, at, state) == {}, action


def _name(event: str, inputs: dict[str, bool | int | str]) -> str:
    return "_".join([event, *(name if value is True else f"not_{name}" for name, value in inputs.items())])


def _same(member: Member, at: MemberState, state: dict[str, object]) -> dict[str, object]:
    """Where the two differ: name to both values."""
    tables = {machine: member.state_of(at, machine) for machine in member.machines}
    tables |= {name: member.value_of(at, name) for name in member.variables}  # type: ignore[misc]
    return {name: (value, state[name]) for name, value in tables.items() if state[name] != value}


@pytest.mark.parametrize("name", ["open-member-eager-deployed", "base-eager-deployed-2", "base-eager-published-2"])
def test_models_hold_what_is_claimed_and_break_what_they_must(name: str) -> None:
    found = explore(composition.models()[name](), limits=QUICK)
    assert found.verdict == "complete"
    assert set(found.violations) == composition.expected_violations(name)
    assert found.never_fired == ()


def test_the_missing_join_group_of_the_proposal_follows_from_a_general_property() -> None:
    """K2 Q4: published, a cooperative member sends SyncGroup without a JoinGroup; deployed, none ever does."""
    published = explore(composition.models()["open-member-cooperative-published"](), limits=QUICK)
    assert "sync-after-join" in published.violations
    assert not any(step.action.startswith("join_") for step in published.violations["sync-after-join"].steps[-4:])
    deployed = explore(composition.models()["open-member-cooperative-deployed"](), limits=QUICK)
    assert deployed.violations == {}


def test_an_assignor_that_ignores_claims_gives_a_partition_two_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """K1 K3: the property `one-owner` notices what withholding a claimed partition is for."""
    careless = group.assign
    monkeypatch.setattr(group, "assign", lambda _cooperative: careless(False))
    model = base_model("cooperative", "deployed", 2)
    assert "one-owner" in explore(model, limits=QUICK).violations


def test_folding_members_halves_the_states_and_changes_no_verdict() -> None:
    model = composition.models()["base-eager-deployed-2"]()
    whole, folded = explore(model, limits=QUICK), explore(model, limits=QUICK, fold=True)
    assert whole.states / 2 <= folded.states < whole.states
    assert whole.violations == folded.violations == {}


def test_a_frozen_variable_is_gone_with_what_it_decides() -> None:
    assert fold("a and (b or c[i])", {"b": True}) == "a"
    assert fold("x if late[i] else y", {"late": False}) == "y"
    assert fold("all(done[j] or stopped for j in members)", {"stopped": True}) == "True"
    model = composition.models()["base-late-eager-deployed-2"]()
    frozen = freeze(model, {"request_late": False})
    assert "request_late" not in {v.name for v in frozen.variables}
    assert {a.name for a in frozen.actions} < {a.name for a in model.actions}


def test_a_variable_that_is_left_out_changes_the_hash() -> None:
    model = composition.models()["base-eager-deployed-2"]()
    assert replace(model, variables=_without(model, "leader")).hash != model.hash


def _without(model: Model, name: str) -> tuple[ModelVariable, ...]:
    return tuple(v for v in model.variables if v.name != name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [n for n in composition.models() if not n.endswith("-3") and "-log-" not in n])
def test_every_model_of_two_members_holds_what_is_claimed(name: str) -> None:
    found = explore(composition.models()[name](), limits=Limits(max_states=5_000_000, max_seconds=300))
    assert found.verdict == "complete"
    assert set(found.violations) == composition.expected_violations(name)
    assert found.missing == ()

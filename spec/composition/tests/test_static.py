"""Static members (KIP-345): who restarts takes its old place, and the others go on."""

from __future__ import annotations

import pytest

from groupspec.spec import composition
from groupspec.spec.compiler.model import Model, Set
from groupspec.spec.composition import static
from groupspec.spec.explorer.exploration import Exploration, Limits
from groupspec.spec.explorer.explore import explore
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state

pytestmark = pytest.mark.usefixtures("quick_compilation")

QUICK = Limits(max_states=1_000_000, max_seconds=120)


def _model(rebalance: str) -> Model:
    return composition.models()[f"base-static-{rebalance}-deployed-2"]()


def _denied(found: Exploration) -> set[str]:
    return {*found.violations, *found.missing}


def test_everything_claimed_of_static_members_holds() -> None:
    found = explore(_model("eager"), limits=QUICK)
    assert found.verdict == "complete"
    assert not _denied(found)
    assert not found.never_fired
    assert found.states == 155_771


def test_G11_a_process_that_restarts_in_a_stable_group_gets_its_partitions_back_without_a_rebalance() -> None:
    model = _model("cooperative")
    state = initial_state(model)
    for action in (
        ("subscribes", {"i": 1}),
        ("join_arrives", {"i": 1}),
        ("initial_delay_ends", {}),
        ("join_accepted_arrives", {"i": 1}),
        ("sync_arrives", {"i": 1, "k": 1}),
        ("sync_accepted_arrives", {"i": 1}),
        ("assigned_callback_ends", {"i": 1}),
    ):
        state = apply(model, state, *action)
    assert (state["broker_group"], state["owns"][1][1]) == ("Stable", True)  # type: ignore[index]
    state = apply(model, state, "process_dies", {"i": 1})
    assert (state["registered"][1], state["owns"][1][1]) == ("member", False)  # type: ignore[index]
    for action in (("subscribes", {"i": 1}), ("join_arrives", {"i": 1}), ("join_accepted_arrives", {"i": 1})):
        state = apply(model, state, *action)
        assert state["broker_group"] == "Stable"
    for action in (("sync_arrives", {"i": 1, "k": 1}), ("sync_accepted_arrives", {"i": 1})):
        state = apply(model, state, *action)
    assert (state["broker_group"], state["owns"][1][1]) == ("Stable", True)  # type: ignore[index]
    assert ("leave_arrives", {"i": 1}) not in enabled(model, state)


def test_a_static_member_that_is_dropped_like_a_dynamic_one_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = (Set((("registered[j]", "'absent'"), ("leader", "0 if leader == j else leader"))),)
    monkeypatch.setattr(static, "SURVIVES", dropped)
    made_anew = composition.models()["base-static-eager-deployed-2"].make()
    assert "reaches-survivor" in _denied(explore(made_anew, limits=QUICK))

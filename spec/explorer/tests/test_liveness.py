"""Liveness under fairness: on the toy, which TLC judges alike, and on groups that are disturbed no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.spec import composition
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer.liveness import Graph


def _with_fairness(model: Model, action: str, fair: str) -> Model:
    return replace(model, actions=tuple(replace(a, fair=fair) if a.name == action else a for a in model.actions))  # type: ignore[arg-type]


def test_who_waits_for_the_lock_gets_it_if_lending_is_strongly_fair() -> None:
    assert Graph(toy_model()).broken() == {}


@pytest.mark.parametrize("fair", ["weak", ""])
def test_without_strong_fairness_one_may_wait_for_ever(fair: str) -> None:
    """The other client asks again and again, and the server lends to it each time; or it stops lending."""
    broken = Graph(_with_fairness(toy_model(), "lend", fair)).broken()
    assert set(broken) == {"waiting-ends"}
    assert "lend(1)" not in broken["waiting-ends"].actions


def test_a_run_that_may_just_stop_breaks_liveness() -> None:
    broken = Graph(_with_fairness(toy_model(), "receive", "")).broken()
    assert broken["waiting-ends"].actions == () or "receive(1)" not in broken["waiting-ends"].actions


@pytest.mark.exhaustive
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_a_group_that_is_disturbed_no_more_becomes_stable(rebalance: str) -> None:
    """J2 K2 L2 G5.

    The group becomes stable once faults stop, closing ends, the awaiting are answered, the dead forgotten, the expelled
    learn it.
    """
    assert Graph(composition.models()[f"base-faults-stop-{rebalance}-deployed-2"]()).broken() == {}


@pytest.mark.exhaustive
def test_every_call_into_the_consumer_ends() -> None:
    """T3 L2: the futures of the two queues complete."""
    assert Graph(composition.models()["queues-3"]()).broken() == {}

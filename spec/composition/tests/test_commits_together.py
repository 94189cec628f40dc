"""Two commits of one consumer: they go in order, one automatic one at a time, and nothing is taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from groupspec.spec import composition
from groupspec.spec.composition.commits_together import DONE_IN_ORDER, NEVER_REWINDS, commits_model
from groupspec.spec.composition.partial_evaluation import frozen_block
from groupspec.spec.explorer.explore import explore
from groupspec.spec.explorer.liveness import Graph
from groupspec.spec.terms import Value

pytestmark = pytest.mark.usefixtures("quick_compilation")

MODEL = composition.models()["commits-2"]()


def test_everything_claimed_of_two_commits_holds() -> None:
    found = explore(MODEL)
    assert found.verdict == "complete"
    assert not found.violations
    assert not found.missing
    assert not found.never_fired
    assert not found.dead_ends
    assert found.states == 7_414


def test_both_end_whoever_waits_for_whom() -> None:
    """T3 L2 M3: each waits for the other no longer than that one takes."""
    assert Graph(MODEL).broken() == {}


def test_M6_what_an_automatic_commit_covers_is_fixed_before_the_commit_behind_it() -> None:
    """Or else: the interval is over, the application commits, polls on, and only then is a coordinator found."""
    found = explore(commits_model(taken="sent"))
    assert set(found.violations) == {NEVER_REWINDS}
    happened = [step.action for step in found.violations[NEVER_REWINDS].steps]
    assert (
        happened.index("auto_commit_due") < happened.index("commit_async_called") < happened.index("coordinator_found")
    )


BROKEN: dict[str, tuple[Mapping[str, Value], str]] = {
    "nobody is told that another commit is before it": ({"behind_now": False}, "one-automatic-at-a-time"),
    "callbacks run in any order": ({"behind_now": False}, DONE_IN_ORDER),
    "two are out without need": ({"behind_now": False}, "two-only-if-one-was-passed"),
    "everybody is told so": ({"behind_now": True}, "nobody-waits-for-the-application"),
    "a commit waits for nobody": ({"behind_now": True}, "behind-who-goes-before"),
    "nobody is ever told of a coordinator": ({"coordinator_here": False}, "can-be-done"),
}
"""What is broken: a word that always says the same to the machines; and a claim that it denies."""


@pytest.mark.parametrize("name", list(BROKEN))
def test_broken_order_is_noticed(name: str) -> None:
    always, denied = BROKEN[name]
    procedures = tuple(replace(p, body=frozen_block(p.body, always)) for p in MODEL.procedures)
    found = explore(replace(MODEL, procedures=procedures))
    assert denied in {*found.violations, *found.missing}

"""What a machine says is known right after it was said, and forgotten with the next event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from groupspec.spec.compiler.model import Model, ModelProperty
from groupspec.spec.composition.machines import said
from groupspec.spec.composition.open_group import open_group_model
from groupspec.spec.composition.open_member import open_member_model
from groupspec.spec.explorer import Limits, explore

pytestmark = pytest.mark.usefixtures("quick_compilation")


def a_member() -> Model:
    return open_member_model("eager", "deployed", observed=True)


def a_group() -> Model:
    return open_group_model(observed=True)


@pytest.mark.parametrize(
    ("model", "word", "it_still_shows"),
    [
        pytest.param(a_member, "FindCoordinator", "lookup_out", id="member"),
        pytest.param(a_group, "ANSWER_MEMBER_ID_REQUIRED", "any(pending[j] for j in members)", id="group"),
    ],
)
def test_a_word_is_known_until_the_next_event(model: Callable[[], Model], word: str, it_still_shows: str) -> None:
    claims = {
        "is-known": f"{said(word)} and {it_still_shows}",
        "is-forgotten": f"not {said(word)} and {it_still_shows}",
    }
    properties = tuple(ModelProperty(name, "reachable", holds, "", name, (), ()) for name, holds in claims.items())
    found = explore(replace(model(), properties=properties), limits=Limits(max_states=100_000))
    assert (found.verdict, found.missing) == ("complete", ())

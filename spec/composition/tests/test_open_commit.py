"""One commit in any environment: what is claimed of it holds, and each claim is denied by something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from groupspec.spec import composition
from groupspec.spec.commit import COMMIT_ANSWERS, COMMIT_ENDINGS
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.table import Row
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.open_commit import ENDINGS, ENDS_FOR_CAUSE, ENDS_ONCE, commit_code
from groupspec.spec.explorer.exploration import Exploration, Limits
from groupspec.spec.explorer.explore import explore
from groupspec.spec.explorer.liveness import Graph
from groupspec.spec.explorer.variants import explore_variants

TABLE = tables()["commit", "eager", "deployed"]
MODEL = composition.models()["open-commit"]()


def _with(change: Callable[[Row], Row | None]) -> Model:
    """The model with the rows changed; a row that becomes nothing is gone."""
    changed = tuple(new for row in TABLE.rows if (new := change(row)) is not None)
    bodies = {p.name: p.body for p in commit_code(replace(TABLE, rows=changed)).procedures()}
    procedures = tuple(replace(p, body=bodies.get(p.name, ())) for p in MODEL.procedures)
    return replace(MODEL, procedures=procedures)


def _denied(found: Exploration) -> set[str]:
    return {*found.violations, *found.missing}


@pytest.fixture(scope="module")
def found() -> Exploration:
    return explore(MODEL)


def test_everything_claimed_of_a_commit_holds(found: Exploration) -> None:
    assert found.verdict == "complete"
    assert not _denied(found)
    assert not found.never_fired
    assert not found.dead_ends
    assert found.states == 5_607


def test_every_commit_ends_though_nobody_answers_and_nobody_polls() -> None:
    """T3 L2 M3: deadlines and request timeouts pass, a coordinator is found, and earlier commits end.

    No more is needed.
    """
    assert Graph(MODEL).broken() == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "unfair",
    ["commit_deadline_expired", "commit_coordinator_gone_current", "coordinator_found", "earlier_commits_done"],
)
def test_no_less_is_needed(unfair: str) -> None:
    actions = tuple(replace(a, fair="" if a.name == unfair else a.fair) for a in MODEL.actions)
    assert set(Graph(replace(MODEL, actions=actions)).broken()) == {"ends-at-last"}


def test_every_answer_and_every_ending_is_claimed_something_of() -> None:
    assert set(ENDINGS) == set(COMMIT_ENDINGS)
    named = {event for events in ENDINGS.values() for event in events}
    assert set(COMMIT_ANSWERS.values()) <= named <= {event.name for event in TABLE.events}


def _sends_without(part: str) -> Callable[[Row], Row]:
    """The rows that send lack one condition."""
    return lambda row: replace(row, guard=row.guard.replace(part, "")) if row.target == "SENT" else row


def _does(event: str, *effects: str) -> Callable[[Row], Row]:
    """What is done on an event, whenever anything is."""
    return lambda row: replace(row, effects=effects) if row.event == event and row.effects else row


def _sends_what_fails(row: Row) -> Row:
    fails = row.event == "turn_ended" and row.effects == ("end_as_failed",)
    return replace(row, target="SENT", effects=("send_commit_as_member",)) if fails else row


def _stays_sent(row: Row) -> Row | None:
    return None if row.source == "SENT" else row


BROKEN: dict[str, tuple[Callable[[Row], Row | None], str]] = {
    "earlier commits are not waited for": (_sends_without("not behind and "), "sent-in-turn"),
    "the backoff is not waited for": (_sends_without("not commit_backs_off and "), "sent-after-backoff"),
    "partitions of others": (_sends_what_fails, "sent-if-allowed"),
    "a late answer is taken": (lambda row: replace(row, guard="") if row.event == "commit_accepted" else row,
                               ENDS_FOR_CAUSE),
    "an answer is not heard": (lambda row: None if row.event == "commit_refused" else row, "ends-when-it-must"),
    "an old identity is fenced": (_does("commit_fenced", "end_as_fenced"), "told-fenced"),
    "given up is called closed": (_does("rebalance_given_up", "end_as_closed"), "told-closed"),
    "it is told twice": (_does("commit_accepted", "end_as_done", "end_as_done"), ENDS_ONCE),
    "what is sent does not end": (_stays_sent, "can-end"),
    "no coordinator is ever found": (lambda row: None if row.event == "coordinator_found" else row, "can-be-done"),
}  # fmt: skip
"""What is broken, and a claim that it denies."""


@pytest.fixture(scope="module")
def broken() -> Mapping[str, Exploration]:
    variants = {name: _with(change) for name, (change, _) in BROKEN.items()}
    return explore_variants(MODEL, variants, Limits(), optimise="-O0", stop_at_violation=False)


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_commit_is_noticed(name: str, broken: Mapping[str, Exploration]) -> None:
    assert BROKEN[name][1] in _denied(broken[name])

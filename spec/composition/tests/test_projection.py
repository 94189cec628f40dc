"""What a member sees of a run: whatever runs a model has, told in the events of the tables, or refused by name."""

from __future__ import annotations

from random import Random

import pytest

from groupspec.spec.composition import models
from groupspec.spec.composition.projection import NotProjectable, project
from groupspec.spec.explorer.exploration import Trace, TraceStep
from groupspec.spec.explorer.interpreter import apply, enabled, initial_state, replay

FEATURES = ("late", "callbacks", "awaiting", "leave", "static", "ids", "log")
MODELS = [
    "base-cooperative-published-2",
    "base-mixed-deployed-2",
    *(f"base-{each}-eager-deployed-2" for each in FEATURES),
]
NOT_LIVED_TO_SEE = ("process_dies", "is_upgraded")
"""Of these only the other members have a view."""
ONE = {"i": 1}
IN = [
    ("subscribes", ONE),
    ("join_arrives", ONE),
    ("initial_delay_ends", {}),
    ("join_accepted_arrives", ONE),
    ("sync_arrives", {"i": 1, "k": 1}),
    ("sync_accepted_arrives", ONE),
    ("assigned_callback_ends", ONE),
]
"""The first member joins the group, alone."""


def strolls(name: str, seed: int, steps: int = 40) -> Trace:
    """A run in which rare actions are as likely as frequent ones."""
    model, chance = models()[name](), Random(seed)
    state, way = initial_state(model), list[TraceStep]()
    for _ in range(steps):
        possible = [each for each in enabled(model, state) if each[0] not in NOT_LIVED_TO_SEE]
        kind = chance.choice(sorted({action for action, _ in possible}))
        action, arguments = chance.choice([each for each in possible if each[0] == kind])
        state = apply(model, state, action, arguments)
        way.append(TraceStep(action, arguments, state))
    return Trace(model, initial_state(model), tuple(way))


def said(trace: Trace, member: int = 1) -> list[tuple[str, tuple[str, ...]]]:
    """What it hears and sends after its first poll."""
    return [(event.event, event.sent) for event in project(trace, member).events if event.step > len(IN)]


@pytest.mark.parametrize("name", MODELS)
def test_whatever_happens_in_a_model_is_told_as_events_of_each_member(name: str) -> None:
    trace = strolls(name, seed=len(name))
    for member in trace.model.indices("members"):
        assert project(trace, member).events


def test_D1_a_coordinator_that_restarts_is_noticed_by_who_waits_for_it() -> None:
    """The model breaks everybody's connection in one step; a member hears so from the request that it has out."""
    model = models()["base-eager-deployed-2"]()
    joins = replay(model, [("subscribes", ONE), ("coordinator_restarts", {})])
    assert [event.event for event in project(joins).events][-2:] == ["join_coordinator_gone", "discovery_succeeded"]
    assert said(replay(model, [*IN, ("coordinator_restarts", {})])) == [], "who has nothing out hears nothing"


def test_G4_an_id_that_is_handed_out_is_an_answer_to_the_member() -> None:
    model = models()["base-ids-cooperative-deployed-2"]()
    trace = replay(model, [("subscribes", ONE), ("join_arrives", ONE), ("join_member_id_required_arrives", ONE)])
    heard = [(event.event, event.sent) for event in project(trace).events]
    assert heard[-1] == ("join_member_id_required", ("JoinGroup",))


def test_G13_a_coordinator_that_falls_back_to_its_log_is_told_by_its_answers_only() -> None:
    model = models()["base-log-eager-deployed-2"]()
    dies = [*IN, ("coordinator_dies", {}), ("heartbeat_falls_due", ONE)]
    assert said(replay(model, dies)) == [("heartbeat_due", ("Heartbeat",))]
    answered = [*dies, ("coordinator_returns", {}), ("heartbeat_coordinator_gone_arrives", ONE)]
    assert said(replay(model, answered))[1:] == [
        ("heartbeat_coordinator_gone", ("FindCoordinator",)),
        ("discovery_succeeded", ()),
    ]


def test_who_dies_or_is_upgraded_has_no_view_and_the_others_have_one() -> None:
    for name, action in (("base-eager-deployed-2", "process_dies"), ("base-mixed-deployed-2", "is_upgraded")):
        trace = replay(models()[name](), [*IN, (action, ONE)])
        with pytest.raises(NotProjectable, match=action):
            project(trace)
        assert project(trace, 2).events

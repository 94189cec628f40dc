"""The reference follows the specification: the sans-IO core, and the whole consumer with both its threads."""

from __future__ import annotations

import pytest

from groupspec.conformance.generate import ROOT
from groupspec.conformance.stateful.campaign import DRIVERS, design_of
from groupspec.conformance.stateful.feasible import feasible_text
from groupspec.conformance.stateful.lockstep import Lockstep, LockstepRun
from groupspec.conformance.stateful.routes import MEMBER, member_of, pair_routes, transition_routes
from groupspec.conformance.stateful.suite import (
    REBALANCES,
    TARGETS,
    Coverage,
    Start,
    cover,
    make_machine,
    run_machine,
    start_background,
    start_core,
    start_heartbeat,
)
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import dispatch
from groupspec.spec.compiler.member import Offer

SLOWEST = (MEMBER, "cooperative")
"""It takes as long as all others together."""
MOST_QUICKLY = pytest.mark.parametrize(
    ("target", "rebalance"),
    [
        pytest.param(target, rebalance, marks=pytest.mark.exhaustive if (target, rebalance) == SLOWEST else ())
        for target in TARGETS
        for rebalance in REBALANCES
    ],
)
IMPLEMENTATIONS = pytest.mark.parametrize("start", [start_core, start_background], ids=["core", "background"])


@pytest.mark.parametrize(
    "driver", ["core", *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("background", "heartbeat"))]
)
@MOST_QUICKLY
def test_every_feasible_transition_and_pair_fires_and_agrees(target: str, rebalance: str, driver: str) -> None:
    """Feasible in the design; what that rules out is shown to be impossible in `test_impossible`."""
    coverage, design = Coverage(), design_of(driver)
    assert list(cover(target, rebalance, DRIVERS[driver], coverage, design)) == []

    assert coverage.missing(transition_routes(target, rebalance, design)) == []
    assert coverage.missing(pair_routes(target, rebalance, design)) == []


@pytest.mark.exhaustive
@MOST_QUICKLY
def test_what_is_committed_as_feasible_is_what_a_search_finds(target: str, rebalance: str) -> None:
    file = ROOT / "conformance" / f"generated/feasible/{target}.{rebalance}.deployed.json"
    assert file.read_text(encoding="utf-8") == feasible_text(target, rebalance)


@MOST_QUICKLY
def test_the_core_follows_random_events_after_random_routes(target: str, rebalance: str) -> None:
    coverage = Coverage()
    run_machine(make_machine(target, rebalance, start_core, coverage), examples=150)

    assert coverage.examples >= 150


def test_the_coordinator_is_needed_for_as_long_as_one_of_two_questions_waits() -> None:
    """Rule D7: the first of two deadlines passes during the backoff; the lookup goes on for the second."""
    started, asked = Offer("started"), Offer("commit_or_fetch_requested")
    failed, over = Offer("discovery_retriable", (("current", True),)), Offer("discovery_backoff_elapsed")

    one_waits = _after_time_passed(started, asked, failed, asked)
    assert one_waits.value("request_pending")
    assert one_waits.offer(over)
    assert one_waits.member.state_of(one_waits.state, "connection") == "COORDINATOR_DISCOVERY"

    both_are_over = _after_time_passed(started, asked, asked, failed)
    assert not both_are_over.value("request_pending")
    assert both_are_over.offer(over)
    assert both_are_over.member.state_of(both_are_over.state, "connection") == "INITIALIZED"


def _after_time_passed(*offers: Offer) -> LockstepRun:
    member = member_of(MEMBER, "eager")
    run = start_core(MEMBER, member, member.initial())
    assert all(run.offer(offer) for offer in offers)
    run.time_passes()
    return run


@MOST_QUICKLY
def test_the_background_driver_follows_random_events_after_random_routes(target: str, rebalance: str) -> None:
    coverage = Coverage()
    run_machine(make_machine(target, rebalance, start_background, coverage), examples=60)

    assert coverage.examples >= 60


@MOST_QUICKLY
def test_the_heartbeat_driver_follows_random_events_after_random_routes(target: str, rebalance: str) -> None:
    coverage = Coverage()
    run_machine(make_machine(target, rebalance, start_heartbeat, coverage), examples=30)

    assert coverage.examples >= 30


@pytest.mark.exhaustive
@IMPLEMENTATIONS
@pytest.mark.parametrize("rebalance", REBALANCES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_long_random_walk_agrees(target: str, rebalance: str, start: Start) -> None:
    run_machine(make_machine(target, rebalance, start, Coverage()), examples=1_000, steps=40, seed_value=62)


@pytest.mark.parametrize("target", TARGETS)
def test_the_machine_has_a_rule_for_every_event_and_one_for_time(target: str) -> None:
    machine = make_machine(target, "eager", start_core, Coverage())

    events = {event for event, _ in member_of(target, "eager").offers}
    assert events | {"time_passes", "begin"} <= set(vars(machine))


def test_a_failure_is_a_short_story_that_names_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dispatch.HANDLERS, ("Heartbeat", "REBALANCE_IN_PROGRESS"), lambda core, happening: None)
    story = next(cover(MEMBER, "eager", start_core, Coverage()))

    assert "the specification says:" in story
    assert "the implementation says:" in story
    assert "heartbeat_rebalance_in_progress" in story


@pytest.mark.parametrize("driver", ["background", "heartbeat"])
def test_what_a_call_raises_that_is_no_error_of_the_api_is_a_divergence(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    """Nobody asks the call for its outcome, and the core knows nothing of it."""
    member = member_of(MEMBER, "eager")

    def raises(*_: object) -> None:
        raise LookupError("no such partition")

    run = DRIVERS[driver](MEMBER, member, member.initial())
    run.offer(Offer("started"))
    monkeypatch.setattr(Consumer, "subscribe", raises)
    with pytest.raises(AssertionError, match=r"raises LookupError\('no such partition'\)"):
        run.offer(Offer("subscribed_to_topics"))
    run.end()


def test_what_goes_wrong_as_a_run_ends_is_a_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: LockstepRun) -> None:
        raise AssertionError("a thread does not end")

    monkeypatch.setattr(Lockstep, "end", wrong)
    found = cover(MEMBER, "eager", start_core, Coverage())
    assert "a thread does not end" in next(found)

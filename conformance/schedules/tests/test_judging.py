"""Schedules are judged by the shared checks: what a rule forbids ends a run, whatever else looks at it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from msgspec.structs import replace

from groupspec.conformance.checks import judge
from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.history.event import Event
from groupspec.conformance.history.life import Life
from groupspec.conformance.history.member_life import history_of
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.judging import UNREAD, expect_kept
from groupspec.conformance.schedules.noted import MEMBER, Noted
from groupspec.impl.scheduling import run
from groupspec.impl.threads.designs import Design


def lived(seed: int, design: Design) -> Life:
    kept: list[Life] = []
    assert run(play(draw(seed), design, kept.append), strategy(seed)).error is None
    return kept[0]


@cache
def life(seed: int) -> Life:
    return lived(seed, "background")


def spoiled(seed: int, kind: str, what: str, **instead: object) -> Life:
    """The same, but each event of this kind, and of this name or message, has something else in it."""

    def changed(event: Event) -> Event:
        if event.kind != kind or what not in (event.name, (event.message or {}).get("is")):
            return event
        if event.message is None:
            return replace(event, **instead)
        return replace(event, message={**event.message, **instead})

    return Life(life(seed).header, [changed(event) for event in life(seed).events])


def test_a_life_that_keeps_all_rules_is_passed() -> None:
    expect_kept(life(8))


def test_X1_a_request_without_its_instance_is_found() -> None:
    static = next(seed for seed in range(1, 100) if draw(seed).static and not draw(seed).manual)
    with pytest.raises(AssertionError, match=r"\(rule X1\)"):
        expect_kept(spoiled(static, "request", "JoinGroupRequest", group_instance_id="another"))


def test_C1_a_callback_of_what_is_owned_already_is_found() -> None:
    twice = [
        each
        for event in life(8).events
        for each in (event, *([event] if event.name == "on_partitions_assigned" else []))
    ]
    with pytest.raises(AssertionError, match=r"\(rule C1\)"):
        expect_kept(Life(life(8).header, twice))


def test_J10_a_subscription_that_nobody_can_read_is_found() -> None:
    with pytest.raises(AssertionError, match=r"JoinGroup, mine: Subscription, user data at byte 6.*\(rule J10\)"):
        expect_kept(spoiled(8, "request", "JoinGroupRequest", protocols=[["mine", "AAMAAAAA"]]))


def test_a_schedule_ends_with_what_the_checks_say_of_its_life() -> None:
    def twice(life: Callable[[Noted, Design], Life], self: Noted, design: Design) -> Life:
        whole = life(self, design)
        again = [each for event in whole.events for each in [event] * (1 + (event.name == "on_partitions_assigned"))]
        return Life(whole.header, again)

    with Seam() as seam:
        seam.replace(Noted.life, twice)
        outcome = run(play(draw(8), "background"), strategy(8))
    assert "(rule C1)" in str(outcome.error)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", UNREAD)
def test_what_is_not_judged_yet_has_a_schedule_to_be_read(rule: str) -> None:
    design, seed = UNREAD[rule].split()
    whole = lived(int(seed), "heartbeat" if design == "heartbeat" else "background")
    said = judge(rule, history_of(whole, MEMBER))
    assert said.verdict in BROKEN, "it accuses nobody there any more: name another schedule, or judge by it"

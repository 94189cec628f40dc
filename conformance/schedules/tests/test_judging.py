"""Schedules are judged by the shared checks: what a rule forbids ends a run, whatever else looks at it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

import pytest
from msgspec.structs import replace

from groupspec.conformance.checks import judge
from groupspec.conformance.checks.lives import UNREAD, expect_kept
from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.history.event import Event
from groupspec.conformance.history.life import Life
from groupspec.conformance.history.member_life import history_of
from groupspec.conformance.history.tests.spoiled import twice
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.campaign import play, strategy
from groupspec.conformance.schedules.further import draw
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
        if event.kind != kind or what not in (event.name, type(event.message).__name__):
            return event
        if event.message is None:
            return replace(event, **instead)
        return replace(event, message=replace(event.message, **instead))

    return Life(life(seed).header, [changed(event) for event in life(seed).events])


def test_a_life_that_keeps_all_rules_is_passed() -> None:
    expect_kept(life(8))


def test_X1_a_request_without_its_instance_is_found() -> None:
    static = next(seed for seed in range(1, 100) if draw(seed).static and not draw(seed).manual)
    with pytest.raises(AssertionError, match=r"\(rule X1\)"):
        expect_kept(spoiled(static, "request", "JoinGroupRequest", group_instance_id="another"))


def test_C1_a_callback_of_what_is_owned_already_is_found() -> None:
    with pytest.raises(AssertionError, match=r"\(rule C1\)"):
        expect_kept(twice(life(8), "on_partitions_assigned"))


def test_J10_a_subscription_that_nobody_can_read_is_found() -> None:
    with pytest.raises(AssertionError, match=r"JoinGroup, mine: Subscription, user data at byte 6.*\(rule J10\)"):
        expect_kept(spoiled(8, "request", "JoinGroupRequest", protocols=(("mine", b64decode("AAMAAAAA")),)))


def test_a_schedule_ends_with_what_the_checks_say_of_its_life() -> None:
    def assigned_twice(life: Callable[[Noted, Design], Life], self: Noted, design: Design) -> Life:
        return twice(life(self, design), "on_partitions_assigned")

    with Seam() as seam:
        seam.replace(Noted.life, assigned_twice)
        outcome = run(play(draw(8), "background"), strategy(8))
    assert "(rule C1)" in str(outcome.error)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", UNREAD["schedules"])
def test_what_is_not_judged_yet_has_a_schedule_to_be_read(rule: str) -> None:
    design, seed = UNREAD["schedules"][rule].split()
    whole = lived(int(seed), "heartbeat" if design == "heartbeat" else "background")
    said = judge(rule, history_of(whole, MEMBER))
    assert said.verdict in BROKEN, "it accuses nobody there any more: name another schedule, or judge by it"


ACCUSED_ONCE: Final[Mapping[str, str]] = {
    "C2": "background 1001982",
    "C4": "background 20798, background 20919, heartbeat 20845, heartbeat 21020",
    "C7": "background 1505",
    "D3": "heartbeat 20113, heartbeat 20434, heartbeat 1000856",
    "D6": "background 21115, heartbeat 20479",
    "H1": "background 21058, heartbeat 21079, background 1000589",
    "H2": "background 20300",
    "H4": "background 20506, background 20611, background 20649",
    "J2": "background 20919, background 1000315",
    "J3": "heartbeat 20092, heartbeat 1001819",
    "J5": "background 20174, background 20466, background 21189",
    "J7": "background 20149",
    "J8": "background 20264, background 20299",
    "K1": "heartbeat 21112",
    "K2": "background 987, background 20068, background 20102, background 20459",
    "K4": "background 20387, background 20925",
    "L1": "background 20024",
    "L2": "heartbeat 957",
    "L5": "background 20237, background 20378, background 20497, background 20819",
    "M2": "background 2398, background 1001024",
    "M3": "background 21058",
    "M4": "background 20809, background 21267",
    "M6": "background 20925, heartbeat 30750",
    "O1": "background 20070, background 20387, background 20839",
    "O2": "background 20611, background 21117, heartbeat 20348",
    "O3": "background 1002414",
    "O5": "background 20469, background 21012",
    "O6": "background 20028, background 20259, background 21009",
    "O7": "background 21026",
    "P2": "background 1000506",
    "P4": "background 939, background 20027, background 20346",
    "S3": "background 20162, background 20841, heartbeat 20376",
    "T4": "background 20061, background 20238",
    "X2": "background 20687, background 20962",
}
"""Schedules in which a rule once accused the reference: the check or the reader of lives was wrong."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", ACCUSED_ONCE)
def test_what_was_accused_wrongly_once_is_passed(rule: str) -> None:
    for where in ACCUSED_ONCE[rule].split(", "):
        design, seed = where.split()
        whole = lived(int(seed), "heartbeat" if design == "heartbeat" else "background")
        said = judge(rule, history_of(whole, MEMBER))
        assert said.verdict not in BROKEN, f"{where}: {said.reason}"

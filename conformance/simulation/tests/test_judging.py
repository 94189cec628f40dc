"""Simulated groups are judged by the shared checks: what a rule forbids is a broken promise, whatever else is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final, cast

import pytest

from groupspec.conformance.checks.lives import UNREAD, breaches
from groupspec.conformance.history.life import Life
from groupspec.conformance.history.tests.spoiled import twice
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.simulation.campaign import SHORT_QUIET_MS, planned
from groupspec.conformance.simulation.judging import execute
from groupspec.conformance.simulation.noted import Noted
from groupspec.conformance.simulation.plan import Plan
from groupspec.conformance.simulation.run import Driver

KEEPS_ALL: Final = "core 4"


def plan_of(where: str) -> tuple[Plan, Driver]:
    """Of a design and a seed; without the hours at the end in which nothing happens."""
    driver, seed = where.split()
    plan = planned(int(seed), driver=cast("Driver", driver))
    return replace(plan, quiet_ms=min(plan.quiet_ms, SHORT_QUIET_MS)), cast("Driver", driver)


@cache
def life(where: str) -> Life:
    kept: list[Life] = []
    plan, driver = plan_of(where)
    assert execute(plan, driver, keep=kept.append).error == ""
    return kept[0]


def test_C1_a_group_ends_with_what_the_checks_say_of_a_member() -> None:
    def assigned_twice(life: Callable[[Noted, Plan, Driver], Life], self: Noted, plan: Plan, driver: Driver) -> Life:
        return twice(life(self, plan, driver), "on_partitions_assigned")

    assert list(breaches(life(KEEPS_ALL))) == []
    with Seam() as seam:
        seam.replace(Noted.life, assigned_twice)
        outcome = execute(*plan_of(KEEPS_ALL))
    assert outcome.promise == "rule C1"
    assert outcome.error.startswith("rule C1: m1.1: ")


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", UNREAD["simulation"])
def test_what_is_not_judged_yet_has_a_group_to_be_read(rule: str) -> None:
    accused = list(breaches(life(UNREAD["simulation"][rule]), [rule]))
    assert accused, "it accuses nobody there any more: name another group, or judge by it"


ACCUSED_ONCE: Final = {
    "C4": "core 147",
    "D1": "core 138",
    "D6": "core 24",
    "H1": "core 9",
    "H2": "core 9002",
    "H5": "core 24",
    "J2": "core 9002",
    "J5": "core 0",
    "M6": "core 142",
    "O1": "core 147",
    "P2": "core 9",
    "P3": "core 9",
    "P4": "core 9002",
}
"""Groups in which a rule once accused the reference: the check or the reader of lives was wrong."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", ACCUSED_ONCE)
def test_what_was_accused_wrongly_once_is_passed(rule: str) -> None:
    assert list(breaches(life(ACCUSED_ONCE[rule]), [rule])) == []

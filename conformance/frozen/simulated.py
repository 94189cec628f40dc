"""A group in virtual time, as a life, with a mutant of the reference or without."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from groupspec.conformance.frozen.mutants import with_mutant
from groupspec.conformance.history.life import Life
from groupspec.conformance.simulation.campaign import SHORT_QUIET_MS, planned
from groupspec.conformance.simulation.judging import execute
from groupspec.conformance.simulation.plan import Plan
from groupspec.conformance.simulation.run import Driver


def plan_of(seed: int, driver: Driver) -> Plan:
    """The plan of this seed; none of these groups is watched for hours at the end: little happens then, and often."""
    plan = planned(seed, driver=driver)
    return replace(plan, quiet_ms=min(plan.quiet_ms, SHORT_QUIET_MS))


def life(seed: int, driver: Driver, mutant: str = "") -> Life:
    """The run of this seed."""
    kept: list[Life] = []
    with with_mutant(mutant):
        outcome = execute(plan_of(seed, driver), driver, keep=kept.append)
    said = outcome.error.strip().rpartition("\n")[2]
    return Life(structs.replace(kept[0].header, mutant=mutant, judged=(outcome.promise, said)), kept[0].events)

"""A run that is judged: by the group's promises, and each member by the shared checks of its life."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from groupspec.conformance.checks.lives import breaches
from groupspec.conformance.history.life import Life
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.simulation.noted import Noted
from groupspec.conformance.simulation.plan import Plan
from groupspec.conformance.simulation.run import Driver, Outcome, Run

JUDGED_QUIET_MS: Final = 60_000
"""How much of the time is judged at whose end nothing happens any more: its hours say the same again and again."""


def execute(
    plan: Plan, driver: Driver = "core", *, is_recording: bool = False, keep: Callable[[Life], None] = lambda _: None
) -> Outcome:
    """Carries a plan out.

    Args:
        plan: What happens.
        driver: What members are made of.
        is_recording: Whether the steps of the outcome are kept, for people.
        keep: Is given the group's life.

    Returns:
        How it ended; where all promises of the group are kept, and a member breaks a rule, that is the broken promise.
    """
    with Seam() as seam:
        noted = Noted(seam, plan.faults_end_ms + 2 * plan.settling_ms + JUDGED_QUIET_MS)
        outcome = Run(plan, is_recording, driver).execute()
    life = noted.life(plan, driver)
    keep(life)
    broken = next(breaches(life), None) if not outcome.promise else None
    if broken is None:
        return outcome
    member, rule, reason = broken
    return replace(outcome, promise=f"rule {rule}", error=f"rule {rule}: {member}: {reason}")

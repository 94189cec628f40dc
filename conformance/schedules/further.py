"""Scenarios as they are run: those of `scenario`, some of them with further events.

What is here is drawn from a stream of its own, and only added. So what comes here later leaves all other scenarios, and
the schedules under which something was found, as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from groupspec.conformance.schedules import scenario
from groupspec.conformance.schedules.scenario import ASKS_LOG, ASKS_TOPICS, SEEKS, Scenario

ASKS_MOST: Final = 3
"""Further calls of one application."""


def draw(seed: int) -> Scenario:
    """The scenario of this number."""
    drawn, random = scenario.draw(seed), Random(f"further {seed}")
    if random.random() < 0.25:
        drawn = _asking(drawn, random)
    return drawn


def _asking(drawn: Scenario, random: Random) -> Scenario:
    """It asks about log, topics and itself, or goes to an end of the log."""
    possible: Sequence[str] = ("look", "look", *ASKS_LOG)
    possible = (*possible, *SEEKS) if not drawn.elects_ms else possible
    # Two askers in one member, each with a backoff of its own, cannot be told from one that does not wait.
    possible = (*possible, *ASKS_TOPICS) if not drawn.answers.get("Metadata") else possible
    calls = list(drawn.calls)
    for _ in range(random.randint(1, ASKS_MOST)):
        calls.insert(random.randint(1, len(calls)), random.choice(possible))
    return replace(drawn, calls=tuple(calls))

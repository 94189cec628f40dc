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
from groupspec.conformance.schedules.answers import SLOW
from groupspec.conformance.schedules.scenario import ASKS_LOG, ASKS_TOPICS, LATENCY_MS, SEEKS, TOPICS, Scenario

ASKS_MOST: Final = 3
"""Further calls of one application."""


def draw(seed: int) -> Scenario:
    """The scenario of this number."""
    drawn, random = scenario.draw(seed), Random(f"further {seed}")
    if random.random() < 0.25:
        drawn = _asking(drawn, random)
    if random.random() < 0.1 and not (drawn.unreadable or drawn.holes or drawn.reset == "none"):
        drawn = _electing(drawn, random)
    if drawn.leads and not drawn.cooperative and not drawn.returns:
        drawn = _dividing(drawn, random)
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


def _electing(drawn: Scenario, random: Random) -> Scenario:
    """Leaders change, or a topic is made anew, while it reads; or while it goes elsewhere as logs are compared."""
    elects_ms = random.choice((1_000, 1_500, 3_000, 5_000, 9_000))
    calls = tuple(call for call in drawn.calls if call not in SEEKS)
    elected = replace(drawn, calls=calls, last_calls=(), elects_ms=elects_ms, loses=random.choice((0, 0, 2, 5)))
    if random.random() < 0.5:
        return replace(elected, remakes=random.random() < 0.7)
    slow = {"OffsetForLeaderEpoch": (SLOW,) * random.randint(0, 3)}
    return replace(
        elected,
        calls=(*elected.calls, *(("poll", "seek") * random.randint(2, 6))),
        answers=elected.answers | slow,
        latency_ms=LATENCY_MS,
        poll_ms=LATENCY_MS,
    )


def _dividing(drawn: Scenario, random: Random) -> Scenario:
    """It leads by another assignor, and the other member wants other topics."""
    return replace(
        drawn,
        assignors=random.choice((drawn.assignors, ("roundrobin",), ("sticky",))),
        another_wants=random.choice((TOPICS, TOPICS[:1], TOPICS[1:])),
    )

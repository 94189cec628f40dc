"""A topic that is deleted, and away for a while: then there is another one of its name, or none any more.

Further events, drawn as in `further`.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from groupspec.conformance.schedules.scenario import NEVER_MS, PARTITIONS, SEEKS, TOPICS, Scenario

GOES_MS: Final = (1_000, 2_500, 4_000, 6_000, 9_000, 12_000)
AWAY_MS: Final = (200, 700, 1_500, 2_500, 4_000, 6_000, 12_000)
"""For less than a heartbeat interval, so that nobody may notice; or for some polls and rounds."""

OTHERS_COME_MS: Final = 9_000
"""By then most of those members have, of whom a leader makes rounds; so what it does then is for the topic."""

LEFT_OUT: Final = (*SEEKS, "partitions_for_topic")
"""Calls of which no oracle says what they do with a topic that is away."""


def with_a_topic_away(drawn: Scenario, random: Random) -> Scenario:
    """The first topic is deleted, and after a while there is another one of its name, maybe with other partitions."""
    leads = not drawn.manual and (drawn.leads or random.random() < 0.15)
    overlooked, stays = not (leads or drawn.manual) and random.random() < 0.7, random.random() < 0.7
    goes_ms = random.choice(GOES_MS) + leads * OTHERS_COME_MS
    may_be_for_ever = not (drawn.manual or overlooked) and random.random() < 0.3
    away_ms = NEVER_MS if may_be_for_ever else random.choice(AWAY_MS)
    sizes = (PARTITIONS, PARTITIONS, PARTITIONS + 2, 1)
    count = PARTITIONS if drawn.manual or overlooked else random.choice(sizes[: -1 if leads else None])
    # A sticky leader keeps partitions that the new topic does not have: Java's AbstractStickyAssignor looks at topics.
    comes = ((goes_ms + away_ms, TOPICS[0], count),) if away_ms < NEVER_MS else ()
    pattern = random.choice(("orders", ".*")) if not drawn.manual and random.random() < 0.15 else ""
    return replace(
        _of_one_kind(drawn),
        pattern=pattern,
        breaks=() if pattern else drawn.breaks,
        answers=drawn.answers | ({"Metadata": ()} if pattern else {}),  # of a list it is a topic less, or of no leader
        elects_ms=goes_ms,
        away_ms=away_ms,
        remakes=True,
        loses=random.choice((0, 0, 2)),
        topic_changes=((goes_ms, TOPICS[0], 0), *comes),
        leads=leads,
        overlooked=overlooked,
        timers_race=drawn.timers_race and not stays,
        others=tuple(other for other in drawn.others if not (stays and other[0].startswith("close"))),
        calls=tuple(call for call in drawn.calls if call not in LEFT_OUT),
        last_calls=tuple(call for call in drawn.last_calls if call not in LEFT_OUT),
        reset="earliest" if drawn.reset == "none" else drawn.reset,
    )


def _of_one_kind(drawn: Scenario) -> Scenario:
    """Without what else can happen to topics, leaders and records."""
    drawn = replace(drawn, elects_again_ms=0, moves_ms=0, grows_ms=0, leaders=1, pattern="")
    return replace(drawn, unreadable=False, holes=False, returns=False)

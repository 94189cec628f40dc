"""Calls that come while a request is under way: some of them, and those that seldom meet its answer.

`meetings.json` has how often, in what is drawn otherwise, an answer comes in a call; what is rare there is drawn here,
the more often the rarer it is. `meetings` counts it anew.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from groupspec.conformance.schedules.answers import SLOW
from groupspec.conformance.schedules.drawing import CALLS
from groupspec.conformance.schedules.scenario import ASKS_LOG, ASKS_TOPICS, LATENCY_MS, SEEKS, UNTIL, Scenario

COUNTED: Final = Path(__file__).with_name("meetings.json")

COMPARED: Final = "OffsetForLeaderEpoch"
MEANWHILE: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    "FindCoordinator": ((),),
    "JoinGroup": ((), ("enforce_rebalance",), ("other topics",)),
    "SyncGroup": ((), ("enforce_rebalance",), ("other topics",)),
    "Heartbeat": ((),),
    "OffsetCommit": (("poll", "commit_async"), ("poll", "enforce_rebalance")),
    "OffsetFetch": ((), ("other topics",)),
    "ListOffsets": ((), ("other topics",)),
    "Fetch": (("poll",),),
    "Metadata": ((), ("other topics",)),
    COMPARED: ((),),
}
"""Requests, and what an application does in order to have one sent."""

OF_THE_GROUP: Final = ("JoinGroup", "SyncGroup", "Heartbeat")
MOVES: Final = ("seek", "seek", "commit", "commit", "commit_async", "commit one", "pause", "unsubscribe")

OFTEN: Final = 0.1
"""How often a rare meeting is drawn."""

MEETS: Final = (
    *("poll", "commit", "commit one", "commit nothing", "commit_async", "committed", "position", "group_metadata"),
    *("unsubscribe", "close", "subscribe again", "other topics", "seek", "pause", *ASKS_LOG, *ASKS_TOPICS),
)
"""Calls that an answer may meet, or come just after."""


def of_a_call_meanwhile(drawn: Scenario, random: Random) -> Scenario:
    """Its next call comes while a request is under way, and maybe another one; or it is closed just then."""
    api = random.choice((*MEANWHILE, "OffsetCommit", *(COMPARED,) * 4))
    may_elect = not (drawn.unreadable or drawn.holes or drawn.pattern or drawn.reset == "none")
    if api == COMPARED and not drawn.elects_ms and not may_elect:
        api = "OffsetCommit"
    seeks = () if api == COMPARED or drawn.elects_ms else SEEKS
    calls: list[str] = []
    for _ in range(random.choice((1, 1, 2))):
        then = random.choice((*MOVES, *MOVES, *CALLS, *seeks, "other topics"))
        calls += [*random.choice(MEANWHILE[api]), f"{UNTIL}{api}", then]
    at = 1 if api == COMPARED else random.randint(1, len(drawn.calls))
    ends = random.random() < 0.25
    return _widened(
        drawn, api, (*drawn.calls[:at], *calls), (f"{UNTIL}{api}",) if ends else drawn.calls[at:], ends, random
    )


def _widened(
    drawn: Scenario, api: str, calls: Sequence[str], then: Sequence[str], ends: bool, random: Random
) -> Scenario:
    """With these calls; for logs to be compared, leaders change as it reads."""
    widened = replace(
        drawn,
        calls=(*calls, *then),
        last_calls=() if ends else drawn.last_calls,
        ends_early=ends or drawn.ends_early,
        latency_ms=LATENCY_MS,
    )
    if api != COMPARED:
        return widened
    return replace(
        widened,
        calls=tuple(call for call in widened.calls if call not in SEEKS),
        last_calls=tuple(call for call in widened.last_calls if call not in SEEKS),
        elects_ms=random.choice((3_500, 4_500)),
        loses=random.choice((0, 2, 5)),
        remakes=False,
        timers_race=False,
        shares=((0, 1), *drawn.shares[1:]),
        answers={"Heartbeat": (), "JoinGroup": (), COMPARED: (SLOW,) * random.randint(0, 2)},
    )


@cache
def rarity() -> Mapping[tuple[str, str], float]:
    """By call and API that is answered in it: the rarer, the higher."""
    met: Counter[tuple[str, str]] = Counter()
    for call, _, what, count in json.loads(COUNTED.read_text(encoding="utf-8"))["met"]:
        met[call, what] += count
    return {(call, api): 1 / (1 + met[call, api]) for call in MEETS for api in MEANWHILE}


def of_a_rare_meeting(drawn: Scenario, random: Random) -> Scenario:
    """The same scenario, or seldom with a call in which an answer comes that comes then in hardly any other one."""
    if random.random() >= OFTEN:
        return drawn
    pairs = rarity()
    [(call, api)] = random.choices([*pairs], [*pairs.values()])
    if not _is_possible(drawn, call, api):
        return drawn
    ends = call == "close"
    asks = (*random.choice(MEANWHILE[api]), f"{UNTIL}{api}")
    at = 1 if api == COMPARED else random.randint(1, len(drawn.calls))
    return _widened(drawn, api, (*drawn.calls[:at], *asks), () if ends else (call, *drawn.calls[at:]), ends, random)


def _is_possible(drawn: Scenario, call: str, api: str) -> bool:
    """Whether an application like this one can have that, and its oracles can tell who has asked what.

    Two askers in one member, each with a backoff of its own, cannot be told from one that does not wait.
    """
    if drawn.manual and api in OF_THE_GROUP:
        return False
    if call == "seek" and drawn.remakes:
        return False  # where it goes on in the new topic, with nothing read of either, no oracle says yet
    if api == COMPARED and (drawn.unreadable or drawn.holes or drawn.pattern or drawn.reset == "none"):
        return False
    if call in ASKS_TOPICS:
        return not (drawn.pattern or drawn.answers.get("Metadata"))
    return call not in ASKS_LOG or not drawn.answers.get("ListOffsets")

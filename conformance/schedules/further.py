"""Scenarios as they are run: those of `scenario`, some of them with further events.

What is here is drawn from a stream of its own, and only added. So what comes here later leaves all other scenarios, and
the schedules under which something was found, as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from groupspec.conformance.schedules import drawing
from groupspec.conformance.schedules.answers import BEHIND, CLOSINGS, CUT, GARBLED, MOVED, SLOW
from groupspec.conformance.schedules.brokers import WITH_BROKERS_OF_THEIR_OWN, of_brokers, of_slow_brokers
from groupspec.conformance.schedules.drawing import IN_CALLBACKS, LATENCIES_MS, MORE_IN_CALLBACKS
from groupspec.conformance.schedules.meanwhile import of_a_call_meanwhile, of_a_rare_meeting
from groupspec.conformance.schedules.passing import of_what_passes
from groupspec.conformance.schedules.scenario import (
    AFTER_WORK,
    ASKS_LOG,
    ASKS_TOPICS,
    LATENCY_MS,
    LATER,
    NEVER_MS,
    PARTITIONS,
    PATTERNS,
    SEEKS,
    TOPICS,
    Scenario,
)
from groupspec.conformance.schedules.topic_away import with_a_topic_away

CHANGES_MS: Final = (500, 1_200, 2_500, 4_000, 6_000)
"""When topics come and go."""

TAKEN_AWAY: Final = ("REBALANCE_IN_PROGRESS", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
FURTHER_IN_CALLBACKS: Final = ("commit one", "pause", "resume", "look", "enforce_rebalance", "subscribe again")

INSIDE: Final = ("commit", "commit one", "commit_async", "committed", "position", "group_metadata")
"""Calls that a callback makes after it has worked."""

ASKS_MOST: Final = 3
"""Further calls of one application."""


def draw(seed: int) -> Scenario:
    """The scenario of this number."""
    drawn, random = drawing.draw(seed), Random(f"further {seed}")
    if random.random() < 0.25:
        drawn = _asking(drawn, random)
    if random.random() < 0.1 and not (drawn.unreadable or drawn.holes or drawn.reset == "none"):
        drawn = _electing(drawn, random)
    if drawn.leads and not drawn.cooperative and not drawn.returns:
        drawn = _dividing(drawn, random)
    random = Random(f"yet further {seed}")
    if random.random() < 0.1:
        drawn = _matching(drawn, random)
    if drawn.leads and not drawn.returns and random.random() < 0.7:
        drawn = _joined_by_a_third(drawn, random)
    if random.random() < 0.08:
        drawn = _closing(drawn, random)
    if random.random() < 0.04:
        drawn = _moving(drawn, random)
    if random.random() < 0.15:
        drawn = of_a_call_meanwhile(drawn, random)
    if random.random() < 0.08:
        drawn = _inside(drawn, random)
    drawn = of_a_rare_meeting(drawn, Random(f"meetings {seed}"))
    drawn = of_slow_brokers(drawn, Random(f"brokers {seed}"))
    drawn = of_what_passes(drawn, Random(f"passing {seed}"))
    drawn = _with_choices_of_topics(drawn, Random(f"overlooked {seed}"))
    if seed % 20 in WITH_BROKERS_OF_THEIR_OWN:
        drawn = replace(drawn, brokers=of_brokers(drawn, Random(f"releases {seed}")))
    return _with_rare_events(drawn, Random(f"last {seed}"))


def _with_choices_of_topics(drawn: Scenario, random: Random) -> Scenario:
    """Now and then offset 0, one topic instead of another, or one that is away for a while."""
    drawn = replace(drawn, from_start=random.random() < 0.1, swaps=random.random() < 0.4)
    return with_a_topic_away(drawn, random) if random.random() < 0.06 else drawn


def _with_rare_events(drawn: Scenario, random: Random) -> Scenario:
    """Seldom a wakeup in a callback, a compacted log, a connection that ends throttled, a broker that is behind.

    Or an assignment that cannot be read.
    """
    if random.random() < 0.03 and not drawn.is_closed_by_others:
        drawn = _woken_inside(drawn, random)
    drawn = replace(drawn, compacted=drawn.holes and random.random() < 0.5)
    asks = drawn.all_calls & {*ASKS_TOPICS, *ASKS_LOG}  # with a backoff of its own, as in `brokers.of_brokers`
    if drawn.brokers is not None and drawn.brokers.throttles and not asks and random.random() < 0.6:
        drawn = replace(drawn, brokers=replace(drawn.brokers, ends_held=True))
    if drawn.elects_ms and not drawn.remakes and not drawn.all_calls & {*ASKS_TOPICS} and random.random() < 0.5:
        behind = tuple(random.choice(("", BEHIND, BEHIND)) for _ in range(6))
        drawn = replace(drawn, answers=drawn.answers | {"Metadata": drawn.answers.get("Metadata") or behind})
    if random.random() < 0.02 and not drawn.manual:
        garbled = (*("",) * random.randint(0, 2), GARBLED)
        drawn = replace(drawn, answers=drawn.answers | {"SyncGroup": (*garbled, *drawn.answers.get("SyncGroup", ()))})
    return drawn


def _woken_inside(drawn: Scenario, random: Random) -> Scenario:
    """A wakeup comes while a callback works, which then makes a call; so it is for the next poll()."""
    then = [f"{AFTER_WORK}{random.choice(INSIDE)}" for _ in range(4)]
    return replace(
        drawn,
        callbacks=tuple(random.choice(("", each, each)) for each in then),
        others=(("wakeup", 0),),
        others_at=random.choice(("SyncGroup", "SyncGroup", "OffsetCommit")),
        others_wait_ms=random.choice(LATENCIES_MS),
    )


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


def _matching(drawn: Scenario, random: Random) -> Scenario:
    """It subscribes by pattern, and topics that match come, go, and come back."""
    sizes = {LATER: random.choice((1, PARTITIONS)), **dict.fromkeys(TOPICS, PARTITIONS)}
    changes = []
    for _ in range(random.choice((1, 1, 2, 3))):
        topic = random.choice((LATER, LATER, *TOPICS))
        count = random.choice((0, sizes[topic])) if topic == LATER else random.choice((0, 0, sizes[topic]))
        changes.append((random.choice(CHANGES_MS), topic, count))
    calls = tuple(call for call in drawn.calls if call != "partitions_for_topic")
    return replace(
        drawn,
        pattern=random.choice(PATTERNS),
        topic_changes=tuple(sorted(changes)) if random.random() < 0.8 else (),
        calls=calls,
        last_calls=tuple(call for call in drawn.last_calls if call != "partitions_for_topic"),
        manual=False,
        breaks=(),
        elects_ms=0,
        remakes=False,
        returns=False,
        grows_ms=0,
    )


def _joined_by_a_third(drawn: Scenario, random: Random) -> Scenario:
    """A third member comes while what it has divided stands, soon or later, and may leave again."""
    comes_ms = random.choice((drawn.another_ms, 1_000, 3_000, 9_000))
    stays_ms = random.choice((NEVER_MS, NEVER_MS, 3_000, 9_000))
    return replace(drawn, third_ms=(comes_ms, comes_ms + stays_ms))


def _closing(drawn: Scenario, random: Random) -> Scenario:
    """The group fails as the consumer is being closed, or has done so just before."""
    before, at_close = random.choice(CLOSINGS)
    return replace(
        drawn,
        calls=(*drawn.calls, *(("work", "work") if before else ())),
        answers=drawn.answers | {api: (*drawn.answers.get(api, ()), *errors) for api, errors in before.items()},
        at_close=at_close,
        ends_early=bool(before) or drawn.ends_early,
        auto_commit=random.random() < 0.7,
    )


def _moving(drawn: Scenario, random: Random) -> Scenario:
    """It commits while its group gets another coordinator, or its partitions other leaders."""
    commits = ("poll", random.choice(("commit", "commit one", "commit_async")))
    at = random.randint(1, len(drawn.calls))
    moved = ("",) * random.randint(0, 2) + (
        random.choice((MOVED, CUT, "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")),
    )
    return replace(
        drawn,
        calls=(*drawn.calls[:at], *commits * random.randint(2, 4), *drawn.calls[at:]),
        answers=drawn.answers | {"OffsetCommit": moved * random.randint(1, 2)},
    )


def _inside(drawn: Scenario, random: Random) -> Scenario:
    """What is taken away, in either way, is told to a callback that does something itself."""
    heartbeats = [random.choice(TAKEN_AWAY) for _ in range(random.randint(1, 3))]
    callbacks = [random.choice((*IN_CALLBACKS[3:], *MORE_IN_CALLBACKS, *FURTHER_IN_CALLBACKS)) for _ in range(5)]
    quiet = random.random() < 0.7
    return replace(
        drawn,
        callbacks=tuple("" if quiet and number % 2 == 0 else what for number, what in enumerate(callbacks)),
        answers=drawn.answers | {"Heartbeat": (*heartbeats, *drawn.answers["Heartbeat"])},
        calls=(*drawn.calls, "work", "poll", "work", "poll"),
    )

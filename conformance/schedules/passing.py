"""Failures that pass, leaders that change again, and calls without a limit: further events, drawn as in `further`."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from groupspec.conformance.schedules.answers import PASSING, SLOW
from groupspec.conformance.schedules.scenario import ASKS_LOG, LATENCY_MS, SEEKS, UNTIL, Scenario

MEANWHILE: Final = ("other topics", "other topics", "seek", "pause", "commit_async", "unsubscribe", "enforce_rebalance")
"""What an application does before a request is answered that has to be made again."""

GOES_BACK: Final = (("poll", "commit", "seek", "commit"), ("poll", "commit_async", "seek", "commit", "poll"))
"""It has committed, and commits another position, of which no record was read yet."""


def of_what_passes(drawn: Scenario, random: Random) -> Scenario:
    """The same scenario, or seldom with such events."""
    if random.random() < 0.12:
        drawn = _failing(drawn, random)
    if random.random() < 0.08:
        drawn = _electing_again(drawn, random)
    if random.random() < 0.1 and not drawn.callbacks:  # a callback that waits longer than the poll interval is too long
        drawn = replace(drawn, sets_limits=False)
    if random.random() < 0.04:
        drawn = _overtaking(drawn, random)
    return drawn


def _failing(drawn: Scenario, random: Random) -> Scenario:
    """Brokers fail once or twice, and maybe the application goes on before it hears of it."""
    # Two askers in one member, each with a backoff of its own, cannot be told from one that does not wait.
    possible = [api for api in PASSING if not (api == "ListOffsets" and {*ASKS_LOG} & drawn.all_calls)]
    failing = random.sample(possible, random.choice((1, 2)))
    answers = dict(drawn.answers)
    for api in failing:
        before = ("",) * random.choice((0, 0, 1, 2))
        failures = [random.choice(PASSING[api]) for _ in range(random.choice((1, 1, 2)))]
        answers[api] = (*before, *failures, *answers.get(api, ()))
    failed = replace(drawn, answers=answers)
    if random.random() < 0.5:
        return failed
    at = random.randint(1, len(drawn.calls))
    then = (f"{UNTIL}{failing[0]}", random.choice(MEANWHILE))
    return replace(failed, calls=(*drawn.calls[:at], *then, *drawn.calls[at:]), latency_ms=LATENCY_MS)


def _overtaking(drawn: Scenario, random: Random) -> Scenario:
    """It asks for one commit after the other, each of which takes long, while automatic ones become due."""
    commits = ("poll", random.choice(("commit_async", "commit_async", "commit")))
    at = random.randint(1, len(drawn.calls))
    return replace(
        drawn,
        calls=(*drawn.calls[:at], *commits * random.randint(3, 6), *drawn.calls[at:]),
        answers=drawn.answers | {"OffsetCommit": (SLOW,) * random.randint(2, 6)},
        poll_ms=200,
        auto_commit=True,
    )


def _electing_again(drawn: Scenario, random: Random) -> Scenario:
    """Leaders change twice, or without a new epoch, as brokers have it that know of none, or do not count them.

    (As librdkafka's issues 4796 and 4804 have it: a partition led by another broker of the same epoch, or of none.)
    """
    moves_ms = random.choice((1_200, 3_000, 6_000, 9_000))
    if not drawn.elects_ms and random.random() < 0.5:
        return replace(drawn, leaders=1, moves_ms=moves_ms)
    if drawn.remakes or drawn.unreadable or drawn.holes or drawn.pattern or drawn.reset == "none" or drawn.returns:
        return drawn
    elects_ms = drawn.elects_ms or random.choice((1_000, 1_500, 3_000, 5_000))
    calls = tuple(call for call in drawn.calls if call not in SEEKS)
    goes = random.choice(GOES_BACK) if random.random() < 0.5 else ()
    return replace(
        drawn,
        calls=(*calls, *goes),
        last_calls=tuple(call for call in drawn.last_calls if call not in SEEKS),
        elects_ms=elects_ms,
        elects_again_ms=elects_ms + random.choice((200, 500, 1_000, 3_000)),
        moves_ms=random.choice((0, 0, moves_ms)),
        loses=random.choice((0, 0, 2)),
        leaders=1,
    )

"""How a scenario is drawn: from its number alone, so that this replays it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from groupspec.conformance.schedules.answers import (
    ANSWERS,
    ENVIRONMENTS,
    FENCES,
    MOVED,
    REFUSALS,
    REFUSED_BY,
    SLOW,
)
from groupspec.conformance.schedules.scenario import COOPERATIVE, LATENCY_MS, NEVER_MS, REFUSED, TOPICS, Scenario

SHARES: Final = ((0, 1), (0,), (1, 2), (0, 1, 2), ())

ASSIGNORS: Final = (
    *(COOPERATIVE, COOPERATIVE, COOPERATIVE, COOPERATIVE, ("range",), ("range",)),
    *(("range", "roundrobin"), ("sticky", "range"), (*COOPERATIVE, "range")),
)

FRESH: Final = ((), (), (), (0, 1, 2), (0, 1, 2), (1,))
"""Partitions without a committed offset."""

CALLS: Final = (
    *(
        "poll for nothing",
        "poll for long",
        "work too long",
        "work for a while",
        "commit",
        "commit one",
        "commit nothing",
        "commit_async",
        "commit_async that raises",
        "committed",
        "position",
        "seek",
        "pause",
        "pause one",
        "resume one",
    ),
    *("resume", "subscribe again", "unsubscribe", "group_metadata", "enforce_rebalance"),
)
"""What the application does besides poll() and work."""

THEMES: Final = (
    ("pause", "pause one", "resume one", "resume"),
    ("seek", "pause one", "position", "poll for nothing"),
    ("commit", "commit one", "commit nothing", "commit_async", "seek"),
    ("unsubscribe", "subscribe again", "enforce_rebalance", "group_metadata"),
)
"""Calls that have to do with each other."""

IN_CALLBACKS: Final = ("", "", "", "raise", "raise", "work", "commit", "commit_async", "seek", "position", *REFUSED)

ENDINGS: Final = ("close", "close", "close at once", "block", "block that raises")
"""`block`: it leaves the `with` block of its consumer."""

AT_MOST: Final = (1, 3, 500)
"""Where a Fetch brings two records: some stay behind, all of one partition come, all of everything."""

LATENCIES_MS: Final = (LATENCY_MS, 2 * LATENCY_MS, 3 * LATENCY_MS)
"""When answers come, and other threads act at the very same moment."""

OTHER_THREADS: Final = ("wakeup", "close", "close at once")

OTHERS_AT: Final = (*("",) * 6, "JoinGroup", "SyncGroup", "SyncGroup", "OffsetFetch", "Fetch", "OffsetCommit")

MORE_IN_CALLBACKS: Final = ("other topics", "committed", "group_metadata")


def draw(seed: int) -> Scenario:
    """The scenario of this number.

    Few errors, since a run with many never gets anywhere; and few kinds of calls, often, so that each meets each at
    every moment (Groce et al., Swarm Testing, ISSTA 2012).
    """
    random = Random(seed)
    calm = random.random() < 0.3  # nothing but one kind of call, whose effects nothing else covers up
    passing = ("poll", "work") if random.random() < 0.8 else ()
    drawn = random.sample(CALLS, 1 if calm else random.choice((1, 2, 4)))
    calls = ("poll", *passing, *(random.choice(THEMES) if random.random() < 0.3 and not calm else drawn))
    kinds = random.sample(OTHER_THREADS, random.choice((1, 1, 2))) if random.random() < 0.5 else ()

    def some(choices: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(random.choice(choices) for _ in range(random.randint(0, most)))

    def maybe(choices: Sequence[str], most: int) -> tuple[str, ...]:
        return some(choices, most) if random.random() < 0.5 and not calm else ()

    made = ("poll", *(random.choice(calls) for _ in range(random.randint(1, 12))))
    rare = [number for number, call in enumerate(made, 1) if call not in ("poll", "work")]
    moments = rare if rare and random.random() < 0.7 else range(len(made) + 2)  # 0: subscribe(), the last: close()
    troubled = random.sample(sorted(ANSWERS), 0 if calm else random.choice((0, 0, 1, 2, 3)))
    answers = {"Heartbeat": maybe(("", "REBALANCE_IN_PROGRESS"), 4), "JoinGroup": maybe(("", SLOW), 4)}
    answers |= {api: some(("", "", *ANSWERS[api]), 4) for api in troubled}
    static = random.random() < 0.2
    if static and random.random() < 0.3:
        fence = random.choice(FENCES)
        answers[fence] = (*answers.get(fence, ()), "FENCED_INSTANCE_ID")
    if not calm and random.random() < 0.15:
        refusal = random.choice(REFUSALS)
        refused = random.choice(REFUSED_BY[refusal])
        answers[refused] = (*answers.get(refused, ()), refusal)
    breaks = [(random.choice(sorted(ANSWERS)), random.randint(1, 3))] if not calm and random.random() < 0.1 else ()
    made_so_far = Scenario(
        assignors=random.choice(ASSIGNORS),
        static=static,
        topics=TOPICS[:1],
        leads=False,
        grows_ms=0,
        fresh=random.choice(FRESH),
        reset=random.choice(("earliest", "latest")),
        auto_commit=random.random() < 0.5,
        answers=answers,
        breaks=tuple(breaks),
        latency_ms=random.choice((0, 0, LATENCY_MS)),
        poll_ms=random.choice((2_000, 2_000, 2_000, 200, 200, 0)),
        at_most=random.choice(AT_MOST),
        shares=tuple(random.choice(SHARES) for _ in range(random.randint(1, 4))),
        calls=made,
        callbacks=maybe(IN_CALLBACKS, 4),
        others=tuple((what, random.choice(moments)) for what in (some(kinds, 3) if kinds else ())),
        timers_race=random.random() < 0.4,
        ending=random.choice(ENDINGS),
        others_wait_ms=random.choice((0, 0, 100, *LATENCIES_MS)),
    )
    return _widened(made_so_far, random)


def _widened(scenario: Scenario, random: Random) -> Scenario:
    """With more topics, as a leader, or in an environment of its own, each seldom."""
    calls, callbacks, answers = scenario.calls, scenario.callbacks, scenario.answers
    topics = random.choice((TOPICS[:1], TOPICS[:1], TOPICS))
    leads = random.random() < 0.25
    if random.random() < 0.25:
        place = random.randint(1, len(calls))
        calls = (*calls[:place], "other topics", *calls[place:])
    if random.random() < 0.1:
        callbacks = (random.choice(MORE_IN_CALLBACKS), *callbacks)
    if random.random() < 0.2:
        answers, then = random.choice(ENVIRONMENTS)
        calls = (*calls[:1], *then, *calls[1:])
    manual, elects_ms = random.random() < 0.08, random.choice((0,) * 30 + (1_200, 3_000, 9_000))
    unreadable = random.random() < 0.1 and not elects_ms
    drawn = replace(
        scenario,
        manual=manual,
        timers_race=scenario.timers_race and not manual,
        reset="none" if random.random() < 0.1 and not elects_ms else scenario.reset,
        elects_ms=elects_ms,
        loses=random.choice((0, 2, 3, 5)),
        unreadable=unreadable,
        holes=random.random() < 0.1 and not (elects_ms or unreadable),
        deserializing_ms=random.choice((0,) * 7 + (LATENCY_MS,)),
        last_calls=tuple(random.sample(CALLS, 1)) if random.random() < 0.3 else (),
        others_at=random.choice(OTHERS_AT),
        ends_early=random.random() < 0.1,
        topics=topics,
        leads=leads and not manual,
        another_ms=random.choice((0, 0, 1_000, 6_000)),
        another_claims=random.choice(("", "", "stale", "the same")),
        grows_ms=random.choice((0, 1_200, 2_500, 4_000, 12_000)) if leads and not manual else 0,
        calls=calls,
        callbacks=callbacks,
        answers={"Heartbeat": (), "JoinGroup": (), **(_of_nobody(answers, random) if manual else answers)},
    )
    if drawn.static and drawn.leads and random.random() < 0.4:
        return replace(drawn, returns=True, another_ms=NEVER_MS, grows_ms=random.choice((0, 4_000, 9_000, 12_000)))
    return drawn


def _of_nobody(answers: dict[str, tuple[str, ...]], random: Random) -> dict[str, tuple[str, ...]]:
    """The same for who is no member: nobody else has its name, and only commits tell it that the coordinator moves."""
    moved = (MOVED,) if random.random() < 0.5 else ()
    wanted = answers | {"OffsetCommit": (*moved, *answers.get("OffsetCommit", ()))}
    return {api: tuple(e for e in errors if e != "FENCED_INSTANCE_ID") for api, errors in wanted.items()}

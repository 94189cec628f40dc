"""Brokers that are slow, silent or not yet sure who leads, or of other releases: further events, as in `further`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

from groupspec.conformance.encoded_connections import LATER, NEWEST, Brokers, spoken
from groupspec.conformance.schedules.answers import NEVER, OF_THE_CLUSTER, SLOW
from groupspec.conformance.schedules.drawing import LATENCIES_MS
from groupspec.conformance.schedules.scenario import ASKS_LOG, ASKS_TOPICS, LATENCY_MS, SEEKS, Scenario

EVERYWHERE: Final = (0, 1, 2)
"""Partitions of which nothing is committed, so that all leaders are asked where they begin."""

WITH_BROKERS_OF_THEIR_OWN: Final = (13, 17)
"""Of each twenty seeds those whose runs have such a network: the others stay as they were."""

THROTTLED: Final = ("Heartbeat", "JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "Fetch", "Metadata")
THROTTLES_MS: Final = (0, 0, 100, 700, 2_500)
CLOSES_MS: Final = (0, 0, 2_500, 4_000, 8_000)
WITH_INSTANCE_IDS: Final = "2.3"
WITH_EPOCHS: Final = "2.4"
"""With the first leader epochs in Metadata that Java trusts (MetadataResponse.hasReliableLeaderEpochs)."""

WITHOUT_DIVISION: Final = "3.4"
"""From then on JoinGroup says that what was divided stands (KIP-814)."""


def of_slow_brokers(drawn: Scenario, random: Random) -> Scenario:
    """The same scenario, or seldom with such brokers."""
    topics_change = drawn.elects_ms or drawn.pattern or drawn.topic_changes
    if random.random() < 0.1 and not topics_change:
        drawn = _of_many_brokers(drawn, random)
    if random.random() < 0.1:
        drawn = _waiting(drawn, random)
    return drawn


def _of_many_brokers(drawn: Scenario, random: Random) -> Scenario:
    """Two of them lead; leaders change at once or one by one, and the brokers tell of it late, or of none just now."""
    moved = ("", "", SLOW, "NOT_LEADER_OR_FOLLOWER")
    answers = {"Metadata": tuple(random.choice(("", *OF_THE_CLUSTER, *OF_THE_CLUSTER)) for _ in range(4))}
    answers |= {api: tuple(random.choice(moved) for _ in range(4)) for api in ("Fetch", "ListOffsets")}
    if random.random() < 0.3:
        answers["ListOffsets"] = ("NOT_LEADER_OR_FOLLOWER",) * 2
    # Two askers in one member, each with a backoff of its own, cannot be told from one that does not wait.
    if drawn.all_calls & {*ASKS_TOPICS}:
        del answers["Metadata"]
    fresh = random.choice((drawn.fresh, EVERYWHERE)) if drawn.reset != "none" else drawn.fresh
    return replace(drawn, answers=_also(drawn, answers), fresh=fresh, leaders=random.choice((1, 2, 2)))


def _waiting(drawn: Scenario, random: Random) -> Scenario:
    """A call waits for what a broker does not answer, or answers late; and maybe another thread interrupts it."""
    call = random.choice((*ASKS_LOG, "position", "position", "position"))
    calls = (*drawn.calls, *(random.choice(SEEKS),) * (call == "position" and not drawn.elects_ms), call)
    answers = {"ListOffsets": tuple(random.choice((NEVER, SLOW, "")) for _ in range(3))}
    waits = replace(drawn, calls=calls, answers=_also(drawn, answers))
    if drawn.others or random.random() < 0.3:
        return waits
    wait_ms = random.choice((100, *LATENCIES_MS))
    wakeup = (("wakeup", len(calls)),)
    return replace(waits, others=wakeup, others_at="", others_wait_ms=wait_ms, latency_ms=LATENCY_MS, timers_race=False)


def _also(drawn: Scenario, answers: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The drawn answers, and these of what nothing is drawn of."""
    return drawn.answers | {api: errors for api, errors in answers.items() if not drawn.answers.get(api)}


def of_brokers(drawn: Scenario, random: Random) -> Brokers:
    """Brokers in which the events of this scenario can happen."""
    releases = [*spoken()]
    oldest = releases[0]
    if drawn.static:
        oldest = WITH_INSTANCE_IDS
    if drawn.elects_ms:
        oldest = WITH_EPOCHS
    if drawn.returns:
        oldest = WITHOUT_DIVISION
    if drawn.remakes:
        oldest = NEWEST  # the others name topics in commits, whose second incarnation takes those of the first
    possible = releases[releases.index(oldest) :]
    apis = random.sample(THROTTLED, random.choice((0, 1, 2)))
    return Brokers(
        tuple(random.choice((*possible, LATER)) for _ in range(random.choice((1, 1, 2, 3)))),
        {api: tuple(random.choice(THROTTLES_MS) for _ in range(random.randint(1, 4))) for api in sorted(apis)},
        # Two askers in one member, each with a backoff of its own, cannot be told from one that does not wait.
        random.choice(CLOSES_MS) if not drawn.all_calls & {*ASKS_TOPICS, *ASKS_LOG} else 0,
    )

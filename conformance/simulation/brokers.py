"""How the brokers of a run are: of which releases, when they close connections, and who hears late of a deletion.

What only bytes can tell goes over `conformance.encoded_connections`, as in some schedules. Drawn from numbers of their
own: the runs of all other seeds stay what they were.
"""

from __future__ import annotations

from random import Random
from typing import Final

from groupspec.conformance.encoded_connections import LATER, NEWEST, Brokers, spoken

WITH_BROKERS_OF_THEIR_OWN: Final = (13, 17)
"""Of each twenty seeds those whose runs have such brokers, as in schedules; those that end in 7 have elections, too."""

THROTTLED: Final = ("Heartbeat", "JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "Fetch", "Metadata")
THROTTLES_MS: Final = (100, 700, 2_500, 6_000)
CLOSES_MS: Final = (0, 6_000, 20_000, 120_000)
"""connections.max.idle.ms. It is ten minutes by default, so that heartbeats keep a connection open."""

BEHIND_MS: Final = (0, 0, 300, 2_000, 15_000, 40_000)
"""How late a broker hears that a topic was deleted."""

WITH_INSTANCE_IDS: Final = "2.3"
WITH_EPOCHS: Final = "2.4"
"""With the first leader epochs in Metadata that Java trusts (MetadataResponse.hasReliableLeaderEpochs)."""

BY_ID: Final = "3.4"
"""Reads topics by id in Fetch, and by name in commits: those are by id from 4.2 on (KAFKA-14690)."""


def brokers(seed: int, static: bool, elects: bool, recreates: bool) -> Brokers:
    """Brokers in which the events of this run can happen, of one release, or of two as while they are upgraded."""
    random = Random(f"releases {seed}")
    releases = [*spoken()]
    oldest = BY_ID if recreates else WITH_EPOCHS if elects else WITH_INSTANCE_IDS if static else releases[0]
    possible = [*releases[releases.index(oldest) :], LATER]
    if recreates:
        possible = [*(r for r in possible if r not in (NEWEST, LATER)), random.choice((NEWEST, LATER))]
    drawn = tuple(random.choice(possible) for _ in range(random.choice((1, 1, 2))))
    return Brokers(drawn, closes_ms=random.choice(CLOSES_MS))

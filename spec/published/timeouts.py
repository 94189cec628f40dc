"""Heartbeats and timers as the threading refactor proposal has them.

The seeds' gate `state != STABLE`: heartbeats are enabled with the answer to SyncGroup. A cooperative member gets there
again without the JoinGroup that would have disabled them.

Sources: threading refactor proposal (Apache Kafka wiki), "Rebalance States"; Chrząszcz, "What does the heartbeat thread
do in Kafka Consumer?" (2019).
"""

from __future__ import annotations

from typing import Final

from groupspec.spec.overlay import Overlay
from groupspec.spec.timeouts import Timeouts

PUBLISHED: Final = Overlay(Timeouts)

PUBLISHED.ignored((Timeouts.IDLE, Timeouts.IN_FLIGHT), "heartbeats_enabled", because="already")

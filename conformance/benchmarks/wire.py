"""How long the wire kit takes for four clients that run in Python, every case of a member's path once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.wire.campaign import JOBS, run_campaign
from groupspec.conformance.wire.clients import IN_PYTHON
from groupspec.conformance.wire.scenarios import cases_of_path

CLIENTS: Final = ("reference", "kafka-python", "aiokafka", "confluent-kafka")
GOAL_SECONDS: Final = 60.0


def measure(now: Callable[[str], None]) -> list[Figure]:
    """One run."""
    now("wire: judging the four clients")
    cases = cases_of_path()
    campaign = run_campaign([IN_PYTHON[name] for name in CLIENTS], cases, jobs=JOBS)
    goal, reached = f"<= {GOAL_SECONDS:.0f} s", campaign.seconds <= GOAL_SECONDS
    note = f"{len(cases)} cases for each client, {len(campaign.verdicts()):,} verdicts; {os.cpu_count()} cores"
    return [Figure("wire kit, 4 clients", "s", [campaign.seconds], goal=goal, reached=reached, note=note)]

"""How late each answer of a run comes, drawn from a seed: for races that answers which come at once never bring about.

The nth answer to a request of one API has the same delay whenever it comes, so that a seed that met a race meets it
again, as far as the client does the same. Most answers are on time, as from a broker that is near; a late one comes
within what a heartbeat interval and a retry backoff of the kit allow. Fetch is left alone: a client may have its
heartbeats wait behind it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Final

from groupspec.conformance.wire.case import Case, racing
from groupspec.impl.broker.actions import Action, Default, Reply, ReplyAfter
from groupspec.impl.broker.log import WireEvent
from groupspec.impl.broker.server import ScriptedBroker

APIS: Final = (
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ListOffsets",
    "Metadata",
)
LATE: Final = 0.4
"""The part of the answers that are late."""
SEEDS: Final = 1_000_000
LATEST_MS: Final = 90
"""Less than a heartbeat interval of the kit, which is the shortest time that anything is judged by."""


def drawn_races(cases: Sequence[Case], races: int, seed: int) -> list[Case]:
    """So many of these cases, each with delays of its own; of each as many as of the others, give or take one."""
    draw = random.Random(seed)
    shuffled = draw.sample(cases, len(cases))
    return [racing(case, draw.randrange(SEEDS)) for case in islice(cycle(shuffled), races)]


class Delays:
    """Those of one run. `seed`: what draws them; None: every answer comes at once."""

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._count: Counter[str] = Counter()

    def next_ms(self, api: str) -> int:
        """How late the next answer of this API is."""
        if self._seed is None or api not in APIS:
            return 0
        self._count[api] += 1
        drawn = random.Random(f"{self._seed} {api} {self._count[api]}")
        return drawn.randint(1, LATEST_MS) if drawn.random() < LATE else 0


class DelayingBroker(ScriptedBroker):
    """A scripted broker whose answers are late by these delays; what the script answers late, or never, stays so."""

    delays = Delays(None)

    def action_for(self, request: WireEvent) -> Action:
        """See Script."""
        action = super().action_for(request)
        late_ms = self.delays.next_ms(request.api)
        return ReplyAfter(late_ms, action) if late_ms and isinstance(action, Reply | Default) else action

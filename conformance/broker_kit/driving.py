"""Groups driven at a broker: many at once, a request for each in every turn, and what was answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from groupspec.conformance.broker_kit.sending import Again, ServedDrawer
from groupspec.conformance.differential.drawing import Draws, Pace
from groupspec.conformance.differential.history import History
from groupspec.conformance.differential.wire import Wire, WireGroup
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.network.addresses import Address
from groupspec.impl.network.versions import VersionRange

QUIET_S: Final = 0.03
"""A broker may hold answers back for some milliseconds, to write several records at once."""
SLACK_MS: Final = 60
SESSIONS_MS: Final = (100, 1_100, 2_100)
"""Above the least that the broker takes."""
REBALANCES_MS: Final = (2_640, 3_640)
APART_MS: Final = 80
STEPS_MS: Final = (1_000, 700, 900, 1_100, 800)
LAST_MS: Final = 4_000
CALM: Final = Pace(sessions_ms=(120_000,), rebalances_ms=(240_000,))
"""No timer runs out."""
Key = TypeVar("Key")


@dataclass(frozen=True)
class Target:
    """The broker, and what is known of it.

    `place`: what commits are for.
    """

    address: Address
    settings: Settings
    served: Mapping[str, VersionRange]
    place: TopicPartition


def hurried(settings: Settings) -> Pace:
    """A pace at which timers run out, at times that are as far from those of requests as can be."""
    sessions = tuple(settings.min_session_timeout_ms + more for more in SESSIONS_MS)
    outside_ms = settings.max_session_timeout_ms + 1
    times = (*sessions, *REBALANCES_MS, settings.initial_rebalance_delay_ms)

    def nearest_ms(step_ms: int) -> int:
        return min(min(time % step_ms, -time % step_ms) for time in times if time)

    return Pace(max(STEPS_MS, key=nearest_ms), sessions, REBALANCES_MS, APART_MS, outside_ms=outside_ms)


def drawn(
    target: Target, pace: Pace, steps: int, names: Mapping[int, str], tell: Callable[[], None]
) -> dict[int, History]:
    """The histories of so many groups, by seed; `names` are theirs. A broker with timers is warmed up first."""
    return _run(
        target,
        {seed: ServedDrawer(name, seed, pace, target.place, target.served) for seed, name in names.items()},
        steps,
        pace,
        tell,
    )


def sent_again(target: Target, history: History, choices: Mapping[str, Sequence[int]]) -> dict[str, History]:
    """What the broker answers to parts of a history, each in a group of its own; by the group's name."""
    draws = {name: Again(name, history, kept) for name, kept in choices.items()}
    steps = max(each.left for each in draws.values())
    return _run(target, draws, steps, CALM, lambda: None)


def _run(
    target: Target, draws: Mapping[Key, Draws], steps: int, pace: Pace, tell: Callable[[], None]
) -> dict[Key, History]:
    groups = {key: WireGroup(each) for key, each in draws.items()}

    async def run() -> None:
        wire = Wire(target.address[1], host=target.address[0], quiet_s=QUIET_S)
        try:
            for _ in range(steps):
                going = [group for group in groups.values() if not isinstance(group.drawer, Again) or group.drawer.left]
                await wire.run(going, 1, pace.step_ms if pace.apart_ms else 0)
                tell()
            await wire.finish(list(groups.values()), LAST_MS if pace.apart_ms else 0)
        finally:
            waiting = [task for group in groups.values() for task in group.waiting]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            with contextlib.suppress(OSError):
                await wire.close()

    asyncio.run(run())
    return {key: group.history for key, group in groups.items()}

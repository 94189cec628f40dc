"""When a loop stood still: its ticks that came late.

A loop that ticks every `TICK_US` and gets no processor, or waits for another thread, ticks late; whatever arrived
meanwhile it reads late, and all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

TICK_US: Final = 10_000
LATE_US: Final = 15_000


class Ticks:
    """Takes each tick's time, and says when the next one is due. Times are microseconds of one monotonic clock."""

    def __init__(self, now_us: int) -> None:
        self._due_us = now_us + TICK_US
        self._stalls: list[tuple[int, int]] = []

    def tick(self, now_us: int) -> int:
        """The loop ticks, at this time or too early; returns in how many microseconds it has to tick again."""
        if now_us >= self._due_us:
            if now_us - self._due_us > LATE_US:
                self._stalls.append((self._due_us, now_us))
            self._due_us = now_us + TICK_US
        return self._due_us - now_us

    def stalls_us(self, since_us: int = 0) -> Sequence[tuple[int, int]]:
        """Start and end of each stall so far that ended at or after that time, in order; none overlaps another."""
        return tuple(stall for stall in self._stalls if stall[1] >= since_us)

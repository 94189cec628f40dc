"""Virtual time: what happens next happens at once, and nothing in between."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Final

from msgspec import Struct

MOST_IN_A_MOMENT: Final = 10_000
"""How much may happen in one millisecond; more is a loop that never ends."""

Act = Callable[[], None]


class Livelock(AssertionError):
    """Time stands still because something always happens."""


class Event(Struct):
    """Something that will happen, unless it is cancelled. `at_ms`: when."""

    at_ms: int
    act: Act | None

    def cancel(self) -> None:
        """It will not happen."""
        self.act = None


class Loop:
    """Events in the order of their times; of one time, in the order in which they were planned."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self._heap: list[tuple[int, int, Event]] = []
        self._numbers = count()
        self._in_this_moment = 0

    def at(self, at_ms: int, act: Act) -> Event:
        """Have this happen then, or now if that is over."""
        if at_ms < self.now_ms:
            at_ms = self.now_ms
        event = Event(at_ms, act)
        heapq.heappush(self._heap, (at_ms, next(self._numbers), event))
        return event

    def after(self, delay_ms: int, act: Act) -> Event:
        """Have this happen so much later."""
        return self.at(self.now_ms + delay_ms, act)

    def run_until(self, end_ms: int) -> None:
        """Let time pass. Livelock: it can't."""
        heap = self._heap
        while heap and heap[0][0] <= end_ms:
            at_ms, _, event = heapq.heappop(heap)
            if event.act is None:
                continue
            self._in_this_moment = self._in_this_moment + 1 if at_ms == self.now_ms else 0
            if self._in_this_moment > MOST_IN_A_MOMENT:
                raise Livelock(f"more than {MOST_IN_A_MOMENT} events at {at_ms} ms, and time does not go on")
            self.now_ms = at_ms
            event.act()
        self.now_ms = end_ms

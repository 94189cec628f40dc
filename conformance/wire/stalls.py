"""When the machine stood still: a clock that ticks, and writes down each tick that came late.

On a machine without a free core a heartbeat can be late through nobody's fault. The kit's own ticks are late then too; how
late is added to every bound that a rule sets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from groupspec.conformance.wire.log import now_us

TICK_US: Final = 10_000
LATE_US: Final = 15_000


class StallClock:
    """Use as a context manager; the thread ends with the block."""

    def __init__(self) -> None:
        self._stalls: list[tuple[int, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True, name="stall-clock")

    def __enter__(self) -> StallClock:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def stalls_us(self) -> Sequence[tuple[int, int]]:
        """Start and end of each stall so far."""
        return tuple(self._stalls)

    def longest_ms(self, since_us: int) -> float:
        """The longest stall since then."""
        return max((end - start for start, end in self._stalls if end >= since_us), default=0) / 1000

    def _tick(self) -> None:
        due = now_us() + TICK_US
        while not self._stop.wait(max(0, due - now_us()) / 1e6):
            late = now_us() - due
            if late > LATE_US:
                self._stalls.append((due, due + late))
            due = time.monotonic_ns() // 1000 + TICK_US

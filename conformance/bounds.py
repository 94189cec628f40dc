"""Bounds that more than one judge uses: the wire kit and the trace check mean the same by them."""

from __future__ import annotations

from typing import Final

IN_FLIGHT_US: Final = 50_000
"""What may still be under way when an answer is written: requests that arrive so soon after it were sent before it."""


def heartbeat_bound_ms(interval_ms: int) -> int:
    """How late "about every heartbeat.interval" may be: with the kit's settings, less than half the session timeout.

    A client's process may wait for a core without the kit noticing; measured on two busy cores, 3 intervals are too
    few.
    """
    return max(4 * interval_ms, interval_ms + 300)

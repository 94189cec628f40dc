"""Named deadlines. A timer of the core is a name and a time; nothing runs by itself.

A deadline is reached when now >= deadline: non-strict, as in Kafka's Java client since 2.1 (older clients, and
kafka-python, wait for now > deadline).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

ORDER: Final = (
    "lookup_backoff",
    "session",
    "poll_interval",
    "heartbeat",
    "join_backoff",
    "commit_backoff",
    "commit_deadline",
    "auto_commit",
    "offsets_backoff",
    "offsets_deadline",
    "questions_backoff",
    "questions_deadline",
    "metadata",
    "fetch_backoff",
    "close_deadline",
)
"""Every timer, in the order in which several that are due at once are fired.

The first four keep the order of Kafka's heartbeat thread: coordinator unknown, session expired, poll interval expired,
heartbeat due (AbstractCoordinator.HeartbeatThread).
"""

HEARTBEAT_TIMERS: Final = ("session", "poll_interval", "heartbeat")
"""The three of Kafka's `Heartbeat`."""


class Timers:
    """The core's deadlines in milliseconds of the driver's clock."""

    def __init__(self) -> None:
        self._deadlines_ms: dict[str, int] = {}

    def arm(self, name: str, deadline_ms: int) -> None:
        """Set a timer, or move it."""
        self._check(name)
        self._deadlines_ms[name] = deadline_ms

    def disarm(self, *names: str) -> None:
        """Stop timers; those that don't run stay stopped."""
        for name in names:
            self._check(name)
            self._deadlines_ms.pop(name, None)

    def is_armed(self, name: str) -> bool:
        """Whether this timer runs."""
        return name in self._deadlines_ms

    def deadline_ms(self, name: str) -> int | None:
        """When this timer is due; None if it does not run."""
        return self._deadlines_ms.get(name)

    def armed(self) -> dict[str, int]:
        """All running timers with their deadlines, in firing order."""
        return {name: self._deadlines_ms[name] for name in ORDER if name in self._deadlines_ms}

    def due(self, now_ms: int) -> list[str]:
        """The timers whose deadline is reached, in firing order."""
        due = [name for name, deadline_ms in self._deadlines_ms.items() if is_expired(deadline_ms, now_ms)]
        return sorted(due, key=ORDER.index)

    def next_deadline_ms(self, names: Collection[str] = ORDER) -> int | None:
        """The earliest deadline of these timers; None if none of them runs."""
        running = self._deadlines_ms
        if names is ORDER:
            return min(running.values()) if running else None
        return min((at_ms for name, at_ms in running.items() if name in names), default=None)

    def expire_now(self, name: str, now_ms: int) -> None:
        """Make a running timer due at once: how a test has timers expire in any order. KeyError if it does not run."""
        if name not in self._deadlines_ms:
            raise KeyError(f"timer {name!r} does not run; running are: {', '.join(self.armed()) or 'none'}")
        self._deadlines_ms[name] = now_ms

    def _check(self, name: str) -> None:
        assert name in ORDER, f"no timer {name!r}; the core has: {', '.join(ORDER)}"


def is_expired(deadline_ms: int, now_ms: int) -> bool:
    """Non-strict: the deadline itself counts as reached."""
    return now_ms >= deadline_ms

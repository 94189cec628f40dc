"""Timers by key. Nothing runs by itself: whoever has the clock takes the timers that are due."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

Action = Callable[[], None]
Key = tuple[str, ...]
"""What the timer is for, the group id, and the member id if it is a member's."""


class Timers:
    """Each key has one timer at most. Timers that are due together run in the order of their deadlines, then of age."""

    def __init__(self) -> None:
        self._timers: dict[Key, tuple[int, int, Key, Action]] = {}  # deadline, age
        self._numbers = count()

    def start(self, key: Key, deadline_ms: int, action: Action) -> None:
        """Start this timer, or start it anew."""
        self._timers[key] = (deadline_ms, next(self._numbers), key, action)

    def stop(self, key: Key) -> None:
        """Stop this timer; one that does not run stays stopped."""
        self._timers.pop(key, None)

    def stop_if(self, chosen: Callable[[Key], bool]) -> None:
        """Stop every timer whose key is chosen."""
        for key in [key for key in self._timers if chosen(key)]:
            del self._timers[key]

    def deadline_ms(self, key: Key) -> int | None:
        """When this timer is due; None if it does not run."""
        return self._timers[key][0] if key in self._timers else None

    def next_deadline_ms(self) -> int | None:
        """The earliest deadline; None if no timer runs."""
        return min(self._timers.values())[0] if self._timers else None

    def take_due(self, now_ms: int) -> tuple[int, Action] | None:
        """The first timer that is due: its deadline and its action. It runs no more. None: no timer is due."""
        if not self._timers:
            return None
        deadline_ms, _, key, action = min(self._timers.values())
        if deadline_ms > now_ms:
            return None
        del self._timers[key]
        return deadline_ms, action

"""How often one member may turn, and ask, in a stretch of virtual time: more is a loop that spins.

D3   A request that fails comes again after its backoff.
H2   A heartbeat that is due is sent once, and waited for.
J8   Metadata are asked for when something has called for them.
"""

from __future__ import annotations

from collections import deque
from typing import Final

MOST_IN_A_SECOND: Final = 40
"""Requests of one kind in one virtual second: the backoff is 100 ms, and the calls are few (rule D3)."""

FOR_LONG_MS: Final = 10_000
MOST_FOR_LONG: Final = 30
"""Metadata within that time: now and then each leader is another one, and what is missing is asked for each second."""

TURNS_IN_A_SECOND: Final = 200
"""Turns of the background thread in one virtual second; a busy one makes 60."""


class Rates:
    """Of one member."""

    def __init__(self) -> None:
        self._recent: dict[str, deque[int]] = {}

    def turned(self, now_ms: int) -> None:
        """The background thread has turned. Raises AssertionError, as `asked` does."""
        assert self._count("turns", now_ms) <= TURNS_IN_A_SECOND, f"{TURNS_IN_A_SECOND} turns in a second (rule H2)"

    def asked(self, api: str, now_ms: int) -> None:
        """A request is on its way."""
        count = self._count(api, now_ms)
        assert count <= MOST_IN_A_SECOND, f"{count} times {api} within a second (rules D3, H2)"
        if api == "Metadata":
            count = self._count("Metadata for long", now_ms, FOR_LONG_MS)
            assert count <= MOST_FOR_LONG, f"{count} times Metadata within {FOR_LONG_MS} ms (rules D3, J8)"

    def _count(self, what: str, now_ms: int, within_ms: int = 1_000) -> int:
        """How often this has happened within a virtual second, or another time."""
        recent = self._recent.setdefault(what, deque())
        recent.append(now_ms)
        while recent[0] < now_ms - within_ms:
            recent.popleft()
        return len(recent)

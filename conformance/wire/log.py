"""The one log of a run: what crossed the wire, what the harness said, what the kit did, on one monotonic clock.

Three sources write at once: the scripted broker, the reader of the harness's stdout, and the scenario. Entries carry
the time at which the thing happened, not the time at which the kit heard of it: the harness stamps its events with the
same clock, so that a callback and a request can be put in order although one came through a pipe and the other through
a socket.
"""

from __future__ import annotations

import threading
import time

from groupspec.conformance.history.entry import Entry, Test


def now_us() -> int:
    """The log's clock: CLOCK_MONOTONIC, in microseconds. Harnesses on the same machine read the same clock."""
    return time.monotonic_ns() // 1000


class Log:
    """Entries in the order of arrival; waiting for one that is yet to come."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._changed = threading.Condition()
        self._end: str | None = None

    def append(self, entry: Entry) -> None:
        """Adds an entry, and wakes the threads that wait."""
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def note(self, kind: str, text: str) -> Entry:
        """Something that the kit did or saw."""
        entry = Entry(now_us(), "kit", kind, text)
        self.append(entry)
        return entry

    def end(self, reason: str) -> None:
        """The client sends nothing more: threads that wait for it stop waiting."""
        with self._changed:
            self._end = self._end or reason
            self._changed.notify_all()

    @property
    def ended(self) -> str | None:
        """Why nothing more will come; None while something may."""
        return self._end

    def wait(self, test: Test, within_s: float, after_us: int = 0) -> Entry | None:
        """The first entry at or after that time which passes the test; None if none came in time, or the log ended."""
        deadline = time.monotonic() + within_s
        looked_at = 0
        with self._changed:
            while True:
                for entry in self._entries[looked_at:]:
                    if entry.at_us >= after_us and test(entry):
                        return entry
                looked_at = len(self._entries)
                left = deadline - time.monotonic()
                if self._end is not None or left <= 0:
                    return None
                self._changed.wait(left)

    def as_it_came(self) -> list[Entry]:
        """Everything so far, in the order in which the kit heard of it."""
        with self._changed:
            return list(self._entries)

    def in_order(self) -> list[Entry]:
        """Everything so far, by time."""
        with self._changed:
            return sorted(self._entries, key=lambda entry: entry.at_us)

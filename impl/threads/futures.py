"""Results on their way from the background thread to the caller.

A future is registered before the event that carries its number is sent, so that no answer can come before there is
somewhere to put it; and it is completed exactly once: a second time is a defect of the core, and says so (rule T3).
Whoever waits may stop waiting at any time; that changes nothing for the work, nor for others.
"""

from __future__ import annotations

from typing import ClassVar

from groupspec.impl.runtime import Runtime


class Future:
    """One result to come. `error` is set instead of `result` when the work failed."""

    SHARED_FIELDS: ClassVar = ("done", "result", "error")
    """See `scheduling.shared_fields`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.done = False
        self.result: object = None
        self.error: Exception | None = None

    def outcome(self) -> object:
        """The result; raises the error."""
        if self.error is not None:
            raise self.error
        return self.result


class Futures:
    """The futures that are open."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock("futures")
        self._open: dict[int, Future] = {}
        self._next = 1
        self._end: Exception | None = None  # nobody will complete any more

    def new(self) -> Future:
        """A new future; after the end one that has failed already."""
        with self._lock:
            future = Future(self._next)
            self._next += 1
            if self._end is not None:
                future.error, future.done = self._end, True
            else:
                self._open[future.number] = future
            return future

    def is_open(self, number: int) -> bool:
        """Whether this future is still to be completed."""
        with self._lock:
            return number in self._open

    def complete(self, number: int, result: object = None, error: Exception | None = None) -> None:
        """Set the outcome; LookupError if there is no such future any more: it would be the second time."""
        with self._lock:
            future = self._open.pop(number, None)
            if future is None:
                raise LookupError(f"future {number} does not exist, or was completed before")
            future.result, future.error = result, error
            future.done = True

    def fail_all(self, error: Exception) -> int:
        """The end: complete all open futures, and all new ones, with this error. Returns how many were open."""
        with self._lock:
            self._end = error
            left, self._open = self._open, {}
            for future in left.values():
                future.error = error
                future.done = True
            return len(left)

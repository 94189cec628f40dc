"""The only door to threads and to the clock.

Everything in `impl` that runs in a thread, waits, or asks for the time gets a `Runtime` and uses nothing else. There
are two: `ThreadingRuntime` here is the ordinary one; `groupspec.impl.run_to_idle.RunToIdleRuntime` lets one
run at a time, in an order that the test decides, on a clock that the test moves.

What is here is all that is needed: a thread, a lock, a condition, and from the condition a queue and an event count.
Times are milliseconds of a clock that never goes backwards; a timeout of None means for ever.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Thread(Protocol):
    """A thread that has not started yet, runs, or has ended."""

    def start(self) -> None:
        """Run; once."""

    def join(self, timeout_ms: int | None = None) -> bool:
        """Wait for its end; False if it still runs after that time."""

    def is_alive(self) -> bool:
        """Whether it has started and not ended."""


class Lock(Protocol):
    """Held by one thread at a time, for `with`. Not reentrant: nothing here needs to take what it has."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Condition(Lock, Protocol):
    """A lock, and a place to wait for something to change under it. The caller holds it for every call."""

    def wait(self, timeout_ms: int | None = None) -> bool:
        """Let go of the lock, wait to be notified, take the lock again; False if the time passed first."""

    def wait_for(self, happened: Callable[[], object], timeout_ms: int | None = None) -> bool:
        """Wait until this is true, looking after each notification; False if it is not when the time has passed."""

    def notify_all(self) -> None:
        """Wake every waiting thread."""


class Runtime(Protocol):
    """Where threads and time come from. Names are for people: they stand in reports."""

    def thread(self, target: Callable[[], None], name: str) -> Thread:
        """A thread that ends with the process at the latest; not started yet."""

    def lock(self, name: str) -> Lock:
        """A free lock."""

    def condition(self, name: str, *, from_outside: bool = False) -> Condition:
        """A condition. `from_outside`: whoever notifies it may be none of the runtime's threads (a network, a test).

        A runtime that looks for deadlocks does not take those who wait there for dead.
        """

    def now_ms(self) -> int:
        """The time."""

    def epoch_ms(self) -> int:
        """When the time was 0, in milliseconds since 1970; as far as the machine knows now."""

    def sleep_ms(self, duration_ms: int) -> None:
        """Let this much time pass."""

    def thread_id(self) -> int:
        """Which thread this is."""

    def process_id(self) -> int:
        """Which process this is: after a fork there are two, and only one of them has the other threads."""


class Queue(Generic[T]):
    """First in, first out, from any thread to any thread; nothing is lost, doubled or reordered (rule Q1)."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._items: deque[T] = deque()
        self._count = 0
        self._closed = False
        self._changed = runtime.condition(name)

    def put(self, item: T) -> bool:
        """Add one; never waits. False if the queue was closed: then nothing was added."""
        with self._changed:
            if self._closed:
                return False
            self._items.append(item)
            self._count += 1
            self._changed.notify_all()
            return True

    def count(self) -> int:
        """How many were put so far."""
        with self._changed:
            return self._count

    def close(self) -> list[T]:
        """Take no more, and say what was left; in one step, so that everything put was either taken or is here."""
        with self._changed:
            self._closed = True
            left = list(self._items)
            self._items.clear()
            return left

    def get(self, timeout_ms: int | None = 0) -> T | None:
        """Take the oldest, waiting for one at most that long; None if there is none. Items must not be None."""
        with self._changed:
            self._changed.wait_for(lambda: self._items, timeout_ms)
            return self._items.popleft() if self._items else None

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)


class EventCount:
    """Rung when something has changed that somebody may be waiting for; who waits then looks for himself.

    An advance between the look and the wait is not lost: whoever waits says up to which value it has looked.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._rings = 0
        self._rung = runtime.condition(name)

    def advance(self) -> None:
        """Something has changed."""
        with self._rung:
            self._rings += 1
            self._rung.notify_all()

    def value(self) -> int:
        """How often it has rung: to be asked before looking."""
        with self._rung:
            return self._rings

    def wait(self, seen: int, timeout_ms: int | None) -> bool:
        """Wait for an advance beyond `seen`; False if the time passed first."""
        with self._rung:
            return self._rung.wait_for(lambda: self._rings != seen, timeout_ms)


def wait_until(events: EventCount, runtime: Runtime, happened: Callable[[], bool], deadline_ms: int | None) -> bool:
    """Wait, without a lock, for what advances this event count; False if the deadline came first."""
    while True:
        seen = events.value()
        if happened():
            return True
        left_ms = None if deadline_ms is None else deadline_ms - runtime.now_ms()
        if left_ms is not None and left_ms <= 0:
            return False
        events.wait(seen, left_ms)


# The ordinary runtime -------------------------------------------------------------------------------------------------


class _Thread:
    def __init__(self, target: Callable[[], None], name: str) -> None:
        self._thread = threading.Thread(target=target, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout_ms: int | None = None) -> bool:
        self._thread.join(None if timeout_ms is None else timeout_ms / 1000)
        return not self._thread.is_alive()

    def is_alive(self) -> bool:
        return self._thread.is_alive()


class _Condition:
    """Entered and left by the lock's own functions, not by threading.Condition's.

    They are C: no KeyboardInterrupt can come between taking the lock and the block that gives it back.
    """

    __slots__ = ("__enter__", "__exit__", "_condition")

    def __init__(self) -> None:
        lock = threading.Lock()
        self._condition = threading.Condition(lock)
        self.__enter__ = lock.__enter__
        self.__exit__ = lock.__exit__

    def wait(self, timeout_ms: int | None = None) -> bool:
        return self._condition.wait(None if timeout_ms is None else timeout_ms / 1000)

    def wait_for(self, happened: Callable[[], object], timeout_ms: int | None = None) -> bool:
        if timeout_ms == 0:  # threading.Condition would make a lock to wait with, and let go of this one
            return bool(happened())
        return bool(self._condition.wait_for(happened, None if timeout_ms is None else timeout_ms / 1000))

    def notify_all(self) -> None:
        self._condition.notify_all()


class ThreadingRuntime:
    """Python's threads and the machine's monotonic clock."""

    def thread(self, target: Callable[[], None], name: str) -> Thread:
        """A daemon thread."""
        return _Thread(target, name)

    def lock(self, name: str) -> Lock:
        """A lock of the operating system."""
        return threading.Lock()

    def condition(self, name: str, *, from_outside: bool = False) -> Condition:
        """A condition with a lock of its own."""
        return _Condition()

    def now_ms(self) -> int:
        """Milliseconds since some moment in the past."""
        return time.monotonic_ns() // 1_000_000

    def epoch_ms(self) -> int:
        """By the machine's other clock."""
        return time.time_ns() // 1_000_000 - self.now_ms()

    def sleep_ms(self, duration_ms: int) -> None:
        """Do nothing for a while."""
        time.sleep(duration_ms / 1000)

    def thread_id(self) -> int:
        """The thread's number in this process."""
        return threading.get_ident()

    def process_id(self) -> int:
        """The number that the operating system gave it."""
        return os.getpid()


this_thread = threading.get_ident
"""The number of the thread that asks."""

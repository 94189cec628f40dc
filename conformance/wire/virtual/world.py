"""Threads that are greenlets, and a clock that goes on when all of them wait, for a whole Python process.

`World.take_over()` puts its own threads, locks, clock and selectors in the place of Python's, for good: it is for a
process that was forked for one run. Conditions, events and queues are Python's own, which are made of locks; asyncio
runs in such a thread as in any other.

    order    A thread runs until it waits; then the one that has been ready longest goes on.
    sockets  Are real ones, of the host (`sockets`). Whoever waits for them goes on when they are ready, which is looked
             at when nobody else can run: what was sent has arrived. Several that are ready come in their order.
    time     Goes on to the next deadline when nobody can run. Each turn, and each look at the clock, takes some
             microseconds, so that time passes for a thread that never rests, too.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from greenlet import getcurrent, greenlet

from groupspec.conformance.wire.virtual.sockets import HostSocket

TURN_US: Final = 20
LOOK_US: Final = 1
LOOKS_IN_A_TURN: Final = 200
"""Whoever looks at the clock more often without waiting has used up its turn, as a thread's time slice ends."""
BEGINS_US: Final = 1_000_000_000
MOST_LOOKS: Final = 3_000_000
"""At the clock, in one run, which needs some thousands: whoever makes more never rests."""


class Stuck(AssertionError):
    """Every thread waits, and for no time."""


class _Wait:
    """One wait of one thread. `woken`: by somebody, and not by its deadline."""

    __slots__ = ("is_over", "selector", "stack", "woken")

    def __init__(self, stack: greenlet, selector: Selector | None = None) -> None:
        self.stack = stack
        self.selector = selector
        self.is_over = self.woken = False


class World:
    """The threads and the clock of a process.

    `gives_up`: is told why nothing will come of it any more, and ends the process.
    """

    def __init__(self, gives_up: Callable[[str], object] | None = None) -> None:
        self.now_us = BEGINS_US
        self._gives_up = gives_up or _stuck
        self._looks_left = MOST_LOOKS
        self._ready: deque[greenlet] = deque()
        self._deadlines: list[tuple[int, int, _Wait]] = []
        self._at_sockets: list[_Wait] = []
        self._numbers = itertools.count()
        self._looks = 0

    def take_over(self) -> None:
        """From now on Python's modules have this world's threads, locks, clock and selectors."""
        here: dict[str, Any] = {
            each.__name__: type(each.__name__, (each,), {"here": self}) for each in (_Thread, _Lock, _RLock, Selector)
        }
        places: Mapping[Any, Mapping[str, object]] = {
            threading: {
                "Thread": here["_Thread"],
                "Lock": here["_Lock"],
                "_allocate_lock": here["_Lock"],
                "RLock": here["_RLock"],
                "get_ident": _number_of_thread,
                "current_thread": threading.main_thread,
                "_time": self._seconds,
            },
            time: {
                **dict.fromkeys(("monotonic", "perf_counter", "time"), self._seconds),
                **dict.fromkeys(("monotonic_ns", "perf_counter_ns", "time_ns"), lambda: self.look() * 1_000),
                "sleep": self.sleep,
            },
            queue: {"time": self._seconds},
            selectors: {"DefaultSelector": here["Selector"]},
            socket: {"socket": HostSocket},
        }
        for module, names in places.items():
            for name, value in names.items():
                setattr(module, name, value)

    # The clock --------------------------------------------------------------------------------------------------------

    def look(self) -> int:
        """The time, in microseconds."""
        self.now_us += LOOK_US
        self._looks += 1
        self._looks_left -= 1
        if not self._looks_left:
            self._gives_up(f"a thread never rests: more than {MOST_LOOKS:,} looks at the clock")
        if self._looks > LOOKS_IN_A_TURN:
            self.pause()
        return self.now_us

    def _seconds(self) -> float:
        return self.look() / 1_000_000

    def sleep(self, duration_s: float) -> None:
        """Let so much time pass."""
        self.wait(duration_s)

    # Turns ------------------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Let the others go on first."""
        self._ready.append(getcurrent())
        self._next()

    def wait(
        self,
        timeout_s: float | None = None,
        hand_over: Callable[[_Wait], None] | None = None,
        selector: Selector | None = None,
    ) -> bool:
        """Wait to be woken; False if the time passed first. `hand_over`: gets what is to be woken."""
        waits = _Wait(getcurrent(), selector)
        if timeout_s is not None:
            at_us = self.now_us + max(0, round(timeout_s * 1_000_000))
            heapq.heappush(self._deadlines, (at_us, next(self._numbers), waits))
        if hand_over is not None:
            hand_over(waits)
        if selector is not None:
            self._at_sockets.append(waits)
        self._next()
        return waits.woken

    def wake(self, waits: _Wait, *, in_time: bool = True) -> None:
        """Its wait is over."""
        if not waits.is_over:
            waits.is_over, waits.woken = True, in_time
            if waits.selector is not None:
                self._at_sockets.remove(waits)
            self._ready.append(waits.stack)

    def start(self, target: Callable[[], None]) -> greenlet:
        """A thread, ready to run."""

        def body() -> None:
            target()
            stack.parent = self._chosen()  # there it goes on when this one has ended

        stack = greenlet(body)
        self._ready.append(stack)
        return stack

    def _next(self) -> None:
        chosen = self._chosen()
        if chosen is not getcurrent():
            chosen.switch()

    def _chosen(self) -> greenlet:
        self._looks = 0
        self.now_us += TURN_US
        while True:
            self._wake_due()
            if self._ready:
                return self._ready.popleft()
            if not self._wake_at_sockets():
                if not self._deadlines:
                    self._gives_up("every thread waits, and for no time")
                self.now_us = max(self.now_us, self._deadlines[0][0])

    def _wake_due(self) -> None:
        while self._deadlines and (self._deadlines[0][2].is_over or self._deadlines[0][0] <= self.now_us):
            self.wake(heapq.heappop(self._deadlines)[2], in_time=False)

    def _wake_at_sockets(self) -> bool:
        ready = [waits for waits in self._at_sockets if waits.selector is not None and waits.selector.are_ready()]
        for waits in ready:
            self.wake(waits)
        return bool(ready)


_NUMBERS: Final = itertools.count(1)


def _number_of_thread() -> int:
    return _number(getcurrent())


def _number(stack: Any) -> int:
    """The same in each run."""
    if not hasattr(stack, "number"):
        stack.number = next(_NUMBERS)
    return int(stack.number)


def _stuck(why: str) -> None:
    raise Stuck(why)


class _Thread:
    """In the place of threading.Thread, as far as it is used here."""

    here: World

    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name, self.daemon = name or "thread", daemon
        self.ident: int | None = None
        self._target, self._args, self._kwargs = target, args, kwargs or {}
        self._has_ended = False
        self._joining: list[_Wait] = []

    def start(self) -> None:
        self.ident = _number(self.here.start(self._run))

    def join(self, timeout: float | None = None) -> None:
        if self.is_alive():
            self.here.wait(timeout, self._joining.append)

    def is_alive(self) -> bool:
        return self.ident is not None and not self._has_ended

    def _run(self) -> None:
        try:
            if self._target is not None:
                self._target(*self._args, **self._kwargs)
        except Exception as error:  # as a thread of Python's does
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, None)))
        finally:
            self._has_ended = True
            for waits in self._joining:
                self.here.wake(waits)


class _Lock:
    """In the place of threading.Lock."""

    here: World

    def __init__(self) -> None:
        self._is_held = False
        self._waiting: deque[_Wait] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self._is_held:
            self._is_held = True
            return True
        # Whoever releases it hands it over to who has waited longest.
        return blocking and self.here.wait(None if timeout < 0 else timeout, self._waiting.append)

    def release(self) -> None:
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        while self._waiting:
            first = self._waiting.popleft()
            if not first.is_over:
                self.here.wake(first)
                return
        self._is_held = False

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _RLock(_Lock):
    """In the place of threading.RLock."""

    def __init__(self) -> None:
        super().__init__()
        self._owner, self._count = 0, 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = _number_of_thread()
        if self._owner != me and not super().acquire(blocking, timeout):
            return False
        self._owner, self._count = me, self._count + 1
        return True

    def release(self) -> None:
        self._count -= 1
        if not self._count:
            self._owner = 0
            super().release()

    def _is_owned(self) -> bool:
        return self._owner == _number_of_thread()

    def _release_save(self) -> int:
        count, self._count, self._owner = self._count, 0, 0
        super().release()
        return count

    def _acquire_restore(self, count: int) -> None:
        super().acquire()
        self._owner, self._count = _number_of_thread(), count


class Selector(selectors.EpollSelector):
    """In the place of selectors.DefaultSelector."""

    here: World

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int, int] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """See selectors.BaseSelector."""
        key = super().register(fileobj, events, data)
        self._places.pop(key.fd, None)
        self._places[key.fd] = 1 + max(self._places.values(), default=0)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See selectors.BaseSelector."""
        if found := self._ready():
            return found
        if timeout is not None and timeout <= 0:
            self.here.pause()
        else:
            self.here.wait(timeout, selector=self)
        return self._ready()

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        """In the order in which they were registered, and not in that in which the kernel comes upon them."""
        return sorted(super().select(0), key=lambda found: self._places[found[0].fd])

    def are_ready(self) -> bool:
        """Whether there is something to select, and nobody has to wait."""
        return bool(super().select(0))

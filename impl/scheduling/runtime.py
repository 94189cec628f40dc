"""The run-to-idle runtime with every operation a yield point, timers that race, and a record of each choice.

A yield point stands before each operation that another thread could notice: taking a lock, notifying, starting,
joining, sleeping, and each access of a shared field. The release of a lock is none: what follows it, up to the thread's
next operation, is its own affair, so the next yield point stands for both.

It finds what an order of threads brings about:

    Deadlock          Threads wait for each other; the message names the cycle.
    LostWakeup        A thread waits for something that has happened already, and nobody will tell it.
    StepLimit         Threads go on and on without becoming idle: a livelock, or a loop that spins.
    LockHeld          The application's code runs while a lock of the library is held.
    any exception     What the threads or the test raise: an assertion about what must hold in every order.

Shared fields are attributes that threads read or write without a lock. A class declares them (`SHARED_FIELDS`);
`watching` makes each access of them a yield point, so that a check and the act that rests on it can be torn apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from groupspec.impl.run_to_idle import RunToIdleRuntime, _Condition, _Lock, _Task
from groupspec.impl.runtime import Condition, Lock
from groupspec.impl.scheduling.strategies import CLOCK, Strategy

MAX_STEPS: Final = 10_000
MAX_EARLY_TIMERS: Final = 30
"""How often in a run a deadline passes while threads could still go on: a machine is busy, not dead."""


class LockHeld(Exception):
    """The application's code was called by a thread that holds a lock. The message says which."""


class NotDone(Exception):
    """What had to be done by a virtual time is not done. The message says who waits for what."""


class ScheduledRuntime(RunToIdleRuntime):
    """Real threads, one at a time; at every operation a strategy says which.

    Args:
        strategy: Makes the choices.
        timers_race: Whether a deadline may pass while threads could still go on, as on a busy machine.
        max_steps: A run of more yield points without idling is a livelock.

    Attributes:
        timers_race: May be changed in mid-run: what must happen within a time can't be promised to a thread that is
            held up.
        made: The choices so far, each with the fields of a `Choice`.
        wrong: The first thing that the application's code has found wrong: whoever calls it may keep that to itself.
        trace: Every step: who did what.
    """

    def __init__(self, strategy: Strategy, *, timers_race: bool = True, max_steps: int = MAX_STEPS) -> None:
        super().__init__(max_steps=max_steps)
        self._strategy = strategy
        self.timers_race = timers_race
        self._locks: list[_Lock] = []
        self._early_timers = 0
        self.wrong: Exception | None = None
        self._names: list[str] = []  # of those that could go on, as long as the same thread runs and nobody is woken
        self._named_ready, self._named_race = -1, False  # when these were named: how many were ready, `timers_race`
        self.made: list[tuple[int, bool, int]] = []
        self._recent = self.trace = list[tuple[str, str]]()

    def now_ms(self) -> int:
        """The virtual time; where timers race it may pass before it is read."""
        if self.timers_race and self._current is not self._test:
            self.yield_point("read the clock")
        return self._now_ms

    def lock(self, name: str) -> Lock:
        """See RunToIdleRuntime."""
        self._locks.append(_Lock(self, name))
        return self._locks[-1]

    def condition(self, name: str, *, from_outside: bool = False) -> Condition:
        """See RunToIdleRuntime."""
        condition = _Condition(self, name, from_outside)
        self._locks.append(condition)
        return condition

    def run_until(self, happened: Callable[[], bool], within_ms: int) -> None:
        """Run, and let time pass, until something has happened. Raises NotDone if it has not within a virtual time."""
        end_ms = self._now_ms + within_ms
        self.run_until_idle()
        while not happened():
            if self._now_ms > end_ms or not self.advance_to_next_deadline():
                raise NotDone(f"not done within {within_ms} ms; {self.report()}")

    def alive(self) -> list[str]:
        """The names of the threads that have not ended."""
        return [task.name for task in self._tasks if not task.finished]

    @contextmanager
    def application(self, what: str) -> Iterator[None]:
        """The application's code runs: the library must hold no lock. Raises LockHeld."""
        held = [lock for lock in self._locks if lock.holder is self._current]
        try:
            if held:
                raise LockHeld(
                    f"{what} runs in {self._current.name} while it holds {', '.join(repr(lock.name) for lock in held)}"
                )
            yield
        except (AssertionError, LockHeld) as wrong:
            self.wrong = self.wrong or wrong
            raise

    def minor_point(self, what: str) -> None:
        """Another thread may go on here, too."""
        if self._current is not self._test:
            self.yield_point(what)

    def _next(self, running: _Task | None = None) -> _Task:
        runs = running is not None
        while True:
            ready, race = len(self._ready), self.timers_race
            if running is None or ready != self._named_ready or race is not self._named_race:
                self._named_ready, self._named_race = ready, race
                self._names = self._options(running)
            chosen = 0
            if (count := len(self._names)) > 1:
                chosen = self._strategy.choose(self._names, runs, self.trace[-1][1] if runs else "")
                self.made.append((count, runs, chosen))
            if running is not None:
                if not chosen:
                    return running
                chosen -= 1
            if chosen < ready:
                task = self._ready[chosen]
                del self._ready[chosen]
                self._named_ready = -1
                return task
            deadline_ms = self.next_deadline_ms()
            assert deadline_ms is not None
            self.trace.append((CLOCK, f"moves to {deadline_ms} ms"))
            self._early_timers += 1
            self._jump(deadline_ms)

    def _options(self, running: _Task | None) -> list[str]:
        """The names of those that could go on."""
        names = [task.name for task in self._ready]
        if running is not None:
            names.insert(0, running.name)
        if self.timers_race and self._early_timers < MAX_EARLY_TIMERS and self.next_deadline_ms() is not None:
            names.append(CLOCK)
        return names

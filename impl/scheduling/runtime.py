"""The run-to-idle runtime with every operation a yield point, timers that race, and a record of each choice.

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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from groupspec.impl.run_to_idle import RunToIdleRuntime, _Condition, _Lock, _Task
from groupspec.impl.runtime import Condition, Lock
from groupspec.impl.scheduling.strategies import CLOCK, Choice, Strategy

MAX_STEPS: Final = 10_000


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
        choices: Those made so far; their `chosen` are a schedule that brings about the same run.
        trace: Every step: who did what.
    """

    def __init__(self, strategy: Strategy, *, timers_race: bool = True, max_steps: int = MAX_STEPS) -> None:
        super().__init__(max_steps=max_steps)
        self._strategy = strategy
        self.timers_race = timers_race
        self._locks: list[_Lock] = []
        self.choices: list[Choice] = []
        self.trace: list[tuple[str, str]] = []

    def lock(self, name: str) -> Lock:
        """See RunToIdleRuntime."""
        self._locks.append(_Lock(self, name))
        return self._locks[-1]

    def condition(self, name: str, *, from_outside: bool = False) -> Condition:
        """See RunToIdleRuntime."""
        condition = _Condition(self, name, from_outside)
        self._locks.append(condition)
        return condition

    @property
    def schedule(self) -> tuple[int, ...]:
        """The choices made so far, as a list that replays them."""
        return tuple(choice.chosen for choice in self.choices)

    def run_until(self, happened: Callable[[], bool], within_ms: int) -> None:
        """Run, and let time pass, until something has happened. Raises NotDone if it has not within a virtual time."""
        end_ms = self._now_ms + within_ms
        self.run_until_idle()
        while not happened():
            if self._now_ms > end_ms or not self.advance_to_next_deadline():
                raise NotDone(f"not done within {within_ms} ms; {self.report()}")

    @contextmanager
    def application(self, what: str) -> Iterator[None]:
        """The application's code runs: the library must hold no lock. Raises LockHeld."""
        held = [lock for lock in self._locks if lock.holder is self._current]
        if held:
            raise LockHeld(
                f"{what} runs in {self._current.name} while it holds {', '.join(repr(lock.name) for lock in held)}"
            )
        yield

    def yield_point(self, what: str) -> None:
        """See RunToIdleRuntime."""
        self.trace.append((self._current.name, what))
        super().yield_point(what)

    def minor_point(self, what: str) -> None:
        """Another thread may go on here, too."""
        if self._current is not self._test:
            self.yield_point(what)

    def _next(self, running: _Task | None = None) -> _Task:
        while True:
            options = [*([running] if running else []), *self._ready]
            deadline_ms = self.next_deadline_ms() if self.timers_race else None
            names = [task.name for task in options] + ([CLOCK] if deadline_ms is not None else [])
            chosen = self._choose(names, self.trace[-1][1] if running is not None else None)
            if chosen < len(options):
                if chosen or running is None:
                    self._ready.remove(options[chosen])
                return options[chosen]
            assert deadline_ms is not None
            self.trace.append((CLOCK, f"moves to {deadline_ms} ms"))
            self._jump(deadline_ms)

    def _choose(self, names: Sequence[str], step: str | None) -> int:
        if len(names) == 1:
            return 0
        chosen = self._strategy.choose(names, step is not None, step or "")
        self.choices.append(Choice(len(names), step is not None, chosen))
        return chosen

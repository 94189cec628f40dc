"""Threads that run one at a time, in an order that the test decides, on a clock that the test moves.

Each is a greenlet: the same code as in a thread of the operating system, on a stack of its own, and handing over takes
a microsecond instead of thirty. (When they were operating system threads, 1,000 runs of the whole consumer in each
design took the same steps, byte for byte.)

One token; who has it runs. A thread gives it away only where it waits (for a lock, a condition, another thread, a time)
or, if the schedule says so, at any other operation of this runtime: these are the *yield points*. When no thread can go
on, the runtime is *idle*, and the test thread, which made the runtime, has the token back: `run_until_idle()` returns.

    order    A thread runs until it waits; then the one that has been ready longest goes on. `schedule` is a list of
             numbers that changes this: wherever more than one thread could run, the next number chooses among them (0:
             the one that runs, or the oldest; then by age, modulo their number). A list that is used up means 0, so
             the empty list is the plain order, and shrinking a list makes a run plainer.
    time     Stands still unless the test moves it: `advance(ms)`, `advance_to_next_deadline()`. Whoever waits with a
             timeout goes on when its time has come.
    test     The test thread may call everything that a thread may. If it has to wait, the others run meanwhile, and
             when they are idle the clock jumps to the next deadline by itself.
    errors   An exception that ends a thread is raised in the test, as soon as it has happened. Threads that wait for
             each other raise Deadlock; a run of more than `max_steps` yield points without idling raises StepLimit.
             Both say who waits for what, and what happened last.

`close()`, or `with`, unwinds all threads that are left, so that a thousand runs leave nothing behind.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from sys import _getframe
from typing import Final, NoReturn, Self

from greenlet import getcurrent, greenlet

from groupspec.impl.runtime import Condition, Lock, Thread, this_thread

REMEMBERED_STEPS: Final = 40
MOST_UNWINDINGS: Final = 100
"""How often a thread may go on after it was told to end."""


class RuntimeMisuse(Exception):
    """The runtime was used from a thread that is not its own, or after its end."""


class Deadlock(Exception):
    """Threads wait for each other, or for nobody. The message says who waits for what."""


class LostWakeup(Deadlock):
    """A thread waits for something that has happened, and nobody will tell it. The message says who and for what."""


class StepLimit(Exception):
    """The threads went on and on without becoming idle. The message says what they did last."""


class _Unwind(BaseException):
    """Ends a thread from within when the runtime is closed."""


@dataclass(eq=False, slots=True)
class _Task:
    """A thread, or the test."""

    name: str
    stack: greenlet = field(default_factory=getcurrent)
    finished: bool = False
    unwindings: int = 0
    joiners: list[_Task] = field(default_factory=list)
    waits_for: str = ""  # what, in words; empty: it does not wait
    lock: _Lock | None = None  # that it waits for
    from_outside: bool = False  # whether somebody outside may end its wait
    happened: Callable[[], object] | None = None  # whether what it waits for is there
    deadline_ms: int | None = None
    wait_number: int = 0  # so that a deadline of an earlier wait is known as such
    woken: bool = False


class RunToIdleRuntime:
    """See the top of this file. To be made and closed by the same thread, the test."""

    def __init__(self, schedule: Sequence[int] = (), *, max_steps: int = 100_000, start_ms: int = 1_000) -> None:
        self._schedule = tuple(schedule)
        self._choices = 0
        self._max_steps = max_steps
        self._now_ms = start_ms
        self._made_in = this_thread()
        self._test = _Task("test")
        self._current = self._test
        self._tasks: list[_Task] = []
        self._ready: deque[_Task] = deque()
        self._deadlines: list[tuple[int, int, _Task]] = []
        self._waits = 0
        self._failure: BaseException | None = None
        self._closing = False
        self._step_limit = max_steps
        self._recent: deque[tuple[str, str]] | list[tuple[str, str]] = deque(maxlen=REMEMBERED_STEPS)
        self.steps = 0
        self.switches = 0

    # What every thread may use ---------------------------------------------------------------------------------------

    def thread(self, target: Callable[[], None], name: str) -> Thread:
        """A thread that runs when it is its turn."""
        return _Thread(self, target, name)

    def lock(self, name: str) -> Lock:
        """A lock that knows its holder and the waiting threads."""
        return _Lock(self, name)

    def condition(self, name: str, *, from_outside: bool = False) -> Condition:
        """A condition with a lock of its own."""
        return _Condition(self, name, from_outside)

    def now_ms(self) -> int:
        """The virtual time."""
        return self._now_ms

    def epoch_ms(self) -> int:
        """Virtual time begins in 1970."""
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait until the clock has been moved that far."""
        self.yield_point("sleep")
        self.wait(f"{duration_ms} ms to pass", duration_ms)

    def thread_id(self) -> int:
        """The number of the thread that has the token."""
        return id(self._current)

    def process_id(self) -> int:
        """Always the same one: threads that run one at a time can't be forked."""
        return 1

    # What the test may do --------------------------------------------------------------------------------------------

    def run_until_idle(self) -> None:
        """Let the threads run until all of them wait. Raises what ended a thread; Deadlock; StepLimit."""
        self._check_test()
        self._step_limit = self.steps + self._max_steps
        while self._ready:
            self._switch(self._test, self._next())
            self._raise_failure()
        self._raise_failure()
        self._check_deadlock()

    def advance(self, duration_ms: int) -> None:
        """Move the clock, stopping at each deadline to run the threads that waited for it; idle before and after."""
        self.run_until_idle()
        end_ms = self._now_ms + duration_ms
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self._jump(deadline_ms)
            self.run_until_idle()
        self._now_ms = end_ms

    def advance_to_next_deadline(self) -> bool:
        """Move the clock to the next deadline of a waiting thread; False if no thread waits for a time."""
        self.run_until_idle()
        deadline_ms = self.next_deadline_ms()
        if deadline_ms is None:
            return False
        self._jump(deadline_ms)
        self.run_until_idle()
        return True

    def jump_to(self, now_ms: int) -> None:
        """Move the clock past deadlines without stopping: whoever waited for them goes on when it is its turn, late."""
        self._check_test()
        self._jump(now_ms)

    def next_deadline_ms(self) -> int | None:
        """The earliest time that a thread waits for."""
        while self._deadlines:
            deadline_ms, wait_number, task = self._deadlines[0]
            if task.wait_number == wait_number and task.waits_for:
                return deadline_ms
            heapq.heappop(self._deadlines)
        return None

    def report(self) -> str:
        """The waiting threads, what each waits for, and the last events."""
        lines = [f"at {self._now_ms} ms, after {self.steps} steps:"]
        lines += [f"  {task.name} {self._describe(task)}" for task in [self._test, *self._tasks]]
        lines += ["last steps:", *(f"  {name}: {what}" for name, what in list(self._recent)[-REMEMBERED_STEPS:])]
        return "\n".join(lines)

    def close(self) -> None:
        """Unwind every thread that is left. The runtime is of no use any more."""
        self._check_test()
        self._closing = True
        for task in self._tasks:
            if not task.finished:
                self._current = task
                task.stack.switch()
                if not task.finished:
                    raise RuntimeMisuse(f"thread {task.name!r} does not end: it swallows what should unwind it")
        self._current = self._test

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def choose(self, options: Sequence[_Task]) -> int:
        """Which of these threads goes on, 0 being the plain order; for schedulers that know better than a list."""
        if self._choices >= len(self._schedule):
            return 0
        self._choices += 1
        return self._schedule[self._choices - 1] % len(options)

    # Yielding and waiting: what locks, conditions and threads are made of --------------------------------------------

    def yield_point(self, what: str) -> None:
        """Another thread may go on here, if the schedule says so."""
        task = self._current
        if this_thread() != self._made_in:
            raise RuntimeMisuse(f"{what}: called from a thread that is not this runtime's, or not its turn")
        if self._closing:
            return
        self.steps += 1
        self._recent.append((task.name, what))
        if task is self._test:
            return
        if self.steps > self._step_limit:
            self._step_limit = self.steps + self._max_steps
            self._give_up(StepLimit(f"no idleness within {self._max_steps} steps; {self.report()}"))
        if (chosen := self._next(task)) is not task:
            self._ready.append(task)
            self._switch(task, chosen)

    def minor_point(self, what: str) -> None:
        """A yield point where only a runtime that searches for races lets another thread go on; see `scheduling`."""

    def wait(
        self, what: str, timeout_ms: int | None = None, lock: _Lock | None = None, from_outside: bool = False
    ) -> bool:
        """Wait until another thread calls `wake`; False if the time passed first."""
        task = self._current
        if self._closing:
            self._unwind(task)
        task.waits_for, task.lock, task.from_outside = what, lock, from_outside
        task.woken = False
        self._waits += 1
        task.wait_number = self._waits
        task.deadline_ms = None
        if timeout_ms is not None:
            task.deadline_ms = self._now_ms + max(0, timeout_ms)
            heapq.heappush(self._deadlines, (task.deadline_ms, task.wait_number, task))
        if task is self._test:
            self._wait_as_test()
        else:
            self._switch(task, self._next() if self._ready else self._test)
        return task.woken

    def wake(self, task: _Task) -> None:
        """End a task's wait: it may go on when it is its turn."""
        if task.waits_for:
            task.woken = True
            self._make_ready(task)

    def current(self) -> _Task:
        """The thread that has the token."""
        return self._current

    def begin(self, task: _Task, target: Callable[[], None]) -> None:
        """Have a task run when it is its turn."""
        task.stack = greenlet(partial(self._body, task, target), self._test.stack)
        self._tasks.append(task)
        self._ready.append(task)

    # -----------------------------------------------------------------------------------------------------------------

    def _body(self, task: _Task, target: Callable[[], None], _: object = None) -> None:
        try:
            if not self._closing:
                target()
        except _Unwind:
            pass
        except BaseException as error:  # everything, since the test must hear of it
            error.add_note(f"in thread {task.name!r}")
            self._failure = error
        task.finished = True
        for joiner in task.joiners:
            self.wake(joiner)
        after = self._test
        if self._ready and self._failure is None and not self._closing:
            after = self._next()
        self._current = after
        self.switches += 1
        task.stack.parent = after.stack  # there it goes on when this one has ended

    def _switch(self, task: _Task, to: _Task) -> None:
        if to is task:
            return
        self._current = to
        self.switches += 1
        to.stack.switch()
        if self._closing and task is not self._test:
            self._unwind(task)

    def _unwind(self, task: _Task) -> NoReturn:
        task.unwindings += 1
        if task.unwindings > MOST_UNWINDINGS:
            self._test.stack.switch()
        raise _Unwind

    def _give_up(self, failure: BaseException) -> None:
        task = self._current
        self._failure = failure
        self._ready.append(task)
        self._switch(task, self._test)

    def _next(self, running: _Task | None = None) -> _Task:
        """Who goes on: the one that runs, if it can, or one of those that are ready."""
        if running is not None and not self._ready:
            return running
        options = list(self._ready) if running is None else [running, *self._ready]
        chosen = options[self.choose(options) if len(options) > 1 else 0]
        if chosen is not running:
            self._ready.remove(chosen)
        return chosen

    def _make_ready(self, task: _Task) -> None:
        task.waits_for, task.lock, task.deadline_ms = "", None, None
        self._ready.append(task)

    def _wait_as_test(self) -> None:
        task = self._test
        self._step_limit = self.steps + self._max_steps
        while task.waits_for or task in self._ready:
            if self._ready:
                chosen = self._next()
                if chosen is task:
                    return
                self._switch(task, chosen)
                if self._failure is not None:
                    self._leave_wait()
                    self._raise_failure()
                if not task.waits_for and task not in self._ready:
                    return
            else:
                self._jump_or_deadlock()

    def _jump_or_deadlock(self) -> None:
        deadline_ms = self.next_deadline_ms()
        if deadline_ms is None:
            report = self.report()
            self._leave_wait()
            raise Deadlock(f"the test waits, and nobody can go on; {report}")
        self._jump(deadline_ms)
        self._step_limit = self.steps + self._max_steps

    def _leave_wait(self) -> None:
        self._test.waits_for, self._test.lock = "", None
        if self._test in self._ready:
            self._ready.remove(self._test)

    def _jump(self, to_ms: int) -> None:
        """Move the clock, and resume the threads that waited for it, in the order of their deadlines."""
        self._now_ms = max(self._now_ms, to_ms)
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= self._now_ms:
            self._make_ready(heapq.heappop(self._deadlines)[2])

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _check_test(self) -> None:
        if this_thread() != self._made_in or self._current is not self._test:
            raise RuntimeMisuse("only the thread that made the runtime may run it, and only while it has the token")

    def _check_deadlock(self) -> None:
        """Idle: whether a thread is left that could end the others' waits."""
        waiting = [task for task in self._tasks if not task.finished]
        for task in waiting:
            if chain := self._never_released(task):
                raise Deadlock(f"a lock is never released: {chain}; {self.report()}")
            if task.happened is not None and task.waits_for and task.lock is None and task.happened():
                raise LostWakeup(
                    f"{task.name} waits for {task.waits_for}, though what it waits for is there; {self.report()}"
                )
        if waiting and not any(task.from_outside or task.deadline_ms is not None for task in waiting):
            raise Deadlock(f"every thread waits for another one; {self.report()}")

    def _never_released(self, task: _Task) -> str:
        """The chain of who waits for a lock of whom, if it comes back or ends with a thread that has ended."""
        seen: list[_Task] = []
        while task.lock is not None and task.lock.holder is not None:
            seen.append(task)
            task = task.lock.holder
            if task in seen or task.finished:
                return " -> ".join([*(f"{one.name} waits for {one.waits_for}" for one in seen), f"held by {task.name}"])
        return ""

    def _describe(self, task: _Task) -> str:
        if task.finished:
            return "has ended"
        if not task.waits_for:
            return "runs" if task is self._current else "could run"
        holder = f", held by {task.lock.holder.name}" if task.lock is not None and task.lock.holder is not None else ""
        until = f", until {task.deadline_ms} ms" if task.deadline_ms is not None else ""
        return f"waits for {task.waits_for}{holder}{until}"


class _Thread:
    def __init__(self, runtime: RunToIdleRuntime, target: Callable[[], None], name: str) -> None:
        self._runtime = runtime
        self._target = target
        self._task = _Task(name)
        self._started = False

    def start(self) -> None:
        if self._started:
            raise RuntimeMisuse(f"thread {self._task.name!r} was started before")
        self._started = True
        self._runtime.begin(self._task, self._target)
        self._runtime.yield_point(f"start {self._task.name}")

    def join(self, timeout_ms: int | None = None) -> bool:
        self._runtime.yield_point(f"join {self._task.name}")
        if not self._task.finished:
            joiner = self._runtime.current()
            self._task.joiners.append(joiner)
            if not self._runtime.wait(f"the end of {self._task.name}", timeout_ms) and not self._task.finished:
                self._task.joiners.remove(joiner)  # or the end would wake it from whatever it waits for by then
        return self._task.finished

    def is_alive(self) -> bool:
        return self._started and not self._task.finished


@cache
def _steps_of(lock: str) -> dict[str, str]:
    """Whose section it is -> the step that begins it. Locks of one name share it, for speed: each run has the same."""
    return {}


class _Lock:
    def __init__(self, runtime: RunToIdleRuntime, name: str) -> None:
        self._runtime = runtime
        self.name = name
        self._waiting: deque[_Task] = deque()
        self._steps = _steps_of(name)
        self.holder: _Task | None = None

    def __enter__(self) -> object:
        section = _getframe(1).f_code.co_name
        step = self._steps.get(section)
        if step is None:
            step = self._steps[section] = f"acquire {self.name} in {section}"
        runtime = self._runtime
        runtime.yield_point(step)
        if self.holder is None:
            self.holder = runtime._current
        else:
            self.acquire()
        return self

    def acquire(self) -> None:
        task = self._runtime.current()
        if self.holder is task:
            raise Deadlock(f"{task.name} waits for lock {self.name!r}, which it holds; {self._runtime.report()}")
        while self.holder is not None:
            self._waiting.append(task)
            self._runtime.wait(f"lock {self.name!r}", lock=self)
        self.holder = task

    def release(self, _kind: object = None, _error: object = None, _trace: object = None) -> None:
        self.holder = None
        if self._waiting:
            self._runtime.wake(self._waiting.popleft())

    __exit__ = release


class _Condition(_Lock):
    def __init__(self, runtime: RunToIdleRuntime, name: str, from_outside: bool) -> None:
        super().__init__(runtime, name)
        self._from_outside = from_outside
        self._notify_step = f"notify {name}"
        self._sleepers: list[_Task] = []

    def wait(self, timeout_ms: int | None = None) -> bool:
        task = self._must_hold("wait")
        self._sleepers.append(task)
        self.release()
        woken = self._runtime.wait(f"{self.name!r} to change", timeout_ms, from_outside=self._from_outside)
        if task in self._sleepers:  # the time passed first; and nobody has notified it since
            self._sleepers.remove(task)
        self.acquire()
        return woken

    def wait_for(self, happened: Callable[[], object], timeout_ms: int | None = None) -> bool:
        task = self._must_hold("wait")
        deadline_ms = None if timeout_ms is None else self._runtime.now_ms() + timeout_ms
        while not (result := happened()):
            left_ms = None if deadline_ms is None else deadline_ms - self._runtime.now_ms()
            if left_ms is not None and left_ms <= 0:
                break
            task.happened = happened
            try:
                self.wait(left_ms)
            finally:
                task.happened = None
        return bool(result)

    def notify_all(self) -> None:
        self._must_hold("notify")
        self._runtime.minor_point(self._notify_step)
        sleepers, self._sleepers = self._sleepers, []
        for task in sleepers:
            self._runtime.wake(task)

    def _must_hold(self, what: str) -> _Task:
        task = self._runtime._current
        if self.holder is not task:
            raise RuntimeMisuse(f"{what} on {self.name!r} without holding its lock")
        return task

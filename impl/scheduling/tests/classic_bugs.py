"""Seventeen classic bugs of threads, each with its correct version: programs to try a scheduler on.

A program starts its threads, lets them run to the end, and raises what must not happen in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import ClassVar, Final

from groupspec.impl.runtime import EventCount, Queue
from groupspec.impl.scheduling import ScheduledRuntime, watched

Program = Callable[[ScheduledRuntime, bool], None]
"""Runs the broken version, or the correct one."""

PROGRAMS: Final[dict[str, Program]] = {}

LONG_MS: Final = 60_000


class Box:
    """Two fields that threads share without a lock."""

    SHARED_FIELDS: ClassVar = ("value", "other")

    def __init__(self, value: object = None, other: object = None) -> None:
        self.value = value
        self.other = other


def program(work: Program) -> Program:
    """One more program, in which the fields of a Box are yield points."""

    def watched_work(runtime: ScheduledRuntime, correct: bool) -> None:
        with watched((Box,), runtime.minor_point):
            work(runtime, correct)

    PROGRAMS[work.__name__] = watched_work
    return work


def run_threads(runtime: ScheduledRuntime, *bodies: Callable[[], object]) -> None:
    """Start a thread for each, and wait until all have ended."""
    threads = [
        runtime.thread(lambda body=body: body() and None, f"{body.__name__} {number}")  # type: ignore[misc]
        for number, body in enumerate(bodies)
    ]
    for thread in threads:
        thread.start()
    runtime.run_until(lambda: not any(thread.is_alive() for thread in threads), LONG_MS)


@program
def lost_update(runtime: ScheduledRuntime, correct: bool) -> None:
    """Two threads add one: read, add, write."""
    counter, lock = Box(0), runtime.lock("counter") if correct else nullcontext()

    def add() -> None:
        with lock:
            counter.value = int(str(counter.value)) + 1

    run_threads(runtime, add, add)
    assert counter.value == 2


@program
def check_then_act(runtime: ScheduledRuntime, correct: bool) -> None:
    """Two threads make the one instance: each finds that there is none yet."""
    instance, lock, made = Box(), runtime.lock("instance") if correct else nullcontext(), list[int]()

    def get() -> None:
        with lock:
            if instance.value is None:
                made.append(1)
                instance.value = "made"

    run_threads(runtime, get, get)
    assert len(made) == 1


@program
def two_threads_started(runtime: ScheduledRuntime, correct: bool) -> None:
    """Whoever finds no background thread starts one; the flag is set by the new thread instead of before."""
    state, lock, running = Box(False), runtime.lock("life"), list[int]()

    def background() -> None:
        state.value = True
        running.append(1)

    def ensure_running() -> None:
        with lock if correct else nullcontext():
            if state.value:
                return
            state.value = correct
        runtime.thread(background, "background").start()

    run_threads(runtime, ensure_running, ensure_running)
    runtime.run_until_idle()
    assert len(running) == 1


@program
def opposite_locks(runtime: ScheduledRuntime, correct: bool) -> None:
    """Two threads take two locks in opposite order."""
    left, right = runtime.lock("left"), runtime.lock("right")

    def one() -> None:
        with left, right:
            pass

    def other() -> None:
        with left if correct else right, right if correct else left:
            pass

    run_threads(runtime, one, other)


@program
def dining_philosophers(runtime: ScheduledRuntime, correct: bool) -> None:
    """Three threads, three locks in a circle; correct: one of them takes the lower lock first."""
    forks = [runtime.lock(f"fork {number}") for number in range(3)]

    def philosopher(number: int) -> Callable[[], None]:
        def eat() -> None:
            first, second = number, (number + 1) % 3
            if correct:
                first, second = min(first, second), max(first, second)
            with forks[first], forks[second]:
                pass

        return eat

    run_threads(runtime, *map(philosopher, range(3)))


@program
def looked_outside_the_lock(runtime: ScheduledRuntime, correct: bool) -> None:
    """A thread looks at a flag and then waits; the notification comes in between."""
    flag, changed = Box(False), runtime.condition("flag")

    def read() -> None:
        if correct:
            with changed:
                changed.wait_for(lambda: flag.value)
        elif not flag.value:
            with changed:
                changed.wait()

    def write() -> None:
        with changed:
            flag.value = True
            changed.notify_all()

    run_threads(runtime, read, write)


@program
def nobody_is_told(runtime: ScheduledRuntime, correct: bool) -> None:
    """An item is put where a thread waits, without a notification: it sleeps until its timeout."""
    items, changed = list[int](), runtime.condition("items")

    def take() -> None:
        with changed:
            changed.wait_for(lambda: items, 5_000)

    def put() -> None:
        with changed:
            items.append(1)
            if correct:
                changed.notify_all()

    run_threads(runtime, take, put)


@program
def stolen_wakeup(runtime: ScheduledRuntime, correct: bool) -> None:
    """Two threads wait for items with `if` where `while` belongs; all are notified, one finds nothing."""
    items, changed = list[int](), runtime.condition("items")

    def take() -> None:
        with changed:
            if correct:
                changed.wait_for(lambda: items)
            elif not items:
                changed.wait()
            items.pop()

    def put() -> None:
        for item in range(2):
            with changed:
                items.append(item)
                changed.notify_all()

    run_threads(runtime, take, take, put)


@program
def put_into_a_closed_queue(runtime: ScheduledRuntime, correct: bool) -> None:
    """A writer sees the queue open; before it writes the queue is closed and emptied: its item is lost."""
    queue: Queue[int] = Queue(runtime, "items")
    box, items, left = Box(False), list[int](), list[int]()
    refused = list[int]()

    def put() -> None:
        if correct:
            if not queue.put(1):
                refused.append(1)
        elif box.value:
            refused.append(1)
        else:
            box.other = "about to write"
            items.append(1)

    def close() -> None:
        if correct:
            left.extend(queue.close())
        else:
            box.value = True
            left.extend(items)
            items.clear()

    run_threads(runtime, put, close)
    assert len(left) + len(refused) == 1


@program
def published_too_early(runtime: ScheduledRuntime, correct: bool) -> None:
    """A thread is started before the object that it uses is whole."""
    settings = Box()

    def use() -> None:
        assert settings.value is not None

    def make() -> None:
        if correct:
            settings.value = "whole"
        runtime.thread(use, "user").start()
        settings.value = "whole"

    run_threads(runtime, make)
    runtime.run_until_idle()


@program
def torn_pair(runtime: ScheduledRuntime, correct: bool) -> None:
    """Generation and member id are written one after the other; a reader sees the new one beside the old."""
    identity, lock = Box(0, 0), runtime.lock("identity") if correct else nullcontext()
    seen = list[tuple[object, object]]()

    def write() -> None:
        with lock:
            identity.value = 1
            identity.other = 1

    def read() -> None:
        with lock:
            seen.append((identity.value, identity.other))

    run_threads(runtime, write, read)
    assert seen[0][0] == seen[0][1]


@program
def answer_for_an_older_position(runtime: ScheduledRuntime, correct: bool) -> None:
    """A fetch is taken down as under way for a position that a seek has replaced: the new one is never fetched."""
    position, lock = Box(1, None), runtime.lock("position")  # its epoch; the epoch of the fetch under way
    sent = list[object]()

    def fetch() -> None:
        with lock:
            epoch = position.value
        sent.append(epoch)
        with lock:
            if not correct or position.value == epoch:
                position.other = position.value

    def seek() -> None:
        with lock:
            position.value, position.other = 2, None

    run_threads(runtime, fetch, seek)
    assert position.other in (None, *sent), "the answer of what was sent does not end the fetch that is taken down"


@program
def completed_twice(runtime: ScheduledRuntime, correct: bool) -> None:
    """An answer and its time limit complete the same future."""
    future, lock, outcomes = Box(False), runtime.lock("future"), list[str]()

    def complete(outcome: str) -> None:
        with lock if correct else nullcontext():
            if not future.value:
                future.value = True
                outcomes.append(outcome)

    def answer() -> None:
        runtime.sleep_ms(100)
        complete("answer")

    def time_limit() -> None:
        runtime.sleep_ms(100)
        complete("timed out")

    run_threads(runtime, answer, time_limit)
    assert len(outcomes) == 1


@program
def timeout_starts_again(runtime: ScheduledRuntime, correct: bool) -> None:
    """Each notification restarts the whole timeout of a thread that waits for something else."""
    items, changed = list[int](), runtime.condition("items")
    waited_ms = list[int]()

    def take() -> None:
        began_ms = runtime.now_ms()
        with changed:
            if correct:
                changed.wait_for(lambda: items, 1_000)
            else:
                while not items and changed.wait(1_000):
                    pass
        waited_ms.append(runtime.now_ms() - began_ms)

    def notify() -> None:
        runtime.sleep_ms(600)
        with changed:
            changed.notify_all()

    run_threads(runtime, take, notify)
    assert waited_ms[0] <= 1_000


@program
def callback_under_a_lock(runtime: ScheduledRuntime, correct: bool) -> None:
    """The listener of the application runs while the library holds its lock."""
    lock, due = runtime.lock("subscription"), Box(False)

    def listener() -> None:
        with runtime.application("the listener"):
            pass

    def poll() -> None:
        with lock:
            is_due = due.value
            if is_due and not correct:
                listener()
        if is_due and correct:
            listener()

    def assign() -> None:
        due.value = True

    run_threads(runtime, poll, assign)


@program
def after_you(runtime: ScheduledRuntime, correct: bool) -> None:
    """Two threads give way to each other for ever; correct: only one of them gives way."""
    wants = Box(False, False)
    mine = {0: "value", 1: "other"}

    def enter(number: int) -> Callable[[], None]:
        def try_to_enter() -> None:
            setattr(wants, mine[number], True)
            while getattr(wants, mine[1 - number]):
                if correct and number == 0:
                    runtime.sleep_ms(10)
                    continue
                setattr(wants, mine[number], False)
                if correct:
                    runtime.sleep_ms(10)
                setattr(wants, mine[number], True)
            setattr(wants, mine[number], False)

        return try_to_enter

    run_threads(runtime, enter(0), enter(1))


@program
def look_after_the_wait(runtime: ScheduledRuntime, correct: bool) -> None:
    """A thread takes the count of events after it has looked: an event in between is never seen."""
    events, flag = EventCount(runtime, "events"), Box(False)

    def read() -> None:
        while True:
            seen = events.value() if correct else 0
            if flag.value:
                return
            events.wait(seen if correct else events.value(), None)

    def write() -> None:
        flag.value = True
        events.advance()

    run_threads(runtime, read, write)

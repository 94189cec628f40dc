"""What both runtimes promise, so that code which is right under one is right under the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.runtime import EventCount, Queue, Runtime, ThreadingRuntime, wait_until

pytestmark = pytest.mark.realtime

SOON_MS = 20
LATE_MS = 10_000


@pytest.fixture(params=["threading", "run to idle"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    if request.param == "threading":
        yield ThreadingRuntime()
    else:
        with RunToIdleRuntime() as deterministic:
            yield deterministic


def test_a_queue_keeps_the_order_and_loses_nothing(runtime: Runtime) -> None:
    queue: Queue[int] = Queue(runtime, "numbers")
    got: list[int | None] = []
    reader = runtime.thread(lambda: got.extend(queue.get(None) for _ in range(100)), "reader")
    reader.start()
    for number in range(100):
        queue.put(number)
    assert reader.join(LATE_MS)
    assert got == list(range(100))
    assert len(queue) == 0


def test_a_queue_gives_up_when_the_time_has_passed(runtime: Runtime) -> None:
    queue: Queue[int] = Queue(runtime, "numbers")
    before_ms = runtime.now_ms()
    assert queue.get(SOON_MS) is None
    assert runtime.now_ms() - before_ms >= SOON_MS
    assert queue.get() is None


def test_a_bell_wakes_who_waits(runtime: Runtime) -> None:
    events, done = EventCount(runtime, "events"), list[str]()

    def work() -> None:
        runtime.sleep_ms(SOON_MS)
        done.append("work")
        events.advance()

    runtime.thread(work, "worker").start()
    assert wait_until(events, runtime, lambda: bool(done), runtime.now_ms() + LATE_MS)


def test_a_bell_that_does_not_ring_is_not_waited_for_longer_than_said(runtime: Runtime) -> None:
    events = EventCount(runtime, "events")
    assert not events.wait(events.value(), SOON_MS)
    assert not wait_until(events, runtime, lambda: False, runtime.now_ms() + SOON_MS)


def test_a_ring_before_the_wait_counts(runtime: Runtime) -> None:
    events = EventCount(runtime, "events")
    seen = events.value()
    events.advance()
    assert events.wait(seen, None)


def test_a_lock_lets_one_in_at_a_time(runtime: Runtime) -> None:
    lock, inside, most = runtime.lock("room"), list[int](), list[int]()

    def visit() -> None:
        for number in range(50):
            with lock:
                inside.append(number)
                most.append(len(inside))
                inside.pop()

    threads = [runtime.thread(visit, f"visitor {number}") for number in range(3)]
    for thread in threads:
        thread.start()
    assert all(thread.join(LATE_MS) for thread in threads)
    assert max(most) == 1


def test_threads_are_told_apart_and_end(runtime: Runtime) -> None:
    seen: list[int] = []
    thread = runtime.thread(lambda: seen.append(runtime.thread_id()), "other")
    assert not thread.is_alive()
    thread.start()
    assert thread.join(LATE_MS)
    assert not thread.is_alive()
    assert seen != [runtime.thread_id()]

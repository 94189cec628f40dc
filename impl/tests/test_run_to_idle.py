"""The run-to-idle runtime: one thread at a time, in the order that was asked for, on a clock that stands still."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from groupspec.impl.run_to_idle import Deadlock, RuntimeMisuse, RunToIdleRuntime, StepLimit
from groupspec.impl.runtime import EventCount, Queue, wait_until

Work = Callable[[RunToIdleRuntime, list[str]], dict[str, Callable[[], None]]]


def run(work: Work, schedule: Sequence[int] = ()) -> list[str]:
    """Start the threads of a story, in the order of their names, run them, and give what they said."""
    said: list[str] = []
    with RunToIdleRuntime(schedule) as runtime:
        for name, target in sorted(work(runtime, said).items()):
            runtime.thread(target, name).start()
        runtime.run_until_idle()
    return said


def two_that_talk(runtime: RunToIdleRuntime, said: list[str]) -> dict[str, Callable[[], None]]:
    lock = runtime.lock("paper")

    def talk(name: str) -> None:
        for number in range(3):
            with lock:
                said.append(f"{name}{number}")

    return {"a": lambda: talk("a"), "b": lambda: talk("b")}


# Order
# -----------------------------------------------------------------------------------------------------------------


def test_a_thread_runs_until_it_waits() -> None:
    assert run(two_that_talk) == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_the_schedule_lets_another_one_go_on() -> None:
    assert run(two_that_talk, [1]) == ["b0", "b1", "b2", "a0", "a1", "a2"]
    assert run(two_that_talk, [0, 1]) == ["b0", "b1", "b2", "a0", "a1", "a2"]
    assert run(two_that_talk, [0, 0, 1]) == ["a0", "b0", "b1", "b2", "a1", "a2"]


def test_the_same_schedule_gives_the_same_run() -> None:
    for schedule in itertools.product(range(2), repeat=6):
        assert run(two_that_talk, schedule) == run(two_that_talk, schedule)


def test_every_order_can_be_asked_for() -> None:
    orders = {tuple(run(two_that_talk, schedule)) for schedule in itertools.product(range(2), repeat=8)}
    assert len(orders) == 20  # 6 things said, of which 3 in order each: 6! / (3! 3!)


def test_numbers_that_are_too_large_wrap_round() -> None:
    assert run(two_that_talk, [7]) == run(two_that_talk, [1])


def test_those_that_wait_go_on_in_the_order_in_which_they_became_ready() -> None:
    def story(runtime: RunToIdleRuntime, said: list[str]) -> dict[str, Callable[[], None]]:
        queue: Queue[int] = Queue(runtime, "letters")

        def reader(name: str) -> Callable[[], None]:
            return lambda: said.append(f"{name}{queue.get(None)}")

        def writer() -> None:
            for number in range(3):
                queue.put(number)

        return {"a": reader("a"), "b": reader("b"), "c": reader("c"), "d": writer}

    assert run(story) == ["a0", "b1", "c2"]


# Time
# ------------------------------------------------------------------------------------------------------------------


def test_time_stands_still_until_the_test_moves_it() -> None:
    woken: list[tuple[str, int]] = []
    with RunToIdleRuntime(start_ms=1_000) as runtime:

        def sleeper(name: str, duration_ms: int) -> Callable[[], None]:
            def nap() -> None:
                runtime.sleep_ms(duration_ms)
                woken.append((name, runtime.now_ms()))

            return nap

        for name, duration_ms in [("late", 30), ("early", 10), ("middle", 20)]:
            runtime.thread(sleeper(name, duration_ms), name).start()
        runtime.run_until_idle()
        assert woken == []
        runtime.advance(25)
        assert woken == [("early", 1_010), ("middle", 1_020)]
        assert runtime.now_ms() == 1_025
        assert runtime.advance_to_next_deadline()
        assert woken[-1] == ("late", 1_030)
        assert not runtime.advance_to_next_deadline()


def test_a_deadline_that_was_not_needed_does_not_come_back() -> None:
    with RunToIdleRuntime() as runtime:
        queue: Queue[str] = Queue(runtime, "letters")
        got: list[str | None] = []

        def read() -> None:
            got.append(queue.get(100))
            got.append(queue.get(50))

        runtime.thread(read, "reader").start()
        runtime.run_until_idle()
        runtime.advance(90)
        queue.put("in time")
        runtime.run_until_idle()
        runtime.advance(20)  # the first wait would have ended here
        assert got == ["in time"]
        runtime.advance(30)
        assert got == ["in time", None]


def test_the_test_may_wait_itself_and_the_clock_jumps() -> None:
    with RunToIdleRuntime(start_ms=0) as runtime:
        queue: Queue[str] = Queue(runtime, "letters")

        def write() -> None:
            runtime.sleep_ms(5_000)
            queue.put("hello")

        runtime.thread(write, "writer").start()
        assert queue.get(60_000) == "hello"
        assert runtime.now_ms() == 5_000
        assert queue.get(1_000) is None
        assert runtime.now_ms() == 6_000


def test_the_test_may_join() -> None:
    with RunToIdleRuntime(start_ms=0) as runtime:
        thread = runtime.thread(lambda: runtime.sleep_ms(100), "sleeper")
        thread.start()
        assert not thread.join(40)
        assert thread.is_alive()
        assert thread.join()
        assert not thread.is_alive()
        assert runtime.now_ms() == 100


# What goes wrong
# -------------------------------------------------------------------------------------------------------


def crossed(runtime: RunToIdleRuntime, said: list[str]) -> dict[str, Callable[[], None]]:
    left, right = runtime.lock("left"), runtime.lock("right")

    def one() -> None:
        with left, right:
            said.append("one")

    def other() -> None:
        with right, left:
            said.append("other")

    return {"one": one, "other": other}


def test_locks_in_opposite_order_are_a_deadlock_and_the_report_says_which() -> None:
    assert run(crossed) == ["one", "other"]
    with pytest.raises(Deadlock) as caught:
        run(crossed, [0, 0, 1])
    assert "one waits for lock 'right', held by other" in str(caught.value)
    assert "other waits for lock 'left', held by one" in str(caught.value)


def test_a_lock_that_one_has_already() -> None:
    def story(runtime: RunToIdleRuntime, said: list[str]) -> dict[str, Callable[[], None]]:
        lock = runtime.lock("twice")

        def take_twice() -> None:
            with lock, lock:
                said.append("never")

        return {"greedy": take_twice}

    with pytest.raises(Deadlock, match="greedy waits for lock 'twice', which it holds"):
        run(story)


def lost_wakeup(runtime: RunToIdleRuntime, said: list[str]) -> dict[str, Callable[[], None]]:
    changed = runtime.condition("flag")
    flag: list[bool] = []

    def reader() -> None:
        if not flag:  # looked at outside the lock: the notification may come in between
            with changed:
                changed.wait()
        said.append("seen")

    def writer() -> None:
        flag.append(True)
        with changed:
            changed.notify_all()

    return {"reader": reader, "writer": writer}


def test_a_lost_wakeup_is_found() -> None:
    found = []
    for schedule in itertools.product(range(2), repeat=4):
        try:
            run(lost_wakeup, schedule)
        except Deadlock as deadlock:
            found.append(str(deadlock))
    assert found
    assert all("every thread waits for another one" in report for report in found)
    assert all("reader waits for 'flag' to change" in report for report in found)


def test_a_bell_loses_no_ring_in_any_order() -> None:
    def story(runtime: RunToIdleRuntime, said: list[str]) -> dict[str, Callable[[], None]]:
        events, flag = EventCount(runtime, "events"), list[bool]()

        def reader() -> None:
            said.append("seen" if wait_until(events, runtime, lambda: bool(flag), None) else "missed")

        def writer() -> None:
            flag.append(True)
            events.advance()

        return {"reader": reader, "writer": writer}

    for schedule in itertools.product(range(2), repeat=6):
        assert run(story, schedule) == ["seen"]


def test_who_waits_for_the_outside_is_not_dead() -> None:
    with RunToIdleRuntime() as runtime:
        news = runtime.condition("network", from_outside=True)
        heard: list[str] = []

        def listen() -> None:
            with news:
                news.wait()
            heard.append("news")

        runtime.thread(listen, "listener").start()
        runtime.run_until_idle()
        with news:
            news.notify_all()
        runtime.run_until_idle()
        assert heard == ["news"]


def test_a_test_that_waits_for_nobody_is_told_so() -> None:
    with RunToIdleRuntime() as runtime:
        queue: Queue[str] = Queue(runtime, "letters")
        with pytest.raises(Deadlock, match="the test waits, and nobody can go on"):
            queue.get(None)


def test_threads_that_never_rest_are_stopped() -> None:
    with RunToIdleRuntime(max_steps=500) as runtime:
        lock = runtime.lock("hot")

        def spin() -> None:
            while True:
                with lock:
                    pass

        runtime.thread(spin, "spinner").start()
        with pytest.raises(StepLimit, match="no idleness within 500 steps") as caught:
            runtime.run_until_idle()
        assert "spinner: acquire hot" in str(caught.value)


def test_an_exception_that_ends_a_thread_is_raised_in_the_test() -> None:
    with RunToIdleRuntime() as runtime:

        def fail() -> None:
            raise ZeroDivisionError("of all things")

        runtime.thread(fail, "unlucky").start()
        with pytest.raises(ZeroDivisionError) as caught:
            runtime.run_until_idle()
        assert caught.value.__notes__ == ["in thread 'unlucky'"]
        runtime.run_until_idle()  # told once


def test_close_unwinds_everybody_wherever_they_are() -> None:
    ended: list[str] = []
    with RunToIdleRuntime() as runtime:
        lock, condition = runtime.lock("lock"), runtime.condition("condition", from_outside=True)

        def holding() -> None:
            try:
                with lock, condition:
                    condition.wait()
            finally:
                ended.append("holding")

        def sleeping() -> None:
            try:
                runtime.sleep_ms(1_000)
            finally:
                with lock:  # what unwinds may use what it likes; nothing waits any more
                    ended.append("sleeping")

        runtime.thread(holding, "holding").start()
        runtime.thread(sleeping, "sleeping").start()
        runtime.run_until_idle()
        runtime.thread(lambda: ended.append("never began"), "idle").start()
    assert ended == ["holding", "sleeping"]


def test_a_thread_that_goes_on_though_it_was_told_to_end_is_told() -> None:
    runtime = RunToIdleRuntime()

    def stubborn() -> None:
        while True:
            with suppress(BaseException):
                runtime.sleep_ms(1_000)

    runtime.thread(stubborn, "stubborn").start()
    runtime.run_until_idle()
    with pytest.raises(RuntimeMisuse, match="'stubborn' does not end: it swallows what should unwind it"):
        runtime.close()


def test_strangers_are_refused() -> None:
    with RunToIdleRuntime() as runtime:
        queue: Queue[str] = Queue(runtime, "letters")
        refused: list[str] = []

        def stranger() -> None:
            try:
                queue.put("from nowhere")
            except RuntimeMisuse as error:
                refused.append(str(error))

        thread = threading.Thread(target=stranger)
        thread.start()
        thread.join()
        assert "not this runtime's" in refused[0]


def test_a_condition_needs_its_lock() -> None:
    with RunToIdleRuntime() as runtime:
        condition = runtime.condition("unlocked")
        with pytest.raises(RuntimeMisuse, match="notify on 'unlocked' without holding its lock"):
            condition.notify_all()


def test_a_thread_starts_once() -> None:
    with RunToIdleRuntime() as runtime:
        thread = runtime.thread(lambda: None, "once")
        thread.start()
        with pytest.raises(RuntimeMisuse, match="was started before"):
            thread.start()

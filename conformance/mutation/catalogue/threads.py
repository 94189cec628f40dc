"""Breakers of the chapters T, Q and H6: threads, locks, queues, futures, wakeup."""

from __future__ import annotations

from contextlib import nullcontext

from groupspec.conformance.mutation.mutant import Method, around, breaker, instead
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.events import EnforceRebalance, Fetch, Poll
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.runtime import Queue
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard, WakeupError
from groupspec.impl.threads.futures import Future, Futures


@breaker("BUG-30", "H6")
def the_death_of_the_thread_is_kept_secret() -> None:
    """What ended the background thread is never raised; it is started again in silence."""

    def take_failure(self: BackgroundDriver) -> None:
        with self._life:
            self._failure = None

    instead(BackgroundDriver, "take_failure", take_failure)


@breaker("H6-not-revived", "H6")
def a_dead_thread_stays_dead() -> None:
    """After the background thread has died nothing starts it again."""

    def make(original: Method) -> Method:
        def ensure_running(self: BackgroundDriver) -> None:
            if self._thread is None:
                original(self)

        return ensure_running

    around(BackgroundDriver, "ensure_running", make)


@breaker("Q1-lost-with-the-thread", "Q1")
def what_was_on_its_way_dies_with_the_thread() -> None:
    """Events and answers that wait when the background thread dies are thrown away."""

    def make(original: Method) -> Method:
        def run(self: BackgroundDriver) -> None:
            original(self)
            if self._failure is not None:
                self._responses.clear()
                while self._server_events.get() is not None:
                    pass

        return run

    around(BackgroundDriver, "_run", make)


@breaker("Q1-last-first", "Q1")
def the_newest_event_is_taken_first() -> None:
    """The queues between the threads give back what was put in last."""

    def get(self: Queue[object], timeout_ms: int | None = 0) -> object:
        with self._changed:
            return self._items.pop() if self._items else None

    instead(Queue, "get", get)


@breaker("Q1-doubled", "Q1")
def an_event_arrives_twice() -> None:
    """A rebalance that the application enforces is queued twice."""

    def make(original: Method) -> Method:
        def submit(self: BackgroundDriver, event: object) -> None:
            original(self, event)
            if isinstance(event, EnforceRebalance):
                original(self, event)

        return submit

    around(BackgroundDriver, "submit", make)


@breaker("Q1-error-repeated", "Q1")
def a_refused_topic_is_told_of_again_and_again() -> None:
    """Every answer that refuses a topic is an error for the application, though it was told and has not polled."""

    def make(original: Method) -> Method:
        def topic_refused(self: Metadata, topics: object, code: object) -> None:
            self._told.clear()
            original(self, topics, code)

        return topic_refused

    around(Metadata, "topic_refused", make)


@breaker("Q3-held-up", "Q3")
def everything_waits_for_the_coordinator() -> None:
    """While something waits for the coordinator no event is taken."""

    def make(original: Method) -> Method:
        def take(self: BackgroundDriver, event: object) -> None:
            if self.core.needs_coordinator() and not self.core.connection.is_known and not isinstance(event, Poll):
                self._taken += 1
                return
            original(self, event)

        return take

    around(BackgroundDriver, "_take", make)


@breaker("Q6-records-first", "Q6")
def records_come_before_callbacks() -> None:
    """poll() returns buffered records before it runs the callbacks that are due."""

    def make(original: Method) -> Method:
        def poll_until(self: Consumer, deadline_ms: int) -> object:
            records = self._records.take(self._config.max_poll_records)
            return records or original(self, deadline_ms)

        return poll_until

    around(Consumer, "_poll_until", make)


@breaker("Q6-fetch-first", "Q6")
def the_fetch_goes_before_the_callbacks() -> None:
    """poll() asks for records before it runs the callbacks that are due."""

    def make(original: Method) -> Method:
        def poll_until(self: Consumer, deadline_ms: int) -> object:
            self._driver.submit(Fetch())
            return original(self, deadline_ms)

        return poll_until

    around(Consumer, "_poll_until", make)


@breaker("BUG-69", "T1")
def the_network_is_polled_inside_a_lock() -> None:
    """The background thread waits for the network while it holds a lock that the polling thread needs."""

    def make(original: Method) -> Method:
        def turn(self: BackgroundDriver) -> None:
            with self._life:
                original(self)

        return turn

    around(BackgroundDriver, "_turn", make)


@breaker("BUG-70", "T1")
def who_waits_holds_the_lock_that_the_answer_needs() -> None:
    """A call that waits for its future holds the lock under which futures are completed."""

    def make(original: Method) -> Method:
        def wait_until(self: BackgroundDriver, happened: object, deadline_ms: int | None) -> bool:
            with self._futures._lock:
                return bool(original(self, happened, deadline_ms))

        return wait_until

    around(BackgroundDriver, "wait_until", make)


@breaker("T2-unguarded", "T2")
def what_both_threads_touch_has_no_lock() -> None:
    """The subscription's state is read and written without its lock."""

    def make(original: Method) -> Method:
        def init(self: SubscriptionState, lock: object = nullcontext) -> None:
            original(self, nullcontext)

        return init

    around(SubscriptionState, "__init__", make)


@breaker("T2-check-then-act", "T2")
def the_check_and_the_act_are_two_steps() -> None:
    """Whether records may be returned is checked in one critical section, and the position moved in another."""

    def advance(self: SubscriptionState, buffered: object, from_offset: int, to_offset: int, exhausted: bool) -> bool:
        partition = getattr(buffered, "partition", None)
        with self._lock:
            found = self._shared.partitions.get(partition)  # type: ignore[arg-type]
            may = found is not None and found.state() == "FETCHABLE" and found.position == from_offset
        if not may:
            return False
        with self._lock:
            if found is not None:
                found.position = to_offset
                if exhausted:
                    found.buffered = None
        return True

    instead(SubscriptionState, "advance", advance)


@breaker("T3-twice", "T3")
def a_future_may_be_completed_twice() -> None:
    """A second outcome replaces the first."""
    seen: dict[int, Future] = {}

    def making(original: Method) -> Method:
        def new(self: Futures) -> Future:
            future: Future = original(self)
            seen[future.number] = future
            return future

        return new

    def complete(self: Futures, number: int, result: object = None, error: Exception | None = None) -> None:
        self._open.pop(number, None)
        seen[number].result, seen[number].error, seen[number].done = result, error, True

    around(Futures, "new", making)
    instead(Futures, "complete", complete)


@breaker("BUG-75", "T3")
def who_stops_waiting_cancels_the_work() -> None:
    """A wakeup of the caller that waits for a commit forgets the future: its completion kills the background thread."""

    def make(original: Method) -> Method:
        def await_(self: Consumer, *arguments: object) -> object:
            try:
                return original(self, *arguments)
            except WakeupError:
                driver = self._driver
                assert isinstance(driver, BackgroundDriver)
                driver._futures._open.clear()
                raise

        return await_

    around(Consumer, "_await", make)


@breaker("BUG-74", "T4")
def a_wakeup_counts_only_while_waiting() -> None:
    """wakeup() interrupts a call that waits.

    If records are there the call returns them, and the wakeup is forgotten.
    """

    def make(original: Method) -> Method:
        def poll_until(self: Consumer, deadline_ms: int) -> object:
            if self._subscription.next_buffered() is not None:
                with self._call_guard._lock:
                    self._call_guard._wakeup = False
            return original(self, deadline_ms)

        return poll_until

    around(Consumer, "_poll_until", make)


@breaker("T4-more-than-once", "T4")
def one_wakeup_interrupts_every_call() -> None:
    """A wakeup interrupts the call that waits, and the next one, and so on."""

    def check_interrupted(self: CallGuard) -> None:
        with self._lock:
            if self._wakeup and not self._callbacks:
                raise WakeupError("wakeup() was called")

    instead(CallGuard, "check_interrupted", check_interrupted)


@breaker("T4-in-callbacks", "T4")
def a_wakeup_reaches_into_callbacks() -> None:
    """A commit made inside a callback is interrupted by a wakeup."""

    def check_interrupted(self: CallGuard) -> None:
        with self._lock:
            if self._wakeup:
                self._wakeup = False
                raise WakeupError("wakeup() was called")

    instead(CallGuard, "check_interrupted", check_interrupted)


@breaker("Q1-callback-event-lost", "Q1 S3")
def a_callback_that_is_due_gets_lost() -> None:
    """A poll that is woken up takes the callbacks out of the queue and forgets them."""

    def make(original: Method) -> Method:
        def poll_until(self: Consumer, deadline_ms: int) -> object:
            try:
                return original(self, deadline_ms)
            except WakeupError:
                self._callbacks._waiting.clear()
                raise

        return poll_until

    around(Consumer, "_poll_until", make)

"""Mutants of the chapters T, Q and H6: threads, locks, queues, futures, wakeup; and the heartbeat design's."""

from __future__ import annotations

from contextlib import nullcontext

from groupspec.conformance.mutation.mutant import Method, Seam, after, before, mutant
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.events import EnforceRebalance, Fetch, Poll
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.scope import Scope
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.runtime import Queue
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard, WakeupError
from groupspec.impl.threads.futures import Future, Futures
from groupspec.impl.threads.heartbeat import HeartbeatDriver
from groupspec.impl.threads.heartbeat_thread import HeartbeatThread


@mutant("BUG-30", "H6", BackgroundDriver.take_failure)
def the_death_of_the_thread_is_kept_secret(_: Method, self: BackgroundDriver) -> None:
    """The error that ended the background thread is never raised; the thread is only started again."""
    with self._life:
        self._failure = None


@mutant("H6-not-revived", "H6", BackgroundDriver.ensure_running)
def a_dead_thread_stays_dead(original: Method, self: BackgroundDriver) -> None:
    """After the background thread has died nothing starts it again."""
    if self._thread is None:
        original(self)


@after("Q1-lost-with-the-thread", "Q1", BackgroundDriver._run)
def what_was_on_its_way_dies_with_the_thread(self: BackgroundDriver) -> None:
    """Events and answers that wait when the background thread dies are thrown away."""
    if self._failure is not None:
        self._responses.clear()
        while self._server_events.get() is not None:
            pass


@mutant("Q1-last-first", "Q1", Queue.get)
def the_newest_event_is_taken_first(_: Method, self: Queue[object], timeout_ms: int | None = 0) -> object:
    """The queues between the threads give back what was put in last."""
    with self._changed:
        return self._items.pop() if self._items else None


@mutant("Q1-doubled", "Q1", BackgroundDriver.submit)
def an_event_arrives_twice(original: Method, self: BackgroundDriver, event: object) -> None:
    """A rebalance that the application enforces is queued twice."""
    original(self, event)
    if isinstance(event, EnforceRebalance):
        original(self, event)


@before("Q1-error-repeated", "Q1", Metadata.topic_refused)
def a_refused_topic_is_told_of_again_and_again(self: Metadata, topics: object, code: object) -> None:
    """Every answer that refuses a topic is raised to the application, though it has not polled since the last one."""
    self._told.clear()


@mutant("Q3-held-up", "Q3", BackgroundDriver._take)
def everything_waits_for_the_coordinator(original: Method, self: BackgroundDriver, event: object) -> None:
    """While something waits for the coordinator no event is taken."""
    if self.core.needs_coordinator() and not self.core.connection.is_known and not isinstance(event, Poll):
        self._taken += 1
        return
    original(self, event)


@mutant("Q6-records-first", "Q6", Consumer._poll_until)
def records_come_before_callbacks(original: Method, self: Consumer, deadline_ms: int, at_most: int) -> object:
    """poll() returns buffered records before it runs the callbacks that are due."""
    records = self._records.take(self._config.max_poll_records)
    return records or original(self, deadline_ms, at_most)


@mutant("Q6-fetch-first", "Q6", Consumer._poll_until)
def the_fetch_goes_before_the_callbacks(original: Method, self: Consumer, deadline_ms: int, at_most: int) -> object:
    """poll() asks for records before it runs the callbacks that are due."""
    self._driver.submit(Fetch())
    return original(self, deadline_ms, at_most)


@mutant("BUG-69", "T1", BackgroundDriver._turn)
def the_network_is_polled_inside_a_lock(original: Method, self: BackgroundDriver) -> None:
    """The background thread waits for the network while it holds a lock that the polling thread needs."""
    with self._life:
        original(self)


@mutant("BUG-70", "T1", BackgroundDriver.wait_until)
def who_waits_holds_the_lock_that_the_answer_needs(
    original: Method, self: BackgroundDriver, happened: object, deadline_ms: int | None
) -> bool:
    """A call that waits for its future holds the lock under which futures are completed."""
    with self._futures._lock:
        return bool(original(self, happened, deadline_ms))


@mutant("T2-unguarded", "T2", SubscriptionState.__init__)
def what_both_threads_touch_has_no_lock(original: Method, self: SubscriptionState, lock: object = nullcontext) -> None:
    """The subscription's state is read and written without its lock."""
    original(self, nullcontext)


@mutant("T2-check-then-act", "T2", Positions.advance)
def the_check_and_the_act_are_two_steps(
    _: Method,
    self: Positions,
    buffered: object,
    from_offset: int,
    to_offset: int,
    exhausted: bool,
    leader_epoch: int = -1,
    empty: bool = False,
) -> bool:
    """Whether records may be returned is checked in one critical section, and the position moved in another."""
    partition = getattr(buffered, "partition", None)
    with self._lock:
        found = self._shared.partitions.get(partition)  # type: ignore[arg-type]
        may = found is not None and found.state() == "FETCHABLE" and found.position == from_offset
    if not may:
        return False
    with self._lock:
        if found is not None:
            found.position, found.leader_epoch = to_offset, leader_epoch
            if exhausted:
                found.buffered = None
    return True


@mutant("T3-twice", "T3")
def a_future_may_be_completed_twice(seam: Seam) -> None:
    """A second outcome replaces the first."""
    seen: dict[int, Future] = {}

    @seam.replacing(Futures.new)
    def new(original: Method, self: Futures) -> Future:
        future: Future = original(self)
        seen[future.number] = future
        return future

    @seam.replacing(Futures.complete)
    def complete(_: Method, self: Futures, number: int, result: object = None, error: Exception | None = None) -> None:
        self._open.pop(number, None)
        seen[number].result, seen[number].error, seen[number].done = result, error, True


@mutant("BUG-75", "T3", Consumer._await, scenarios="wakeup-of-a-member")
def who_stops_waiting_cancels_the_work(original: Method, self: Consumer, *arguments: object) -> object:
    """A wakeup of the caller that waits for a commit forgets the future: its completion kills the background thread."""
    try:
        return original(self, *arguments)
    except WakeupError:
        driver = self._driver
        assert isinstance(driver, BackgroundDriver)
        driver._futures._open.clear()
        raise


@mutant("BUG-74", "T4", Consumer._poll_until, scenarios="wakeup-of-a-member")
def a_wakeup_counts_only_while_waiting(original: Method, self: Consumer, deadline_ms: int, at_most: int) -> object:
    """wakeup() interrupts only a call that waits: where records are there they are returned, and it is forgotten."""
    if self._positions.next_buffered() is not None:
        with self._call_guard._lock:
            self._call_guard._wakeup = False
    return original(self, deadline_ms, at_most)


@mutant("T4-more-than-once", "T4", CallGuard.check_interrupted, scenarios="wakeup-on-the-way wakeup-in-a-callback")
def one_wakeup_interrupts_every_call(_: Method, self: CallGuard) -> None:
    """A wakeup interrupts the call that waits, and the next one, and so on."""
    with self._lock:
        if self._wakeup and not self._callbacks:
            raise WakeupError("wakeup() was called")


@mutant("T4-in-callbacks", "T4", CallGuard.check_interrupted)
def a_wakeup_reaches_into_callbacks(_: Method, self: CallGuard) -> None:
    """A commit made inside a callback is interrupted by a wakeup."""
    with self._lock:
        if self._wakeup:
            self._wakeup = False
            raise WakeupError("wakeup() was called")


@mutant("Q1-callback-event-lost", "Q1 S3", Consumer._poll_until)
def a_callback_that_is_due_gets_lost(original: Method, self: Consumer, deadline_ms: int, at_most: int) -> object:
    """A poll that is woken up takes the callbacks out of the queue and forgets them."""
    try:
        return original(self, deadline_ms, at_most)
    except WakeupError:
        self._callbacks._waiting.clear()
        raise


# The heartbeat design -----------------------------------------------------------------------------------------------


@mutant("H6-heartbeat-thread-kept-secret", "H6", HeartbeatDriver.take_failure)
def the_death_of_the_heartbeat_thread_is_kept_secret(original: Method, self: HeartbeatDriver) -> None:
    """The error that ended the heartbeat thread is never raised; another thread is started all the same."""
    original(self)


@mutant("H6-heartbeat-thread-not-revived", "H6", HeartbeatDriver._poll_heartbeat)
def a_dead_heartbeat_thread_stays_dead(original: Method, self: HeartbeatDriver) -> None:
    """A poll() starts no other heartbeat thread when one has died."""
    if self._thread is not None:
        original(self)


@mutant("J7-any-call", "J7", HeartbeatDriver._scope)
def any_call_does_what_a_poll_does(_: Method, self: HeartbeatDriver) -> Scope:
    """In the heartbeat design every call of the application joins and fetches, as poll() does."""
    return Scope.POLL


@mutant("H2-not-woken", "H2", HeartbeatDriver._wait_ms)
def the_calling_thread_sleeps_over_heartbeats(original: Method, self: HeartbeatDriver, timeout_ms: int) -> int:
    """A poll() that waits for the network does not wake the heartbeat thread for a heartbeat that is due."""
    self.core.scope = self._scope()
    return timeout_ms


@mutant("H2-slept-over", "H2", HeartbeatThread._wait)
def a_heartbeat_that_is_due_is_slept_over(_: Method, self: HeartbeatThread, duration_ms: int) -> None:
    """The heartbeat thread sleeps before it sends what the answer that it has just taken in makes possible."""
    self._monitor.wait(duration_ms)


@mutant("P1-heartbeat-first", "P1", HeartbeatThread._check)
def a_due_heartbeat_goes_before_the_poll_interval(original: Method, self: HeartbeatThread, now_ms: int) -> None:
    """The heartbeat thread sends the heartbeat that is due before it looks whether the application still polls."""
    if self._core.connection.is_known and self._core.heartbeats.heartbeat.should_heartbeat(now_ms):
        self._owner.expire("heartbeat")
    else:
        original(self, now_ms)


@mutant("H5-session-last", "H5", HeartbeatThread._check)
def the_poll_interval_goes_before_the_session(original: Method, self: HeartbeatThread, now_ms: int) -> None:
    """The heartbeat thread looks at the poll interval before the session: it leaves by a coordinator that is silent."""
    if self._core.connection.is_known and self._core.heartbeats.heartbeat.poll_timeout_expired(now_ms):
        self._owner.expire("poll_interval")
    else:
        original(self, now_ms)


@mutant("M4-heartbeat-thread-commits", "M4", HeartbeatDriver.take_answers)
def the_heartbeat_thread_does_everything(_: Method, self: HeartbeatDriver) -> None:
    """The heartbeat thread does what is due in the calling thread: it commits while the application works."""
    self._take_answers(Scope.ALL)
    self._outputs += self.core.advance(self._runtime.now_ms())
    self._carry_out()


@mutant("L4-network-first", "L4", HeartbeatDriver.shut_down)
def the_network_ends_before_the_thread(original: Method, self: HeartbeatDriver, deadline_ms: int) -> None:
    """close() closes the network while the heartbeat thread still uses it."""
    self._client.close(0)
    original(self, deadline_ms)


@mutant("T1-monitor-held", "T1", HeartbeatDriver._serve)
def the_monitor_is_held_in_the_network(
    original: Method, self: HeartbeatDriver, timeout_ms: int, seen: int | None = None
) -> None:
    """The calling thread waits for the network with the monitor held that the heartbeat thread needs."""
    with self._monitor:
        original(self, timeout_ms, seen)

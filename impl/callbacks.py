"""The polling thread's post: errors to raise, and callbacks to run, in the order in which they came.

Callbacks run here and nowhere else: on the application's thread, on an event taken from the consumer event queue, with
no lock held (rules C5, Q2). Whatever a callback does, the core gets its answer; what it raised is raised from the
application's call when everything that was due is done (rule C4), one error a call, so that none is swallowed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import ClassVar

from groupspec.impl.core import events
from groupspec.impl.core.events import CallbackKind, ConsumerEvent
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.listener import NoListener, RebalanceListener
from groupspec.impl.runtime import Lock
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.driver import Driver
from groupspec.impl.threads.futures import Future

CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], Exception | None], None]
CommitUnderWay = tuple[Mapping[TopicPartition, OffsetAndMetadata], Future, CommitCallback | None]


class Callbacks:
    """What waits for the application's thread."""

    SHARED_FIELDS: ClassVar = ("listener", "_silent")
    """See `scheduling.shared_fields`."""

    def __init__(self, driver: Driver, subscription: SubscriptionState, call_guard: CallGuard, lock: Lock) -> None:
        self.listener: RebalanceListener = NoListener()
        self._driver = driver
        self._subscription = subscription
        self._call_guard = call_guard
        self._lock = lock  # for what follows: a close around a thread that is stuck makes a second one come in here
        self._silent = False
        self._waiting: deque[ConsumerEvent] = deque()
        self._errors: deque[Exception] = deque()
        self._commits: deque[CommitUnderWay] = deque()

    # Running ----------------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Run everything that is due; errors are kept for `raise_first`."""
        self.run_commit_callbacks()
        self._fetch()
        while (event := self._next_waiting()) is not None:
            if isinstance(event, events.RevokePartitions):
                self._revoke()
            elif isinstance(event, events.AssignPartitions):
                self._assign(event)
            self._fetch()

    def _next_waiting(self) -> ConsumerEvent | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def answer_without_running(self) -> None:
        """From now on: the application can't run callbacks any more."""
        self._silent = True

    def _revoke(self) -> None:
        """Which kind it is, and for what, is settled by starting it; there may be none any more."""
        callback = self._subscription.start_callback()
        if callback is None:
            return
        try:
            self._driver.submit(events.CallbackStarted())
        except Exception as error:  # of the network, which the heartbeat design serves here: the callback is due still
            self.add(error)
        lost = callback.kind is CallbackKind.LOST
        run = self.listener.on_partitions_lost if lost else self.listener.on_partitions_revoked
        told = self._subscription.told_of(callback.partitions)
        try:
            if told or not callback.partitions:
                self._run(run, told)
        finally:
            self._driver.submit(events.PartitionsRevoked())

    def _assign(self, event: events.AssignPartitions) -> None:
        """Unless the membership is over: then the listener is told nothing, and the core all the same."""
        try:
            if self._subscription.start_assigned_callback():
                self._run(self.listener.on_partitions_assigned, event.partitions)
        finally:
            self._driver.submit(events.PartitionsAssigned())

    def _run(self, run: Callable[[list[TopicPartition]], None], partitions: tuple[TopicPartition, ...]) -> None:
        if self._silent:
            return
        try:
            with self._call_guard.callback():
                run(list(partitions))
        except Exception as error:
            error.add_note("raised by the rebalance listener; the rebalance went on")
            self.add(error)

    # Asynchronous commits ---------------------------------------------------------------------------------------------

    def expect(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], future: Future, callback: CommitCallback | None
    ) -> None:
        """A commit is under way."""
        with self._lock:
            self._commits.append((offsets, future, callback))

    def has_commit_callbacks(self) -> bool:
        """Whether the oldest commit is done."""
        with self._lock:
            return bool(self._commits) and self._commits[0][1].done

    def _next_commit(self) -> CommitUnderWay | None:
        with self._lock:
            return self._commits.popleft() if self._commits and self._commits[0][1].done else None

    def run_commit_callbacks(self) -> None:
        """Those of the commits that are done, in the order of the calls (rule M6)."""
        while (commit := self._next_commit()) is not None:
            offsets, future, callback = commit
            if callback is None:
                continue
            try:
                callback(offsets, future.error)
            except Exception as error:
                error.add_note("raised by the callback of commit_async()")
                self.add(error)

    # Errors ----------------------------------------------------------------------------------------------------------

    def add(self, error: Exception) -> None:
        """One more to raise."""
        with self._lock:
            self._errors.append(error)

    def raise_first(self) -> None:
        """The oldest error, if there is one; the others are for later calls."""
        with self._lock:
            error = self._errors.popleft() if self._errors else None
        if error is not None:
            raise error

    def is_due(self) -> bool:
        """Whether `serve` has something to run."""
        with self._lock:
            waiting = bool(self._waiting)
        return waiting or self.has_commit_callbacks() or self._driver.has_consumer_events()

    def has_error(self) -> bool:
        """Whether there is one, for calls that wait and run no callbacks."""
        self._fetch()
        with self._lock:
            return bool(self._errors)

    def raise_error(self) -> None:
        """For them: the oldest error; callbacks stay where they are."""
        self._fetch()
        self.raise_first()

    def _fetch(self) -> None:
        """Take what the core has sent; errors are put aside, callbacks stay in line.

        What is to be raised already is not raised twice: the poll() that asks again may cross the first answer.
        """
        while (event := self._driver.next_consumer_event()) is not None:
            with self._lock:
                if isinstance(event, events.Error):
                    if repr(event.error) not in map(repr, self._errors):
                        self._errors.append(event.error)
                else:
                    self._waiting.append(event)

"""One thread at a time in the consumer; and once it is being closed, only the thread that closes it.

wakeup() and close() may come from any thread, so what they change stands here, under one lock, with every check and
what is done about it in one step (rules T2, T4, L4).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError, KafkaError
from groupspec.impl.runtime import EventCount, Runtime, wait_until


class ConcurrentUseError(IllegalStateError):
    """A second thread used the consumer while the first was in a call. Only wakeup() and close() may be called so."""


class WakeupError(KafkaError):
    """wakeup() was called; nothing is lost, and the call may simply be made again."""


class ForkedConsumerError(IllegalStateError):
    """A child process used its parent's consumer, of which it has the memory, but no thread and no connection."""


class CallGuard:
    """The thread in the consumer, whether it is being closed, and whether a wakeup is pending."""

    SHARED_FIELDS: ClassVar = ("_callbacks",)
    """See `scheduling.shared_fields`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._process = runtime.process_id()
        self._lock = runtime.lock("call guard")
        self._left = EventCount(runtime, "event count of the call guard")
        self._inside: int | None = None
        self._depth = 0
        self._callbacks = 0
        self._closer: int | None = None
        self._closed = False
        self._wakeup = False

    @contextmanager
    def use(self, call: str) -> Iterator[None]:
        """Be inside for one call; calls from callbacks nest."""
        entered = self._enter(call)
        try:
            yield
        finally:
            if entered:
                self._leave()

    @contextmanager
    def callback(self) -> Iterator[None]:
        """A rebalance callback runs: calls from it must not wait for the rebalance, and no wakeup reaches them."""
        with self._lock:
            self._callbacks += 1
        try:
            yield
        finally:
            with self._lock:
                self._callbacks -= 1

    def is_in_callback(self) -> bool:
        """Whether a rebalance callback runs."""
        return self._callbacks > 0

    def refuse_in_callback(self, call: str) -> None:
        """For calls that would wait for the very callback that makes them."""
        if self.is_in_callback():
            raise IllegalStateError(
                f"{call} inside a rebalance callback would wait for that callback to return; call it afterwards"
            )

    def is_foreign(self) -> bool:
        """Whether this process was forked from the consumer's. Takes no lock: one may be held for ever."""
        return self._runtime.process_id() != self._process

    def refuse_child(self, call: str) -> None:
        """For every call: a child has no business in here, and what it did could reach the parent's sockets."""
        if self.is_foreign():
            raise ForkedConsumerError(
                f"{call}: this consumer belongs to process {self._process}, and this is process "
                f"{self._runtime.process_id()}, forked from it, without its threads and connections. Make a "
                "consumer after "
                "the fork; the other one goes on in its own process"
            )

    # Waking up -------------------------------------------------------------------------------------------------------

    def request_wakeup(self) -> None:
        """Remember it, until a call is interrupted by it."""
        self.refuse_child("wakeup()")
        with self._lock:
            self._wakeup = True

    def is_interrupted(self) -> bool:
        """Whether the call that is inside should look up."""
        with self._lock:
            return (self._wakeup and not self._callbacks) or self._is_shut_for(self._runtime.thread_id())

    def check_interrupted(self) -> None:
        """Raise WakeupError, once for each wakeup and never in a callback; or ConsumerClosedError."""
        with self._lock:
            if self._is_shut_for(self._runtime.thread_id()):
                raise ConsumerClosedError("The consumer was closed during this call")
            if self._wakeup and not self._callbacks:
                self._wakeup = False
                raise WakeupError("wakeup() was called")

    def is_open(self) -> bool:
        """Whether no other thread closes the consumer, or has closed it."""
        with self._lock:
            return not self._is_shut_for(self._runtime.thread_id())

    def check_open(self) -> None:
        """Raise ConsumerClosedError if it is not: for calls that wait, and that no wakeup interrupts."""
        if not self.is_open():
            raise ConsumerClosedError("The consumer was closed during this call")

    # Closing ---------------------------------------------------------------------------------------------------------

    def begin_close(self) -> bool:
        """Whether this is the first close: then the caller has to do it. Test and set in one step."""
        self.refuse_child("close()")
        me = self._runtime.thread_id()
        with self._lock:
            if self._inside == me:
                self.refuse_in_callback("close()")
            if self._closer is not None:
                return False
            self._closer = me
            return True

    def wait_empty(self, deadline_ms: int) -> bool:
        """Wait until the thread that was inside has left; False if the deadline came first."""
        me = self._runtime.thread_id()

        def empty() -> bool:
            with self._lock:
                return self._inside in (None, me)

        return wait_until(self._left, self._runtime, empty, deadline_ms)

    def wait_closed(self, deadline_ms: int) -> bool:
        """Wait for the closing thread, which does not wait for itself; False if the deadline came first."""
        me = self._runtime.thread_id()

        def closed() -> bool:
            with self._lock:
                return self._closed or self._closer == me

        return wait_until(self._left, self._runtime, closed, deadline_ms)

    def end_close(self) -> None:
        """The consumer is closed."""
        with self._lock:
            self._closed = True
        self._left.advance()

    # -----------------------------------------------------------------------------------------------------------------

    def _enter(self, call: str) -> bool:
        self.refuse_child(call)
        me = self._runtime.thread_id()
        with self._lock:
            if self._is_shut_for(me):
                raise ConsumerClosedError(f"{call}: the consumer is closed; make another one")
            if self._closer == me and self._inside not in (None, me):
                return False  # the other one does not leave: it is closed around it
            if self._inside not in (None, me):
                raise ConcurrentUseError(
                    f"{call}: another thread is using this consumer. Give each thread its own, or use wakeup() to "
                    "interrupt the other"
                )
            self._inside = me
            self._depth += 1
            return True

    def _leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._inside = None
            awaited = self._closer is not None
        if awaited:
            self._left.advance()

    def _is_shut_for(self, thread: int) -> bool:
        return self._closed or self._closer not in (None, thread)

"""The refactored design: one background thread owns the core and the network (proposal "Consumer threading refactor").

    polling thread                                              background thread
    Consumer: API calls, callbacks   -- server events queue -->  Core.handle, Core.advance
    runs listeners, raises errors    <-- consumer events queue   Transport.send, Transport.poll
    waits on futures                 <-- futures, event count

The loop: take the server events, one at a time (rule Q3); fire the core's timers; carry out what the core wants done;
wait for the network until the next deadline, or until an event wakes it; hand the answers to the core. The background
thread never runs user code (rule Q2), and it never waits for the polling thread: what needs a callback waits inside the
core, while heartbeats go on.

What ends the loop is the core (`Closed`) or a defect. A defect is kept; whoever waits is told at once, the next poll()
raises it, and the poll after that starts the thread again (rule H6). Nothing that was on its way is lost by it: events,
answers and outputs are taken out of their queues one by one, and the rest stays there.

No lock is held while anything waits, and none while another one is taken (rule T1).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, Final

from groupspec.impl.core import events
from groupspec.impl.core.core import Core
from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError, KafkaError
from groupspec.impl.core.events import ConsumerEvent, Output, ResponseReceived, SendRequest, ServerEvent
from groupspec.impl.core.messages import ErrorCode, FetchResponse, NoAnswer
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import EventCount, Queue, Runtime, Thread, wait_until
from groupspec.impl.threads.futures import Future, Futures

_log = logging.getLogger(__name__)

MAX_WAIT_MS: Final = 5_000
"""How long the background thread waits for the network at most, deadlines or not; as Kafka's ConsumerNetworkThread."""


class BackgroundDriver:
    """The two queues, the thread between them, and what crosses. Implements `groupspec.impl.threads.driver.Driver`."""

    SHARED_FIELDS: ClassVar = ("_taken", "_failure", "_ended", "_running", "_must_end", "_abandoned")
    """See `scheduling.shared_fields`."""

    def __init__(self, core: Core, transport: Transport, runtime: Runtime) -> None:
        self.core = core
        self._transport = transport
        self._runtime = runtime
        self._server_events: Queue[ServerEvent] = Queue(runtime, "server events")
        self._consumer_events: Queue[ConsumerEvent] = Queue(runtime, "consumer events")
        self._futures = Futures(runtime)
        self._event_count = EventCount(runtime, "event count of the polling thread")
        self._taken = 0  # this and all below: written by the background thread while it runs
        self._responses: deque[ResponseReceived] = deque()
        self._outputs: deque[Output] = deque()
        self._failure: Exception | None = None  # changed under `_life`
        self._ended = False
        self._life = runtime.lock("life of the background thread")
        self._running = False  # changed under that lock: set by the one that starts it, cleared by the thread itself
        self._changed = False  # whether the polling thread should look
        self._must_end = False  # this and the next: written by whoever shuts down, or abandons
        self._abandoned = False
        self._thread: Thread | None = None
        self.left_over: list[ServerEvent | ConsumerEvent] = []  # cancelled at the end, for whoever wants to know

    # The polling thread's side ----------------------------------------------------------------------------------------

    def ensure_running(self) -> None:
        """Start the thread, unless it runs, has ended for good, or has failed and nobody was told yet (rule H6)."""
        with self._life:
            if self._running or self._ended or self._failure is not None:
                return
            self._running = True
        if self._thread is None:
            self.submit(events.Start())
        self._thread = self._runtime.thread(self._run, "background")
        self._thread.start()

    def polling(self) -> AbstractContextManager[None]:
        """See Driver: here it makes no difference."""
        return nullcontext()

    def is_running(self) -> bool:
        """Whether there is a background thread."""
        with self._life:
            return self._running

    def submit(self, event: ServerEvent) -> None:
        """Queue an event and wake the background thread for it."""
        if self._server_events.put(event):
            self._transport.wake()
        else:
            self.left_over.append(event)

    def call(self, make_event: Callable[[int], ServerEvent]) -> Future:
        """Queue an event whose outcome is wanted."""
        future = self._futures.new()
        self.submit(make_event(future.number))
        return future

    def settle(self, deadline_ms: int) -> bool:
        """Wait until the background thread has taken all that was queued; False if the deadline came first."""
        target = self._server_events.count()
        return self.wait_until(lambda: self._taken >= target or self._ended, deadline_ms)

    def wait_until(self, happened: Callable[[], bool], deadline_ms: int | None) -> bool:
        """Wait for the background thread to bring something about; True at once if it has failed."""
        return wait_until(
            self._event_count, self._runtime, lambda: happened() or self._failure is not None, deadline_ms
        )

    def has_consumer_events(self) -> bool:
        """Whether the consumer event queue holds something."""
        return len(self._consumer_events) > 0

    def next_consumer_event(self) -> ConsumerEvent | None:
        """Take from the consumer event queue."""
        return self._consumer_events.get()

    def failure(self) -> Exception | None:
        """What ended the background thread before its time."""
        return self._failure

    def take_failure(self) -> Exception | None:
        """The same; from now on it may be started again."""
        with self._life:
            failure, self._failure = self._failure, None
            return failure

    def nudge(self) -> None:
        """Have the polling thread look again."""
        self._event_count.advance()

    def shut_down(self, deadline_ms: int) -> None:
        """Join the thread, then close the network; every event and future left over is answered (rules L4, Q1)."""
        self._must_end = True
        self._transport.wake()
        patience_ms = max(0, deadline_ms - self._runtime.now_ms()) + MAX_WAIT_MS
        if self._thread is not None and not self._thread.join(patience_ms):
            self.abandon()
            raise IllegalStateError(
                f"The background thread has not ended within {patience_ms} ms; when it does it closes its network"
            )
        self._transport.close(max(0, deadline_ms - self._runtime.now_ms()))
        self._cancel_left_over()

    def abandon(self) -> None:
        """Nobody uses it any more: the thread ends, and closes the network; without a thread it is closed here.

        For garbage collection, which may happen in any thread, in the middle of anything: takes no lock, never waits.
        """
        self._abandoned = self._must_end = True  # before the look at `_running`: one of the two sees the other's
        if self._running:
            self._transport.wake()
        else:
            self._transport.close(0)

    def is_over(self) -> bool:
        """Whether the end has been asked for. Takes no lock."""
        return self._must_end

    # The background thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        failure: Exception | None = None
        try:
            while not self._must_end and self._turn():
                pass
        except Exception as error:
            error.add_note("this ended the background thread; after it has been reported a poll() starts it again")
            failure = error
            _log.exception("%r ended the background thread: the next call raises it", error)
        except BaseException as error:  # none of ours: whoever meant to end the thread with it gets it, too
            failure = KafkaError(f"The background thread was ended by {type(error).__name__}: {error}")
            failure.__cause__ = error
            raise
        finally:
            if self._ended:  # nobody takes what is queued any more: a callback of close() may wait for it
                self._fail_waiting()
            with self._life:  # in one step, or a second thread could be started beside a failure
                self._running = False
                self._failure = failure
            self._event_count.advance()
            if self._abandoned:
                self._transport.close(0)

    def _turn(self) -> bool:
        """Once round: what an earlier turn left, events, time, network. Whether another one follows."""
        self._carry_out()
        while self._responses:
            self._give(self._responses.popleft())
        while not self.core.is_closed and (event := self._server_events.get()) is not None:
            self._take(event)
        self._outputs += self.core.advance(self._runtime.now_ms())
        self._carry_out()
        if self._changed:  # once a turn: the polling thread looks what there is for it
            self._changed = False
            self._event_count.advance()
        if not self.core.is_closed:
            self._responses += self._transport.poll(self._wait_ms())
        return not self.core.is_closed

    def _wait_ms(self) -> int:
        deadline_ms = self.core.next_deadline_ms()
        if deadline_ms is None:
            return MAX_WAIT_MS
        return min(MAX_WAIT_MS, max(0, deadline_ms - self._runtime.now_ms()))

    def _take(self, event: ServerEvent) -> None:
        """One event; if the core can't take it, the future of its outcome fails.

        If only the network fails what the event has led to, the core gives the future its outcome in a later turn.
        """
        try:
            self._give(event)
        finally:
            self._taken += 1

    def _give(self, event: ServerEvent | ResponseReceived) -> None:
        self._changed = self._changed or not _is_nobodys_news(event)
        try:
            self._outputs += self.core.handle(event, self._runtime.now_ms())
        except Exception as error:
            number = getattr(event, "future_id", None)
            if number is not None and self._futures.is_open(number):
                self._futures.complete(number, error=error)
            raise
        self._carry_out()

    def _carry_out(self) -> None:
        """What the core wants done, in its order."""
        while self._outputs:
            self._do(self._outputs.popleft())

    def _do(self, output: Output) -> None:
        if isinstance(output, SendRequest):
            self._send(output)
            return
        self._changed = True
        match output:
            case events.ConnectCoordinator(node_id, host, port):
                self._transport.connect_coordinator(node_id, host, port)
            case events.DisconnectCoordinator():
                self._transport.disconnect_coordinator()
            case events.Error() | events.RevokePartitions() | events.AssignPartitions():
                self._consumer_events.put(output)
            case events.CompleteFuture(number, result, error):
                self._futures.complete(number, result, error)
            case events.Closed():
                self._ended = True

    def _send(self, request: SendRequest) -> None:
        """A request that can't even be sent fails as one that broke on its way: the core must not wait for it."""
        try:
            self._transport.send(request, self._runtime.now_ms())
        except Exception:
            self._responses.append(ResponseReceived(request.request_id, NoAnswer(ErrorCode.DISCONNECTED)))
            raise

    # The end ----------------------------------------------------------------------------------------------------------

    def _cancel_left_over(self) -> None:
        """The thread has ended: what it did not take is cancelled, and its futures fail (rule Q1)."""
        self._ended = True
        self._fail_waiting()
        self.left_over += self._consumer_events.close()
        self._event_count.advance()

    def _fail_waiting(self) -> None:
        self.left_over += self._server_events.close()
        self._futures.fail_all(ConsumerClosedError("The consumer was closed before this could be answered"))


def _is_nobodys_news(event: ServerEvent | ResponseReceived) -> bool:
    """Whether the polling thread has nothing to look for after it, but what comes as an output.

    A consumer with nothing to read spends its time on little else: each look takes both threads a turn. (After a Poll
    it may wait until that was taken: `settle`.)
    """
    if isinstance(event, ResponseReceived):
        fetched = event.response
        return isinstance(fetched, FetchResponse) and not any(f.record_bytes for f in fetched.partitions.values())
    return isinstance(event, events.Fetch)

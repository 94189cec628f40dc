"""KIP-62's design: rebalance, commits and fetches in the calling thread, heartbeats in a thread of their own.

    calling thread                                         heartbeat thread
    Consumer: API calls, callbacks                         gates and checks (heartbeat_thread)
      submit, wait_until                                     expire, take_answers
          |                                                      |
          +------ monitor of the coordinator: Core.handle -------+
          +------ turn in the network (network_client) ----------+

Nothing happens in the background but heartbeats: an event is taken by the core in the thread that submits it, and the
network is polled by the call that waits for it. JoinGroup and Fetch go out inside poll() alone, and between two calls
nobody commits (`core.scope`). So an application that does not poll takes no part in a rebalance; what keeps it in the
group meanwhile, and takes it out when max.poll.interval.ms is over, is the heartbeat thread. It starts with the first
JoinGroup, as in Kafka's AbstractCoordinator.

One lock, the monitor, is held for every step of the core; under it only locks are taken that never take another one
(subscription, futures, queues, the turn). Nobody waits with it for the network, and no user code runs (rules T1, Q2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from groupspec.impl.core import events
from groupspec.impl.core.core import Core
from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError
from groupspec.impl.core.events import ConsumerEvent, InputEvent, Output, SendRequest, ServerEvent, TimerExpired
from groupspec.impl.core.messages import JoinGroupRequest
from groupspec.impl.core.scope import Scope
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import Queue, Runtime
from groupspec.impl.threads.futures import Future, Futures
from groupspec.impl.threads.heartbeat_thread import HeartbeatThread
from groupspec.impl.threads.network_client import NetworkClient

MAX_WAIT_MS: Final = 5_000
"""How long a call waits for the network at most before it looks again; and how long the end of the thread may take."""


class HeartbeatDriver:
    """Implements `groupspec.impl.threads.driver.Driver`."""

    SHARED_FIELDS: ClassVar = ("_failure", "_running", "_must_end", "_abandoned", "_polling", "_started")
    """See `scheduling.shared_fields`."""

    def __init__(self, core: Core, transport: Transport, runtime: Runtime) -> None:
        self.core = core
        self._transport = transport
        self._runtime = runtime
        self._client = NetworkClient(transport, runtime)
        self._consumer_events: Queue[ConsumerEvent] = Queue(runtime, "consumer events")
        self._futures = Futures(runtime)
        self._monitor = runtime.condition("monitor of the coordinator")
        self._outputs: deque[Output] = deque()  # this and the next six: under the monitor
        self._held_back = False  # the heartbeat thread has made something possible that it may not do
        self._thread: HeartbeatThread | None = None
        self._running = False
        self._failure: Exception | None = None
        self._closing = False
        self._leaving = False  # as of the last event: the application is in close() or unsubscribe()
        self._shut = False
        self._started = False  # this and the next: written by the calling thread
        self._polling = False
        self._must_end = False  # this and the next: written by whoever shuts down, or abandons
        self._abandoned = False
        self.left_over: list[ServerEvent | ConsumerEvent] = []  # cancelled at the end, for whoever wants to know

    # The calling thread -----------------------------------------------------------------------------------------------

    def ensure_running(self) -> None:
        """See Driver: the core is started; the thread waits for the first JoinGroup."""
        if not self._started:
            self._started = True
            self.submit(events.Start())

    def is_running(self) -> bool:
        """Whether there is a heartbeat thread."""
        with self._monitor:
            return self._running

    @contextmanager
    def polling(self) -> Iterator[None]:
        """See Driver: only in here does this member join and fetch."""
        before, self._polling = self._polling, True
        try:
            yield
        finally:
            self._polling = before

    def submit(self, event: ServerEvent) -> None:
        """The core takes the event here and now; then the network is served once, without waiting.

        Answers that are out of the network count before it: Kafka's close joins the heartbeat thread, whose poll hands
        over all that has come, before it looks whether there is a group to leave (AbstractCoordinator.close).
        """
        with self._monitor:
            if self._shut:
                self.left_over.append(event)
                return
            self._take_answers(self._scope())
            if isinstance(event, events.Poll):
                self._poll_heartbeat()
            self._closing = self._closing or isinstance(event, events.Close)
            leaves = self._closing or self.core.membership.leaving
            self._leaving = leaves or isinstance(event, events.Unsubscribe)
            self._take(event)
        self._try_to_serve(0)

    def call(self, make_event: Callable[[int], ServerEvent]) -> Future:
        """See Driver."""
        future = self._futures.new()
        self.submit(make_event(future.number))
        return future

    def settle(self, deadline_ms: int) -> bool:
        """See Driver: there is never anything to wait for."""
        return True

    def wait_until(self, happened: Callable[[], bool], deadline_ms: int | None) -> bool:
        """Serve the network until this has happened, at most until the deadline; True if the thread has failed."""
        while True:
            seen = self._client.news()
            if happened() or self._failure is not None:
                return True
            left_ms = MAX_WAIT_MS if deadline_ms is None else deadline_ms - self._runtime.now_ms()
            if left_ms <= 0:
                return False
            self._try_to_serve(left_ms, seen)

    def has_consumer_events(self) -> bool:
        """See Driver."""
        return len(self._consumer_events) > 0

    def next_consumer_event(self) -> ConsumerEvent | None:
        """See Driver."""
        return self._consumer_events.get()

    def failure(self) -> Exception | None:
        """What ended the heartbeat thread before its time."""
        return self._failure

    def take_failure(self) -> Exception | None:
        """The same; from now on a poll() may start another thread."""
        with self._monitor:
            failure, self._failure = self._failure, None
            if failure is not None and not self._running:
                self._thread = None
            return failure

    def nudge(self) -> None:
        """See Driver."""
        self._client.nudge()

    def shut_down(self, deadline_ms: int) -> None:
        """See Driver: the thread first, then the network."""
        self._must_end = True
        patience_ms = max(0, deadline_ms - self._runtime.now_ms()) + MAX_WAIT_MS
        with self._monitor:
            thread = self._thread
            if thread is not None:
                thread.close()
        if thread is not None and not thread.join(patience_ms):
            self._abandoned = True  # before the look at `_running`, as in abandon()
            if not self._running:
                self._client.close(0)
            raise IllegalStateError(
                f"The heartbeat thread has not ended within {patience_ms} ms; when it does it closes its network"
            )
        self._client.close(max(0, deadline_ms - self._runtime.now_ms()))
        with self._monitor:
            self._shut = True
            self.left_over += self._consumer_events.close()
        self._futures.fail_all(ConsumerClosedError("The consumer was closed before this could be answered"))
        self._client.nudge()

    def abandon(self) -> None:
        """See Driver."""
        self._abandoned = self._must_end = True  # before the look at `_running`: one of the two sees the other's
        if not self._running:
            self._transport.close(0)

    def is_over(self) -> bool:
        """See Driver."""
        return self._must_end

    def _try_to_serve(self, timeout_ms: int, seen: int | None = None) -> None:
        """What goes wrong is raised in the call; but who leaves first does all that it has to."""
        try:
            self._serve(timeout_ms, seen)
        except Exception as error:
            if not self._leaving:
                raise
            self._failure = error

    def _serve(self, timeout_ms: int, seen: int | None = None) -> None:
        """Timers and answers, then the network for at most `timeout_ms`, then what it has brought."""
        with self._monitor:
            self._take_due()
            wait_ms = self._wait_ms(timeout_ms)
        self._client.poll(wait_ms, seen)
        with self._monitor:
            self._take_due()
        self._client.transmit_sends()

    def _wait_ms(self, timeout_ms: int) -> int:
        """Until the core's next deadline; and until the next heartbeat is due, of which its thread is then told."""
        now_ms = self._runtime.now_ms()
        self.core.scope = self._scope()
        deadline_ms = self.core.next_deadline_ms()
        waits_ms = [MAX_WAIT_MS, timeout_ms] + ([] if deadline_ms is None else [max(0, deadline_ms - now_ms)])
        next_ms = self.core.heartbeats.heartbeat.time_to_next_heartbeat_ms(now_ms)
        if next_ms == 0:
            self._monitor.notify_all()
        elif next_ms is not None:
            waits_ms.append(next_ms)
        return min(waits_ms)

    # Either thread, with the monitor held -----------------------------------------------------------------------------

    def take_answers(self) -> None:
        """See heartbeat_thread.Owner."""
        self._take_answers(Scope.HEARTBEAT)

    def expire(self, timer: str) -> None:
        """See heartbeat_thread.Owner."""
        self._held_back = True
        self._give(TimerExpired(timer), Scope.HEARTBEAT)

    def heartbeat_thread_ended(self, failure: Exception | None) -> None:
        """See heartbeat_thread.Owner. In one step, or another thread could be started beside a failure."""
        with self._monitor:
            self._running = False
            if not self._closing:  # else the calling thread leaves the group without it
                self._failure = failure
        self._client.nudge()
        if self._abandoned:
            self._client.close(0)  # in its turn: a call that another thread has closed under may be in the network

    def _scope(self) -> Scope:
        return Scope.POLL if self._polling else Scope.CALL

    def _take(self, event: ServerEvent) -> None:
        """One event of the application's; if it fails, so does the future of its outcome."""
        try:
            self._give(event, self._scope())
        except Exception as error:
            number = getattr(event, "future_id", None)
            if number is not None and self._futures.is_open(number):
                self._futures.complete(number, error=error)
            raise

    def _take_due(self) -> None:
        """What has come from the network, and the calling thread's timers."""
        self._take_answers(self._scope())
        self.core.scope, now_ms = self._scope(), self._runtime.now_ms()
        outputs = self.core.advance(now_ms)
        if self._held_back:
            self._held_back = False
            outputs += self.core.resume(now_ms)
        if outputs:
            self._outputs += outputs
            self._carry_out()
            self._client.nudge()

    def _take_answers(self, scope: Scope) -> None:
        while (answer := self._client.next_answer()) is not None:
            self._held_back = self._held_back or scope is Scope.HEARTBEAT
            self._give(answer, scope)

    def _give(self, event: InputEvent, scope: Scope) -> None:
        """One step of the core; then what it means for the heartbeat thread."""
        self._carry_out()
        enabled, due_ms = self.core.heartbeats.enabled, self.core.timers.deadline_ms("heartbeat")
        self.core.scope = scope
        self._outputs += self.core.handle(event, self._runtime.now_ms())
        self._carry_out()
        self._tell_heartbeat_thread(enabled, due_ms)
        self._client.nudge()

    def _tell_heartbeat_thread(self, was_enabled: bool, was_due_ms: int | None) -> None:
        """It is enabled by the answer to JoinGroup, and notified when a heartbeat has failed: the next comes sooner."""
        if self._thread is not None and self.core.heartbeats.enabled and not was_enabled:
            self._thread.enable()
        due_ms = self.core.timers.deadline_ms("heartbeat")
        if due_ms is not None and was_due_ms is not None and due_ms < was_due_ms:
            self._monitor.notify_all()

    def _carry_out(self) -> None:
        """What the core wants done, in its order."""
        while self._outputs:
            self._do(self._outputs.popleft())

    def _do(self, output: Output) -> None:
        match output:
            case SendRequest() | events.ConnectCoordinator() | events.DisconnectCoordinator():
                if isinstance(output, SendRequest) and isinstance(output.request, JoinGroupRequest):
                    self._start_heartbeat_thread_if_needed()
                self._client.post(output)
            case events.Error() | events.RevokePartitions() | events.AssignPartitions():
                self._consumer_events.put(output)
            case events.CompleteFuture(number, result, error):
                self._futures.complete(number, result, error)
            case events.Closed():
                pass  # the thread ends when the network is closed

    # The heartbeat thread's life, with the monitor held ---------------------------------------------------------------

    def _poll_heartbeat(self) -> None:
        """The application polls: whoever lost its heartbeat thread gets another one; a due heartbeat is not slept over.

        Kafka starts the other thread when it joins the next time. By then the group may have put this member out.
        """
        if self.core.heartbeats.enabled:
            self._start_heartbeat_thread_if_needed()
        if self.core.heartbeats.heartbeat.should_heartbeat(self._runtime.now_ms()):
            self._monitor.notify_all()

    def _start_heartbeat_thread_if_needed(self) -> None:
        if self._thread is None and not self._closing:
            self._running = True
            self._thread = HeartbeatThread(
                self, self.core, self._client, self._monitor, self._runtime, self.core.heartbeats.enabled
            )
            self._thread.start()

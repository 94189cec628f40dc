"""A whole Consumer, both threads, driven step by step: for tests that decide what happens, and in which order.

    with DrivenConsumer(group_id="billing") as driven:
        driven.call(lambda consumer: consumer.subscribe(["orders"], driven.listener))
        driven.call(lambda consumer: consumer.poll(0))
        request = driven.transport.unanswered()[0]
        driven.answer(request.request_id, FindCoordinatorResponse(...))
        assert driven.describe().connection == "STABLE"

The application thread runs one call at a time; everything runs until all threads are idle, then the test goes on. At
idle the test may look at everything, and even take a timer of the core's and let it expire. `driven.listener` can be
told to stay inside its callbacks (`park`) until it is released, with or without an error. The clock stands still unless
the test moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Self, TypeVar, Unpack

from groupspec.impl.consumer import Consumer
from groupspec.impl.core.config import Settings
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, Description, Output, ServerEvent
from groupspec.impl.core.messages import Response, TopicPartition
from groupspec.impl.core.transport import Transport
from groupspec.impl.records import ConsumerRecord, Decoded, RecordDecoder
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.runtime import Runtime
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.designs import Design
from groupspec.impl.threads.heartbeat import HeartbeatDriver
from groupspec.impl.threads.memory_transport import MemoryTransport
from groupspec.impl.trace import TraceEvent

T = TypeVar("T")


class Call(Generic[T]):
    """A call of the application's, under way or done."""

    error: Exception | None
    done: bool

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self.error = None
        self.done = False

    def run(self) -> None:
        """Make the call, in the thread that makes it."""
        try:
            self._result.append(self._work())
        except Exception as error:
            self.error = error
        self.done = True

    def outcome(self) -> T:
        """What it returned; raises what it raised. AssertionError while it is under way."""
        if self.error is not None:
            raise self.error
        assert self.done, "the call has not returned yet"
        return self._result[0]


class CallThread:
    """A thread that makes one call after the other."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._wanted = runtime.condition(f"calls of the {name} thread", from_outside=True)
        self._make: Callable[[], None] | None = None
        self._ended = False
        self._thread = runtime.thread(self._run, name)
        self._thread.start()

    def is_busy(self) -> bool:
        """Whether a call is under way."""
        return self._make is not None

    def begin(self, work: Callable[[], T]) -> Call[T]:
        """Have a call made; AssertionError if one is under way."""
        assert self._make is None, "a call is under way: end it first (release the listener, answer, advance the clock)"
        call = Call(work)
        with self._wanted:
            self._make = call.run
            self._wanted.notify_all()
        return call

    def end(self) -> None:
        """No more calls."""
        with self._wanted:
            self._ended = True
            self._wanted.notify_all()

    def _run(self) -> None:
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._make is not None or self._ended)
                make = self._make
            if make is None:
                return
            make()
            self._make = None


@dataclass(frozen=True, slots=True)
class Callback:
    """One run of the listener."""

    kind: str  # revoked, assigned, lost
    partitions: tuple[TopicPartition, ...]


class ParkingListener:
    """Remembers its calls; stays inside them while `park` is set, until it is released."""

    def __init__(self, runtime: Runtime) -> None:
        self._released = runtime.condition("the listener's release", from_outside=True)
        self._error: Exception | None = None
        self.park = False
        self.calls: list[Callback] = []
        self.inside: Callback | None = None
        self.during: Callable[[Callback], None] | None = None  # what the application does in its callbacks

    def release(self, error: Exception | None = None) -> None:
        """Let the callback return, or raise."""
        assert self.inside is not None, "no callback runs"
        with self._released:
            self.inside, self._error = None, error
            self._released.notify_all()

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._called("revoked", partitions)

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._called("assigned", partitions)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        self._called("lost", partitions)

    def _called(self, kind: str, partitions: list[TopicPartition]) -> None:
        callback = Callback(kind, tuple(partitions))
        self.calls.append(callback)
        if self.during is not None:
            self.during(callback)
        if not self.park:
            return
        with self._released:
            self.inside = callback
            self._released.wait_for(lambda: self.inside is not callback)
        error, self._error = self._error, None
        if error is not None:
            raise error


class Recorded:
    """Remembers what went through a driver: goes before one among the bases of a class."""

    def __init__(self, core: Core, transport: Transport, runtime: Runtime) -> None:
        super().__init__(core, transport, runtime)  # type: ignore[call-arg]
        self.submitted: list[ServerEvent] = []
        self.outputs: list[Output] = []
        self.told: list[ConsumerEvent] = []  # taken by the polling thread

    def submit(self, event: ServerEvent) -> None:
        """See Driver."""
        self.submitted.append(event)
        super().submit(event)  # type: ignore[misc]

    def next_consumer_event(self) -> ConsumerEvent | None:
        """See Driver."""
        event: ConsumerEvent | None = super().next_consumer_event()  # type: ignore[misc]
        if event is not None:
            self.told.append(event)
        return event

    def attend(self, in_call: bool) -> None:
        """What a call of the application's that waits inside poll() would do now; nothing if there is a real call."""

    def _do(self, output: Output) -> None:
        self.outputs.append(output)
        super()._do(output)  # type: ignore[misc]


class RecordedBackground(Recorded, BackgroundDriver):
    """Has a thread of its own, which attends to everything."""


class RecordedHeartbeat(Recorded, HeartbeatDriver):
    """Leaves everything but heartbeats to the calling thread."""

    def attend(self, in_call: bool) -> None:
        """Serve the network until nothing more comes of it; callbacks have to wait for a call.

        The heartbeat thread looks at once, and not only when its backoff is over.
        """
        with self._monitor:
            self._monitor.notify_all()
        if in_call or self._client.is_busy():
            return
        seen = -1
        with self.polling():
            while seen != (seen := self._client.news()):
                self._serve(0)


RecordedDriver = RecordedBackground | RecordedHeartbeat

_RECORDED: Final[dict[Design, type[RecordedDriver]]] = {
    "background": RecordedBackground,
    "heartbeat": RecordedHeartbeat,
}


class PlainDecoder:
    """Reads "offset:value" lines instead of record batches, so that a test can write them by hand."""

    def decode(
        self, partition: TopicPartition, data: bytes, from_offset: int, aborted_transactions: object = ()
    ) -> Decoded:
        """See RecordDecoder."""
        lines = [line.split(b":", 1) for line in data.splitlines()]
        found = [ConsumerRecord(partition.topic, partition.partition, int(at), -1, None, value) for at, value in lines]
        next_offset = max([record.offset + 1 for record in found] + [from_offset])
        return Decoded([record for record in found if record.offset >= from_offset], next_offset)


PLAIN_DECODER: Final = PlainDecoder()


class DrivenConsumer:
    """A consumer, its two threads, and everything to look at.

    Attributes:
        attentive: In the heartbeat design only: the application is taken to wait inside poll() whenever it is in no
            other call, so that answers are taken and timers fire; its callbacks run in real polls all the same.
    """

    def __init__(
        self,
        schedule: Sequence[int] = (),
        decoder: RecordDecoder = PLAIN_DECODER,
        driver: Design = "background",
        **settings: Unpack[Settings],
    ) -> None:
        self.design = driver
        self.attentive = True
        self.runtime = RunToIdleRuntime(schedule)
        self.transport = MemoryTransport(self.runtime)
        self.listener = ParkingListener(self.runtime)
        self.trace: list[TraceEvent] = []
        self._drivers: list[RecordedDriver] = []
        self.consumer = Consumer(
            runtime=self.runtime,
            transport=self.transport,
            decoder=decoder,
            driver=self._make_driver,
            trace=self.trace.append,
            **settings,
        )
        self._application = CallThread(self.runtime, "application")
        self.settle()

    def _make_driver(self, core: Core, transport: Transport, runtime: Runtime) -> RecordedDriver:
        self._drivers.append(_RECORDED[self.design](core, transport, runtime))
        return self._drivers[0]

    @property
    def driver(self) -> RecordedDriver:
        """The driver, with what went through it."""
        return self._drivers[0]

    @property
    def core(self) -> Core:
        """The core; to be touched at idle only."""
        return self.driver.core

    # What the test does -----------------------------------------------------------------------------------------------

    def begin(self, work: Callable[[Consumer], T]) -> Call[T]:
        """Have the application make a call; returns when all is idle, maybe before the call does."""
        call = self._application.begin(lambda: work(self.consumer))
        self.settle()
        return call

    def call(self, work: Callable[[Consumer], T]) -> T:
        """The same for a call that returns without further help; raises what it raises."""
        return self.begin(work).outcome()

    def is_busy(self) -> bool:
        """Whether the application is inside a call."""
        return self._application.is_busy()

    def release(self, error: Exception | None = None) -> None:
        """Let the parked callback return, or raise."""
        self.listener.release(error)
        self.settle()

    def answer(self, request_id: int, response: Response) -> None:
        """The broker answers."""
        self.transport.answer(request_id, response)
        self.settle()

    def submit(self, event: ServerEvent) -> None:
        """Put an event into the server event queue, past the consumer."""
        self.driver.submit(event)
        self.settle()

    def expire(self, timer: str) -> None:
        """This timer of the core's runs out now, whatever the clock says. KeyError if it does not run."""
        self.core.timers.expire_now(timer, self.runtime.now_ms())
        self.transport.wake()
        self.settle()

    def advance(self, duration_ms: int) -> None:
        """Time passes."""
        self.runtime.advance(duration_ms)

    def settle(self) -> None:
        """Let the threads run until all of them wait."""
        self.runtime.run_until_idle()
        if self.attentive:
            self.driver.attend(in_call=self.is_busy())
            self.runtime.run_until_idle()

    def describe(self) -> Description:
        """The core's state."""
        return self.core.describe()

    # The end ----------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Take everything down, whatever is under way; the consumer is not closed by this, and sends no LeaveGroup."""
        self.runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""The Consumer: what an application uses, and the polling thread's side of the implementation.

It knows events and futures and not the network (proposal "Consumer threading refactor", section "Refactor the
KafkaConsumer API"). A call that needs the network becomes an event for the driver, and waits on a future if it has to;
what the driver has to say (errors, callbacks) waits in a queue until a call of the application's takes it.

poll() works in this order (rule Q6): wakeup flag, queued errors and callbacks, fetch request, records. It returns with
the first records, or when its time has passed, whatever else is under way (rule P4). Records that are at hand when
nothing else is due it returns at once.

One thread at a time may use a consumer; any other gets ConcurrentUseError, except for wakeup() and close().
"""

from __future__ import annotations

import atexit
import contextlib
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self, Unpack, cast

from groupspec.impl import arguments
from groupspec.impl.arguments import Offsets
from groupspec.impl.callbacks import CommitCallback
from groupspec.impl.calls import GRACE_MS
from groupspec.impl.choice_calls import ChoiceCalls
from groupspec.impl.core import events
from groupspec.impl.core.config import Settings
from groupspec.impl.core.errors import ConfigError, IllegalStateError
from groupspec.impl.core.events import GroupMetadata
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.metrics import FETCH_GROUP
from groupspec.impl.core.transport import Transport
from groupspec.impl.listener import RebalanceListener
from groupspec.impl.partition_calls import OffsetAndTimestamp
from groupspec.impl.records import ConsumerRecord, ConsumerRecords, Deserializer, RecordDecoder, Records
from groupspec.impl.runtime import Runtime
from groupspec.impl.threads.call_guard import ConcurrentUseError, ForkedConsumerError, WakeupError
from groupspec.impl.threads.designs import Design
from groupspec.impl.threads.driver import DriverFactory
from groupspec.impl.trace import TraceSink

__all__ = [
    "ConcurrentUseError",
    "Consumer",
    "ConsumerRecord",
    "ConsumerRecords",
    "ForkedConsumerError",
    "GroupMetadata",
    "OffsetAndTimestamp",
    "RebalanceListener",
    "TopicPartition",
    "WakeupError",
]

CLOSE_TIMEOUT_MS: Final = 30_000
MAX_FAILURES_OF_A_CLOSE: Final = 3
"""How often its thread may die under a close() before that gives up what is left to do."""

QUIET_MS: Final = 100
"""For how long poll() goes on with records that are here before it tells the driver again that it was called."""


class Consumer(ChoiceCalls):
    """A member of a consumer group, or a reader of partitions chosen by hand.

        with Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
            while True:
                for record in consumer.poll(timeout_ms=1000):
                    print(record.offset, record.value)

    Args:
        topics: Subscribed to at once, as by subscribe().
        bootstrap_servers: "host:port" of some brokers, as one text with commas or a list.
        key_deserializer, value_deserializer: What makes a key or a value of its bytes, for example
            `json.loads`. None stays None.
        runtime: Threads and time; the ordinary ones unless given.
        transport: A network in place of sockets, for tests; then no bootstrap_servers are needed.
        decoder: What reads record batches, if not the ordinary one.
        driver: The threading design: "background", in which a thread of the consumer's does everything but callbacks;
            or "heartbeat" (KIP-62), in which poll() does, and a thread keeps the member alive between two polls.
        trace: Called with every step of the protocol (`groupspec.impl.trace`), in the thread that takes it.
        settings: See `Settings` and `Config`.

    Raises:
        ConfigError: Settings that do not exist, contradict each other, or are out of range.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap_servers: str | Sequence[str] = (),
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        runtime: Runtime | None = None,
        transport: Transport | None = None,
        decoder: RecordDecoder | None = None,
        driver: Design | DriverFactory = "background",
        trace: TraceSink | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(bootstrap_servers, runtime, transport, decoder, driver, trace, settings)
        self._records = Records(
            self._positions,
            self._decoder,
            arguments.callback(key_deserializer, "key_deserializer"),
            arguments.callback(value_deserializer, "value_deserializer"),
        )
        self._polled_ms = -QUIET_MS
        self._driver.ensure_running()
        self._unattended = runtime is None  # who brings a runtime looks after the threads in it
        if self._unattended:
            _UNATTENDED.add(self)
        if topics:
            try:
                self.subscribe(topics)
            except BaseException:
                self.close(0)
                raise

    # Reading ---------------------------------------------------------------------------------------------------------

    def poll(self, timeout_ms: int = 0, max_records: int | None = None) -> ConsumerRecords:
        """Records, as soon as there are some; none if there are none after `timeout_ms`. Runs what callbacks are due.

        At most `max_records` of them (max_poll_records unless it is given). To be called at least every
        max_poll_interval_ms, or the group goes on without this member.

        Raises:
            WakeupError: wakeup() was called before or meanwhile.
            IllegalStateError: Nothing is subscribed to or assigned; or called inside a rebalance callback.
            KafkaError: What the group or a broker refused, one error a call; or why the background thread ended.
            Exception: What a callback raised.
        """
        timeout_ms = arguments.timeout(timeout_ms, "poll()")
        at_most = self._config.max_poll_records
        if max_records is not None:
            at_most = arguments.whole_number(max_records, "poll(): max_records", least=1)
        with self._call_guard.use("poll()"), self._driver.polling():
            self._call_guard.refuse_in_callback("poll()")
            if records := self._take_at_hand(at_most):
                return ConsumerRecords(records)
            self._need_background()
            self._positions.poll_started()
            self._driver.submit(events.Poll(raises=self._callbacks.has_error()))
            self._raise_error()
            self._polled_ms = self._runtime.now_ms()
            if self._positions.does_commit_await_poll():
                self._driver.settle(self._polled_ms + max(timeout_ms, QUIET_MS))
            return ConsumerRecords(self._poll_until(self._polled_ms + timeout_ms, at_most))

    def _raise_error(self) -> None:
        """Callbacks that are due run before: who is fenced hears of it in each poll, and no later one would run them.

        (As Java's AsyncKafkaConsumer.processBackgroundEvents: all events, and then the first error.)
        """
        if self._callbacks.has_error():
            self._call_guard.check_interrupted()
            self._callbacks.serve()
            self._callbacks.raise_first()

    def _poll_until(self, deadline_ms: int, at_most: int) -> list[ConsumerRecord]:
        while True:
            self._call_guard.check_interrupted()
            self._callbacks.serve()
            self._callbacks.raise_first()
            self._driver.ensure_running()  # if it was a callback that has been told of the thread's death
            self._call_guard.check_interrupted()
            if self._has_left():
                self._forget_choice()
            if not self._chosen:
                raise IllegalStateError("poll() without topics or partitions: subscribe() or assign() first")
            self._driver.submit(events.Fetch())
            records = self._take(at_most)
            if records or self._runtime.now_ms() >= deadline_ms:
                return records
            self._wait_for_news(deadline_ms)

    def _take(self, at_most: int) -> list[ConsumerRecord]:
        records = self._records.take(at_most)
        if self._records.used_up:  # it may have had no record at all: then nobody else asks for what comes behind it
            try:
                self._driver.submit(events.Fetch())  # the next ones come while the application works on these
            except Exception as error:
                if not records:
                    raise
                self._callbacks.add(error)  # these count as returned already: they must not get lost (rule O4)
        return records

    def __iter__(self) -> Self:
        """Records one by one, for ever; or until none has come for `consumer_timeout_ms`."""
        return self

    def __next__(self) -> ConsumerRecord:
        """The next record. Each step is a poll(): what went before counts as processed, and nothing beyond it does.

        Raises: StopIteration when `consumer_timeout_ms` is over; what poll() raises.
        """
        patience_ms = self._config.consumer_timeout_ms
        while not (records := self.poll(arguments.INT32_MAX if patience_ms is None else patience_ms, max_records=1)):
            if patience_ms is not None:
                raise StopIteration
        return records[0]

    def _take_at_hand(self, at_most: int) -> list[ConsumerRecord]:
        """Records that are here already, if nothing else is due and the driver heard of a poll() not long ago.

        It need not hear of every one: a turn of its thread takes longer than to return some hundred records.
        """
        interval_ms = min(QUIET_MS, self._config.max_poll_interval_ms // 3)
        now_ms = self._runtime.now_ms()
        if now_ms - self._polled_ms >= interval_ms or self._is_anything_due():
            return []
        self._positions.poll_started(quietly_at_ms=now_ms)
        return self._take(at_most)

    def _is_anything_due(self) -> bool:
        return (
            self._call_guard.is_interrupted()
            or self._driver.failure() is not None
            or self._callbacks.has_error()
            or self._callbacks.is_due()
            or self._positions.does_commit_await_poll()
        )

    def _wait_for_news(self, deadline_ms: int) -> None:
        """Being blocked in here counts as polling, so the poll interval is kept from running out (rule P2)."""
        interval_ms = max(1, self._config.max_poll_interval_ms // 3)
        while not self._driver.wait_until(self._has_news, min(deadline_ms, self._runtime.now_ms() + interval_ms)):
            if self._runtime.now_ms() >= deadline_ms:
                return
            self._driver.submit(events.Poll())
        self._report_failure()

    def _has_news(self) -> bool:
        return (
            self._call_guard.is_interrupted()
            or self._driver.has_consumer_events()
            or self._callbacks.has_commit_callbacks()
            or self._positions.next_buffered() is not None
            or self._has_left()
        )

    def wakeup(self) -> None:
        """Interrupt the call that waits, or else the next one that could, with WakeupError. From any thread (T4)."""
        self._call_guard.request_wakeup()
        self._driver.nudge()

    # Commits ---------------------------------------------------------------------------------------------------------

    def commit(self, offsets: Offsets | None = None, timeout_ms: int | None = None) -> None:
        """Commit these, or what poll() has returned so far, and wait for it.

        Raises: CommitFailedError, RebalanceInProgressError, KafkaTimeoutError, WakeupError, or why it was refused.
        """
        given = None if offsets is None else arguments.offsets(offsets, "commit()")
        limit_ms = self._limit_ms(timeout_ms, "commit()")
        with self._call_guard.use("commit()"):
            deadline_ms = self._runtime.now_ms() + limit_ms
            as_of = self._positions.recreations()
            chosen = self._positions.returned_positions() if given is None else given
            self._await("commit()", lambda number: self._ask_for(chosen, as_of, number, deadline_ms), deadline_ms)

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> None:
        """The same without waiting: tried once; `callback(offsets, error)` runs in a later poll, commit or close."""
        given = None if offsets is None else arguments.offsets(offsets, "commit_async()")
        arguments.callback(callback, "commit_async()")
        with self._call_guard.use("commit_async()"):
            self._need_background()
            as_of = self._positions.recreations()
            chosen = self._positions.returned_positions() if given is None else given
            asked = self._driver.call(lambda number: self._ask_for(chosen, as_of, number))
            self._callbacks.expect(chosen, asked, callback)

    def _ask_for(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        recreations: int,
        number: int,
        deadline_ms: int | None = None,
    ) -> events.Commit:
        self._positions.ask_for_commit(recreations)
        return events.Commit(offsets, number, deadline_ms)

    def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed for these; None where there is nothing. Raises as commit() does."""
        wanted = arguments.partitions(partitions, "committed()")
        limit_ms = self._limit_ms(timeout_ms, "committed()")
        with self._call_guard.use("committed()"):
            deadline_ms = self._runtime.now_ms() + limit_ms
            found = self._await(
                "committed()", lambda number: events.FetchCommitted(wanted, number, deadline_ms), deadline_ms
            )
            return dict(cast("Mapping[TopicPartition, OffsetAndMetadata | None]", found))

    # The group -------------------------------------------------------------------------------------------------------

    def group_metadata(self) -> GroupMetadata:
        """Who this member is, for a producer's sendOffsetsToTransaction: all of it as of one moment."""
        with self._call_guard.use("group_metadata()"):
            if self._config.group_id is None:
                raise ConfigError("group_metadata() needs a group_id")
            deadline_ms = self._runtime.now_ms() + self._limit_ms(None, "group_metadata()")
            return cast("GroupMetadata", self._await("group_metadata()", events.DescribeMember, deadline_ms))

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Have the group rebalance although nothing has changed (KIP-568), with the next poll()s.

        For an assignor that goes by what only the application knows. IllegalStateError without a subscription.
        """
        with self._call_guard.use("enforce_rebalance()"):
            self._need_background()
            if self._chosen != "topics":
                raise IllegalStateError("enforce_rebalance() without topics: subscribe() first")
            self._driver.submit(events.EnforceRebalance(str(reason)))

    def metrics(self) -> dict[str, dict[str, float]]:
        """What was counted and timed since the consumer was made: by Kafka's groups and names, as kafka-python's.

        For example `metrics()["consumer-coordinator-metrics"]["rebalance-latency-max"]`, in milliseconds. NaN where
        there is nothing to average, -1 for what never happened. Totals instead of rates.
        """
        with self._call_guard.use("metrics()"):
            deadline_ms = self._runtime.now_ms() + self._limit_ms(None, "metrics()")
            answer = self._await("metrics()", events.DescribeMetrics, deadline_ms)
            found = cast("dict[str, dict[str, float]]", answer)
            found[FETCH_GROUP]["records-consumed-total"] = float(self._records.returned)
            return found

    # The end ---------------------------------------------------------------------------------------------------------

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """Commit if auto-commit is on, run the callback for what is owned, leave the group, end the thread.

        Takes no longer than `timeout_ms`, callbacks aside, whatever the network does (rule L2). From any thread, and as
        often as one likes (rule L4): the first one closes, the others wait for it. A call of another thread that is
        under way ends with ConsumerClosedError. Raises, when all is done, what a callback raised (rule C4), or what the
        next poll() would have.

        A `with` block that raises does not commit what the last poll() returned: nobody knows how much of it was
        processed.
        """
        self._close(arguments.timeout(timeout_ms, "close()"), processed=True)

    def _close(self, timeout_ms: int, processed: bool) -> None:
        deadline_ms = self._runtime.now_ms() + timeout_ms
        first = self._call_guard.begin_close()
        self._driver.nudge()
        if not first:
            self._call_guard.wait_closed(deadline_ms)
            return
        try:
            alone = self._call_guard.wait_empty(deadline_ms)
            with self._call_guard.use("close()"):
                self._leave_group(deadline_ms, alone, processed)
        finally:
            self._call_guard.end_close()

    def _leave_group(self, deadline_ms: int, alone: bool, processed: bool) -> None:
        try:
            self._note_failure()
            self._driver.ensure_running()
            self._say_good_bye(deadline_ms, alone, processed)
            self._note_failure()
        finally:  # whatever happened, nothing goes on running
            self._driver.shut_down(deadline_ms)
        self._callbacks.run_commit_callbacks()
        self._callbacks.raise_first()

    def _say_good_bye(self, deadline_ms: int, alone: bool, processed: bool) -> None:
        future = self._driver.call(lambda number: events.Close(number, deadline_ms, processed))
        if not alone:  # the other thread sits in a callback: answer for it, or nothing would ever go on (rule L2)
            self._callbacks.answer_without_running()
            self._driver.submit(events.PartitionsRevoked())
            self._driver.submit(events.PartitionsAssigned())
        failures = 0
        while not future.done and failures < MAX_FAILURES_OF_A_CLOSE:
            if self._driver.failure() is not None:  # to be raised at the end: callbacks and LeaveGroup are still due
                failures += 1
                self._note_failure()
            self._callbacks.serve()
            self._driver.ensure_running()  # also if it was a callback that has been told of the thread's death
            if not self._driver.wait_until(
                lambda: future.done or self._driver.has_consumer_events(),
                max(deadline_ms, self._runtime.now_ms()) + GRACE_MS,
            ):
                break

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._call_guard.is_foreign():  # a child that leaves its parent's block has nothing to close
            self._close(CLOSE_TIMEOUT_MS, processed=kind is None)

    def __del__(self) -> None:
        """Nobody can close it any more: thread and sockets end, and the group learns it from the session timeout."""
        if self._is_left_open():
            self._driver.abandon()
            self._warn()

    def _end_with_the_program(self) -> bool:
        """End the thread and the network of what nobody closed; whether that was so."""
        if self._is_left_open():
            # Another thread may be inside: a daemon, which ends wherever it is.
            with contextlib.suppress(IllegalStateError), self._call_guard.use("the end of the program"):
                self._driver.shut_down(self._runtime.now_ms())
                return True
        return False

    def _is_left_open(self) -> bool:
        unattended = getattr(self, "_unattended", False)
        return unattended and not self._driver.is_over() and not self._call_guard.is_foreign()

    def _warn(self) -> None:
        warnings.warn(f"{self!r} was never closed", ResourceWarning, source=self, stacklevel=3)

    def __repr__(self) -> str:
        return f"<Consumer client_id={self._config.client_id!r} group_id={self._config.group_id!r}>"


_UNATTENDED: Final[weakref.WeakSet[Consumer]] = weakref.WeakSet()


@atexit.register
def _end_what_is_left_open() -> None:
    """Threads that nobody ended end before the interpreter does.

    It stops a daemon thread for ever, wherever that is. One that was importing a message's module would keep the lock
    of all imports, and the main thread's next one, to print a warning, would wait for it.
    """
    for consumer in [each for each in list(_UNATTENDED) if each._end_with_the_program()]:
        consumer._warn()

"""What an application does with a consumer, and what it may rely on whatever the order of things: the oracle.

Its promises, by rule:

C1   Callbacks alternate: assigned what was not owned, revoked or lost what was; and nothing by who has left.
C3   What is revoked counts as owned until the callback has returned.
C4   What a callback raises is raised by a call, and the rebalance goes on.
L1   close() and unsubscribe() leave the group; L5: close() commits what was returned before.
O1   After an assignment reading begins at the committed offset.
O2   Each record comes once, in order, from there or from where the application sought.
O3   No record comes of a partition that is not owned.
M4   No commit covers what the application was not given.
M6   Each asynchronous commit has one outcome, in the order of the calls.
T2   Errors are those that the API has for the call; each wakeup interrupts at most one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from groupspec.conformance.schedules.group import TOPIC, RacingGroup
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import REFUSED, Scenario
from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError, KafkaError, KafkaTimeoutError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.runtime import Thread
from groupspec.impl.scheduling import ScheduledRuntime

POLL_MS: Final = 2_000
CALL_MS: Final = 5_000
WORK_MS: Final = 1_000
LONG_WORK_MS: Final = 25_000
"""Longer than the poll interval."""

STABLE_MS: Final = 15_000
STABLE_AFTER_FAULTS_MS: Final = 60_000
"""Virtual times after which a member that nothing disturbs any more must have read of every partition that it owns: two
requests that time out and a poll interval fit in the second.
"""


class CallbackRaised(Exception):
    """The application's callback raises this."""


class BlockRaised(Exception):
    """The application's `with` block raises this."""


class Application:
    """A listener, a loop, and what it expects of the consumer."""

    def __init__(self, runtime: ScheduledRuntime, scenario: Scenario, group: RacingGroup, requests: Requests) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._requests = requests
        self._callbacks = list(scenario.callbacks)
        self._next: dict[TopicPartition, int | None] = {}  # None: to be read from the committed offset
        self._reached: dict[TopicPartition, set[int]] = {}
        self._before_last_poll: dict[TopicPartition, int | None] = {}
        self._processed: dict[TopicPartition, int | None] | None = None  # all that close() may commit, if limited
        self._paused: set[TopicPartition] = set()
        self._sought: set[TopicPartition] = set()  # since the last poll
        self._others: list[tuple[int, str, Thread]] = []
        self._closed_meanwhile = False  # another thread has begun to close, maybe without time for a commit
        self._commits = 0
        self._outcomes: list[int] = []
        self._raised = 0
        self._in_callbacks_ms = 0
        self._polls = False
        self._had_left = False  # the group, when the last poll() began
        self._consumer: Consumer | None = None
        self.owned: set[TopicPartition] = set()
        self.errors: list[Exception] = []
        self.closed = False
        requests.owned = self.owned
        group.may_commit = self._may_commit

    # The listener
    # ------------------------------------------------------------------------------------------------------

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_assigned"):
            assert not set(partitions) & self.owned, f"assigned twice: {set(partitions) & self.owned} (rule C1)"
            late = self._had_left and self._requests.left
            assert not late, f"told of {set(partitions)} in a poll() that began after LeaveGroup (rule C1)"
            self.owned |= set(partitions)
            self._next |= dict.fromkeys(partitions)
            self._during_callback(partitions)

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_revoked"):
            assert set(partitions) <= self.owned, f"revoked without being owned: {set(partitions) - self.owned} (C1)"
            self._expect_owned(partitions)
            self._expect_committed(partitions)
            try:
                self._during_callback(partitions)
            finally:
                self._forget(partitions)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_lost"):
            assert set(partitions) <= self.owned, f"lost without being owned: {set(partitions) - self.owned} (C1)"
            self._forget(partitions)

    def _expect_owned(self, partitions: list[TopicPartition]) -> None:
        if self._consumer is not None and not self._scenario.is_closed_by_others:
            gone = set(partitions) - self._consumer.assignment()
            assert not gone, f"{gone} are not owned any more while they are being revoked (rule C3)"

    def _expect_committed(self, partitions: list[TopicPartition]) -> None:
        """With auto-commit a rebalance in poll() commits all that was returned, if nothing keeps it from it.

        A position that was set by seek() after the commit, and before the poll that runs the callback, is none of it.
        """
        scenario = self._scenario
        kept = scenario.timers_race or scenario.commits_fail or self._closed_meanwhile
        if not self._polls or not scenario.auto_commit or kept:
            return
        for partition in set(partitions) - self._sought:
            position, committed = self._next.get(partition), self._group.committed.get(partition)
            assert position is None or position == committed, (
                f"{partition} is revoked at {position} and committed at {committed} (rules C3, M8)"
            )

    def _forget(self, partitions: list[TopicPartition]) -> None:
        self.owned -= set(partitions)
        self._paused -= set(partitions)
        for partition in partitions:
            self._next.pop(partition, None)
        self._group.given_up(partitions)

    def _during_callback(self, partitions: list[TopicPartition]) -> None:
        consumer, what = self._consumer, self._callbacks.pop(0) if self._callbacks else ""
        assert consumer is not None
        if what == "raise":
            self._raised += 1
            raise CallbackRaised
        began_ms = self._runtime.now_ms()
        if what in REFUSED:
            self._expect_refusal(consumer, what)
        elif what:
            with suppress(KafkaError):
                self._call(consumer, what, partitions)
        self._in_callbacks_ms += self._runtime.now_ms() - began_ms

    def _expect_refusal(self, consumer: Consumer, what: str) -> None:
        calls: dict[str, Callable[[], object]] = {
            "poll inside": consumer.poll,
            "unsubscribe inside": consumer.unsubscribe,
            "close inside": consumer.close,
        }
        with suppress(IllegalStateError, ConsumerClosedError):
            calls[what]()
            raise AssertionError(f"{what} a callback, which it would wait for, was not refused (rule C5)")

    # The loop
    # -----------------------------------------------------------------------------------------------------------

    def work(self, consumer: Consumer) -> None:
        """Make the scenario's calls; then read of everything that is owned; then close."""
        self._consumer = consumer
        calls: list[Callable[[], object]] = [lambda: consumer.subscribe([TOPIC], self)]
        calls += [lambda name=name: self._call(consumer, name, sorted(self.owned)) for name in self._scenario.calls]  # type: ignore[misc]
        for number, call in enumerate(calls):
            self._start_others(number)
            self._try(call)
        self._start_others(len(calls))
        self._try(lambda: self._read_all(consumer))
        self._try(lambda: self._close(consumer))
        self._expect_the_end()

    def races_with(self, thread: Thread, what: str, call: int) -> None:
        """Start that thread, which does this, just before this call of the application, the first being number 0."""
        self._others.append((call, what, thread))

    def _start_others(self, number: int) -> None:
        for call, what, thread in self._others:
            if call == number:
                self._closed_meanwhile |= what.startswith("close")
                thread.start()

    def _try(self, call: Callable[[], object]) -> None:
        if self.closed:
            return
        try:
            call()
        except ConsumerClosedError:
            self.closed = True
            assert self._scenario.is_closed_by_others, "closed, and nobody has closed it"
        except (KafkaError, CallbackRaised) as error:
            self.errors.append(error)
            self._expect_in_time(error)

    def _expect_in_time(self, error: Exception) -> None:
        """No call times out where nothing keeps it from its outcome: no fault, and no poll interval that is over."""
        kept = self._scenario.has_faults or "work too long" in self._scenario.calls
        if not self._runtime.timers_race and not kept:
            assert not isinstance(error, KafkaTimeoutError), f"{error!r} (rule L2)"

    def _call(self, consumer: Consumer, name: str, partitions: list[TopicPartition]) -> None:
        match name:
            case "poll":
                self._read(consumer, POLL_MS)
            case "work":
                self._runtime.sleep_ms(WORK_MS)
            case "work too long":
                self._runtime.sleep_ms(LONG_WORK_MS)
            case "poll for long":
                self._read(consumer, LONG_WORK_MS)
            case "poll for nothing":
                self._read(consumer, 0)
            case "commit":
                self._commit(consumer)
            case "commit_async":
                number = self._commits
                self._commits += 1
                consumer.commit_async(callback=lambda _, __: self._outcomes.append(number))
            case "committed":
                self._ask_committed(consumer, TopicPartition(TOPIC, 0))
            case "position" if partitions:
                self._ask_position(consumer, partitions[0])
            case "seek" if partitions:
                self._seek(consumer, partitions[self._runtime.steps % len(partitions)], 500 + self._runtime.steps % 100)
            case "pause":
                consumer.pause(partitions)
                self._paused |= set(partitions)
            case "resume":
                consumer.resume(partitions)
                self._paused -= set(partitions)
            case "subscribe again" if consumer.subscription():
                consumer.subscribe([TOPIC], self)
            case "unsubscribe":
                self._unsubscribe(consumer)
                consumer.subscribe([TOPIC], self)

    def _unsubscribe(self, consumer: Consumer) -> None:
        self._requests.doing = "unsubscribe"
        self._requests.leaves()
        try:
            with self._leaving("unsubscribe()"):
                consumer.unsubscribe()
            self._requests.membership_ended()
        finally:
            self._requests.doing = ""

    def _close(self, consumer: Consumer) -> None:
        self._requests.doing = "close"
        endings: dict[str, Callable[[], object]] = {
            "close": lambda: consumer.close(CALL_MS),
            "close at once": lambda: consumer.close(0),
            "block": lambda: consumer.__exit__(None, None, None),
            "block that raises": lambda: consumer.__exit__(BlockRaised, BlockRaised(), None),
        }
        ending = self._scenario.ending
        if ending == "block that raises" and self._scenario.commits_only_by_itself:
            self._processed = self._before_last_poll
        wanted = {} if ending in ("close at once", "block that raises") else self._returned()
        joins = self._requests.joins
        limit_ms = 0 if ending == "close at once" else CALL_MS
        with self._limited("close()", limit_ms, waits=ending.startswith("close")), self._leaving("close()"):
            endings[ending]()
        for partition, offset in wanted.items():
            found = self._group.committed.get(partition)
            kept = self._requests.joins > joins  # in a round nothing can be committed (rule M7)
            assert found == offset or kept, f"closed at {offset} of {partition}, and {found} is committed (rule L5)"

    def _returned(self) -> dict[TopicPartition, int]:
        """What close() has to commit: all that was returned, where nothing keeps it from it."""
        scenario = self._scenario
        kept = scenario.timers_race or scenario.has_faults or scenario.commits_fail or scenario.is_closed_by_others
        if kept or not scenario.auto_commit or self._requests.in_round():
            return {}
        return {
            partition: offset
            for partition, offset in self._next.items()
            if offset is not None and partition not in self._sought and partition in self.owned
        }

    @contextmanager
    def _leaving(self, call: str) -> Iterator[None]:
        """A call that ends the membership."""
        name = self._requests.named
        yield
        scenario = self._scenario
        kept = scenario.static or scenario.timers_race or scenario.has_faults or scenario.is_closed_by_others
        assert kept or not name or self._requests.named != name, f"{call} has not taken {name} out of the group (L1)"

    @contextmanager
    def _limited(self, call: str, limit_ms: int = CALL_MS, waits: bool = True) -> Iterator[None]:
        """A call that ends in time, and for a reason of its own: it is over time when it says so, and not before."""
        began_ms = self._runtime.now_ms() - self._in_callbacks_ms
        timed_out = False
        try:
            yield
        except KafkaTimeoutError:
            timed_out = True
            raise
        finally:
            took_ms = self._runtime.now_ms() - self._in_callbacks_ms - began_ms
            if waits and not self._runtime.timers_race:
                assert took_ms <= limit_ms, f"{call} took {took_ms} ms of {limit_ms} ms (rule L2)"
                assert not timed_out or took_ms == limit_ms, f"{call} is out of time after {took_ms} of {limit_ms} ms"

    def _commit(self, consumer: Consumer) -> None:
        wanted = {partition: offset for partition, offset in self._next.items() if offset is not None}
        with self._limited("commit()"):
            consumer.commit(timeout_ms=CALL_MS)
        for partition, offset in wanted.items():
            found = self._group.committed.get(partition)
            assert found == offset or self._scenario.is_closed_by_others, (
                f"commit() says that {partition} is committed at {offset}, and it is at {found} (rule T3)"
            )

    def _ask_committed(self, consumer: Consumer, partition: TopicPartition) -> None:
        before, count = self._group.known(partition), len(self._group.commits)
        with self._limited("committed()"):
            found = consumer.committed([partition], timeout_ms=CALL_MS)[partition]
        possible = {before, *(offset for one, offset in self._group.commits[count:] if one == partition)}
        told = None if found is None else found.offset
        assert told in possible, f"committed() says {told} for {partition}, where it was one of {possible} (rule T3)"

    def _ask_position(self, consumer: Consumer, partition: TopicPartition) -> None:
        with self._limited("position()"):
            found = consumer.position(partition, timeout_ms=CALL_MS)
        possible = self._group.starts.get(partition, set()) | {self._next.get(partition)}
        assert found in possible, f"position() says {found} for {partition}, where it is one of {possible} (rule O1)"

    def _seek(self, consumer: Consumer, partition: TopicPartition, offset: int) -> None:
        self._reached.setdefault(partition, set()).add(offset)  # before: it may be committed before seek() returns
        consumer.seek(partition, offset)
        self._next[partition] = offset
        self._sought.add(partition)

    def _read(self, consumer: Consumer, timeout_ms: int) -> set[TopicPartition]:
        """Poll, and check every record; which partitions they were of."""
        read = set()
        began_ms = self._runtime.now_ms() - self._in_callbacks_ms
        self._polls, self._had_left = True, self._requests.left
        self._before_last_poll = dict(self._next)
        self._requests.times.poll_begins(self._runtime.now_ms())
        try:
            records = consumer.poll(timeout_ms)
        except KafkaError as error:
            self._expect_of_poll(consumer, error)
            raise
        finally:
            self._polls = False
            self._requests.times.poll_ends(self._runtime.now_ms())
            self._sought.clear()
            late_ms = self._runtime.now_ms() - self._in_callbacks_ms - began_ms - timeout_ms
            assert self._runtime.timers_race or late_ms <= 0, f"poll({timeout_ms}) was {late_ms} ms late (rule P4)"
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            if self._scenario.is_closed_by_others and partition not in self.owned:
                continue  # it was revoked by the thread that closes, as soon as poll() had returned
            assert partition in self.owned, f"a record of {partition}, which is not owned (rule O3)"
            expected = self._next[partition]
            if expected is None:
                starts = self._group.starts[partition]
                assert record.offset in starts, f"{partition} begins at {record.offset}, not at {starts} (rule O1)"
            else:
                assert record.offset == expected, f"{partition}: {record.offset} after {expected - 1} (rule O2)"
            self._next[partition] = record.offset + 1
            read.add(partition)
        for partition in read:
            reached = self._next[partition]
            assert reached is not None
            self._reached.setdefault(partition, set()).add(reached)
        return read

    def _expect_of_poll(self, consumer: Consumer, error: KafkaError) -> None:
        """Whatever the group answers here is for the consumer to get over; but for another process with its name."""
        known = isinstance(error, WakeupError | ConsumerClosedError) or "FENCED_INSTANCE_ID" in str(error)
        idle = isinstance(error, IllegalStateError) and not consumer.subscription()
        assert known or idle, f"poll() raises {error!r} (rules M2, D3)"

    def _may_commit(self, partition: TopicPartition, offset: int) -> bool:
        if self._processed is not None and (self._processed.get(partition) or offset) < offset:
            return False
        known = offset in self._reached.get(partition, ()) or (partition, offset) in self._group.answered
        return known or self._scenario.is_closed_by_others  # which may be just when poll() returns

    def _read_all(self, consumer: Consumer) -> None:
        """Nothing disturbs the member any more: something comes of each partition that it owns."""
        self._runtime.timers_race = False
        if not consumer.subscription():
            return
        read: set[TopicPartition] = set()
        self._try(lambda: consumer.resume(self._paused & self.owned))
        disturbed = self._scenario.has_faults or self._scenario.timers_race or "work too long" in self._scenario.calls
        end_ms = self._runtime.now_ms() + (STABLE_AFTER_FAULTS_MS if disturbed else STABLE_MS)
        while self._runtime.now_ms() <= end_ms:
            if self._requests.fenced and not self._requests.leaving:
                self._expect_fenced(consumer)
                return
            self._try(lambda: read.update(self._read(consumer, POLL_MS)))
            if self.closed or (consumer.assignment() == self.owned and self.owned <= read):
                return
            self._runtime.sleep_ms(POLL_MS)  # time passes while it works on what it has read
        raise AssertionError(f"nothing comes of {self.owned - read} any more; errors: {self.errors[-3:]}")

    def _expect_fenced(self, consumer: Consumer) -> None:
        """Nothing can be done about it: every poll says so."""
        for _ in range(3):  # one error a call, and others may be waiting
            before = len(self.errors)
            self._try(lambda: consumer.poll(POLL_MS))
            assert self.errors[before:] or self.closed, "fenced, and poll() says nothing (rule X2)"
        told = [error for error in self.errors if "FENCED_INSTANCE_ID" in str(error)]
        assert told or self._scenario.is_closed_by_others, f"fenced, and poll() says {self.errors} (rule X2)"

    def _expect_the_end(self) -> None:
        wakeups = [error for error in self.errors if isinstance(error, WakeupError)]
        asked = [what for what, _ in self._scenario.others if what == "wakeup"]
        assert len(wakeups) <= len(asked), "a wakeup has interrupted two calls (rule T4)"
        raised = [error for error in self.errors if isinstance(error, CallbackRaised)]
        assert len(raised) <= self._raised, "a callback's error was raised twice (rule C4)"
        assert raised or not self._raised or self._scenario.is_closed_by_others, "a callback's error is lost (rule C4)"
        if not self._scenario.is_closed_by_others:
            assert not self.owned, f"closed, and {self.owned} were never revoked (rules C1, C7)"
            assert self._outcomes == sorted(set(self._outcomes)), f"outcomes {self._outcomes} (rule M6)"
            assert len(self._outcomes) == self._commits, f"{self._commits} commits, outcomes {self._outcomes} (M6)"

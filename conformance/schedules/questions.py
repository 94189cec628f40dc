"""What an application asks of its consumer besides records: each answer is true, and comes in time.

C6   Who the member is, is what the group has said.
L2   A call takes no longer than it may, and is out of time only when that is over.
O1   position() is where reading goes on, or begins.
T3   commit() and committed() say what the coordinator has.
T4   A wakeup interrupts whatever waits at once, but for unsubscribe() and close(), and nothing in a callback.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.outcomes import CALL_MS, DEFAULT_MS, Outcomes
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import ASKS_LOG, TOPICS, Scenario
from groupspec.conformance.schedules.times import LOOK_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import KafkaTimeoutError
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.scheduling import ScheduledRuntime

OF_LEADERS: Final = ("position()", *(f"{call}()" for call in ASKS_LOG))
UNINTERRUPTED: Final = ("unsubscribe()", "close()")
MOST_ANSWERS: Final = 20
"""For which a call may have to wait one after the other; in the heartbeat design each may lie about for a while."""


class Questions:
    """Of one application.

    Attributes:
        in_callbacks_ms: How long its callbacks have taken, which no limit of a call covers.
        in_callback: Whether it is in one.
        limit_ms: How long each call may take by its own limit; None: it has none.
    """

    def __init__(
        self,
        runtime: ScheduledRuntime,
        scenario: Scenario,
        group: RacingGroup,
        requests: Requests,
        ledger: Ledger,
        outcomes: Outcomes,
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._requests = requests
        self._ledger = ledger
        self._outcomes = outcomes
        self.in_callbacks_ms = 0
        self.in_callback = False
        self.limit_ms = CALL_MS if scenario.sets_limits else None

    def ask(self, consumer: Consumer, name: str, partitions: list[TopicPartition]) -> None:
        """Make the call of this name, about these partitions."""
        match name:
            case "commit":
                self._commit(consumer)
            case "commit one":
                self._commit_one(consumer)
            case "commit nothing":
                with self.limited("commit()"):
                    consumer.commit({}, timeout_ms=self.limit_ms)
                self._outcomes.expect_earlier_commits()
            case "commit_async" | "commit_async that raises":
                self._commit_async(consumer, raises=name.endswith("raises"))
            case "committed":
                self._ask_committed(consumer, TopicPartition(TOPICS[0], 0))
            case "position" if partitions and self._is_settled():
                self._ask_position(consumer, partitions[0])
            case "seek" if partitions:
                steps = self._runtime.steps
                back = self._scenario.from_start and steps % 2
                self._seek(consumer, partitions[steps % len(partitions)], 0 if back else 500 + steps % 100)
            case "pause" | "pause one":
                chosen = partitions if name == "pause" else self._one_of(partitions)
                consumer.pause(chosen)
                self._ledger.paused |= set(chosen)
            case "resume" | "resume one":
                chosen = partitions if name == "resume" else self._one_of(partitions)
                consumer.resume(chosen)
                self._ledger.paused -= set(chosen)
            case "group_metadata":
                self._ask_who_it_is(consumer)

    def now_ms(self) -> int:
        """The time."""
        return self._runtime.now_ms()

    def ends_ms(self) -> int:
        """By when a call ends that begins now."""
        return self._runtime.now_ms() + (self.limit_ms or DEFAULT_MS)

    def _is_settled(self) -> bool:
        """Whether nothing goes because of other topics: nobody looks for the position of what goes."""
        return self._scenario.manual or self._requests.rounds.topics == self._requests.asking.subscribed

    def _one_of(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Any of them, if there is one."""
        return [partitions[self._runtime.steps % len(partitions)]] if partitions else []

    def _commit(self, consumer: Consumer) -> None:
        wanted = self._ledger.known()
        with self.limited("commit()"):
            consumer.commit(timeout_ms=self.limit_ms)
        self._outcomes.expect_earlier_commits()
        for partition, offset in wanted.items():
            found = self._group.committed.get(partition)
            goes_back = self._scenario.is_closed_by_others or self._scenario.logs_change
            assert found in (offset, self._group.logs.passes(offset)) or goes_back, (
                f"commit() says that {partition} is committed at {offset}, and it is at {found} (rule T3)"
            )

    def _commit_one(self, consumer: Consumer) -> None:
        wanted = dict(list(self._ledger.known().items())[:1])
        before = len(self._group.commits)
        note = f"commit {before}"
        with self.limited("commit()"):
            consumer.commit({tp: OffsetAndMetadata(at, note) for tp, at in wanted.items()}, timeout_ms=self.limit_ms)
        self._outcomes.expect_earlier_commits()
        others = {tp for tp, _ in self._group.commits[before:]} - set(wanted)
        # An earlier commit() that is out of time may still be on its way.
        kept = self._scenario.auto_commit or self._scenario.commits_async or self._scenario.timers_race
        assert not others or kept, f"{others} were committed with {wanted} (rule T3)"
        noted = {self._group.notes.get(partition) for partition in wanted}
        assert noted <= {note} or kept, f"{note!r} was committed with {wanted}, and {noted} has arrived (rule T3)"

    def _commit_async(self, consumer: Consumer, raises: bool) -> None:
        number = self._outcomes.commits

        def ended(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
            with self._runtime.application("the callback of commit_async()"):
                self._outcomes.commit_ended(number, offsets, error, raises)

        consumer.commit_async(callback=ended)
        self._outcomes.commits += 1

    def _ask_who_it_is(self, consumer: Consumer) -> None:
        known = self._requests.may_be()
        with self.limited("group_metadata()"):
            found = consumer.group_metadata()
        told = (found.member_id, found.generation_id)
        possible = self._requests.identities if self._runtime.timers_race else known | self._requests.may_be()
        may_be_nobody = self._requests.may_be_lost() or any(generation < 0 for _, generation in possible)
        is_nobody = found.generation_id < 0 and may_be_nobody
        assert is_nobody or told in possible, f"group_metadata() says {told}, which the group has not (rule C6)"

    def _ask_committed(self, consumer: Consumer, partition: TopicPartition) -> None:
        before, count = self._group.known(partition), len(self._group.commits)
        with self.limited("committed()"):
            found = consumer.committed([partition], timeout_ms=self.limit_ms)[partition]
        possible = {before, *(offset for one, offset in self._group.commits[count:] if one == partition)}
        possible |= {None} if self._scenario.away_ms and self._group.logs.is_deleted(partition.topic) else set()
        told = None if found is None else found.offset
        assert told in possible, f"committed() says {told} for {partition}, where it was one of {possible} (rule T3)"

    def _ask_position(self, consumer: Consumer, partition: TopicPartition) -> None:
        with self.limited("position()"):
            found = consumer.position(partition, timeout_ms=self.limit_ms)
        self._ledger.expect_position(partition, found)

    def _seek(self, consumer: Consumer, partition: TopicPartition, offset: int) -> None:
        self._ledger.seek(partition, offset)
        consumer.seek(partition, offset)
        self._ledger.goes_on(partition, offset)

    @contextmanager
    def limited(self, call: str, limit_ms: int | None = None) -> Iterator[None]:
        """A call that ends in time, and for a reason of its own: it is over time when it says so, and not before."""
        if limit_ms is None:
            limit_ms = self.limit_ms or DEFAULT_MS
        races = self._runtime.timers_race  # the application may end that while another thread's callback is in here
        called_ms = self._runtime.now_ms()
        began_ms = called_ms - self.in_callbacks_ms
        before, timed_out = self._group.last_sent(), False
        try:
            yield
        except KafkaTimeoutError:
            timed_out = True
            if call == "commit()":
                self._requests.commit_out_of_time(before)
            raise
        finally:
            took_ms = self._runtime.now_ms() - self.in_callbacks_ms - began_ms
            needs_ms = MOST_ANSWERS * (self._scenario.latency_ms + LOOK_MS)
            in_time = took_ms <= needs_ms or timed_out or not self._scenario.is_calm
            assert in_time, f"{call} took {took_ms} ms, and nothing has kept it from its outcome (rule L2)"
            if not races:
                self._expect_interrupted(call, called_ms)
                refused = timed_out and called_ms < self._requests.refused_ms < self._runtime.now_ms()
                if call in OF_LEADERS:  # it may wait for one that does not answer, and for no coordinator any more
                    refused &= not self._requests.is_under_way("ListOffsets")
                assert not refused, f"{call} waits on, and is out of time, refused its coordinator (rules H4, L2)"
                assert took_ms <= limit_ms, f"{call} took {took_ms} ms of {limit_ms} ms (rule L2)"
                assert not timed_out or took_ms == limit_ms, f"{call} is out of time after {took_ms} of {limit_ms} ms"

    def _expect_interrupted(self, call: str, called_ms: int) -> None:
        """Whoever closes in another thread runs callbacks of its own meanwhile; so nobody knows then what waits."""
        if self.in_callback or self._scenario.is_closed_by_others or call in UNINTERRUPTED:
            return
        now_ms = self._runtime.now_ms()
        missed = [at_ms for at_ms in self._outcomes.interrupted_ms if called_ms < at_ms < now_ms]
        assert not missed, f"{call} goes on for {now_ms - missed[0]} ms after a wakeup (rule T4)"

"""What poll() brings an application: each of its promises is judged here, records apart (`ledger`).

C1   A new assignment is told of by the poll() that could do so first.
O4   Records of the other partitions come although one cannot be read.
P4   poll() ends in its time, and does not come back empty-handed while there are records.
Q6   Callbacks that are due go before records.
T1   The application's deserialiser runs while no lock is held.
T4   A wakeup interrupts poll() at once; L4: and so does a close(); H6: and the end of a thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.outcomes import Outcomes
from groupspec.conformance.schedules.questions import Questions
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import UNREADABLE, Scenario
from groupspec.conformance.schedules.times import LOOK_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import KafkaError, NoOffsetForPartitionError, RecordDeserializationError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.records import ConsumerRecord
from groupspec.impl.scheduling import ScheduledRuntime

CHOOSE: Final = (RecordDeserializationError, NoOffsetForPartitionError)
"""Errors after which the application has to choose a position."""

CHOSEN: Final = 7
ENOUGH_MS: Final = 2_000
"""Within which a broker that is well has brought records."""


class Reading:
    """The poll()s of one application.

    Attributes:
        is_under_way: Whether it is inside poll().
        began_ms: When the last one began.
        before: The positions before it, and those that its callbacks have chosen.
        callbacks: How many callbacks have run.
        released_ms: When the last callback for what goes has ended.
    """

    def __init__(
        self,
        runtime: ScheduledRuntime,
        scenario: Scenario,
        requests: Requests,
        ledger: Ledger,
        outcomes: Outcomes,
        questions: Questions,
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._requests = requests
        self._ledger = ledger
        self._outcomes = outcomes
        self._questions = questions
        self.is_under_way = self._had_left = False
        self._joins = 0  # how many JoinGroups there were before the last one
        self.began_ms = self.released_ms = self.callbacks = 0
        self._told_of = 0  # the round whose assignment the last assigned callback was about
        self.before: dict[TopicPartition, int | None] = {}

    def deserialize(self, value: bytes) -> bytes:
        """The application's deserialiser, which may take its time, and cannot read everything."""
        with self._runtime.application("the deserialiser"):
            began_ms = self._runtime.now_ms()
            if self._scenario.deserializing_ms:
                self._runtime.sleep_ms(self._scenario.deserializing_ms)
            self._questions.in_callbacks_ms += self._runtime.now_ms() - began_ms
            if value == UNREADABLE:
                raise ValueError("unreadable")
            return value

    def poll(self, consumer: Consumer, timeout_ms: int) -> set[TopicPartition]:
        """Poll, and check every record; which partitions they were of."""
        self.began_ms, in_callbacks_ms = self._runtime.now_ms(), self._questions.in_callbacks_ms
        self.is_under_way = True
        self._had_left, self._joins = self._requests.left, self._requests.rounds.joins
        self._requests.finding.is_needed = True
        self.before, owned = dict(self._ledger.next), set(self._ledger.owned)
        subscribed = self._requests.asking.subscribed
        callbacks, readable, problem = self.callbacks, self._readable(), None
        self._requests.times.poll_begins(self.began_ms)
        self._requests.asking.polls(owned)
        records: list[ConsumerRecord] = []
        idle = self._requests.leaving  # an unsubscribe() that was out of time may be done now
        try:
            idle |= not (consumer.subscription() or consumer.assignment())
            records = consumer.poll(timeout_ms)
        except CHOOSE as error:
            problem = error
        except KafkaError as error:
            self._outcomes.expect_of_poll(error, idle, self._requests)
            raise
        finally:
            self.is_under_way = False
            self._requests.times.poll_ends(self._runtime.now_ms())
            in_callbacks_ms = self._questions.in_callbacks_ms - in_callbacks_ms
            self._expect_in_time(in_callbacks_ms, timeout_ms)
        if problem is not None:
            self.reacts(consumer, problem)
            return set()
        self._requests.times.mended()
        self._requests.asking.polled(self.began_ms, owned, subscribed)
        self.before |= {
            partition: self._ledger.next[partition] for partition in self._ledger.sought
        }  # in its callbacks
        self._ledger.sought.clear()  # a poll() that raises may leave for later what is due
        if callbacks == self.callbacks:
            self._expect_told(consumer)
        if not records and timeout_ms >= ENOUGH_MS and not in_callbacks_ms:
            starved = readable & self._readable()
            assert not starved, f"poll({timeout_ms}) brings nothing of {starved} (rules P4, Q4)"
        most = self._scenario.at_most
        assert len(records) <= most, f"poll() returns {len(records)} records of at most {most} (rule P4)"
        if not self._scenario.timers_race:
            self._ledger.expect_present(records, self.began_ms - LOOK_MS)
        return self._ledger.take(records)

    def began_outside(self) -> bool:
        """Whether the member had left the group before the last one, and has not joined it since."""
        return self._had_left and self._requests.rounds.joins == self._joins

    def reacts(self, consumer: Consumer, problem: Exception) -> None:
        """It is for the application to choose a position."""
        if isinstance(problem, RecordDeserializationError):
            self._ledger.expect_unreadable(problem.partition, problem.offset)
            self._expect_still_there(consumer, problem)
            self._go_to(consumer, problem.partition, problem.offset + 1)
        elif isinstance(problem, NoOffsetForPartitionError):
            for partition in self._ledger.without_offset():
                self._go_to(consumer, partition, CHOSEN)

    def _expect_still_there(self, consumer: Consumer, problem: RecordDeserializationError) -> None:
        """What cannot be read is left out by the application's own decision, and by no other."""
        if problem.partition in self._ledger.owned:
            found = consumer.position(problem.partition)
            assert found == problem.offset, f"{problem.partition} goes on at {found} after {problem} (rule O4)"

    def _go_to(self, consumer: Consumer, partition: TopicPartition, offset: int) -> None:
        self._ledger.seek(partition, offset)
        consumer.seek(partition, offset)
        self._ledger.goes_on(partition, offset)

    def _readable(self) -> set[TopicPartition]:
        """Of what records must come: owned, not paused, at a known position, on brokers that are well."""
        return set(self._ledger.known()) - self._ledger.paused if self._scenario.brokers_are_well else set()

    def _expect_told(self, consumer: Consumer) -> None:
        """A poll() that began when an assignment was there has not returned before the callback for it has run."""
        rounds, scenario = self._requests.rounds, self._scenario
        kept = scenario.timers_race or scenario.breaks or scenario.is_closed_by_others or self._requests.fenced
        if rounds.share is None or kept or (scenario.static and scenario.works_long):
            return
        due = self._told_of < rounds.synced and self._ledger.owned < rounds.share
        due &= max(rounds.synced_ms, self.released_ms) < self.began_ms - LOOK_MS
        told = not due or rounds.is_outdated or rounds.topics != consumer.subscription()
        assert told, f"poll() returns, and {rounds.share - self._ledger.owned} are not told of (rule Q6)"

    def begins_with(self, partitions: Iterable[TopicPartition]) -> None:
        """These are assigned anew: where they were read before does not count."""
        for partition in partitions:
            self.before.pop(partition, None)

    def expect_prompt(self) -> None:
        """The assigned callback runs: nothing that it need not wait for has come before it."""
        self._told_of = self._requests.rounds.synced
        scenario = self._scenario
        if scenario.timers_race or scenario.breaks or not self.is_under_way:
            return
        late_ms = self._runtime.now_ms() - max(self._requests.rounds.synced_ms, self.began_ms, self.released_ms)
        assert late_ms <= LOOK_MS, f"on_partitions_assigned is called {late_ms} ms late (rules C1, P4)"

    def _expect_in_time(self, in_callbacks_ms: int, timeout_ms: int) -> None:
        """A poll() that began then ends now. Nothing interrupts its callbacks."""
        if self._runtime.timers_race:
            return
        now_ms = self._runtime.now_ms()
        late_ms = now_ms - in_callbacks_ms - self.began_ms - timeout_ms
        assert late_ms <= 0, f"poll({timeout_ms}) was {late_ms} ms late (rule P4)"
        interrupted_ms = (*self._outcomes.interrupted_ms, *self._outcomes.broken_ms())
        missed = [at_ms for at_ms in interrupted_ms if self.began_ms < at_ms < now_ms]
        assert not missed or in_callbacks_ms, (
            f"poll() goes on for {now_ms - missed[0]} ms, interrupted (rules T4, L4, H6)"
        )

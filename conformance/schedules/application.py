"""What an application does with a consumer, and what it may rely on whatever the order of things: the oracle.

Its promises, by rule:

C1   Callbacks alternate: assigned what was not owned, revoked or lost what was; and nothing by who has left.
C3   What is revoked counts as owned until the callback has returned.
L1   close() and unsubscribe() leave the group; L5: close() commits what was returned before.
M5   With auto-commit all that was processed is committed some time.
P4   Each call ends in its time.
T4   A wakeup interrupts poll() at once; H6: and so does the end of a thread.

Which records may come, and what may be committed, is in `ledger`; how calls end in `outcomes`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Final

from groupspec.conformance.schedules.choosing import Choosing
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.looking import Looking
from groupspec.conformance.schedules.network import CannotSend, RacingTransport
from groupspec.conformance.schedules.outcomes import CallbackRaised, Outcomes
from groupspec.conformance.schedules.parting import Parting
from groupspec.conformance.schedules.questions import Questions
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import AFTER_WORK, LATENCY_MS, LOOKS, REFUSED, UNTIL, Scenario
from groupspec.conformance.schedules.settling import Settling
from groupspec.conformance.schedules.times import SETTINGS
from groupspec.impl.calls import GRACE_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError, KafkaError, NoOffsetForPartitionError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.runtime import Thread
from groupspec.impl.scheduling import ScheduledRuntime

WORK_MS: Final = 1_000
WHILE_MS: Final = 8_000
SHORT_POLL_MS: Final = LATENCY_MS // 3
LONG_WORK_MS: Final = 25_000
"""Longer than the poll interval."""


class Application:
    """A listener, a loop, and what it expects of the consumer."""

    def __init__(
        self,
        runtime: ScheduledRuntime,
        scenario: Scenario,
        group: RacingGroup,
        transport: RacingTransport,
        requests: Requests,
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._transport = transport
        self._requests = requests
        self._callbacks = list(scenario.callbacks)
        self._others: list[tuple[int, str, Thread]] = []
        self._waiting: list[tuple[int, str, Thread]] = []  # those of them that have not been started
        self._closed_meanwhile = False  # another thread has begun to close, maybe without time for a commit
        self._outcomes = Outcomes(runtime, scenario, group, transport)
        self._rests, self._is_resting = 0, False
        self._consumer: Consumer | None = None
        self.ledger = Ledger(scenario, group)
        self._questions = Questions(runtime, scenario, group, requests, self.ledger, self._outcomes)
        self._looking = Looking(scenario, group, self.ledger, self._questions, requests.asking)
        self._reading = Reading(runtime, scenario, requests, self.ledger, self._outcomes, self._questions)
        self._choosing = Choosing(runtime, scenario, group, requests, self.ledger, self._questions)
        self._parting = Parting(
            *(runtime, scenario, group, requests, self.ledger, self._questions, self._reading, self._choosing)
        )
        self._settling = Settling(
            *(runtime, scenario, group, requests, self.ledger, self._outcomes, self._reading, self._choosing)
        )
        self.deserialize = self._reading.deserialize if scenario.deserializes else None
        self.closed = False
        requests.claims.owned, requests.moved = self.ledger.owned, self.ledger.moved
        self.ledger.topic_ids = requests.topic_ids
        self.ledger.begins_anew, requests.asking.places = requests.asking.begins_anew, self.ledger.next
        group.hears, group.known_topics = self.hears, requests.known_topics

    # The listener -----------------------------------------------------------------------------------------------------

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_assigned"):
            twice = set(partitions) & self.ledger.owned
            assert not twice, f"assigned twice: {twice} (rule C1)"
            late = partitions and self._reading.began_outside()
            assert not late, f"told of {set(partitions)} in a poll() that began after LeaveGroup (rule C1)"
            self._reading.callbacks += 1
            self._reading.expect_prompt()
            self._choosing.expect_wanted(partitions)
            self.ledger.assigned(partitions)
            self._reading.begins_with(partitions)
            self._during_callback(partitions, may_time_out=False)

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_revoked"):
            self._expect_known(partitions, "revoked")
            late = self._requests.is_lost(self._runtime.now_ms()) and not self._runtime.timers_race
            assert not late, f"{set(partitions)} are revoked, and the membership was lost before (rule C2)"
            self._expect_owned(partitions)
            self._expect_committed(partitions)
            try:
                self._during_callback(partitions, may_time_out=False)
            finally:
                self.ledger.forget(partitions)
                self._reading.released_ms = self._requests.released_ms = self._runtime.now_ms()

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_lost"):
            self._expect_known(partitions, "lost")
            assert self._requests.may_be_lost(), f"{set(partitions)} are lost, and nothing has ended it (rule C2)"
            try:
                self._during_callback(partitions, may_time_out=True)
            finally:
                self.ledger.forget(partitions)
                self._reading.released_ms = self._requests.released_ms = self._runtime.now_ms()

    def _expect_known(self, partitions: list[TopicPartition], how: str) -> None:
        self._reading.callbacks += 1
        foreign = set(partitions) - self.ledger.owned
        assert not foreign, f"{how} without being owned: {foreign} (rule C1)"

    def _expect_owned(self, partitions: list[TopicPartition]) -> None:
        if self._consumer is not None and not self._scenario.is_closed_by_others:
            gone = set(partitions) - self._consumer.assignment()
            assert not gone, f"{gone} are not owned any more while they are being revoked (rule C3)"

    def _expect_committed(self, partitions: list[TopicPartition]) -> None:
        """With auto-commit a rebalance in poll() commits all that was returned, if nothing keeps it from it.

        A position that was set by seek() after the commit was sent, or before the poll that runs the callback, is none;
        nor is what goes because the application has chosen other topics while that commit was under way: there is no
        second one (the member's rows of `subscription_changed` while it prepares; so Kafka's
        ConsumerCoordinator.onJoinPrepare, which revokes what is unsubscribed by the time that its one commit is done).
        Nor is anything when the commit's time is over: commits of the application before it were slow (rule M3).
        """
        scenario = self._scenario
        kept = scenario.timers_race or scenario.commits_fail or self._closed_meanwhile or scenario.logs_change
        kept |= self._runtime.now_ms() - self._requests.rounds.called_ms >= SETTINGS["max_poll_interval_ms"]
        if not self._reading.is_under_way or not scenario.auto_commit or kept:
            return
        chosen_late = self._choosing.chosen_ms >= self._requests.committed_ms
        wants, vanish = self._choosing.wanted.covers, scenario.topics_vanish
        unwanted = {tp for tp in partitions if tp.topic in vanish or (chosen_late and not wants(tp.topic))}
        for partition in set(partitions) - self.ledger.sought - self.ledger.moved.keys() - unwanted:
            position, committed = self.ledger.next.get(partition), self._group.known(partition)
            places = () if position is None else (position, self._group.logs.passes(position))
            assert position is None or committed in places, (
                f"{partition} is revoked at {position} and committed at {committed} (rules C3, M8)"
            )

    def _during_callback(self, partitions: list[TopicPartition], may_time_out: bool) -> None:
        consumer, what = self._consumer, self._callbacks.pop(0) if self._callbacks else ""
        assert consumer is not None
        if what == "raise":
            self._outcomes.raised += 1
            raise CallbackRaised
        began_ms = self._runtime.now_ms()
        self._questions.in_callback = True
        try:
            if what.startswith(AFTER_WORK):
                self._runtime.sleep_ms(self._scenario.others_wait_ms or LATENCY_MS)
                what = what.removeprefix(AFTER_WORK)
            if what in REFUSED:
                self._expect_refusal(consumer, what)
            elif what == "work":
                self._runtime.sleep_ms(self._scenario.others_wait_ms or LATENCY_MS)
            elif what:
                self._call(consumer, what, partitions)
        except NoOffsetForPartitionError as error:
            self._reading.reacts(consumer, error)
        except (KafkaError, CannotSend) as error:  # nobody looks for the position of what is being revoked
            self._outcomes.raises(error, may_time_out or bool(self._requests.doing))
        finally:
            self._questions.in_callback = False
            self._questions.in_callbacks_ms += self._runtime.now_ms() - began_ms

    def _expect_refusal(self, consumer: Consumer, what: str) -> None:
        calls: dict[str, Callable[[], object]] = {
            "poll inside": consumer.poll,
            "unsubscribe inside": consumer.unsubscribe,
            "close inside": consumer.close,
        }
        with suppress(IllegalStateError, ConsumerClosedError):
            calls[what]()
            raise AssertionError(f"{what} a callback, which it would wait for, was not refused (rule C5)")

    # The loop ---------------------------------------------------------------------------------------------------------

    def work(self, consumer: Consumer) -> None:
        """Make the scenario's calls; then read of everything that is owned; then close."""
        self._consumer = consumer
        calls: list[Callable[[], object]] = [lambda: self._choosing.choose(consumer, self)]
        calls += [partial(self._call, consumer, name) for name in self._scenario.calls]
        for number, call in enumerate(calls):
            self._start_others(number)
            self.attempt(call)
        self._start_others(len(calls))
        if self._runtime.timers_race:
            self._runtime.timers_race, self._choosing.raced_ms = False, self._runtime.now_ms()
        if not self._scenario.ends_early:
            self.attempt(lambda: self._read_all(consumer))
        for name in self._scenario.last_calls:
            self.attempt(partial(self._call, consumer, name))
        before, living = len(self._outcomes.errors), self._runtime.alive()
        self.attempt(lambda: self._parting.close(consumer))
        self._expect_the_end(len(self._outcomes.errors) > before, living)

    def races_with(self, thread: Thread, what: str, call: int) -> None:
        """Start that thread, which does this, just before this call of the application, the first being number 0."""
        self._others.append((call, what, thread))
        self._waiting.append(self._others[-1])

    def wakeup(self, consumer: Consumer) -> None:
        """Another thread calls it."""
        self._outcomes.interrupted_ms.append(self._runtime.now_ms())
        consumer.wakeup()

    def close(self, consumer: Consumer, timeout_ms: int) -> None:
        """Another thread closes it; an error that is still to be told, or that a callback raises, may come out here."""
        before, began_ms = (self._is_resting, self._rests), self._runtime.now_ms()
        self._requests.closes_meanwhile = True
        self._outcomes.interrupted_ms.append(self._runtime.now_ms())
        with suppress(KafkaError, CallbackRaised, CannotSend):
            consumer.close(timeout_ms)
        alone = before == (True, self._rests) and self._is_resting and len(self._others) == 1
        # Or else it may give up a driver that has not had its turn.
        alone &= self._runtime.now_ms() - began_ms < timeout_ms + GRACE_MS
        owned = set() if self._scenario.manual else self.ledger.owned
        assert not alone or not owned, f"closed, and {owned} were never revoked (rules C1, C7)"

    def _start_others(self, number: int) -> None:
        """Those that race with this call; at the end, those that no call and no answer has started."""
        by_call, last = not self._scenario.others_at, number > len(self._scenario.calls)
        self._start([other for other in self._waiting if last or (by_call and other[0] == number)])

    def hears(self, api: str) -> None:
        """A request of this API is about to be answered."""
        if api == self._scenario.others_at:
            self._start(self._waiting)

    def _start(self, others: list[tuple[int, str, Thread]]) -> None:
        self._waiting = [other for other in self._waiting if other not in others]
        for _, what, thread in others:
            self._closed_meanwhile |= what.startswith("close")
            thread.start()

    def attempt(self, call: Callable[[], object]) -> None:
        """Make a call; what it raises is its outcome."""
        if self.closed:
            return
        try:
            call()
        except ConsumerClosedError:
            self.closed = True
            assert self._scenario.is_closed_by_others, "closed, and nobody has closed it"
        except (KafkaError, CallbackRaised, CannotSend) as error:
            chooses = isinstance(error, NoOffsetForPartitionError) and self._requests.doing != "close"
            if chooses and self._consumer is not None:
                self.attempt(partial(self._reading.reacts, self._consumer, error))
            else:
                self._outcomes.raises(error)

    def _call(self, consumer: Consumer, name: str, partitions: list[TopicPartition] | None = None) -> None:
        try:
            if name.startswith(("poll", "work")):
                self._spend_time(consumer, name)
            else:
                with self._outcomes.of(name, self._requests):
                    self._ask(consumer, name, sorted(self.ledger.owned) if partitions is None else partitions)
        finally:
            if not self._scenario.is_closed_by_others:
                lost = self.ledger.owned - consumer.assignment()
                assert not lost, f"after {name} {lost} are gone without a callback (C1)"

    def _spend_time(self, consumer: Consumer, name: str) -> None:
        match name:
            case "poll":
                self._reading.poll(consumer, self._scenario.poll_ms)
            case "poll for long":
                self._reading.poll(consumer, LONG_WORK_MS)
            case "poll for nothing":
                self._reading.poll(consumer, 0)
            case _ if name.startswith(UNTIL):
                self._poll_until(consumer, name.removeprefix(UNTIL))
            case "work":
                self.rest(WORK_MS - 100 * (self._runtime.steps % 8))
            case "work for a while":
                self.rest(WHILE_MS)
            case "work too long":
                self.rest(LONG_WORK_MS)

    def _poll_until(self, consumer: Consumer, api: str) -> None:
        """Poll until such a request is under way, so that the next call comes before its answer."""
        end_ms = self._runtime.now_ms() + WHILE_MS
        while self._runtime.now_ms() < end_ms and not (self.closed or self._requests.is_under_way(api)):
            self._reading.poll(consumer, SHORT_POLL_MS)

    def rest(self, ms: int) -> None:
        """Be outside of the consumer."""
        self._rests, self._is_resting = self._rests + 1, True
        self._runtime.sleep_ms(ms)
        self._is_resting = False

    def _ask(self, consumer: Consumer, name: str, partitions: list[TopicPartition]) -> None:
        match name:
            case "subscribe again" if consumer.subscription():
                self._choosing.choose(consumer, self)
            case "other topics" if consumer.subscription():
                self._choosing.choose_others(consumer, self)
            case "unsubscribe":
                try:
                    self._parting.unsubscribe(consumer)
                finally:  # also if it is out of time, or tells what ended a thread
                    self._choosing.choose(consumer, self)
            case "enforce_rebalance" if consumer.subscription():
                rounds = self._requests.rounds
                rounds.may_come(self._runtime.now_ms())
                due = rounds.joins + (not (self._requests.in_round() or self._runtime.timers_race))
                consumer.enforce_rebalance("what the application says of it " * (1 + self._runtime.steps % 2 * 1_100))
                rounds.due = max(rounds.due, due)
            case _ if name in LOOKS:
                self._looking.ask(consumer, name)
            case _:
                self._questions.ask(consumer, name, partitions)

    def _read_all(self, consumer: Consumer) -> None:
        """Nothing disturbs the member any more: something comes of each partition that it owns."""
        woken = any(what == "wakeup" and not thread.is_alive() for _, what, thread in self._others)
        self._settling.wakeups_due = woken
        if self._choosing.has_unsubscribed and not self._scenario.manual:  # and could not subscribe anew meanwhile
            self.attempt(partial(self._choosing.choose, consumer, self))
        self.attempt(lambda: self._call(consumer, "resume", sorted(self.ledger.paused)))
        self._settling.read_all(consumer, self)

    def _expect_the_end(self, close_raised: bool, living: Collection[str]) -> None:
        self._outcomes.expect_all(self._settling.wakeups_due, close_raised, living)
        if not (self._scenario.is_closed_by_others or self._scenario.manual):
            assert not self.ledger.owned, f"closed, and {self.ledger.owned} were never revoked (rules C1, C7)"

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

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from groupspec.conformance.schedules.group import CannotSend, RacingGroup, RacingTransport
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.looking import Looking
from groupspec.conformance.schedules.outcomes import CallbackRaised, Outcomes
from groupspec.conformance.schedules.questions import CALL_MS, Questions
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.requests import LOOK_MS, Requests
from groupspec.conformance.schedules.scenario import LATENCY_MS, LOOKS, REFUSED, TOPICS, Scenario
from groupspec.impl.consumer import CLOSE_TIMEOUT_MS, Consumer
from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError, KafkaError, NoOffsetForPartitionError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.runtime import Thread
from groupspec.impl.scheduling import ScheduledRuntime

POLL_MS: Final = 2_000
WORK_MS: Final = 1_000
WHILE_MS: Final = 8_000
UNSUBSCRIBE_MS: Final = 60_000
"""default_api_timeout_ms."""

LONG_WORK_MS: Final = 25_000
"""Longer than the poll interval."""

STABLE_MS: Final = 30_000
STABLE_AFTER_FAULTS_MS: Final = 240_000
"""Virtual times after which a member that nothing disturbs any more must be in its group, and must have read of every
partition that it owns. In the second fit eight requests that time out, four of them a JoinGroup, and a poll interval.
"""


class BlockRaised(Exception):
    """The application's `with` block raises this."""


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
        self._topics, self._chosen_ms = scenario.topics, 0  # what it subscribes to, since when
        self._others: list[tuple[int, str, Thread]] = []
        self._waiting: list[tuple[int, str, Thread]] = []  # those of them that have not been started
        self._closed_meanwhile = False  # another thread has begun to close, maybe without time for a commit
        self._outcomes = Outcomes(runtime, scenario, group, transport)
        self._has_unsubscribed = False  # and has not subscribed since
        self._wakeups_due = False  # another thread has called wakeup() before the last polls began
        self._rests, self._is_resting = 0, False
        self._raced_ms = 0  # when timers have last raced: until then no thread may have taken what was said
        self._consumer: Consumer | None = None
        self.ledger = Ledger(scenario, group)
        self._questions = Questions(runtime, scenario, group, requests, self.ledger, self._outcomes)
        self._looking = Looking(scenario, group, self.ledger, self._questions)
        self._reading = Reading(runtime, scenario, requests, self.ledger, self._outcomes, self._questions)
        self.deserialize = self._reading.deserialize if scenario.deserializes else None
        self.closed = False
        requests.owned = self.ledger.owned
        self.ledger.begins_anew = requests.asking.begins_anew
        group.hears = self.hears

    # The listener -----------------------------------------------------------------------------------------------------

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_assigned"):
            twice = set(partitions) & self.ledger.owned
            assert not twice, f"assigned twice: {twice} (rule C1)"
            late = partitions and self._reading.had_left and self._requests.left
            assert not late, f"told of {set(partitions)} in a poll() that began after LeaveGroup (rule C1)"
            self._reading.callbacks += 1
            self._reading.expect_prompt()
            self._expect_wanted(partitions)
            self.ledger.assigned(partitions)
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
                self._reading.released_ms = self._runtime.now_ms()

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """See RebalanceListener."""
        with self._runtime.application("on_partitions_lost"):
            self._expect_known(partitions, "lost")
            assert self._requests.may_be_lost(), f"{set(partitions)} are lost, and nothing has ended it (rule C2)"
            self.ledger.forget(partitions)
            self._reading.released_ms = self._runtime.now_ms()

    def _expect_wanted(self, partitions: list[TopicPartition]) -> None:
        """An assignment that came after another subscription is of that one's topics."""
        foreign = {partition for partition in partitions if partition.topic not in self._topics}
        settled_ms = max(self._chosen_ms, self._raced_ms) + LOOK_MS
        before = self._requests.rounds.synced_ms <= settled_ms or self._runtime.timers_race
        assert not foreign or before, f"{foreign} are assigned, and nobody subscribes to them any more (rule J1)"

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

        A position that was set by seek() after the commit, and before the poll that runs the callback, is none of it;
        nor is what goes because the application has chosen other topics while that commit was under way: there is no
        second one (the member's rows of `subscription_changed` while it prepares; so Kafka's
        ConsumerCoordinator.onJoinPrepare, which revokes what is unsubscribed by the time that its one commit is done).
        """
        scenario = self._scenario
        kept = scenario.timers_race or scenario.commits_fail or self._closed_meanwhile or scenario.logs_change
        if not self._reading.is_under_way or not scenario.auto_commit or kept:
            return
        chosen_late = self._chosen_ms >= self._requests.committed_ms
        unwanted = {partition for partition in partitions if chosen_late and partition.topic not in self._topics}
        for partition in set(partitions) - self.ledger.sought - unwanted:
            position, committed = self.ledger.next.get(partition), self._group.committed.get(partition)
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
        try:
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
        calls: list[Callable[[], object]] = [lambda: self._choose(consumer)]
        calls += [partial(self._call, consumer, name) for name in self._scenario.calls]
        for number, call in enumerate(calls):
            self._start_others(number)
            self._try(call)
        self._start_others(len(calls))
        if self._runtime.timers_race:
            self._runtime.timers_race, self._raced_ms = False, self._runtime.now_ms()
        if not self._scenario.ends_early:
            self._try(lambda: self._read_all(consumer))
        for name in self._scenario.last_calls:
            self._try(partial(self._call, consumer, name))
        before, living = len(self._outcomes.errors), self._runtime.alive()
        self._try(lambda: self._close(consumer))
        self._expect_the_end(len(self._outcomes.errors) > before, living)

    def _choose(self, consumer: Consumer) -> None:
        """Say what is to be read: topics, or partitions."""
        if self._scenario.manual:
            self.ledger.assigned(self._scenario.by_hand)
            self._requests.finding.is_needed = True
            consumer.assign(self._scenario.by_hand)
        else:
            consumer.subscribe(self._topics, self)

    def races_with(self, thread: Thread, what: str, call: int) -> None:
        """Start that thread, which does this, just before this call of the application, the first being number 0."""
        self._others.append((call, what, thread))
        self._waiting.append(self._others[-1])

    def wakeup(self, consumer: Consumer) -> None:
        """Another thread calls it."""
        self._reading.interrupted_ms.append(self._runtime.now_ms())
        consumer.wakeup()

    def close(self, consumer: Consumer, timeout_ms: int) -> None:
        """Another thread closes it; an error that is still to be told, or that a callback raises, may come out here."""
        before = self._is_resting, self._rests
        self._requests.closes_meanwhile = True
        self._reading.interrupted_ms.append(self._runtime.now_ms())
        with suppress(KafkaError, CallbackRaised, CannotSend):
            consumer.close(timeout_ms)
        alone = before == (True, self._rests) and self._is_resting and len(self._others) == 1
        owned = set() if self._scenario.manual else self.ledger.owned
        assert not alone or not owned, f"closed, and {owned} were never revoked (rules C1, C7)"

    def _start_others(self, number: int) -> None:
        """Those that race with this call; at the end, those that no answer has started."""
        by_call, last = not self._scenario.others_at, number > len(self._scenario.calls)
        self._start([other for other in self._waiting if (other[0] == number if by_call else last)])

    def hears(self, api: str) -> None:
        """A request of this API is about to be answered."""
        if api == self._scenario.others_at:
            self._start(self._waiting)

    def _start(self, others: list[tuple[int, str, Thread]]) -> None:
        self._waiting = [other for other in self._waiting if other not in others]
        for _, what, thread in others:
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
        except (KafkaError, CallbackRaised, CannotSend) as error:
            chooses = isinstance(error, NoOffsetForPartitionError) and self._requests.doing != "close"
            if chooses and self._consumer is not None:
                self._try(partial(self._reading.reacts, self._consumer, error))
            else:
                self._outcomes.raises(error)

    def _call(self, consumer: Consumer, name: str, partitions: list[TopicPartition] | None = None) -> None:
        if name.startswith(("poll", "work")):
            self._spend_time(consumer, name)
        else:
            with self._outcomes.of(name, self._requests):
                self._ask(consumer, name, sorted(self.ledger.owned) if partitions is None else partitions)
        lost = self.ledger.owned - consumer.assignment()
        assert not lost or self._scenario.is_closed_by_others, f"after {name} {lost} are gone without a callback (C1)"

    def _spend_time(self, consumer: Consumer, name: str) -> None:
        match name:
            case "poll":
                self._reading.poll(consumer, self._scenario.poll_ms)
            case "poll for long":
                self._reading.poll(consumer, LONG_WORK_MS)
            case "poll for nothing":
                self._reading.poll(consumer, 0)
            case "work":
                self._rest(WORK_MS - 100 * (self._runtime.steps % 8))
            case "work for a while":
                self._rest(WHILE_MS)
            case "work too long":
                self._rest(LONG_WORK_MS)

    def _rest(self, ms: int) -> None:
        """Be outside of the consumer."""
        self._rests, self._is_resting = self._rests + 1, True
        self._runtime.sleep_ms(ms)
        self._is_resting = False

    def _ask(self, consumer: Consumer, name: str, partitions: list[TopicPartition]) -> None:
        match name:
            case "subscribe again" if consumer.subscription():
                consumer.subscribe(self._topics, self)
            case "other topics" if consumer.subscription():
                self._want_others(consumer)
            case "unsubscribe":
                self._unsubscribe(consumer)
                self._choose(consumer)
                self._has_unsubscribed = False
            case "enforce_rebalance" if consumer.subscription():
                rounds = self._requests.rounds
                rounds.may_come(self._runtime.now_ms())
                due = rounds.joins + (not (self._requests.in_round() or self._runtime.timers_race))
                consumer.enforce_rebalance()
                rounds.due = max(rounds.due, due)
            case _ if name in LOOKS:
                self._looking.ask(consumer, name)
            case _:
                self._questions.ask(consumer, name, partitions)

    def _want_others(self, consumer: Consumer) -> None:
        """Other topics; the same ones still, if subscribe() raises what ended a thread and has not come further."""
        before, chosen_ms = self._topics, self._chosen_ms
        self._topics = TOPICS if len(self._topics) == 1 else TOPICS[self._runtime.steps % 2 :][:1]
        self._chosen_ms = self._runtime.now_ms()
        self._requests.rounds.may_come(self._chosen_ms)
        self._requests.asking.subscribed = frozenset(self._topics)
        try:
            consumer.subscribe(self._topics, self)
        except Exception:
            if consumer.subscription() != set(self._topics):
                self._topics, self._chosen_ms = before, chosen_ms
                self._requests.asking.subscribed = frozenset(before)
            raise

    def _unsubscribe(self, consumer: Consumer) -> None:
        self._requests.doing = "unsubscribe"
        self._requests.leaves()
        self._has_unsubscribed = True
        try:
            with self._questions.limited("unsubscribe()", UNSUBSCRIBE_MS), self._leaving("unsubscribe()"):
                consumer.unsubscribe()
            self._requests.membership_ended()
        finally:
            self._requests.doing = ""
            self._requests.times.left_round()
            if self._scenario.manual:
                self.ledger.forget(set(self.ledger.owned))  # without a callback

    def _close(self, consumer: Consumer) -> None:
        self._requests.doing = "close"
        endings: dict[str, Callable[[], object]] = {
            "close": lambda: consumer.close(CALL_MS),
            "close at once": lambda: consumer.close(0),
            "block": lambda: consumer.__exit__(None, None, None),
            "block that raises": lambda: consumer.__exit__(BlockRaised, BlockRaised(), None),
        }
        ending = self._scenario.ending
        by_itself = self._scenario.commits_only_by_itself and not self._scenario.remakes  # which moves it back
        if ending == "block that raises" and by_itself:
            self.ledger.processed = self._reading.before | {tp: self.ledger.next[tp] for tp in self.ledger.sought}
        wanted = {} if ending in ("close at once", "block that raises") else self._returned()
        joins = self._requests.rounds.joins
        limit_ms = {"close": CALL_MS, "close at once": 0}.get(ending, CLOSE_TIMEOUT_MS)
        began_ms, in_callbacks_ms = self._runtime.now_ms(), self._questions.in_callbacks_ms
        with self._questions.limited("close()", limit_ms), self._leaving("close()"):
            endings[ending]()
        self._expect_nothing_waited_for(began_ms, self._questions.in_callbacks_ms - in_callbacks_ms, limit_ms)
        for partition, offset in wanted.items():
            found = self._group.committed.get(partition)
            kept = self._requests.rounds.joins > joins  # in a round nothing can be committed (rule M7)
            places = (offset, self._group.logs.passes(offset))
            assert found in places or kept, f"closed at {offset} of {partition}, and {found} is committed (rule L5)"

    def _expect_nothing_waited_for(self, began_ms: int, in_callbacks_ms: int, limit_ms: int) -> None:
        """A close() without a commit ends with its callbacks, or when the group has answered that it leaves."""
        scenario, now_ms = self._scenario, self._runtime.now_ms()
        woken = any(what == "wakeup" for what, _ in scenario.others)  # and a commit that was waited for goes on
        commits = scenario.auto_commit or scenario.commits_async or woken
        if commits or scenario.timers_race or scenario.breaks or scenario.is_closed_by_others:
            return
        idle_ms = now_ms - max(began_ms, self._requests.parted_ms) - in_callbacks_ms
        assert idle_ms <= LOOK_MS or now_ms - began_ms >= limit_ms, (
            f"close() goes on for {idle_ms} ms, and waits for nothing (rule L2)"
        )

    def _returned(self) -> dict[TopicPartition, int]:
        """What close() has to commit: all that was returned, where nothing keeps it from it."""
        scenario = self._scenario
        kept = scenario.timers_race or scenario.has_faults or scenario.commits_fail or scenario.is_closed_by_others
        kept |= (scenario.static and scenario.works_long) or scenario.logs_change
        if kept or not scenario.auto_commit or (self._requests.rounds.share is None and not scenario.manual):
            return {}
        return {
            partition: offset
            for partition, offset in self.ledger.known().items()
            if partition not in self.ledger.sought and partition in self.ledger.owned
        }

    @contextmanager
    def _leaving(self, call: str) -> Iterator[None]:
        """A call that ends the membership."""
        name = self._requests.named
        yield
        scenario = self._scenario
        kept = scenario.static or scenario.timers_race or scenario.has_faults or scenario.is_closed_by_others
        assert kept or not name or self._requests.named != name, f"{call} has not taken {name} out of the group (L1)"

    def _read_all(self, consumer: Consumer) -> None:
        """Nothing disturbs the member any more: something comes of each partition that it owns."""
        if not (consumer.subscription() or consumer.assignment()):
            return
        read: set[TopicPartition] = set()
        known = self.ledger.known()
        self._wakeups_due = any(what == "wakeup" and not thread.is_alive() for _, what, thread in self._others)
        self._try(lambda: self._call(consumer, "resume", sorted(self.ledger.paused)))
        scenario = self._scenario
        disturbed = scenario.has_faults or scenario.timers_race or scenario.works_long or scenario.leads
        end_ms = self._runtime.now_ms() + (STABLE_AFTER_FAULTS_MS if disturbed else STABLE_MS)
        while self._runtime.now_ms() <= end_ms:
            if self._requests.fenced and not self._requests.leaving:
                if not self._requests.maybe_fenced:
                    self._expect_fenced(consumer)
                self._wakeups_due = False
                return
            self._try(lambda: read.update(self._reading.poll(consumer, min(POLL_MS, 10 * scenario.poll_ms))))
            woken = self._outcomes.is_woken() or not self._wakeups_due
            told = woken and self._outcomes.has_told(self._requests)
            if self.closed or (told and self._is_stable(consumer, read, known)):
                return
            self._rest(POLL_MS)  # time passes while it works on what it has read
        self._tell_what_is_missing(consumer, read, known)

    def _is_stable(self, consumer: Consumer, read: set[TopicPartition], known: dict[TopicPartition, int]) -> bool:
        owned = self.ledger.owned
        return (
            consumer.assignment() == owned
            and owned <= read
            and not self._lacks(consumer)
            and not self._uncommitted(known)
        )

    def _lacks(self, consumer: Consumer) -> str:
        """What is wrong with the membership. An unsubscribe() that has given up goes on, and nobody subscribes anew."""
        if self._has_unsubscribed or self._scenario.manual:
            return ""
        if undivided := self._group.undivided():
            return f"the leader has given {undivided} to nobody (rule J8)"
        return self._requests.rounds.lacks(consumer.subscription(), self.ledger.owned)

    def _uncommitted(self, known: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """What an automatic commit should have covered by now, since there was a poll() after it."""
        if not self._scenario.auto_commit or self._scenario.logs_change:
            return {}
        left = {tp: at for tp, at in known.items() if tp in self.ledger.owned and at <= (self.ledger.next[tp] or -1)}
        return {tp: at for tp, at in left.items() if (self._group.known(tp) or -1) < at}

    def _tell_what_is_missing(
        self, consumer: Consumer, read: set[TopicPartition], known: dict[TopicPartition, int]
    ) -> None:
        errors = self._outcomes.errors[-3:]
        missing = self.ledger.owned - read
        assert not missing, f"nothing comes of {missing} any more; errors: {errors}"
        uncommitted = self._uncommitted(known)
        assert not uncommitted, f"{uncommitted} are not committed automatically; errors: {errors} (rule M5)"
        lacks = self._lacks(consumer)
        assert not lacks, f"{lacks}; errors: {errors}"
        told = self._outcomes.has_told(self._requests)
        assert self._outcomes.is_woken() or not self._wakeups_due, "a wakeup has interrupted no call (rule T4)"
        assert told, f"of {self._requests.to_tell} not all are told; errors: {errors} (rule H4)"
        raise AssertionError(f"{consumer.assignment()} are assigned, and {self.ledger.owned} owned; errors: {errors}")

    def _expect_fenced(self, consumer: Consumer) -> None:
        """Nothing can be done about it: every poll says so."""
        for _ in range(3 + self._outcomes.raised):  # one error a call, and others may be waiting
            self._runtime.sleep_ms(POLL_MS)  # records may be at hand, and nobody has told the member yet
            before = len(self._outcomes.errors)
            self._try(lambda: consumer.poll(POLL_MS))
            assert self._outcomes.errors[before:] or self.closed, "fenced, and poll() says nothing (rule X2)"
        errors = self._outcomes.errors
        told = [error for error in errors if "FENCED_INSTANCE_ID" in str(error)]
        assert told or self._scenario.is_closed_by_others, f"fenced, and poll() says {errors} (rule X2)"

    def _expect_the_end(self, close_raised: bool, living: Collection[str]) -> None:
        self._outcomes.expect_all(self._wakeups_due, close_raised, living)
        if not (self._scenario.is_closed_by_others or self._scenario.manual):
            assert not self.ledger.owned, f"closed, and {self.ledger.owned} were never revoked (rules C1, C7)"

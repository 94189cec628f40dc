"""How an application parts from its group: unsubscribe(), and close() in each of its ways.

L1   Both leave the group, as long as its coordinator is known: nobody looks for one in order to leave it
     (AbstractCoordinator.maybeLeaveGroup), nor in order to commit nothing.
L2   close() ends within its timeout, whatever the network does, and does not wait where nothing is to come: for the
     commit, and the coordinator that it needs, then for what is under way (ConsumerCoordinator.close, which asks for a
     coordinator as long as commits are pending, and AbstractCoordinator.close: "if coordinator is not known, requests
     are aborted").
L5   It commits what was returned before, unless something keeps it from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from groupspec.conformance.schedules.choosing import Choosing
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.outcomes import CALL_MS, DEFAULT_MS
from groupspec.conformance.schedules.questions import Questions
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import ASYNC, Scenario
from groupspec.conformance.schedules.times import LOOK_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import ConsumerClosedError, KafkaTimeoutError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.scheduling import ScheduledRuntime

CLOSE_MS: Final = 30_000
"""How long close() may take that has no limit of its own (ConsumerUtils.DEFAULT_CLOSE_TIMEOUT_MS)."""

LIMITS_MS: Final = {"close": CALL_MS, "close at once": 0}
"""How long each way to close may take; a `with` block's end as long as it is set by default."""

BACKOFF_MS: Final = 1_000
"""The longest between two tries (retry.backoff.max.ms)."""


class BlockRaised(Exception):
    """The application's `with` block raises this."""


class Parting:
    """Of one application."""

    def __init__(
        self,
        runtime: ScheduledRuntime,
        scenario: Scenario,
        group: RacingGroup,
        requests: Requests,
        ledger: Ledger,
        questions: Questions,
        reading: Reading,
        choosing: Choosing,
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._requests = requests
        self._ledger = ledger
        self._questions = questions
        self._reading = reading
        self._choosing = choosing

    def unsubscribe(self, consumer: Consumer) -> None:
        """Want nothing any more. Whatever it raises, all is done then, unless it is out of time."""
        self._requests.doing = "unsubscribe"
        self._requests.leaves()
        self._choosing.has_unsubscribed = True
        goes_on = False
        try:
            with self._questions.limited("unsubscribe()", DEFAULT_MS), self._leaving("unsubscribe()"):
                consumer.unsubscribe()
        except (KafkaTimeoutError, ConsumerClosedError):
            goes_on = True
            raise
        finally:
            self._requests.doing = ""
            self._requests.times.left_round()
            if not goes_on:
                self._has_unsubscribed(consumer)

    def _has_unsubscribed(self, consumer: Consumer) -> None:
        left = consumer.subscription() | consumer.assignment()
        assert not left, f"unsubscribe() has returned, or raised, and {left} are still there (rules C7, L1)"
        self._requests.membership_ended()
        if self._scenario.manual:
            self._ledger.forget(set(self._ledger.owned))  # without a callback

    def close(self, consumer: Consumer) -> None:
        """The end, in the scenario's way."""
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
            reached = {tp: self._ledger.next[tp] for tp in self._ledger.sought}
            self._ledger.limits(self._reading.before | reached)
        wanted = {} if ending in ("close at once", "block that raises") else self._returned()
        joins = self._requests.rounds.joins
        limit_ms = LIMITS_MS.get(ending, CLOSE_MS)
        began_ms, in_callbacks_ms = self._runtime.now_ms(), self._questions.in_callbacks_ms
        commits = self._may_commit()
        self._requests.ends_with_commit, self._requests.closes_ms = self._has_to_commit(), began_ms
        self._group.closes()
        try:
            with self._questions.limited("close()", limit_ms), self._leaving("close()"):
                endings[ending]()
        finally:  # whatever it raises comes when all is done
            self._expect_nothing_waited_for(began_ms, self._questions.in_callbacks_ms - in_callbacks_ms, commits)
            self._expect_committed(wanted, joins)

    def _expect_committed(self, wanted: dict[TopicPartition, int], joins: int) -> None:
        """Of a close() that began after so many JoinGroups."""
        for partition, offset in wanted.items():
            found = self._group.known(partition)
            kept = self._requests.rounds.joins > joins  # in a round nothing can be committed (rule M7)
            places = (offset, self._group.logs.passes(offset))
            assert found in places or kept, f"closed at {offset} of {partition}, and {found} is committed (rule L5)"

    def _may_commit(self) -> bool:
        """Whether close() may have anything to commit, or a commit is under way."""
        scenario = self._scenario
        woken = any(what == "wakeup" for what, _ in scenario.others)  # and a commit that was waited for goes on
        begun = woken or self._requests.is_under_way("OffsetCommit")
        return (scenario.auto_commit and bool(self._ledger.owned)) or scenario.commits_async or begun

    def _has_to_commit(self) -> bool:
        """Whether it has: of a partition where nothing was returned or sought only what a reset has found.

        Nobody looks for a coordinator in order to commit nothing (KAFKA-13717).
        """
        owned, scenario = self._ledger.owned, self._scenario
        if {"commit", "commit one", "committed", "position", *ASYNC} & scenario.calls_in_callbacks:
            return True  # its callback may ask the coordinator, as the call lets go of what is owned (schedule 791)
        if not self._may_commit() or scenario.commits_async or scenario.others or scenario.logs_change:
            return self._may_commit()
        known, kept = self._ledger.known(), not scenario.commits_fail
        left = {tp for tp in owned if tp.partition in scenario.fresh or scenario.seeks}
        return bool(left) or any(not kept or at != self._group.known(tp) for tp, at in known.items() if tp in owned)

    def _expect_nothing_waited_for(self, began_ms: int, in_callbacks_ms: int, commits: bool) -> None:
        """A close() without a commit ends with its callbacks, or when the group has answered that it leaves.

        One that commits ends with the last answer that it needs, or when it would be time to ask once more.
        """
        scenario, now_ms = self._scenario, self._runtime.now_ms()
        if scenario.timers_race or scenario.breaks or scenario.is_closed_by_others:
            return
        idle_ms = now_ms - max(began_ms, self._requests.heard_ms(now_ms, commits)) - in_callbacks_ms
        assert idle_ms <= LOOK_MS + (BACKOFF_MS if commits else 0), (
            f"close() goes on for {idle_ms} ms, and waits for nothing (rule L2)"
        )

    def _returned(self) -> dict[TopicPartition, int]:
        """What close() has to commit: all that was returned, where nothing keeps it from it."""
        scenario = self._scenario
        kept = bool(scenario.breaks) or scenario.timers_race or scenario.is_closed_by_others or scenario.logs_change
        kept |= bool(scenario.at_close) or self._group.may_fail() or not self._requests.is_well()
        kept |= scenario.static and scenario.works_long
        if kept or not scenario.auto_commit or (self._requests.rounds.share is None and not scenario.manual):
            return {}
        return {
            partition: offset
            for partition, offset in self._ledger.known().items()
            if partition not in self._ledger.sought
            and partition in self._ledger.owned
            and self._group.topics.has(partition)
        }

    @contextmanager
    def _leaving(self, call: str) -> Iterator[None]:
        """A call that ends the membership: of who is no static member, where it is known whom to tell."""
        name, known, began_ms = self._requests.named, self._requests.finding.knows, self._runtime.now_ms()
        scenario = self._scenario
        kept = bool(scenario.breaks) or scenario.static or scenario.timers_race or scenario.is_closed_by_others
        try:
            yield
        finally:  # also if it raises what a callback has raised, or poll() would have
            kept |= not (known and self._requests.finding.knows) or self._requests.disowned_ms >= began_ms
            assert kept or not name or self._requests.named != name, (
                f"{call} has not taken {name} out of the group (L1)"
            )

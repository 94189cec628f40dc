"""Whether all comes to be well when nothing disturbs a member any more.

J2   It is in its group; J8: with the topics that it wants, of which a leader divides all.
C1   It owns what the group has assigned to it.
P4   Something comes of each partition that it owns.
M5   With auto-commit all that was processed is committed some time.
H4   What is to be told has been told; T4: each wakeup has interrupted a call; X2: who is fenced hears of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from groupspec.conformance.schedules.choosing import Choosing
from groupspec.conformance.schedules.group import SLOW_MS, RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.outcomes import Outcomes
from groupspec.conformance.schedules.reading import Reading
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.scheduling import ScheduledRuntime

POLL_MS: Final = 2_000
STABLE_MS: Final = 30_000
STABLE_AFTER_FAULTS_MS: Final = 240_000
"""Virtual times, slow answers apart, after which a member that nothing disturbs any more must be in its group, and must
have read of every partition that it owns. In the second fit eight requests that time out, four of them a JoinGroup, and
a poll interval.
"""


class Caller(Protocol):
    """Who makes the calls.

    Attributes:
        closed: Whether the consumer is closed.
    """

    closed: bool

    def attempt(self, call: Callable[[], object]) -> None:
        """Make one; what it raises is its outcome."""

    def rest(self, ms: int) -> None:
        """Be outside of the consumer."""


class Settling:
    """Of one application.

    Attributes:
        wakeups_due: Whether another thread has called wakeup() before the last polls began.
    """

    def __init__(
        self,
        runtime: ScheduledRuntime,
        scenario: Scenario,
        group: RacingGroup,
        requests: Requests,
        ledger: Ledger,
        outcomes: Outcomes,
        reading: Reading,
        choosing: Choosing,
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._requests = requests
        self._ledger = ledger
        self._outcomes = outcomes
        self._reading = reading
        self._choosing = choosing
        self.wakeups_due = False

    def read_all(self, consumer: Consumer, caller: Caller) -> None:
        """Poll until all is well. AssertionError if that takes too long."""
        if not (consumer.subscription() or consumer.assignment() or self._choosing.is_by_pattern()):
            return
        read: set[TopicPartition] = set()
        known = self._ledger.known()
        scenario = self._scenario
        disturbed = scenario.has_faults or scenario.timers_race or scenario.works_long or scenario.leads
        disturbed |= not scenario.poll_ms  # then each step of a round may take a rest
        slow_ms = scenario.slow_answers * SLOW_MS  # one after the other: a round waits for commits that are under way
        end_ms = self._runtime.now_ms() + slow_ms + (STABLE_AFTER_FAULTS_MS if disturbed else STABLE_MS)
        while self._runtime.now_ms() <= end_ms:
            if self._requests.fenced and not self._requests.leaving:
                if not self._requests.maybe_fenced:
                    self._expect_fenced(consumer, caller)
                self.wakeups_due = False
                return
            if not self._is_final():
                read.clear()
            caller.attempt(lambda: read.update(self._reading.poll(consumer, min(POLL_MS, 10 * scenario.poll_ms))))
            woken = self._outcomes.is_woken() or not self.wakeups_due
            told = woken and self._outcomes.has_told(self._requests)
            if caller.closed or (told and self._is_stable(consumer, read, known)):
                return
            caller.rest(POLL_MS)  # time passes while it works on what it has read
        self._tell_what_is_missing(consumer, read, known)

    def _is_stable(self, consumer: Consumer, read: set[TopicPartition], known: dict[TopicPartition, int]) -> bool:
        owned = self._ledger.owned
        return (
            self._is_final()
            and consumer.assignment() == owned
            and owned - self._ledger.paused <= read
            and not self._lacks(consumer)
            and not self._uncommitted(known)
        )

    def _is_final(self) -> bool:
        """Whether a topic that is to be away, or to come back, is by now."""
        return not self._scenario.away_ms or self._group.topics.are_final()

    def _lacks(self, consumer: Consumer) -> str:
        """What is wrong with the membership."""
        if self._scenario.manual:
            return ""
        if undivided := self._group.undivided():
            return f"the leader has given {undivided} to nobody (rule J8)"
        lacks = self._choosing.lacks(consumer)
        return lacks or self._requests.rounds.lacks(consumer.subscription(), self._ledger.owned)

    def _uncommitted(self, known: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """What an automatic commit should have covered by now, since there was a poll() after it."""
        if not self._scenario.auto_commit or self._scenario.logs_change:
            return {}
        owned, places = self._ledger.owned, self._ledger.next
        left = {tp: at for tp, at in known.items() if tp in owned and at <= _or_none(places[tp])}
        return {tp: at for tp, at in left.items() if _or_none(self._group.known(tp)) < at}

    def _tell_what_is_missing(
        self, consumer: Consumer, read: set[TopicPartition], known: dict[TopicPartition, int]
    ) -> None:
        errors = self._outcomes.errors[-3:]
        missing = self._ledger.owned - self._ledger.paused - read
        assert not missing, f"nothing comes of {missing} any more; errors: {errors}"
        uncommitted = self._uncommitted(known)
        assert not uncommitted, f"{uncommitted} are not committed automatically; errors: {errors} (rule M5)"
        lacks = self._lacks(consumer)
        assert not lacks, f"{lacks}; errors: {errors}"
        told = self._outcomes.has_told(self._requests)
        assert self._outcomes.is_woken() or not self.wakeups_due, "a wakeup has interrupted no call (rule T4)"
        assert told, f"of {self._requests.to_tell} not all are told; errors: {errors} (rule H4)"
        raise AssertionError(f"{consumer.assignment()} are assigned, and {self._ledger.owned} owned; errors: {errors}")

    def _expect_fenced(self, consumer: Consumer, caller: Caller) -> None:
        """Nothing can be done about it: every poll says so."""
        for _ in range(3 + self._outcomes.raised):  # one error a call, and others may be waiting
            self._runtime.sleep_ms(POLL_MS)  # records may be at hand, and nobody has told the member yet
            before = len(self._outcomes.errors)
            caller.attempt(lambda: consumer.poll(POLL_MS))
            assert self._outcomes.errors[before:] or caller.closed, "fenced, and poll() says nothing (rule X2)"
        errors = self._outcomes.errors
        told = [error for error in errors if "FENCED_INSTANCE_ID" in str(error)]
        assert told or self._scenario.is_closed_by_others, f"fenced, and poll() says {errors} (rule X2)"
        owned = self._ledger.owned
        assert not owned or caller.closed, f"fenced, and nobody is told that {owned} are lost (rules C2, X2)"


def _or_none(offset: int | None) -> int:
    """The offset; -1, as Kafka writes it, if there is none."""
    return -1 if offset is None else offset

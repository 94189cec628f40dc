"""What an application chooses to read: topics by name or by pattern, or partitions; and what it may be given of it.

J1   What was chosen before is not assigned any more.
J8   Who subscribes by pattern reads the topics that match, as they come and go.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupspec.conformance.schedules.asking import EVERYTHING
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.questions import Questions
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import LATER, PATTERNS, TOPICS, Scenario, Wanted
from groupspec.conformance.schedules.times import LOOK_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.listener import RebalanceListener
from groupspec.impl.scheduling import ScheduledRuntime


class Choosing:
    """Of one application.

    Attributes:
        wanted: What it subscribes to.
        chosen_ms: Since when.
        raced_ms: When timers have last raced: until then no thread may have taken what was said.
        has_unsubscribed: Whether it has, and not subscribed since that was done.
    """

    def __init__(
        self,
        runtime: ScheduledRuntime,
        scenario: Scenario,
        group: RacingGroup,
        requests: Requests,
        ledger: Ledger,
        questions: Questions,
    ) -> None:
        self._runtime = runtime
        self._scenario = scenario
        self._group = group
        self._requests = requests
        self._ledger = ledger
        self._questions = questions
        self.wanted, self.chosen_ms = scenario.subscription, 0
        self.raced_ms = 0
        self.has_unsubscribed = False
        self._say()

    def choose(self, consumer: Consumer, listener: RebalanceListener) -> None:
        """Say what is to be read."""
        if self._scenario.manual:
            self._ledger.assigned(self._scenario.by_hand)
            self._requests.finding.is_needed = True
            consumer.assign(self._scenario.by_hand)
        elif self.wanted.pattern:
            consumer.subscribe(listener=listener, pattern=self.wanted.pattern)
        else:
            consumer.subscribe(self.wanted.topics, listener)
        if self._questions.in_callback:
            return  # it is a part of what an unsubscribe() has left behind, if anything is, and goes with it
        self.has_unsubscribed = False
        if self._requests.leaving:
            self._requests.membership_ended()

    def choose_others(self, consumer: Consumer, listener: RebalanceListener) -> None:
        """Other topics; the same ones still, if subscribe() raises what ended a thread and has not come further."""
        before, chosen_ms, kept = self.wanted, self.chosen_ms, self._requests.rounds.kept
        self.wanted, self.chosen_ms = self._others(), self._runtime.now_ms()
        self._requests.rounds.may_come(self.chosen_ms)
        self._say()
        try:
            self.choose(consumer, listener)
        except Exception:
            if consumer.subscription() != set(self.wanted.topics):
                self.wanted, self.chosen_ms = before, chosen_ms
                self._say()
                self._requests.rounds.kept = kept
            raise

    def _others(self) -> Wanted:
        steps = self._runtime.steps
        if self._scenario.pattern and steps % 3:
            return Wanted(pattern=PATTERNS[steps % len(PATTERNS)])
        if len(self.wanted.topics) != 1:
            return Wanted(TOPICS[steps % 2 :][:1])
        other = tuple(topic for topic in TOPICS if not self.wanted.covers(topic))
        return Wanted(other if self._scenario.swaps else TOPICS)

    def _say(self) -> None:
        """What may be asked for from now on."""
        possible = {topic for topic in (*TOPICS, LATER) if self.wanted.covers(topic)}
        self._requests.asking.subscribed = frozenset(possible | {EVERYTHING} if self.wanted.pattern else possible)
        self._requests.rounds.wants(possible)

    def is_by_pattern(self) -> bool:
        """Whether it subscribes so, now."""
        return bool(self.wanted.pattern) and not self.has_unsubscribed

    # What must hold ---------------------------------------------------------------------------------------------------

    def expect_wanted(self, partitions: Iterable[TopicPartition]) -> None:
        """An assignment that came after another subscription is of that one's topics."""
        foreign = {partition for partition in partitions if not self.wanted.covers(partition.topic)}
        settled_ms = max(self.chosen_ms, self.raced_ms) + LOOK_MS
        before = self._requests.rounds.synced_ms <= settled_ms or self._runtime.timers_race
        assert not foreign or before, f"{foreign} are assigned, and nobody subscribes to them any more (rule J1)"

    def lacks(self, consumer: Consumer) -> str:
        """What it does not know of the topics that it wants; empty: nothing."""
        there, known = self._group.topics.counts, consumer.subscription()
        if not self.is_by_pattern():
            return ""
        if not self._group.topics.are_final():
            return "the topics have not changed yet"
        matching = {topic for topic in there if self.wanted.covers(topic)}
        return "" if known == matching else f"{matching} match {self.wanted}, and subscription() says {known} (rule J8)"

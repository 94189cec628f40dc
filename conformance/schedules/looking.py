"""What an application asks about the log, the topics and itself: each answer is what the brokers have, or it has done.

O1   Beginnings, ends and times are the leaders', also when those are others by now; asking changes nothing.
O2   paused() is what was paused, and has not gone since.
O5   highwater() and current_lag() go by what the brokers have told; the position moves as records are returned.
J8   topics() and partitions_for_topic() are the cluster's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from groupspec.conformance.schedules.asking import Asking
from groupspec.conformance.schedules.group import BEGINNING, END, MOMENTS, POLICIES, RacingGroup
from groupspec.conformance.schedules.ledger import Ledger
from groupspec.conformance.schedules.questions import Questions
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.messages import TopicPartition

ASKED_OF: Final = 2
"""How many partitions one call asks about at most."""


class Looking:
    """Of one application."""

    def __init__(
        self, scenario: Scenario, group: RacingGroup, ledger: Ledger, questions: Questions, asking: Asking
    ) -> None:
        self._asking = asking
        self._scenario = scenario
        self._group = group
        self._ledger = ledger
        self._questions = questions

    def ask(self, consumer: Consumer, name: str) -> None:
        """Make the call of this name, about what is owned, or is subscribed to."""
        owned = sorted(self._ledger.owned)
        asked = owned[:ASKED_OF] or [TopicPartition(topic, 0) for topic in sorted(consumer.subscription())[:1]]
        match name:
            case "look":
                self._look(consumer, owned)
            case "topics":
                self._ask_topics(consumer)
            case _ if not asked:
                pass  # what nobody wants is not asked about
            case "partitions_for_topic":
                self._ask_partitions(consumer, asked[0].topic)
            case "beginning_offsets":
                self._ask_limits(name, consumer.beginning_offsets, asked, BEGINNING)
            case "end_offsets":
                self._ask_limits(name, consumer.end_offsets, asked, END)
            case "offsets_for_times":
                self._ask_times(consumer, asked)
            case "seek_to_beginning" if owned:
                self._seek(consumer.seek_to_beginning, owned[-1], BEGINNING)
            case "seek_to_end" if owned:
                self._seek(consumer.seek_to_end, owned[-1], END)

    # The log ----------------------------------------------------------------------------------------------------------

    def _inquires(self, asked: set[tuple[TopicPartition, int]]) -> None:
        """Who leads these, may be asked, and then they."""
        self._group.asked |= asked
        self._asking.inquires(asked, self._questions.ends_ms())

    def _ask_limits(
        self, name: str, ask: Callable[..., Mapping[TopicPartition, int]], asked: list[TopicPartition], timestamp: int
    ) -> None:
        self._inquires({(partition, timestamp) for partition in asked})
        before = self._limits(asked, timestamp)
        with self._questions.limited(f"{name}()"):
            found = ask(asked, timeout_ms=self._questions.limit_ms)
        now = self._limits(asked, timestamp)
        possible = {tp: {before[tp], *range(before[tp], now[tp]), now[tp]} for tp in asked}
        right = found.keys() == set(asked) and all(offset in possible[tp] for tp, offset in found.items())
        assert right, f"{name}() says {found} of {asked}, and it is one of {possible} (rule O1)"

    def _limits(self, partitions: Collection[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        """Where this is, now."""
        logs, now_ms = self._group.logs, self._questions.now_ms()
        return {tp: logs.limit(tp.topic, POLICIES[timestamp], now_ms) for tp in partitions}

    def _ask_times(self, consumer: Consumer, asked: list[TopicPartition]) -> None:
        """The first record of a moment: of the second partition it lies in the future."""
        times = dict(zip(asked, sorted(MOMENTS), strict=False))
        self._inquires(set(times.items()))
        with self._questions.limited("offsets_for_times()"):
            found = consumer.offsets_for_times(times, timeout_ms=self._questions.limit_ms)
        told = {partition: place and (place.offset, place.timestamp) for partition, place in found.items()}
        places = {partition: (MOMENTS[at_ms], at_ms) for partition, at_ms in times.items()}
        expected = {partition: place if place[0] >= 0 else None for partition, place in places.items()}
        assert told == expected, f"offsets_for_times() says {told}, and it is {expected} (rule O1)"

    def _seek(self, seek: Callable[[TopicPartition], None], partition: TopicPartition, timestamp: int) -> None:
        """Where that is, may be looked up before the call returns."""
        self._group.asked.add((partition, timestamp))
        self._ledger.seeks_by_time(partition)
        seek(partition)
        self._ledger.begins_anew([partition])

    # The cluster ------------------------------------------------------------------------------------------------------

    def _ask_topics(self, consumer: Consumer) -> None:
        before = set(self._group.topics.counts)
        with self._questions.limited("topics()"):
            found = consumer.topics(timeout_ms=self._questions.limit_ms)
        now = set(self._group.topics.counts)
        assert before & now <= found <= before | now, f"topics() says {found}, and there are {now} (rule J8)"

    def _ask_partitions(self, consumer: Consumer, topic: str) -> None:
        before = self._group.topics.counts[topic]
        with self._questions.limited("partitions_for_topic()"):
            found = consumer.partitions_for_topic(topic, timeout_ms=self._questions.limit_ms)
        possible = [set(range(count)) for count in range(before, self._group.topics.counts[topic] + 1)]
        assert found in possible, f"partitions_for_topic({topic!r}) says {found}, not one of {possible} (rule J8)"

    # Itself -----------------------------------------------------------------------------------------------------------

    def _look(self, consumer: Consumer, owned: Collection[TopicPartition]) -> None:
        """What it can tell without asking anybody."""
        if self._scenario.is_closed_by_others:
            return  # and what is owned may go between two calls
        paused = consumer.paused() & set(owned)
        assert paused == self._ledger.paused, f"paused() says {paused}, and it is {self._ledger.paused} (rule O2)"
        for partition in owned:
            self._expect_lag(partition, consumer.highwater(partition), consumer.current_lag(partition))

    def _expect_lag(self, partition: TopicPartition, end: int | None, lag: int | None) -> None:
        told = self._group.logs.told_ends.get(partition, set())
        assert end is None or end in told, f"highwater({partition}) says {end}, and it was told {told} (rule O5)"
        known = self._ledger.next.get(partition)
        if lag is None or known is None or self._scenario.elects_ms:  # which may just have moved it
            return
        possible = {max(0, end - at) for end in told for at in (known, self._group.logs.passes(known))}
        assert lag in possible, f"current_lag({partition}) says {lag} at {known}, not one of {possible} (rule O5)"

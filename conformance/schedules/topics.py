"""Which topics there are at the brokers: some appear later, get a partition more, or vanish and come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from groupspec.conformance.schedules.scenario import INTERNAL, PARTITIONS, TOPICS, Scenario
from groupspec.impl.core.messages import PartitionMetadata, TopicMetadata, TopicPartition
from groupspec.impl.runtime import Runtime

OF_KAFKA: Final = TopicMetadata(INTERNAL, (PartitionMetadata(0, 1),), is_internal=True)
"""Is listed with the others."""


class Topics:
    """Of one cluster.

    Attributes:
        counts: Topic -> how many partitions it has, now.
    """

    def __init__(self, runtime: Runtime, scenario: Scenario) -> None:
        self._runtime = runtime
        self._changes = sorted(scenario.topic_changes)
        if scenario.grows_ms:
            self._changes.append((scenario.grows_ms, TOPICS[0], PARTITIONS + 1))
        self._last_ms = max((at_ms for at_ms, *_ in scenario.topic_changes), default=0)
        self.counts = dict.fromkeys(TOPICS, PARTITIONS)

    def pass_time(self) -> None:
        """What has changed by now has an effect."""
        now_ms = self._runtime.now_ms()
        due = [change for change in self._changes if change[0] <= now_ms]
        self._changes = [change for change in self._changes if change[0] > now_ms]
        for _, topic, count in due:
            if count:
                self.counts[topic] = count
            else:
                self.counts.pop(topic, None)

    def are_final(self) -> bool:
        """Whether the last one has appeared, or is gone."""
        return self._runtime.now_ms() >= self._last_ms

    def has(self, partition: TopicPartition) -> bool:
        """Whether there is such a one."""
        return partition.partition < self.counts.get(partition.topic, 0)

    def sizes(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions each of these has."""
        return {topic: self.counts.get(topic, 0) for topic in topics}

    def of(self, share: Mapping[str, Collection[int]], topics: Iterable[str]) -> list[TopicPartition]:
        """Those of these topics with these numbers, as far as there are such."""
        wanted = (TopicPartition(topic, number) for topic in topics for number in share.get(topic, ()))
        return [partition for partition in wanted if self.has(partition)]

    def all_of(self, topics: Iterable[str]) -> set[TopicPartition]:
        """All partitions of these topics."""
        return {TopicPartition(topic, number) for topic in topics for number in range(self.counts.get(topic, 0))}

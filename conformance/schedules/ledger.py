"""What an application was given, and what may come next: of each partition, and for each commit.

O1   After an assignment reading begins at the committed offset.
O2   Each record comes once, in order, from there or from where the application sought.
O3   No record comes of a partition that is not owned.
O5   No record comes of a partition that is paused.
M4   No commit covers what the application was not given.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.records import ConsumerRecord


class Ledger:
    """Kept by the application itself.

    Attributes:
        owned: What was assigned, and not revoked or lost since.
        paused: What of that the application has paused.
        sought: Where it has set the position since the last poll.
        next: The offset of the next record; None: it is to be read from the committed offset.
        processed: All that may be committed from now on, if that is limited.
    """

    def __init__(self, scenario: Scenario, group: RacingGroup) -> None:
        self._scenario = scenario
        self._group = group
        self._reached: dict[TopicPartition, set[int]] = {}
        self.owned: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()
        self.sought: set[TopicPartition] = set()
        self.next: dict[TopicPartition, int | None] = {}
        self.processed: dict[TopicPartition, int | None] | None = None
        group.may_commit = self._may_commit

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """These are owned from now on, and nothing is known of where they go on."""
        self.owned |= set(partitions)
        self.next |= dict.fromkeys(partitions)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are not owned any more."""
        self.owned -= set(partitions)
        self.paused -= set(partitions)
        for partition in partitions:
            self.next.pop(partition, None)
        self._group.given_up(partitions)

    def known(self) -> dict[TopicPartition, int]:
        """Where each partition goes on, as far as that is known."""
        return {partition: offset for partition, offset in self.next.items() if offset is not None}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The application is about to go there: before the call returns it may be committed."""
        self._reached.setdefault(partition, set()).add(offset)

    def goes_on(self, partition: TopicPartition, offset: int) -> None:
        """It has gone there."""
        self.next[partition] = offset
        self.sought.add(partition)

    def take(self, records: Iterable[ConsumerRecord]) -> set[TopicPartition]:
        """What one poll() has returned; which partitions it is of. AssertionError if it must not come now."""
        read = set()
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            if self._scenario.is_closed_by_others and partition not in self.owned:
                continue  # it was revoked by the thread that closes, as soon as poll() had returned
            assert partition in self.owned, f"a record of {partition}, which is not owned (rule O3)"
            assert partition not in self.paused, f"a record of {partition}, which is paused (rule O5)"
            self._expect_at(partition, record.offset)
            self.next[partition] = record.offset + 1
            read.add(partition)
        for partition in read:
            self._reached.setdefault(partition, set()).add(self.next[partition] or 0)
        return read

    def _expect_at(self, partition: TopicPartition, offset: int) -> None:
        expected = self.next[partition]
        if expected is None:
            starts = self._group.starts[partition]
            assert offset in starts, f"{partition} begins at {offset}, not at {starts} (rule O1)"
        else:
            assert offset == expected, f"{partition}: {offset} after {expected - 1} (rule O2)"

    def expect_position(self, partition: TopicPartition, found: int) -> None:
        """The answer of position(), for a partition that is owned."""
        if self._scenario.is_closed_by_others and partition not in self.owned:
            return  # it was revoked by the thread that closes, as soon as position() had returned
        known = self.next.get(partition)
        possible = self._group.starts.get(partition, set()) if known is None else {known}
        assert found in possible, f"position() says {found} for {partition}, where it is one of {possible} (rule O1)"

    def _may_commit(self, partition: TopicPartition, offset: int) -> bool:
        if self.processed is not None and (self.processed.get(partition) or offset) < offset:
            return False
        known = offset in self._reached.get(partition, ()) or (partition, offset) in self._group.answered
        return known or self._scenario.is_closed_by_others  # which may be just when poll() returns

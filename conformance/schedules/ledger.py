"""What an application was given, and what may come next: of each partition, and for each commit.

O1   After an assignment reading begins at the committed offset.
O2   Each record comes once, in order, from there or from where the application sought.
O3   No record comes of a partition that is not owned.
O5   No record comes of a partition that is paused.
M4   No commit covers what the application was not given.
O7   When another topic has the name, nothing of the old one comes, is committed, or says where reading begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count

from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.records import ConsumerRecord


class Ledger:
    """Kept by the application itself.

    Attributes:
        owned: What was assigned, and not revoked or lost since.
        paused: What of that the application has paused.
        sought: Where it has set the position since the last poll.
        moved: Where it has set the position since the last commit that was sent was made, and with which of its seeks.
        next: The offset of the next record; None: it is to be read from the committed offset.
        topic_ids: Topic -> the ids that the member was told of, and when.
        begins_anew: Told of what is read from elsewhere from now on, or is not owned any more.
    """

    def __init__(self, scenario: Scenario, group: RacingGroup) -> None:
        self._scenario = scenario
        self._group = group
        self._reached: dict[TopicPartition, set[int]] = {}
        self._reached_anew: dict[TopicPartition, set[int]] = {}  # in a topic that was made anew, or sought
        self.topic_ids: Mapping[str, Mapping[bytes, int]] = {}
        self._written: dict[tuple[TopicPartition, int | None], list[int]] = {}  # by leaders of these, the one before
        self._begun: set[str] = set()  # topics of which a record was returned that is not the old one's
        self._epochs: dict[TopicPartition, int] = {}  # of the leader that wrote the record before the next one
        self.owned: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()
        self.sought: set[TopicPartition] = set()
        self.moved: dict[TopicPartition, int] = {}
        self._seeks = count(1)
        self.next: dict[TopicPartition, int | None] = {}
        self._processed: dict[TopicPartition, int | None] = {}  # all that may be committed later than by this request
        self._limited_after: int | None = None
        self.begins_anew: Callable[[Iterable[TopicPartition]], None] = lambda _: None
        group.may_commit = self._may_commit

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """These are owned from now on, and nothing is known of where they go on."""
        self.owned |= set(partitions)
        self.next |= dict.fromkeys(partitions)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are not owned any more."""
        self.owned -= set(partitions)
        self.paused -= set(partitions)
        self.sought -= set(partitions)
        for partition in partitions:
            self.next.pop(partition, None)
            self._epochs.pop(partition, None)
        self._group.given_up(partitions)
        self.begins_anew(partitions)

    def known(self) -> dict[TopicPartition, int]:
        """Where each partition goes on, as far as that is known."""
        return {partition: offset for partition, offset in self.next.items() if offset is not None}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The application is about to go there: before the call returns it may be committed."""
        self.begins_anew([partition])
        for reached in (self._reached, self._reached_anew):
            reached.setdefault(partition, set()).add(offset)

    def goes_on(self, partition: TopicPartition, offset: int) -> None:
        """It has gone there."""
        self.next[partition] = offset
        self._epochs.pop(partition, None)
        self.sought.add(partition)
        self.moved[partition] = next(self._seeks)
        self.begins_anew([partition])

    def seeks_by_time(self, partition: TopicPartition) -> None:
        """The application goes to an end of the log, wherever that is."""
        self.next[partition] = None
        self._epochs.pop(partition, None)
        self.sought.add(partition)
        self.moved[partition] = next(self._seeks)
        self._group.given_up([partition])
        self._group.sought.add(partition)
        self.begins_anew([partition])

    def take(self, records: Iterable[ConsumerRecord]) -> set[TopicPartition]:
        """What one poll() has returned; which partitions it is of. AssertionError if it must not come now."""
        read = set()
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            if self._scenario.is_closed_by_others and partition not in self.owned:
                continue  # it was revoked by the thread that closes, as soon as poll() had returned
            assert partition in self.owned, f"a record of {partition}, which is not owned (rule O3)"
            assert partition not in self.paused, f"a record of {partition}, which is paused (rule O5)"
            epoch = self._group.logs.age(record)
            self._expect_none_newer(record)
            self._expect_at(partition, record.offset, epoch)
            self.next[partition], self._epochs[partition] = record.offset + 1, epoch
            read.add(partition)
        for partition in read:
            self.moved.pop(partition, None)
            for reached in (self._reached, *((self._reached_anew,) if self._epochs[partition] == 0 else ())):
                reached.setdefault(partition, set()).add(self.next[partition] or 0)
            self._written.setdefault((partition, self.next[partition]), []).append(self._epochs[partition])
        return read

    def expect_present(self, records: Iterable[ConsumerRecord], settled_ms: int) -> None:
        """A poll() has returned these, that began when all threads knew what the member was told until then."""
        for record in records:
            _, *later_ms = self.topic_ids.get(record.topic, {"": 0}).values()
            is_gone = any(at_ms < settled_ms for at_ms in later_ms) and self._group.logs.is_old(record)
            assert not is_gone, f"{record.offset} of a {record.topic} of which it was told that it is no more (rule O7)"

    def _expect_none_newer(self, record: ConsumerRecord) -> None:
        is_old = self._group.logs.is_old(record)
        if self._scenario.remakes and not is_old:
            self._begun.add(record.topic)
        late = is_old and record.topic in self._begun
        assert not late, f"{record.offset} of a {record.topic} of which the next one's records were returned (rule O7)"

    def _is_judged_anew(self, topic: str) -> bool:
        """Whether it is another one than the member was told of first, so that nothing of that one counts."""
        return self._group.logs.is_anew(topic) and len(self.topic_ids.get(topic, ())) > 1

    def _expect_at(self, partition: TopicPartition, offset: int, epoch: int = -1) -> None:
        """A record of this leader epoch comes next: behind the last one, or where the logs of two leaders part."""
        expected, logs = self.next[partition], self._group.logs
        if expected is None:
            before = self._group.epochs.get(partition, -1)
            is_anew = epoch == 0 and self._is_judged_anew(partition.topic)
            answered = (self._group.starts_anew if is_anew else self._group.starts).get(partition, ())
            starts = {logs.passes(logs.goes_on(partition, start, before, epoch)) for start in answered}
            assert offset in starts, f"{partition} begins at {offset}, not at {starts} (rule O1)"
        else:
            before = self._epochs.get(partition, -1)
            possible = {logs.goes_on(partition, expected, before, epoch)}
            if before < 0:  # sought, maybe before the topic was known to be another one
                anew = logs.anew(partition)
                possible |= {*anew, *self._group.starts.get(partition, ())} if anew else set()
            possible = {logs.passes(at) for at in possible}
            assert offset in possible, f"{partition}: {offset} after {expected - 1} (rule O2)"

    def expect_unreadable(self, partition: TopicPartition, offset: int) -> None:
        """A record that could not be read: it is the next one of what is owned, and no other has been left out."""
        if self._scenario.is_closed_by_others and partition not in self.owned:
            return
        assert partition in self.owned, f"a record of {partition}, which is not owned, can't be read (rule O3)"
        assert partition not in self.paused, f"a record of {partition}, which is paused, can't be read (rule O5)"
        self._expect_at(partition, offset)

    def without_offset(self) -> list[TopicPartition]:
        """What is owned, with neither a position nor a committed offset."""
        return [tp for tp in sorted(self.owned) if self.next.get(tp) is None and self._group.known(tp) is None]

    def expect_position(self, partition: TopicPartition, found: int) -> None:
        """The answer of position(), for a partition that is owned."""
        if self._scenario.is_closed_by_others:
            return  # a callback of the thread that closes may ask while poll() returns; or it comes after position()
        known = self.next.get(partition)
        possible = set(self._group.starts.get(partition, ())) if known is None else {known}
        possible |= {min(offset, self._group.logs.parting(partition)) for offset in possible}
        possible |= self._group.logs.anew(partition)
        possible |= {self._group.logs.passes(offset) for offset in possible}
        assert found in possible, f"position() says {found} for {partition}, where it is one of {possible} (rule O1)"

    def limits(self, processed: dict[TopicPartition, int | None]) -> None:
        """No commit that is sent from now on goes further."""
        self._processed, self._limited_after = processed, self._group.last_sent()

    def _may_commit(self, request_id: int, partition: TopicPartition, wanted: OffsetAndMetadata) -> bool:
        offset, epoch = wanted.offset, wanted.leader_epoch
        written = self._written.get((partition, offset), [epoch])
        # What the application has asked for may go out when its log has been truncated, and was read again.
        possible = written[-1:] if self._scenario.commits_only_by_itself else written
        by_itself = not ({"seek", "commit one"} & self._scenario.all_calls or self._scenario.is_closed_by_others)
        is_judged = by_itself and not self._scenario.remakes
        assert epoch in possible or not is_judged, f"{partition} is committed with leader epoch {epoch}, not {written}"
        passes = self._group.logs.passes
        is_limited = self._limited_after is not None and request_id > self._limited_after
        processed = self._processed.get(partition)
        if is_limited and passes(offset if processed is None else processed) < offset:
            return False
        places = {offset, offset - 1} if passes(offset - 1) == offset else {offset}
        known = any(at in self._reached.get(partition, ()) or (partition, at) in self._group.answered for at in places)
        known |= offset == self._group.logs.parting(partition)
        if self._is_judged_anew(partition.topic) and "commit one" not in self._scenario.all_calls:
            known = offset in self._reached_anew.get(partition, ()) or (partition, offset) in self._group.answered_anew
        return known or self._scenario.is_closed_by_others  # which may be just when poll() returns

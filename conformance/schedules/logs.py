"""The logs of the partitions, and an election of leaders that lack what the ones before them had (KIP-320).

The new leaders' logs are those of the old ones up to some offset; from there on they have other records, of the next
leader epoch. So a reader that is further goes back to that offset, or it would skip records.

Or the first topic is deleted and created anew: it has another id, and its leader epochs begin at 0 (KAFKA-12257), where
those of the old one may have been still. Who has read of it begins where its reset policy says; the offsets that are
committed stay, but their epochs say nothing. What names the old id is refused (KIP-516). It may be away for a while
before, and what is committed of it is deleted (OffsetMetadataManager.onPartitionsDeleted): then no request that names
it is answered otherwise than that there is no such topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs
from msgspec.structs import replace as with_changes

from groupspec.conformance.schedules.scenario import TOPICS, UNREADABLE, Scenario
from groupspec.conformance.schedules.topics import Topics
from groupspec.impl.core.messages import (
    EpochEnd,
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    MetadataResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.records import ConsumerRecord, Decoded
from groupspec.impl.runtime import Runtime
from groupspec.impl.testing import PlainDecoder

UNREADABLE_EACH: Final = 6
"""Of so many records of a partition one, if the application cannot read some."""

HOLE_EACH: Final = 5
"""Of so many offsets of a partition one is that of a batch without a record, if there are some."""

RESETS: Final = {"earliest": 3, "latest": 90}
"""Where each reset policy has a partition begin."""

RESETS_ANEW: Final = {"earliest": 0, "latest": 20}
"""The same of a topic that was away, and is another one."""

GROWS_MS: Final = 100
"""Each time so long a record is written to each partition: what was its end is not the answer any more."""

OF_THE_OLD: Final = b"old "
"""How a record begins of a topic that is not made anew yet, if its leader epoch does not say that."""

FAR: Final = 1_000_000
"""An offset that nobody reaches."""


class EpochDecoder(PlainDecoder):
    """Reads values that end in the epoch of the leader that wrote them."""

    def decode(
        self, partition: TopicPartition, data: bytes, from_offset: int, aborted_transactions: object = ()
    ) -> Decoded:
        """See RecordDecoder."""
        plain = super().decode(partition, data, from_offset)
        records = [with_changes(record, leader_epoch=int(record.value[-1:])) for record in plain.records]
        return replace(plain, records=records, leader_epoch=records[-1].leader_epoch if records else -1)


class HolesDecoder(PlainDecoder):
    """Reads "offset" lines as batches without a record."""

    def decode(
        self, partition: TopicPartition, data: bytes, from_offset: int, aborted_transactions: object = ()
    ) -> Decoded:
        """See RecordDecoder."""
        lines = data.splitlines(keepends=True)
        plain = super().decode(partition, b"".join(line for line in lines if b":" in line), from_offset)
        ends = [int(line) + 1 for line in lines if b":" not in line]
        return replace(plain, next_offset=max(plain.next_offset, *ends)) if ends else plain


class Logs:
    """Of all partitions.

    Attributes:
        told_ends: Partition -> where it ends, as the answers to Fetch have said.
    """

    def __init__(self, runtime: Runtime, scenario: Scenario, topics: Topics) -> None:
        self._runtime = runtime
        self._topics = topics
        self._now_ms = 0
        self._scenario = scenario
        self._furthest: dict[TopicPartition, int] = {}  # behind the last record that was fetched
        self.told_ends: dict[TopicPartition, set[int]] = {}
        self._parting: dict[TopicPartition, int] | None = None  # where the new leaders' logs differ, since they lead

    def pass_time(self) -> None:
        """A broker answers now: whatever is in the answer is as of one moment."""
        self._now_ms = self._runtime.now_ms()

    def epoch(self, topic: str) -> int:
        """Of the present leaders; -1: nobody speaks of epochs."""
        scenario = self._scenario
        if not scenario.elects_ms:
            return -1
        if self._parting is None and scenario.elects_ms <= self._now_ms:
            loses, lost = scenario.loses, {} if scenario.remakes else self._furthest
            self._parting = {tp: max(0, at - loses) for tp, at in lost.items()}
        has_changed = self._parting is not None
        again = 0 < scenario.elects_again_ms <= self._now_ms
        if scenario.remakes:
            return int(not self.is_anew(topic) and not scenario.same_epoch)
        return int(has_changed) + again

    def limit(self, topic: str, policy: str, at_ms: int | None = None) -> int:
        """Where that has each partition of a topic begin, at that time, or as of this answer.

        With elections ends stay: then truncations count.
        """
        grows = policy == "latest" and not self._scenario.elects_ms
        written = (self._now_ms if at_ms is None else at_ms) // GROWS_MS if grows else 0
        was_away = self._scenario.away_ms and self.is_anew(topic)
        return (RESETS_ANEW if was_away else RESETS)[policy] + written

    def leader(self, topic: str) -> int:
        """The broker that leads its partitions, where one leads all."""
        moved = 0 < self._scenario.moves_ms <= self._now_ms
        return 1 + max(0, self.epoch(topic)) + moved

    def is_deleted(self, topic: str) -> bool:
        """Whether it is, or was: then there may be another one by now."""
        return self._scenario.remakes and topic == TOPICS[0] and self._scenario.elects_ms <= self._now_ms

    def is_anew(self, topic: str) -> bool:
        """Whether it is another one than at first."""
        return self.is_deleted(topic) and self._scenario.elects_ms + self._scenario.away_ms <= self._now_ms

    def anew(self, partition: TopicPartition) -> set[int]:
        """Where reading begins in a topic that was made anew; nowhere, if it was not."""
        topic = partition.topic
        return {self.limit(topic, self._scenario.reset)} if self.is_anew(topic) else set()

    def is_old(self, record: ConsumerRecord) -> bool:
        """Whether it is of a topic of which another one has the name, or will have it."""
        return self._scenario.remakes and record.topic == TOPICS[0] and self.age(record) > 0

    def is_of_another(self, topic: str, topic_ids: Mapping[str, bytes]) -> bool:
        """Whether a request means by its id another topic of this name than there is now, if there is one."""
        is_away = self.is_deleted(topic) and not self.is_anew(topic)
        return topic in topic_ids and (is_away or topic_ids[topic] != self._id(topic))

    def _id(self, topic: str) -> bytes:
        return f"{topic} {'anew' if self.is_anew(topic) else ''}".encode().ljust(16)

    def age(self, record: ConsumerRecord) -> int:
        """Which leader has written it; if both topics have the same epoch, the old one's counts as higher, as else."""
        return int(record.value.startswith(OF_THE_OLD)) if self._scenario.same_epoch else record.leader_epoch

    def parting(self, partition: TopicPartition) -> int:
        """From where on the present leader has other records than the one before it."""
        return (self._parting or {}).get(partition, FAR)

    def goes_on(self, partition: TopicPartition, position: int, before: int, epoch: int) -> int:
        """Where the next record of this epoch must be for who has read up to here, the last one of the epoch before."""
        if self._scenario.remakes and 0 <= epoch < before:  # of another topic with the same name
            return self.limit(partition.topic, self._scenario.reset)
        return min(position, self.parting(partition)) if 0 <= before < epoch else position

    def passes(self, position: int) -> int:
        """Where who has come to this position is when it has looked at what stands there, if that is no record."""
        return position + (self._scenario.holes and position % HOLE_EACH == 3)

    # Answers ----------------------------------------------------------------------------------------------------------

    def fetched(self, request: FetchRequest, node: str | int) -> FetchResponse:
        """Records; or why this broker has none to give."""
        epochs = request.leader_epochs
        fetched = {tp: self._fetched(tp, at, node, epochs.get(tp, -1)) for tp, at in request.offsets.items()}
        unknown = FetchedPartition(b"", -1, ErrorCode.UNKNOWN_TOPIC_ID)
        of_another = {tp for tp in fetched if self.is_of_another(tp.topic, request.topic_ids)}
        return FetchResponse(fetched | dict.fromkeys(of_another, unknown))

    def _fetched(self, partition: TopicPartition, at: int, node: str | int, epoch: int) -> FetchedPartition:
        told = self.epoch(partition.topic)
        assert epoch >= 0 or told < 0, f"Fetch of {partition} without the leader epoch that Metadata has told"
        if error := self.refusal(partition, node, epoch):
            return FetchedPartition(b"", -1, error)
        self.told_ends.setdefault(partition, set()).add(at + 10)
        hole, begins = b"", at
        if self.passes(at) > at:
            hole, begins = b"%d\n" % at, at + 1
            if not self._scenario.compacted:
                return FetchedPartition(hole, at + 10)
        offsets = range(begins, begins + 1 + (self.passes(begins + 1) == begins + 1))
        self._furthest[partition] = max(offsets.stop, self._furthest.get(partition, 0))
        return FetchedPartition(hole + b"".join(self._record(partition, offset) for offset in offsets), at + 10)

    def _record(self, partition: TopicPartition, offset: int) -> bytes:
        if self._scenario.elects_ms:
            epoch = self.epoch(partition.topic) if self._scenario.remakes else int(self.parting(partition) <= offset)
            old = OF_THE_OLD if self._scenario.same_epoch and not self.is_anew(partition.topic) else b""
            return b"%d:%brecord of %d\n" % (offset, old, epoch)
        unreadable = self._scenario.unreadable and offset % UNREADABLE_EACH == 1
        return b"%d:%b\n" % (offset, UNREADABLE if unreadable else b"record")

    def compared(self, request: OffsetForLeaderEpochRequest, node: str | int) -> OffsetForLeaderEpochResponse:
        """Where the epochs end that are asked about."""
        ends: dict[TopicPartition, EpochEnd] = {}
        for partition, epoch in request.epochs.items():
            error = self.refusal(partition, node, request.leader_epochs.get(partition, -1))
            present = self.epoch(partition.topic)
            end = self.parting(partition) if 0 == epoch < present else 2 * FAR
            ends[partition] = EpochEnd(-1, -1, error) if error or epoch > present else EpochEnd(epoch, end)
        return OffsetForLeaderEpochResponse(ends)

    def refusal(self, partition: TopicPartition, node: str | int, epoch: int) -> ErrorCode:
        """Why this broker does not answer who takes it for the leader of this epoch."""
        present = self.epoch(partition.topic)
        if not self._topics.has(partition):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if present < 0 and not self._scenario.moves_ms:
            return ErrorCode.NONE
        if node != self.leader(partition.topic):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if epoch in (-1, present) else _WRONG[epoch < present]

    def led(self, metadata: MetadataResponse, is_behind: bool = False) -> MetadataResponse:
        """The same with the present leaders, or those of before the elections."""
        return structs.replace(metadata, topics=tuple(self._led(topic, is_behind) for topic in metadata.topics))

    def _led(self, topic: TopicMetadata, is_behind: bool) -> TopicMetadata:
        epoch, leader = self.epoch(topic.topic), self.leader(topic.topic)
        if is_behind and epoch > 0:
            leader, epoch = leader - epoch, 0
        if topic.error or (epoch < 0 and not self._scenario.moves_ms):
            return topic
        partitions = tuple(structs.replace(p, leader=leader, leader_epoch=epoch) for p in topic.partitions)
        return structs.replace(topic, partitions=partitions, topic_id=self._id(topic.topic))


_WRONG: Final[Sequence[ErrorCode]] = (ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH)

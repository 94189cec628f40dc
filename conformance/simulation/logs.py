"""The partitions' logs: records that come by the clock, and elections of leaders that lack some of them (KIP-320).

A leader that was not in sync has a shorter log: what stood behind its end is lost, and other records follow there, of
the next leader epoch. It may have lost its list of epochs as well. Who asks for the records of another epoch than the
present one is refused, as by Kafka's Partition.checkCurrentLeaderEpoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import pack, unpack
from typing import Final

from groupspec.conformance.simulation.loop import Loop
from groupspec.conformance.simulation.plan import TOPICS, Plan
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, TopicPartition
from groupspec.impl.records import ConsumerRecord, Decoded

MOST_RECORDS: Final = 50
MOST_PARTITIONS: Final = 24


class RangeDecoder:
    """Reads three numbers, the first offset, the one after the last and the leader epoch, instead of record batches."""

    def decode(
        self,
        partition: TopicPartition,
        data: bytes,
        from_offset: int,
        aborted_transactions: Sequence[tuple[int, int]] = (),
    ) -> Decoded:
        """See RecordDecoder."""
        first, end, epoch = unpack(">qqq", data)
        records = [
            ConsumerRecord(partition.topic, partition.partition, offset, -1, None, None, leader_epoch=epoch)
            for offset in range(max(first, from_offset), end)
        ]
        return Decoded(records, end, leader_epoch=epoch)


class Logs:
    """Of all partitions.

    Attributes:
        partitions: How many each topic has.
        added_ms: When those were added that did not exist from the beginning.
        epochs: The present leader epoch of each partition; -1 in a run without elections, where no broker tells any.
    """

    def __init__(self, loop: Loop, plan: Plan) -> None:
        self._loop = loop
        self._every_ms = plan.record_every_ms
        self._last_record_ms = plan.faults_end_ms + plan.settling_ms
        self._first_epoch = 0 if plan.has_elections else -1
        self.partitions = dict(zip(TOPICS, plan.partitions, strict=True))
        self.added_ms: dict[TopicPartition, int] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self._created_ms: dict[TopicPartition, int] = {}
        self._starts: dict[TopicPartition, list[tuple[int, int]]] = {}  # of epochs: (first offset, epoch)
        self._forgotten: dict[TopicPartition, int] = {}  # the epochs below this one the leader does not know
        for partition in self.all_partitions(TOPICS):
            self._create(partition)

    def _create(self, partition: TopicPartition) -> None:
        self._created_ms[partition] = self._loop.now_ms
        self.epochs[partition] = self._first_epoch
        self._starts[partition] = [(0, self._first_epoch)]

    def all_partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Every partition of these topics."""
        return [TopicPartition(topic, number) for topic in topics for number in range(self.partitions[topic])]

    def add_partitions(self, topic: str, count: int) -> None:
        """More partitions of a topic, if it has not got as many as it may."""
        before = self.partitions[topic]
        self.partitions[topic] = min(before + count, MOST_PARTITIONS)
        for number in range(before, self.partitions[topic]):
            self._create(TopicPartition(topic, number))
            self.added_ms[TopicPartition(topic, number)] = self._loop.now_ms

    def end(self, partition: TopicPartition) -> int:
        """The offset after the last record."""
        return (min(self._loop.now_ms, self._last_record_ms) - self._created_ms[partition]) // self._every_ms

    def epoch_of(self, partition: TopicPartition, offset: int) -> int:
        """The leader epoch of the record that stands there."""
        return max(epoch for start, epoch in self._starts[partition] if start <= offset)

    # Elections -------------------------------------------------------------------------------------------------------

    def elect(self, partition: TopicPartition, lost: int, forgets: bool) -> int:
        """A leader without the last `lost` records, and maybe without its list of epochs; where its log ends."""
        lost = min(lost, self.end(partition))
        self._created_ms[partition] += lost * self._every_ms
        end = self.end(partition)
        self.epochs[partition] += 1
        kept = [(start, epoch) for start, epoch in self._starts[partition] if start < end]
        self._starts[partition] = [*kept, (end, self.epochs[partition])]
        if forgets:
            self._forgotten[partition] = self.epochs[partition]
        return end

    def epoch_ends(self, request: messages.OffsetForLeaderEpochRequest) -> messages.OffsetForLeaderEpochResponse:
        """Where epochs end, as Kafka's LeaderEpochFileCache.endOffsetFor has it."""
        return messages.OffsetForLeaderEpochResponse(
            {p: self._epoch_end(p, epoch, request.leader_epochs) for p, epoch in request.epochs.items()}
        )

    def _epoch_end(
        self, partition: TopicPartition, epoch: int, believed: Mapping[TopicPartition, int]
    ) -> messages.EpochEnd:
        error, present = self._epoch_error(partition, believed), self.epochs[partition]
        if error or epoch > present or epoch < self._forgotten.get(partition, 0):
            return messages.EpochEnd(-1, -1, error)
        if epoch == present:
            return messages.EpochEnd(epoch, self.end(partition))
        starts = self._starts[partition]
        known = max((known for _, known in starts if known <= epoch), default=epoch)
        return messages.EpochEnd(known, min(start for start, later in starts if later > epoch))

    def _epoch_error(self, partition: TopicPartition, believed: Mapping[TopicPartition, int]) -> ErrorCode:
        present = self.epochs[partition]
        epoch = believed.get(partition, present)
        if epoch == present:
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if epoch < present else ErrorCode.UNKNOWN_LEADER_EPOCH

    # Fetches ---------------------------------------------------------------------------------------------------------

    def fetch(self, request: messages.FetchRequest, reply: Callable[[messages.Response], None]) -> None:
        """Answer when there is a record, or something is wrong, or the time of the request is over."""
        now_ms = self._loop.now_ms
        comes_ms = min(self._created_ms[p] + (offset + 1) * self._every_ms for p, offset in request.offsets.items())
        is_there = comes_ms <= min(now_ms, self._last_record_ms)
        if is_there or any(self._epoch_error(p, request.leader_epochs) for p in request.offsets):
            reply(self._fetched(request))
            return
        limit_ms = now_ms + request.max_wait_ms
        at_ms = min(comes_ms, limit_ms) if now_ms < self._last_record_ms else limit_ms
        self._loop.at(at_ms, lambda: reply(self._fetched(request)))

    def _fetched(self, request: messages.FetchRequest) -> messages.FetchResponse:
        return messages.FetchResponse(
            {p: self._records(p, offset, request.leader_epochs) for p, offset in request.offsets.items()}
        )

    def _records(
        self, partition: TopicPartition, offset: int, believed: Mapping[TopicPartition, int]
    ) -> messages.FetchedPartition:
        """Records of one epoch, as a batch has them."""
        if error := self._epoch_error(partition, believed):
            return messages.FetchedPartition(b"", -1, error)
        end = min(self.end(partition), offset + MOST_RECORDS)
        if end <= offset:
            return messages.FetchedPartition(b"", end)
        epoch = self.epoch_of(partition, offset)
        until = min([end, *(start for start, _ in self._starts[partition] if start > offset)])
        return messages.FetchedPartition(pack(">qqq", offset, until, epoch), end)

"""The partitions' logs: records that come by the clock, leaders that lack some (KIP-320), topics made anew (KIP-516).

A leader that was not in sync has a shorter log: what stood behind its end is lost, and other records follow there, of
the next leader epoch. It may have lost its list of epochs as well. Who asks for the records of another epoch than the
present one is refused, as by Kafka's Partition.checkCurrentLeaderEpoch.

A topic that is made anew has another id, and records of its own from offset 0 on. It may be away for a while before. A
record has as its time stamp the how-manieth topic of its name it is of (`made`). A broker may be behind (`seen_by`): it
tells the old id, and serves the old log, as one of Kafka's does until it has read of the deletion in the metadata log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
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
    """Reads four numbers instead of record batches.

    The first offset, the one after the last, the leader epoch, and the how-manieth topic of its name it is.
    """

    def decode(
        self,
        partition: TopicPartition,
        data: bytes,
        from_offset: int,
        aborted_transactions: Sequence[tuple[int, int]] = (),
    ) -> Decoded:
        """See RecordDecoder."""
        first, end, epoch, made = unpack(">qqqq", data)
        records = [
            ConsumerRecord(partition.topic, partition.partition, offset, made, None, None, leader_epoch=epoch)
            for offset in range(max(first, from_offset), end)
        ]
        return Decoded(records, end, leader_epoch=epoch)


class Logs:
    """Of all partitions.

    Attributes:
        partitions: How many each topic has.
        added_ms: When those were added that did not exist from the beginning.
        made: The how-manieth topic each is that has had its name: 0 at first.
        away, deleted: Topics that are not there, for a while; and those that ever were.
        epochs: The present leader epoch of each partition; -1 in a run without elections, where no broker tells any.
    """

    def __init__(self, loop: Loop, plan: Plan) -> None:
        self._loop = loop
        self._every_ms = plan.record_every_ms
        self._last_record_ms = plan.faults_end_ms + plan.settling_ms
        self._first_epoch = 0 if plan.has_elections else -1
        self.partitions = dict(zip(TOPICS, plan.partitions, strict=True))
        self.added_ms: dict[TopicPartition, int] = {}
        self.made = dict.fromkeys(TOPICS, 0)
        self.away: set[str] = set()
        self.deleted: set[str] = set()
        self._names_ids = plan.names_ids
        self._before: dict[str, Logs] = {}  # as all was when the topic was deleted last
        self._behind_until_ms: dict[tuple[int, str], int] = {}  # by node and topic
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

    def count(self, topic: str) -> int:
        """How many partitions the topic has now; 0: it is not there."""
        return 0 if topic in self.away else self.partitions.get(topic, 0)

    def all_partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Every partition of these topics."""
        return [TopicPartition(topic, number) for topic in topics for number in range(self.partitions[topic])]

    def add_partitions(self, topic: str, count: int) -> None:
        """More partitions of a topic, if it has not got as many as it may."""
        if topic in self.away:
            return
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

    # Topics that are made anew ---------------------------------------------------------------------------------------

    def topic_id(self, topic: str) -> bytes:
        """Of the present topic of this name; none in a run in which no topic is made anew."""
        return f"{topic} {self.made[topic]}".encode().ljust(16) if self._names_ids else messages.NO_TOPIC_ID

    def how_manieth(self, topic: str, topic_id: bytes) -> int:
        """Which topic of this name has this id."""
        return int(topic_id.split()[1]) if topic_id != messages.NO_TOPIC_ID else 0

    def delete(self, topic: str, behind_ms: Sequence[int] = ()) -> None:
        """The topic is there no more; whatever has its id is refused from now on.

        `behind_ms`: after how long each broker, from node 1 on, hears of that.
        """
        self._before[topic] = self._as_it_is()
        for node, ms in enumerate(behind_ms, 1):
            self._behind_until_ms[node, topic] = self._loop.now_ms + ms
        self.away.add(topic)
        self.deleted.add(topic)
        self.made[topic] += 1

    def _as_it_is(self) -> Logs:
        """All of this, to which no record comes any more."""
        before = copy(self)
        before.partitions, before.made, before.epochs = self.partitions.copy(), self.made.copy(), self.epochs.copy()
        before.away, before._created_ms, before._starts = self.away.copy(), self._created_ms.copy(), self._starts.copy()
        before._forgotten = self._forgotten.copy()
        before._last_record_ms = min(self._loop.now_ms, self._last_record_ms)
        return before

    def seen_by(self, node: int, topic: str) -> Logs:
        """What this broker takes for the present topic of this name: while it is behind the one before."""
        return self._before[topic] if self._loop.now_ms < self._behind_until_ms.get((node, topic), 0) else self

    def make_anew(self, topic: str, records: int) -> None:
        """Another topic of this name is there, with as many partitions, and so many records in each."""
        self.away.discard(topic)
        for partition in self.all_partitions([topic]):
            self._create(partition)
            self._created_ms[partition] -= records * self._every_ms
            self.added_ms[partition] = self._loop.now_ms
            self._forgotten.pop(partition, None)

    def topic_error(self, topic: str, topic_ids: Mapping[str, bytes]) -> ErrorCode:
        """Why a request for this topic is refused, if it is: by its id, or by its name."""
        if topic_ids.get(topic, self.topic_id(topic)) != self.topic_id(topic):
            return ErrorCode.UNKNOWN_TOPIC_ID
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic in self.away else ErrorCode.NONE

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

    def epoch_ends(
        self, request: messages.OffsetForLeaderEpochRequest, node: int
    ) -> messages.OffsetForLeaderEpochResponse:
        """Where epochs end, as Kafka's LeaderEpochFileCache.endOffsetFor has it."""
        believed = request.leader_epochs
        return messages.OffsetForLeaderEpochResponse(
            {p: self.seen_by(node, p.topic)._epoch_end(p, epoch, believed) for p, epoch in request.epochs.items()}
        )

    def _epoch_end(
        self, partition: TopicPartition, epoch: int, believed: Mapping[TopicPartition, int]
    ) -> messages.EpochEnd:
        if error := self.topic_error(partition.topic, {}):
            return messages.EpochEnd(-1, -1, error)
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

    def fetch(self, request: messages.FetchRequest, node: int, reply: Callable[[messages.Response], None]) -> None:
        """Answer when there is a record, or something is wrong, or the time of the request is over."""
        now_ms, seen = self._loop.now_ms, {p: self.seen_by(node, p.topic) for p in request.offsets}
        is_there = any(seen[p].end(p) > offset for p, offset in request.offsets.items())
        if is_there or any(seen[p]._refusal(p, offset, request) for p, offset in request.offsets.items()):
            reply(self._fetched(request, node))
            return
        limit_ms = now_ms + request.max_wait_ms
        grows = {p: offset for p, offset in request.offsets.items() if now_ms < seen[p]._last_record_ms}
        comes_ms = (self._created_ms[p] + (offset + 1) * self._every_ms for p, offset in grows.items())
        self._loop.at(min([limit_ms, *comes_ms]), lambda: reply(self._fetched(request, node)))

    def _fetched(self, request: messages.FetchRequest, node: int) -> messages.FetchResponse:
        return messages.FetchResponse(
            {p: self.seen_by(node, p.topic)._records(p, offset, request) for p, offset in request.offsets.items()}
        )

    def _refusal(self, partition: TopicPartition, offset: int, request: messages.FetchRequest) -> ErrorCode:
        error = self.topic_error(partition.topic, request.topic_ids)
        error = error or self._epoch_error(partition, request.leader_epochs)
        is_beyond = self.made[partition.topic] > 0 and offset > self.end(partition)
        return error or (ErrorCode.OFFSET_OUT_OF_RANGE if is_beyond else ErrorCode.NONE)

    def _records(
        self, partition: TopicPartition, offset: int, request: messages.FetchRequest
    ) -> messages.FetchedPartition:
        """Records of one epoch, as a batch has them."""
        if error := self._refusal(partition, offset, request):
            return messages.FetchedPartition(b"", -1, error)
        end = min(self.end(partition), offset + MOST_RECORDS)
        if end <= offset:
            return messages.FetchedPartition(b"", end)
        epoch = self.epoch_of(partition, offset)
        until = min([end, *(start for start, _ in self._starts[partition] if start > offset)])
        return messages.FetchedPartition(pack(">qqqq", offset, until, epoch, self.made[partition.topic]), end)

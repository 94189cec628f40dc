"""Topics and their records, in memory: what Metadata, ListOffsets and Fetch are answered from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, TopicPartition
from groupspec.impl.network.records import Gaps, NewRecord, encode_records
from groupspec.impl.network.topic_ids import is_unknown

LATEST = -1
"""The timestamp that asks for the end of a partition."""
_NO_RECORD_MS = -1
"""In the place of its time, for an offset without a record."""


@dataclass
class _Partition:
    """Batches, and the offset at which each begins; of each record the time. Who leads it, and since which offset.

    Nothing is said of leader epochs before the first election, as by a broker before Kafka 2.1.
    """

    leader: int
    leader_epoch: int = -1
    epochs: list[tuple[int, int]] = field(default_factory=list)  # with the first offset of each
    times_ms: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    batches: list[bytes] = field(default_factory=list)
    end: int = 0

    def append(self, records: Sequence[NewRecord], gaps: Gaps | None) -> None:
        self.starts.append(self.end)
        self.batches.append(encode_records(records, self.end, self.leader_epoch, gaps))
        deltas, span = (range(len(records)), len(records)) if gaps is None else (gaps.deltas, gaps.span)
        times_ms = {delta: record.timestamp_ms for delta, record in zip(deltas, records, strict=True)}
        self.times_ms += [times_ms.get(delta, _NO_RECORD_MS) for delta in range(span)]
        self.end += span

    def elect(self, node: int, end: int | None) -> None:
        """Another leader, whose log has no more than this. Raises ValueError if that is not where a batch ends."""
        if end is not None and end not in (*self.starts, self.end):
            raise ValueError(
                f"a log can't end at {end}: batches begin at {self.starts}, and the last ends at {self.end}"
            )
        if end is not None:
            kept = bisect_left(self.starts, end)
            del self.starts[kept:], self.batches[kept:], self.times_ms[end:]
            self.end = end
        self.leader, self.leader_epoch = node, self.leader_epoch + 1
        earlier = [(epoch, start) for epoch, start in self.epochs if start < self.end]  # of which there are records
        self.epochs = [*earlier, (self.leader_epoch, self.end)]

    def end_of_epoch(self, epoch: int) -> messages.EpochEnd:
        """Where this epoch ends, or else the last one before it (Kafka LeaderEpochFileCache.endOffsetFor)."""
        if epoch == self.leader_epoch >= 0:
            return messages.EpochEnd(epoch, self.end)
        later = [start for known, start in self.epochs if known > epoch]
        if epoch < 0 or not later:
            return messages.EpochEnd(-1, -1)
        return messages.EpochEnd(max((known for known, _ in self.epochs if known <= epoch), default=epoch), later[0])

    def first_since(self, time_ms: int) -> tuple[int, int]:
        """Offset and time of the first record that is not older; -1 and -1 if there is none."""
        found = ((offset, time) for offset, time in enumerate(self.times_ms) if time >= time_ms)
        return next(found, (-1, -1))

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one with this offset on; at least one, however large (KIP-74)."""
        if offset >= self.end:
            return b""
        first = bisect_right(self.starts, offset) - 1
        read = self.batches[first]
        for batch in self.batches[first + 1 :]:
            if len(read) + len(batch) > max_bytes:
                break
            read += batch
        return read


class Topics:
    """All topics. Partition n is led by node 1 + n modulo the number of nodes, until another one is elected."""

    def __init__(self, partition_counts: Mapping[str, int], nodes: int) -> None:
        self._nodes = nodes
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._counts: dict[str, int] = {}
        for topic, partitions in partition_counts.items():
            self.set_partitions(topic, partitions)

    @property
    def names(self) -> tuple[str, ...]:
        """All topics."""
        return tuple(self._counts)

    def set_partitions(self, topic: str, partitions: int) -> None:
        """Create the topic, or give it more partitions. Raises ValueError for fewer."""
        if partitions < max(1, self.partitions_of(topic)):
            raise ValueError(f"topic {topic!r} has {self.partitions_of(topic)} partitions and can't have {partitions}")
        for number in range(self.partitions_of(topic), partitions):
            self._partitions[TopicPartition(topic, number)] = _Partition(1 + number % self._nodes)
        self._counts[topic] = partitions

    def delete(self, topic: str) -> None:
        """Delete the topic, and its records. Raises KeyError if there is none."""
        for number in range(self._counts.pop(topic)):
            del self._partitions[TopicPartition(topic, number)]

    def partitions_of(self, topic: str) -> int:
        """How many partitions there are; 0 if there is no such topic."""
        return self._counts.get(topic, 0)

    def leader_of(self, partition: TopicPartition) -> int:
        """The node that leads it."""
        return self._partitions[partition].leader

    def elect(self, partition: TopicPartition, node: int, end: int | None = None) -> None:
        """Have this node lead it, whose log ends there, or where it ended so far. KeyError, ValueError."""
        if not 1 <= node <= self._nodes:
            raise ValueError(f"node {node} does not exist; there are 1 to {self._nodes}")
        self._partitions[partition].elect(node, end)

    def append(self, partition: TopicPartition, records: Sequence[NewRecord], gaps: Gaps | None = None) -> None:
        """More records, as one batch; `gaps`: which of its offsets have one. KeyError for an unknown partition."""
        self._partitions[partition].append(records, gaps)

    def end_of(self, partition: TopicPartition) -> int:
        """The offset that the next record will have."""
        return self._partitions[partition].end

    def metadata(self, names: Sequence[str]) -> tuple[messages.TopicMetadata, ...]:
        """The metadata of these topics."""
        return tuple(self._metadata_of(name) for name in names)

    def _metadata_of(self, name: str) -> messages.TopicMetadata:
        if name not in self._counts:
            return messages.TopicMetadata(name, (), unknown_topic(name))
        partitions = ((number, self._partitions[TopicPartition(name, number)]) for number in range(self._counts[name]))
        return messages.TopicMetadata(
            name,
            tuple(
                messages.PartitionMetadata(number, p.leader, leader_epoch=p.leader_epoch) for number, p in partitions
            ),
        )

    def list_offsets(self, request: messages.ListOffsetsRequest, node: int) -> messages.ListOffsetsResponse:
        """Beginnings, ends, and where a time is."""

        def listed(partition: TopicPartition) -> messages.ListedOffset:
            error = self._error(partition, node, request.leader_epochs)
            if error is not ErrorCode.NONE:
                return messages.ListedOffset(-1, error)
            timestamp = request.timestamps[partition]
            if timestamp >= 0:
                offset, time_ms = self._partitions[partition].first_since(timestamp)
                return messages.ListedOffset(offset, timestamp_ms=time_ms)
            return messages.ListedOffset(self.end_of(partition) if timestamp == LATEST else 0)

        return messages.ListOffsetsResponse({partition: listed(partition) for partition in request.timestamps})

    def ends_of_epochs(
        self, request: messages.OffsetForLeaderEpochRequest, node: int
    ) -> messages.OffsetForLeaderEpochResponse:
        """Where the leaders of these epochs have ended."""

        def end(partition: TopicPartition, epoch: int) -> messages.EpochEnd:
            error = self._error(partition, node, request.leader_epochs)
            return messages.EpochEnd(-1, -1, error) if error else self._partitions[partition].end_of_epoch(epoch)

        return messages.OffsetForLeaderEpochResponse({p: end(p, epoch) for p, epoch in request.epochs.items()})

    def fetch(self, request: messages.FetchRequest, node: int, deleted: Collection[str] = ()) -> messages.FetchResponse:
        """Records, as many as the limits allow; the first partition that has any gets some in any case.

        `deleted`: topics that were, while the request waited: it was about those.
        """
        left = request.max_bytes
        fetched: dict[TopicPartition, messages.FetchedPartition] = {}
        for partition, offset in request.offsets.items():
            error = self._error(partition, node, request.leader_epochs)
            if partition.topic in deleted:
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if error is not ErrorCode.NONE:
                fetched[partition] = messages.FetchedPartition(b"", -1, error)
                continue
            end = self.end_of(partition)
            if not 0 <= offset <= end:
                fetched[partition] = messages.FetchedPartition(b"", -1, ErrorCode.OFFSET_OUT_OF_RANGE)
                continue
            data = b""
            if left > 0:
                data = self._partitions[partition].read(offset, min(left, request.max_partition_bytes))
            left -= len(data)
            fetched[partition] = messages.FetchedPartition(data, end)
        return messages.FetchResponse(fetched)

    def _error(self, partition: TopicPartition, node: int, leader_epochs: Mapping[TopicPartition, int]) -> ErrorCode:
        """Why this node does not answer a reader that believes in leaders of these epochs (Kafka Partition)."""
        if partition not in self._partitions:
            return unknown_topic(partition.topic)
        present = self._partitions[partition].leader_epoch
        if 0 <= present != leader_epochs.get(partition, present):
            behind = leader_epochs[partition] < present
            return ErrorCode.FENCED_LEADER_EPOCH if behind else ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.leader_of(partition) == node else ErrorCode.NOT_LEADER_OR_FOLLOWER


def unknown_topic(name: str) -> ErrorCode:
    """What is said of a topic that there is not: of one that was asked for by its id, that there is no such id."""
    return ErrorCode.UNKNOWN_TOPIC_ID if is_unknown(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def is_worth_answering(response: messages.FetchResponse, min_bytes: int) -> bool:
    """Whether a Fetch has enough, asks for nothing, or fails: if not, it waits for more (at most its max_wait_ms)."""
    size = sum(len(fetched.record_bytes) for fetched in response.partitions.values())
    wrong = any(fetched.error is not ErrorCode.NONE for fetched in response.partitions.values())
    return wrong or not response.partitions or size >= min_bytes

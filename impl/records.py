"""From fetched bytes to the records that poll() returns.

The polling thread decodes, since it has the time: the background thread hands over what came from the wire. A decoded
buffer is kept until its last record is returned; positions move when records are returned (rule O5), and in the same
step as it is checked that they still may be (rules O3, O4).

A batch that can't be read stops its partition, and no other one: what stands before it is returned first, then poll()
raises what is wrong with it, each time until the application has moved the position past it (as Java's CompletedFetch).
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, KeysView, Sequence, ValuesView
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from groupspec.impl.core.errors import KafkaError, RecordDeserializationError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.partition_state import Buffered
from groupspec.impl.core.positions import Positions


class ConsumerRecord(Struct, frozen=True, gc=False):
    """One record. Key, value and header values are the bytes that were produced, or None.

    Key and value are instead what the deserialisers made of them, if the consumer has some. `timestamp_ms` counts from
    1970; it is -1 where there is none. `timestamp_type`: 0 the producer's time, 1 the broker's. `leader_epoch`: of the
    leader that wrote it, -1 where that is not known.

    A struct that the garbage collector does not look at: what it would find there costs a fast reader half its time.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_type: int = 0
    leader_epoch: int = -1

    @property
    def timestamp(self) -> int:
        """The same as `timestamp_ms`, by the name that it has in kafka-python, aiokafka and Java."""
        return self.timestamp_ms


class ConsumerRecords(list[ConsumerRecord]):
    """What one poll() returns: a list of records, as Java's ConsumerRecords; and by partition, as kafka-python's dict.

        for record in consumer.poll(1000): ...
        for partition, records in consumer.poll(1000).items(): ...

    Records of one partition are in the order of their offsets.
    """

    def items(self) -> ItemsView[TopicPartition, list[ConsumerRecord]]:
        """Partitions and their records."""
        return self._by_partition().items()

    def keys(self) -> KeysView[TopicPartition]:
        """The partitions of which there are records."""
        return self._by_partition().keys()

    def values(self) -> ValuesView[list[ConsumerRecord]]:
        """The records of each partition."""
        return self._by_partition().values()

    def records(self, partition: TopicPartition) -> list[ConsumerRecord]:
        """Those of one partition; none if it has none here."""
        return self._by_partition().get(partition, [])

    def _by_partition(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        found: dict[tuple[str, int], list[ConsumerRecord]] = {}
        for record in self:
            found.setdefault((record.topic, record.partition), []).append(record)
        return {TopicPartition(*place): records for place, records in found.items()}


Deserializer = Callable[[bytes], Any]
"""Makes a key or a value of its bytes; a None stays None, and is not given to it."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What stands in some bytes: records, the offset after the last batch, and why that batch is the last one.

    `next_offset` is the offset asked for if there is no complete batch. `problem`: the batch there can't be read.
    `leader_epoch`: of the last batch, be there records of it or none; -1 if that is not known.
    """

    records: Sequence[ConsumerRecord]
    next_offset: int
    problem: KafkaError | None = None
    leader_epoch: int = -1


class RecordDecoder(Protocol):
    """What reads record batches; `groupspec.impl.wiring` has the real one."""

    def decode(
        self,
        partition: TopicPartition,
        data: bytes,
        from_offset: int,
        aborted_transactions: Sequence[tuple[int, int]] = (),
    ) -> Decoded:
        """The records from this offset on, without those of the aborted transactions (producer id, first offset).

        Raises nothing because of the bytes.
        """


class _Opened:
    """A decoded buffer, and how much of it has been returned."""

    def __init__(self, buffered: Buffered, decoder: RecordDecoder) -> None:
        decoded = decoder.decode(
            buffered.partition, buffered.record_bytes, buffered.offset, buffered.aborted_transactions
        )
        self.buffered = buffered
        self.position = buffered.offset
        self.problem = decoded.problem
        if decoded.next_offset == buffered.offset and decoded.problem is None:
            self.problem = KafkaError(
                f"{buffered.partition} at offset {buffered.offset}: the broker sent no complete batch of records; "
                "raise max_partition_fetch_bytes, or seek() past it"
            )
        self._records = decoded.records
        self._end = decoded.next_offset
        self._leader_epoch = decoded.leader_epoch
        self._returned = 0

    def has_more(self) -> bool:
        """Whether anything stands before the end, or before the problem."""
        return self.position < self._end

    def leader_epoch(self, records: Sequence[ConsumerRecord], end: int) -> int:
        """Of what stands before `end`, the position behind these records."""
        return self._leader_epoch if end == self._end or not records else records[-1].leader_epoch

    def next(self, at_most: int) -> tuple[Sequence[ConsumerRecord], int, bool]:
        """The next records, the position behind them, and whether they are the last."""
        batch = self._records[self._returned : self._returned + at_most]
        last = self._returned + len(batch) == len(self._records)
        return batch, self._end if last else batch[-1].offset + 1, last

    def stop_before(self, problem: RecordDeserializationError) -> None:
        """What stands before this record can be returned, and nothing else."""
        self.problem, self._end = problem, problem.offset

    def returned(self, records: Sequence[ConsumerRecord], position: int) -> None:
        """These are the application's now."""
        self._returned += len(records)
        self.position = position


class Records:
    """What was decoded and not returned yet; the polling thread's own."""

    def __init__(
        self,
        positions: Positions,
        decoder: RecordDecoder,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
    ) -> None:
        self._positions = positions
        self._deserializers = {"key": key_deserializer, "value": value_deserializer}
        self._decoder = decoder
        self._opened: dict[TopicPartition, _Opened] = {}
        self.returned = 0  # how many records the application was given
        self.used_up = False  # whether the last take() has emptied a buffer, so that its partition can be fetched again

    def take(self, at_most: int) -> list[ConsumerRecord]:
        """Records that are the application's from now on, of several partitions if there are enough (rule P5).

        Raises what is wrong with a batch; but never while others have been taken, whose positions have moved (rule O4):
        then the next call raises it.
        """
        taken: list[ConsumerRecord] = []
        self.used_up = False
        while len(taken) < at_most and (buffered := self._positions.next_buffered()) is not None:
            opened = self._open(buffered)
            if opened.problem is not None and not opened.has_more():
                if taken:
                    break
                self._positions.stop_at(buffered)
                raise opened.problem.with_traceback(None)  # the same one as the last time, without its way
            taken += self._take_from(opened, at_most - len(taken))
        return taken

    def _open(self, buffered: Buffered) -> _Opened:
        opened = self._opened.get(buffered.partition)
        if opened is None or opened.buffered is not buffered:
            self._opened = {tp: o for tp, o in self._opened.items() if self._positions.is_buffered(o.buffered)}
            opened = self._opened[buffered.partition] = _Opened(buffered, self._decoder)
        return opened

    def _take_from(self, opened: _Opened, at_most: int) -> Sequence[ConsumerRecord]:
        """The next of the opened ones; none if they were revoked, or the position was moved, since they arrived."""
        records, end, last = opened.next(at_most)
        if any(self._deserializers.values()):
            records, problem = self._deserialize(opened.buffered.partition, records)
            if problem is not None:
                end = problem.offset
                opened.stop_before(problem)
        exhausted = last and opened.problem is None
        epoch = opened.leader_epoch(records, end)
        if not self._positions.advance(opened.buffered, opened.position, end, exhausted, epoch, not records):
            return ()
        opened.returned(records, end)
        self.used_up = self.used_up or exhausted
        self.returned += len(records)
        return records

    def _deserialize(
        self, partition: TopicPartition, records: Sequence[ConsumerRecord]
    ) -> tuple[Sequence[ConsumerRecord], RecordDeserializationError | None]:
        """The records with key and value as the application wants them, up to the first one that can't be made so."""
        made: list[ConsumerRecord] = []
        for record in records:
            changed: dict[str, Any] = {}
            for part, deserializer in self._deserializers.items():
                raw = getattr(record, part)
                if deserializer is None or raw is None:
                    continue
                try:
                    changed[part] = deserializer(raw)
                except Exception as error:
                    problem = RecordDeserializationError(partition, record.offset, part, repr(error))
                    problem.__cause__ = error
                    return made, problem
            made.append(replace(record, **changed))
        return made, None

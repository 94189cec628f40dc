"""Records to record batches and back, with aiokafka's decoder.

The fastest in Python, and with cramjam it knows every codec. Checksums are crc32c's, which has the processor compute
them: aiokafka's take as long as all the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast
from zlib import crc32

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from crc32c import crc32c

from groupspec.impl.core.errors import UnreadableRecordsError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.network.compression import unpacked
from groupspec.impl.network.errors import CorruptBatch
from groupspec.impl.network.old_records import old_records
from groupspec.impl.records import ConsumerRecord, Decoded

_MAGIC: Final = 2
_NO_PRODUCER: Final = -1
_UNBOUNDED: Final = 2**31 - 1
_MAGIC_AT: Final = 16
_BASE_OFFSET: Final = struct.Struct(">q")
_BATCH_START: Final = struct.Struct(">qi")  # base offset, length of what follows
_BATCH_HEADER: Final = struct.Struct(">23xi")  # (base offset, length, epoch, magic, checksum, attributes), last delta
_LEADER_EPOCH: Final = struct.Struct(">12xi")
_LEADER_EPOCH_AT: Final = 12
_EPOCH: Final = struct.Struct(">i")
_ATTRIBUTES: Final = struct.Struct(">21xh")
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_PRODUCER: Final = struct.Struct(">43xq")
_CONTROL_KEY: Final = struct.Struct(">hh")  # version, kind of mark
_ABORT: Final = 0
_CHECKSUM: Final = struct.Struct(">17xI")  # over all that follows
_CHECKSUM_AT: Final = 17
_CHECKSUM_WORD: Final = struct.Struct(">I")
_LAST_DELTA_AT: Final = 23
_LAST_DELTA: Final = struct.Struct(">i")
_ATTRIBUTES_END: Final = 22
_CODEC: Final = 7
_RECORDS_AT: Final = 61
_OLD_CHECKSUM: Final = struct.Struct(">12xI")  # before format 2; over all that follows
_BEHIND: Final = bytes(16)
"""aiokafka reads a number without asking where the bytes end: as much as it may then read."""
_SMALLEST_BATCH: Final = 26  # a message of format 0 without key and value


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that has no place yet."""

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


COMMIT_MARK: Final = NewRecord(key=_CONTROL_KEY.pack(0, 1), value=struct.pack(">hi", 0, 0))
"""What ends a transaction that was committed (ControlRecordType, EndTransactionMarker); in a batch of its own."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Which of a batch's offsets have a record, counted from its first one, and how many offsets it takes.

    A log has offsets without a record once it is compacted, which keeps a batch's first and last offset, also of a
    batch that nothing is left of (org.apache.kafka.common.record.MemoryRecords.filterTo), and where it has the marks of
    transactions (KIP-98). `control`: the one record of the batch is such a mark, which is no application's.
    """

    deltas: tuple[int, ...]
    span: int
    control: bool = False


class _Record(Protocol):
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class _Batch(Protocol):
    is_control_batch: bool

    def __iter__(self) -> Iterator[_Record]: ...


class _Batches(Protocol):
    def next_batch(self) -> _Batch: ...


def decode_records(
    partition: TopicPartition,
    data: bytes,
    from_offset: int = 0,
    aborted_transactions: Sequence[tuple[int, int]] = (),
    *,
    check_crcs: bool = True,
) -> Decoded:
    """The records of these batches from `from_offset` on, until one can't be read: then `problem` says why.

    A broker answers with whole batches, so the first may begin before the offset asked for; and it may cut the last one
    off, which is left out. So are control batches (the marks of transactions), and what belongs to the transactions
    given: producer id and first offset of those that were aborted.
    """
    records: list[ConsumerRecord] = []
    aborted = _Aborted(aborted_transactions)
    position, at, leader_epoch = from_offset, 0, -1
    while len(data) - at >= _SMALLEST_BATCH:
        base_offset, length = _BATCH_START.unpack_from(data, at)
        end = at + _BATCH_START.size + length
        if end > len(data):
            break
        behind = _offset_behind(data, at, length)
        try:
            if length < _SMALLEST_BATCH - _BATCH_START.size:
                raise CorruptBatch(f"it says that it has {length} bytes, which is too little")
            raw = data[at:end]
            batch = _open_batch(raw, check_crcs)
            if not (aborted.hides(batch, raw, behind - 1) or batch.is_control_batch):
                records += _read_batch(partition, batch, raw, from_offset)
        except Exception as problem:  # whatever a codec raises, the bytes are the reason
            start = max(base_offset, position)
            cause = f"{type(problem).__name__}: {problem}"
            return Decoded(
                records,
                position,
                UnreadableRecordsError(partition, start, _next_batch(data, end, start, behind), cause),
                leader_epoch,
            )
        leader_epoch = _leader_epoch(raw)
        position = max(position, behind)
        at = end
    return Decoded(records, position, leader_epoch=leader_epoch)


class _Aborted:
    """Transactions that were aborted, and which batches are of them (KIP-98, as Java's CompletedFetch).

    One begins at its first offset and ends at the mark of its producer; a later one of the same producer is another.
    """

    def __init__(self, transactions: Sequence[tuple[int, int]]) -> None:
        self._to_come = sorted(transactions, key=lambda producer_and_first: producer_and_first[1], reverse=True)
        self._producers: set[int] = set()

    def hides(self, batch: _Batch, data: bytes, last_offset: int) -> bool:
        """Whether the records of this batch, the next one in the log, must not be handed out."""
        if not (self._to_come or self._producers) or data[_MAGIC_AT] < _MAGIC:
            return False
        while self._to_come and self._to_come[-1][1] <= last_offset:
            self._producers.add(self._to_come.pop()[0])
        (attributes,) = _ATTRIBUTES.unpack_from(data)
        (producer_id,) = _PRODUCER.unpack_from(data)
        if batch.is_control_batch:
            if _is_abort(batch):
                self._producers.discard(producer_id)
            return True
        return bool(attributes & _TRANSACTIONAL) and producer_id in self._producers


def _is_abort(control: _Batch) -> bool:
    """Whether this is the mark of an aborted transaction (org.apache.kafka.common.record.ControlRecordType)."""
    key = next(iter(control)).key or b""
    return len(key) >= _CONTROL_KEY.size and _CONTROL_KEY.unpack_from(key)[1] == _ABORT


def _open_batch(data: bytes, check_crcs: bool) -> _Batch:
    """One whole batch. Raises CorruptBatch, and what the codecs raise."""
    if data[_MAGIC_AT] > _MAGIC:
        raise CorruptBatch(f"its format (magic) is {data[_MAGIC_AT]}; 0 to {_MAGIC} are known")
    if check_crcs and not _has_right_checksum(data):
        raise CorruptBatch("its checksum is wrong")
    if data[_MAGIC_AT] < _MAGIC:
        return _OldBatch(data)
    if len(data) < _RECORDS_AT:
        raise CorruptBatch(f"it has {len(data)} bytes; its header alone has {_RECORDS_AT}")
    return cast("_Batches", MemoryRecords(_without_codec(data) + _BEHIND)).next_batch()


def _has_right_checksum(data: bytes) -> bool:
    if data[_MAGIC_AT] < _MAGIC:
        return bool(_OLD_CHECKSUM.unpack_from(data)[0] == crc32(memoryview(data)[_OLD_CHECKSUM.size :]))
    return bool(_CHECKSUM.unpack_from(data)[0] == crc32c(memoryview(data)[_CHECKSUM.size :]))


def _without_codec(data: bytes) -> bytes:
    """A batch of format 2 as it was before it was packed."""
    codec = data[_ATTRIBUTES_END] & _CODEC
    if not codec:
        return data
    header = bytearray(data[:_RECORDS_AT])
    records = unpacked(codec, memoryview(data)[_RECORDS_AT:])
    header[_ATTRIBUTES_END] &= ~_CODEC
    _BATCH_START.pack_into(header, 0, _BATCH_START.unpack_from(data)[0], _RECORDS_AT - _BATCH_START.size + len(records))
    return bytes(header) + records


class _OldBatch:
    is_control_batch = False

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[_Record]:
        return old_records(self._data)


def _read_batch(partition: TopicPartition, batch: _Batch, data: bytes, from_offset: int) -> list[ConsumerRecord]:
    """Its records. This is where a fast reader spends its time: no call that can be left out."""
    topic, number = partition.topic, partition.partition
    timestamp_type, leader_epoch = 0, _leader_epoch(data)
    if data[_MAGIC_AT] >= _MAGIC:
        timestamp_type = _ATTRIBUTES.unpack_from(data)[0] >> 3 & 1
    elif data[_MAGIC_AT]:  # format 0 has no timestamps
        timestamp_type = data[_MAGIC_AT + 1] >> 3 & 1
    read = [
        ConsumerRecord(
            topic,
            number,
            record.offset,
            -1 if (timestamp := record.timestamp) is None else timestamp,
            record.key,
            record.value,
            tuple(headers) if (headers := record.headers) else (),
            timestamp_type,
            leader_epoch,
        )
        for record in batch
    ]
    if read and read[0].offset < from_offset:  # the first batch of a fetch may be
        return [record for record in read if record.offset >= from_offset]
    return read


def _leader_epoch(data: bytes) -> int:
    """Of the leader that wrote this batch; -1 before format 2, which has none."""
    return int(_LEADER_EPOCH.unpack_from(data)[0]) if data[_MAGIC_AT] >= _MAGIC else -1


def _next_batch(data: bytes, at: int, start: int, behind: int) -> int:
    """The offset at which to go on: the next batch's if it is here, since the bad one's header may be wrong, too."""
    if 0 <= at <= len(data) - _BATCH_START.size:  # a length below 0 points before the bytes
        (next_offset, _) = _BATCH_START.unpack_from(data, at)
        if start < next_offset < behind:
            return int(next_offset)
    return max(behind, start + 1)


def _offset_behind(data: bytes, at: int, length: int) -> int:
    """The offset after the batch that begins here, even if it holds no record to hand out.

    As far as its header is right.

    Before format 2 a batch has the offset of its last record.
    """
    (base_offset, _) = _BATCH_START.unpack_from(data, at)
    if length < _BATCH_HEADER.size - _BATCH_START.size or data[at + _MAGIC_AT] < _MAGIC:
        return int(base_offset) + 1
    (last_offset_delta,) = _BATCH_HEADER.unpack_from(data, at)
    return int(base_offset) + int(last_offset_delta) + 1


def encode_records(
    records: Sequence[NewRecord], first_offset: int, leader_epoch: int = -1, gaps: Gaps | None = None
) -> bytes:
    """One uncompressed batch of format 2 with these records, numbered from `first_offset` on."""
    deltas = range(len(records)) if gaps is None else gaps.deltas
    builder = DefaultRecordBatchBuilder(
        magic=_MAGIC,
        compression_type=0,
        is_transactional=0,
        producer_id=_NO_PRODUCER,
        producer_epoch=_NO_PRODUCER,
        base_sequence=_NO_PRODUCER,
        batch_size=_UNBOUNDED,
    )
    for delta, record in zip(deltas, records, strict=True):
        builder.append(
            delta,
            timestamp=record.timestamp_ms,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
        )
    batch = builder.build()
    # Base offset and leader epoch stand before what the checksum covers.
    batch[: _BASE_OFFSET.size] = _BASE_OFFSET.pack(first_offset)
    batch[_LEADER_EPOCH_AT:_MAGIC_AT] = _EPOCH.pack(leader_epoch)
    if gaps is not None:
        _LAST_DELTA.pack_into(batch, _LAST_DELTA_AT, gaps.span - 1)
        if gaps.control:
            batch[_ATTRIBUTES_END] |= _TRANSACTIONAL | _CONTROL
        _CHECKSUM_WORD.pack_into(batch, _CHECKSUM_AT, crc32c(memoryview(batch)[_CHECKSUM.size :]))
    return bytes(batch)

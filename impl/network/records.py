"""Records to record batches and back, with aiokafka's decoder.

The fastest in Python, and with cramjam it knows every codec.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from groupspec.impl.core.errors import UnreadableRecordsError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.records import ConsumerRecord, Decoded

_MAGIC: Final = 2
_NO_PRODUCER: Final = -1
_UNBOUNDED: Final = 2**31 - 1
_MAGIC_AT: Final = 16
_BASE_OFFSET: Final = struct.Struct(">q")
_BATCH_START: Final = struct.Struct(">qi")  # base offset, length of what follows
_BATCH_HEADER: Final = struct.Struct(">23xi")  # (base offset, length, epoch, magic, checksum, attributes), last delta
_SMALLEST_BATCH: Final = 26  # a message of format 0 without key and value


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that has no place yet."""

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


class _Record(Protocol):
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class _Batch(Protocol):
    is_control_batch: bool

    def validate_crc(self) -> bool: ...

    def __iter__(self) -> Iterator[_Record]: ...


class _Batches(Protocol):
    def next_batch(self) -> _Batch: ...


def decode_records(partition: TopicPartition, data: bytes, from_offset: int = 0, *, check_crcs: bool = True) -> Decoded:
    """The records of these batches from `from_offset` on, until one can't be read: then `problem` says why.

    A broker answers with whole batches, so the first may begin before the offset asked for; and it may cut the last one
    off, which is left out. Control batches (the marks of transactions) are left out too.
    """
    records: list[ConsumerRecord] = []
    position, at = from_offset, 0
    while len(data) - at >= _SMALLEST_BATCH:
        base_offset, length = _BATCH_START.unpack_from(data, at)
        end = at + _BATCH_START.size + length
        if end > len(data):
            break
        behind = _offset_behind(data, at, length)
        try:
            if length < _SMALLEST_BATCH - _BATCH_START.size:
                raise CorruptRecordException(f"a batch of {length} bytes can't be")
            records += _read_batch(partition, data[at:end], from_offset, check_crcs)
        except Exception as problem:  # whatever a codec raises, the bytes are the reason
            start = max(base_offset, position)
            cause = f"{type(problem).__name__}: {problem}"
            return Decoded(
                records,
                position,
                UnreadableRecordsError(partition, start, _next_batch(data, end, start, behind), cause),
            )
        position = max(position, behind)
        at = end
    return Decoded(records, position)


def _read_batch(partition: TopicPartition, data: bytes, from_offset: int, check_crcs: bool) -> list[ConsumerRecord]:
    """One whole batch. Raises what the codecs raise."""
    topic, number = partition.topic, partition.partition
    batch = cast("_Batches", MemoryRecords(data)).next_batch()
    if check_crcs and not batch.validate_crc():
        raise CorruptRecordException("the checksum of the batch is wrong")
    if batch.is_control_batch:
        return []
    return [
        ConsumerRecord(
            topic,
            number,
            record.offset,
            record.timestamp if record.timestamp is not None else -1,
            record.key,
            record.value,
            tuple(record.headers),
        )
        for record in batch
        if record.offset >= from_offset
    ]


def _next_batch(data: bytes, at: int, start: int, behind: int) -> int:
    """The offset at which to go on: the next batch's if it is here, since the bad one's header may be wrong, too."""
    if len(data) - at >= _BATCH_START.size:
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


def encode_records(records: Sequence[NewRecord], first_offset: int) -> bytes:
    """One uncompressed batch of format 2 with these records, numbered from `first_offset` on."""
    builder = DefaultRecordBatchBuilder(
        magic=_MAGIC,
        compression_type=0,
        is_transactional=0,
        producer_id=_NO_PRODUCER,
        producer_epoch=_NO_PRODUCER,
        base_sequence=_NO_PRODUCER,
        batch_size=_UNBOUNDED,
    )
    for number, record in enumerate(records):
        builder.append(
            number,
            timestamp=record.timestamp_ms,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
        )
    batch = builder.build()
    # The base offset stands before what the checksum covers.
    batch[: _BASE_OFFSET.size] = _BASE_OFFSET.pack(first_offset)
    return bytes(batch)

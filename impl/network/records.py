"""Records to record batches and back, with aiokafka's decoder (the fastest in Python, and it knows every compression)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from groupspec.impl.core.messages import TopicPartition

_MAGIC: Final = 2
_NO_PRODUCER: Final = -1
_UNBOUNDED: Final = 2**31 - 1
_BASE_OFFSET: Final = struct.Struct(">q")
_BATCH_HEADER: Final = struct.Struct(">qi11xi")  # base offset, length, (epoch, magic, checksum, attributes), last delta
_LENGTH_ENDS_AT: Final = 12


class CorruptRecords(Exception):
    """Record batches that contradict themselves: a wrong checksum, a wrong length, an unknown format."""


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """One record as the application gets it. Keys, values and header values are bytes or null."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


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
    def has_next(self) -> bool: ...

    def next_batch(self) -> _Batch: ...


def decode_records(partition: TopicPartition, data: bytes, from_offset: int = 0) -> list[ConsumerRecord]:
    """The records of these batches from `from_offset` on. Raises CorruptRecords.

    A broker answers with whole batches, so the first may begin before the offset asked for; and it may cut the last one
    off, which is left out. Control batches (the marks of transactions) are left out too.
    """
    topic, number = partition.topic, partition.partition
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
        for batch in _batches(partition, data)
        for record in batch
        if record.offset >= from_offset
    ]


def next_offset(data: bytes, from_offset: int) -> int:
    """Where to fetch next after these batches: behind the last complete one, even if it held no record to hand out."""
    position = from_offset
    at = 0
    while len(data) - at >= _BATCH_HEADER.size:
        base_offset, length, last_offset_delta = _BATCH_HEADER.unpack_from(data, at)
        end = at + _LENGTH_ENDS_AT + length
        if length <= 0 or end > len(data):
            break
        position = max(position, base_offset + last_offset_delta + 1)
        at = end
    return position


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


def _batches(partition: TopicPartition, data: bytes) -> Iterator[_Batch]:
    try:
        batches = cast("_Batches", MemoryRecords(data))
        while batches.has_next():
            batch = batches.next_batch()
            if not batch.validate_crc():
                raise CorruptRecords(
                    f"{partition}: a batch whose checksum is wrong; fetch it again, or skip it by seek()"
                )
            if not batch.is_control_batch:
                yield batch
    except (CorruptRecordException, ValueError, struct.error, UnicodeDecodeError) as problem:
        raise CorruptRecords(f"{partition}: {problem}") from problem

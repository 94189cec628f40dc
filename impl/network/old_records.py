"""Messages of formats 0 and 1, as brokers before 0.11 wrote them. One may be packed, and hold more of them.

Written here, since aiokafka's reader goes by lengths inside the packed set that it doesn't look at, and so reads behind
the bytes. Each message is read by itself, and its numbers are completed as
org.apache.kafka.common.record.AbstractLegacyRecordBatch.DeepRecordsIterator does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.impl.network.compression import unpacked
from groupspec.impl.network.errors import CorruptBatch

_START: Final = struct.Struct(">qi4xbb")  # offset, length of what follows, (checksum), format, attributes
_LENGTH_AT: Final = 12
"""Of what the length counts."""
_TIMESTAMP: Final = struct.Struct(">q")
_SIZE: Final = struct.Struct(">i")
_BODY_AT: Final = (18, 26)
"""Where the key begins, by format: 1 has a timestamp before it."""
_NO_TIMESTAMP: Final = -1
_CODEC: Final = 7
_LZ4: Final = 3
_TIME_OF_APPENDING: Final = 8


@dataclass(slots=True)
class OldRecord:
    """A record as the batches of format 2 have it; `timestamp` in milliseconds."""

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    attributes: int = 0
    headers: Sequence[tuple[str, bytes | None]] = ()


def old_records(data: bytes) -> Iterator[OldRecord]:
    """The records of this one message. Raises CorruptBatch, struct.error, and what the codecs raise."""
    magic = data[_LENGTH_AT + 4]
    outer = _message(data, magic)
    codec = outer.attributes & _CODEC
    if not codec:
        yield outer
        return
    if outer.value is None:
        raise CorruptBatch("it says that it is packed, and holds nothing")
    if magic == 0 and codec == _LZ4:
        raise CorruptBatch("format 0 has no LZ4 (KAFKA-3160)")
    inner = list(_messages(unpacked(codec, outer.value), magic))
    # Format 1 numbers them from 0, and the message around them has the last one's offset (KIP-31). A producer's has 0.
    base = max(0, outer.offset - inner[-1].offset) if inner and magic > 0 else 0
    of_appending = magic > 0 and outer.attributes & _TIME_OF_APPENDING
    for each in inner:
        timestamp = outer.timestamp if of_appending else each.timestamp
        yield OldRecord(base + each.offset, timestamp, each.key, each.value)


def _messages(data: bytes, magic: int) -> Iterator[OldRecord]:
    at = 0
    while at < len(data):
        _, length, format_, attributes = _START.unpack_from(data, at)
        end = at + _LENGTH_AT + length
        if not at + _BODY_AT[magic] + 2 * _SIZE.size <= end <= len(data):
            raise CorruptBatch(f"a message in it says that it has {length} bytes; {len(data) - at} are left")
        if format_ != magic or attributes & _CODEC:
            raise CorruptBatch(f"a message in it is packed itself, or of format {format_}, and it of {magic}")
        yield _message(data[at:end], magic)
        at = end


def _message(data: bytes, magic: int) -> OldRecord:
    """All of these bytes, the value as it is."""
    at = _BODY_AT[magic]
    offset, _, _, attributes = _START.unpack_from(data)
    timestamp = _TIMESTAMP.unpack_from(data, at - _TIMESTAMP.size)[0] if magic > 0 else _NO_TIMESTAMP
    key, at = _bytes(data, at)
    value, _ = _bytes(data, at)
    return OldRecord(offset, timestamp, key, value, attributes)


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """These, none if the length is -1, and where they end."""
    (size,) = _SIZE.unpack_from(data, at)
    at += _SIZE.size
    if size == -1:
        return None, at
    if not 0 <= size <= len(data) - at:
        raise CorruptBatch(f"it has a field of {size} bytes, and {len(data) - at} bytes are left")
    return data[at : at + size], at + size

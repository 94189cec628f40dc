"""Message sets of formats 0 and 1: read as aiokafka reads them, and no length in them leads outside their bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from aiokafka.codec import snappy_encode
from aiokafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.network.records import decode_records

ORDERS_0 = TopicPartition("orders", 0)
FORMATS = pytest.mark.parametrize("magic", [0, 1])
Message = tuple[int, bytes | None, bytes | None]  # timestamp, key, value

some_bytes = st.none() | st.binary(max_size=300)
messages = st.lists(st.tuples(st.integers(0, 2**41), some_bytes, some_bytes), min_size=1, max_size=4)


def message(magic: int, attributes: int, value: bytes | None, *, offset: int = 0, timestamp: int = 0) -> bytes:
    """With no key, and a checksum of 0."""
    times = struct.pack(">q", timestamp) if magic else b""
    held = struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    body = struct.pack(">Ibb", 0, magic, attributes) + times + struct.pack(">i", -1) + held
    return struct.pack(">qi", offset, len(body)) + body


def packed(magic: int, codec: int, records: Sequence[Message]) -> bytes:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=2**31 - 1)
    for offset, (timestamp, key, value) in enumerate(records):
        builder.append(offset, timestamp=timestamp, key=key, value=value)
    return bytes(builder.build())


@FORMATS
@given(st.sampled_from((1, 2, 3)), messages)
def test_packed_messages_are_read_as_aiokafka_reads_them(magic: int, codec: int, records: list[Message]) -> None:
    codec = codec if magic else min(codec, 2)  # format 0 has no LZ4
    data = packed(magic, codec, records)
    theirs = [
        (each.offset, -1 if each.timestamp is None else each.timestamp, each.key, each.value)
        for each in LegacyRecordBatch(data, magic)
    ]
    ours = decode_records(ORDERS_0, data, from_offset=-(2**40))
    assert ours.problem is None
    assert [(each.offset, each.timestamp, each.key, each.value) for each in ours.records] == theirs


def test_the_offset_around_packed_messages_of_format_1_is_the_last_ones() -> None:
    inner = b"".join(message(1, 0, b"%d" % at, offset=at, timestamp=at) for at in range(3))
    data = message(1, 2, snappy_encode(inner), offset=41)
    read = decode_records(ORDERS_0, data, check_crcs=False).records
    assert [(each.offset, each.timestamp, each.value) for each in read] == [(39, 0, b"0"), (40, 1, b"1"), (41, 2, b"2")]


def test_the_time_of_appending_is_the_outer_messages() -> None:
    data = message(1, 2 | 8, snappy_encode(message(1, 0, b"a", timestamp=5)), offset=7, timestamp=9)
    (read,) = decode_records(ORDERS_0, data, check_crcs=False).records
    assert (read.timestamp, read.timestamp_type) == (9, 1)


@FORMATS
@pytest.mark.parametrize("length", [-(2**31), -1_000_000, -13, -12, 0, 13, 2**31 - 1])
def test_a_length_in_the_packed_messages_leads_nowhere_else(magic: int, length: int) -> None:
    """The compiled reader of aiokafka 0.14 goes by it: the process ended by SIGSEGV, or never."""
    inner = bytearray(message(magic, 0, b"a") + message(magic, 0, b"b"))
    inner[8:12] = struct.pack(">i", length)
    read = decode_records(ORDERS_0, message(magic, 2, snappy_encode(bytes(inner))), check_crcs=False)
    assert not read.records
    assert f"a message in it says that it has {length} bytes" in str(read.problem)


@FORMATS
@pytest.mark.parametrize("size", [-2, -(2**31), 2**31 - 1])
def test_nor_does_the_length_of_a_field(magic: int, size: int) -> None:
    data = bytearray(message(magic, 0, b"a"))
    data[-5:-1] = struct.pack(">i", size)
    assert f"a field of {size} bytes, and 1 bytes are left" in str(
        decode_records(ORDERS_0, bytes(data), check_crcs=False).problem
    )


@FORMATS
@pytest.mark.parametrize(
    ("attributes", "value", "why"),
    [
        (1, None, "it says that it is packed, and holds nothing"),
        (5, b"a", "compression codec 5 is not known"),
    ],
)
def test_what_contradicts_itself_is_said(magic: int, attributes: int, value: bytes | None, why: str) -> None:
    read = decode_records(ORDERS_0, message(magic, attributes, value), check_crcs=False)
    assert not read.records
    assert why in str(read.problem)


@FORMATS
def test_a_packed_message_in_a_packed_message_is_refused(magic: int) -> None:
    """As Kafka does: "Inner record must not be compressed" (AbstractLegacyRecordBatch)."""
    inner = message(magic, 2, snappy_encode(message(magic, 0, b"a")))
    read = decode_records(ORDERS_0, message(magic, 2, snappy_encode(inner)), check_crcs=False)
    assert not read.records
    assert "a message in it is packed itself" in str(read.problem)

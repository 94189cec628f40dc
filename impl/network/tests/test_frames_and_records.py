"""Frames, and the record batches inside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.network.errors import FrameTooLarge
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.records import CorruptRecords, NewRecord, decode_records, encode_records, next_offset

ORDERS_0 = TopicPartition("orders", 0)

optional_bytes = st.none() | st.binary(max_size=20)
new_record = st.builds(
    NewRecord,
    value=optional_bytes,
    key=optional_bytes,
    timestamp_ms=st.integers(0, 2**41),
    headers=st.lists(st.tuples(st.text(max_size=5), optional_bytes), max_size=2).map(tuple),
)
batch = st.lists(new_record, min_size=1, max_size=5)


@given(st.lists(st.binary(max_size=30), max_size=6), st.data())
def test_frames_survive_any_way_of_cutting_the_stream(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(framed(message) for message in messages)
    reader, found = FrameReader(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += list(reader.feed(stream[:size]))
        stream = stream[size:]
    assert found == messages
    assert reader.unfinished == b""


@pytest.mark.parametrize("prefix", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\x10\x01"])
def test_a_length_beyond_the_limit_is_refused_after_the_frames_before_it(prefix: bytes) -> None:
    frames = FrameReader(limit=4096).feed(framed(b"good") + prefix)
    assert next(frames) == b"good"
    with pytest.raises(FrameTooLarge, match="from 0 to 4096 are allowed"):
        next(frames)


def test_half_a_frame_is_seen() -> None:
    reader = FrameReader()
    assert list(reader.feed(framed(b"whole") + framed(b"cut off")[:6])) == [b"whole"]
    assert reader.unfinished == framed(b"cut off")[:6]


@given(batch, st.integers(0, 2**40))
def test_records_survive_the_way_there_and_back(records: list[NewRecord], first: int) -> None:
    data = encode_records(records, first)
    read = decode_records(ORDERS_0, data)
    assert [(r.offset, r.key, r.value, r.timestamp_ms, r.headers) for r in read] == [
        (first + number, r.key, r.value, r.timestamp_ms, r.headers) for number, r in enumerate(records)
    ]
    assert next_offset(data, first) == first + len(records)


@given(batch, st.integers(0, 2**40))
def test_kafka_python_reads_the_same_records(records: list[NewRecord], first: int) -> None:
    batches = KafkaPythonRecords(encode_records(records, first))
    read = list(batches.next_batch())
    assert [(r.offset, r.key, r.value) for r in read] == [
        (first + number, r.key, r.value) for number, r in enumerate(records)
    ]
    assert not batches.has_next()


@given(batch, batch, st.data())
def test_a_batch_cut_off_at_the_end_is_left_for_the_next_fetch(
    whole: list[NewRecord], cut: list[NewRecord], data: st.DataObject
) -> None:
    first, second = encode_records(whole, 0), encode_records(cut, len(whole))
    read = first + second[: data.draw(st.integers(0, len(second) - 1))]
    assert [r.offset for r in decode_records(ORDERS_0, read)] == list(range(len(whole)))
    assert next_offset(read, 0) == len(whole)


def test_records_before_the_offset_asked_for_are_left_out() -> None:
    data = encode_records([NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")], 10)
    assert [r.value for r in decode_records(ORDERS_0, data, from_offset=11)] == [b"b", b"c"]


@given(batch, st.data())
def test_a_flipped_bit_is_noticed(records: list[NewRecord], data: st.DataObject) -> None:
    good = encode_records(records, 0)
    at = data.draw(st.integers(21, len(good) - 1))  # from the attributes on: what the checksum covers
    bad = bytearray(good)
    bad[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptRecords, match="orders-0"):
        decode_records(ORDERS_0, bytes(bad))

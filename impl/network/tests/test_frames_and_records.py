"""Frames, and the record batches inside them."""

from __future__ import annotations

import crc32c
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from groupspec.impl.core.errors import UnreadableRecordsError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.network.compression import LIMIT
from groupspec.impl.network.errors import FrameTooLarge
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.records import NewRecord, decode_records, encode_records

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
    read = decode_records(ORDERS_0, data, first)
    assert [(r.offset, r.key, r.value, r.timestamp_ms, r.headers) for r in read.records] == [
        (first + number, r.key, r.value, r.timestamp_ms, r.headers) for number, r in enumerate(records)
    ]
    assert (read.next_offset, read.problem) == (first + len(records), None)


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
    read = decode_records(ORDERS_0, first + second[: data.draw(st.integers(0, len(second) - 1))])
    assert [r.offset for r in read.records] == list(range(len(whole)))
    assert (read.next_offset, read.problem) == (len(whole), None)


def test_a_batch_has_the_epoch_of_the_leader_that_wrote_it() -> None:
    records = [NewRecord(b"a"), NewRecord(b"b")]
    read = decode_records(ORDERS_0, encode_records(records, 0, leader_epoch=3) + encode_records(records, 2, 4))
    assert read.problem is None
    assert ([r.leader_epoch for r in read.records], read.leader_epoch) == ([3, 3, 4, 4], 4)


def test_records_before_the_offset_asked_for_are_left_out() -> None:
    data = encode_records([NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")], 10)
    assert [r.value for r in decode_records(ORDERS_0, data, from_offset=11).records] == [b"b", b"c"]


@given(batch, st.data())
def test_a_flipped_bit_costs_its_batch_and_none_before_it(records: list[NewRecord], data: st.DataObject) -> None:
    good, bad = encode_records(records, 0), bytearray(encode_records(records, len(records)))
    at = data.draw(st.integers(21, len(bad) - 1))  # from the attributes on: what the checksum covers
    bad[at] ^= 1 << data.draw(st.integers(0, 7))
    read = decode_records(ORDERS_0, good + bytes(bad) + encode_records(records, 2 * len(records)))
    assert [r.offset for r in read.records] == list(range(len(records)))
    assert read.next_offset == len(records)
    problem = read.problem
    assert isinstance(problem, UnreadableRecordsError)
    assert (problem.partition, problem.offset) == (ORDERS_0, len(records))
    assert len(records) < problem.next_offset <= 2 * len(records)


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_of_kafka_is_read_as_installed(codec: int) -> None:
    read = decode_records(ORDERS_0, compressed(codec), from_offset=1)
    assert read.problem is None
    assert [(r.offset, r.value) for r in read.records] == [(1, b"one" * 100), (2, b"two" * 100)]


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_a_batch_that_unpacks_to_gigabytes_is_a_problem_and_costs_no_record_before_it(codec: int) -> None:
    good, bomb = encode_records([NewRecord(b"good")], 0), compressed(codec, first=1, times=LIMIT // 10)
    assert len(bomb) < LIMIT // 15
    read = decode_records(ORDERS_0, good + bomb)
    assert ([r.value for r in read.records], read.next_offset) == ([b"good"], 1)
    assert isinstance(read.problem, UnreadableRecordsError)
    assert (read.problem.offset, read.problem.next_offset) == (1, 4)
    assert f"more than {LIMIT} bytes" in str(read.problem)


@pytest.mark.parametrize("magic", [0, 1])
def test_so_is_a_message_of_the_old_formats(magic: int) -> None:
    def packed(times: int) -> bytes:
        builder = LegacyRecordBatchBuilder(magic=magic, compression_type=1, batch_size=2**31 - 1)
        builder.append(0, timestamp=0, key=b"key", value=b"value" * times)
        return bytes(builder.build())

    assert [r.value for r in decode_records(ORDERS_0, packed(1)).records] == [b"value"]
    problem = decode_records(ORDERS_0, packed(LIMIT // 5)).problem
    assert f"more than {LIMIT} bytes" in str(problem)


@pytest.mark.parametrize("at", range(8, 80))
@pytest.mark.parametrize("check_crcs", [True, False])
def test_no_wrong_byte_raises_or_brings_other_records_before_the_batch(at: int, check_crcs: bool) -> None:
    """Length, epoch, magic, checksum, attributes, counts, records: with or without the checksum's help."""
    good, bad = encode_records([NewRecord(b"good")], 0), bytearray(compressed(1, first=1))
    bad[at] ^= 0xFF
    read = decode_records(ORDERS_0, good + bytes(bad), check_crcs=check_crcs)
    assert read.records[0].value == b"good"
    problem = read.problem
    assert problem is None or isinstance(problem, UnreadableRecordsError)
    if problem is not None:
        assert (read.next_offset, problem.offset) == (1, 1)
    elif at >= 16 and check_crcs:  # neither length nor leader epoch: those stand before what the checksum covers
        raise AssertionError(f"byte {at} was wrong, and nobody has noticed")


def test_what_has_no_codec_is_said_by_an_error_of_ours_that_names_the_place() -> None:
    unknown = bytearray(compressed(1))
    unknown[22] = 7  # the attributes' last byte: the codec
    unknown[17:21] = crc32c.crc32c(bytes(unknown[21:])).to_bytes(4, "big")
    read = decode_records(ORDERS_0, bytes(unknown), from_offset=1)
    assert (read.records, read.next_offset) == ([], 1)
    assert isinstance(read.problem, UnreadableRecordsError)
    assert (read.problem.partition, read.problem.offset, read.problem.next_offset) == (ORDERS_0, 1, 3)
    assert "compression codec 7 is not known; 1 to 4 are: gzip, snappy, lz4, zstd" in str(read.problem)
    assert "seek(orders-0, 3)" in str(read.problem)


@pytest.mark.parametrize("check_crcs", [True, False])
def test_a_format_that_nobody_knows_is_said_by_its_number(check_crcs: bool) -> None:
    future = bytearray(encode_records([NewRecord(b"a")], 5))
    future[16] = 3
    problem = decode_records(ORDERS_0, bytes(future), check_crcs=check_crcs).problem
    assert str(problem).startswith(
        "orders-0 at offset 5: CorruptBatch: its format (magic) is 3; 0 to 2 are known. seek"
    )


def test_a_length_that_can_not_be_is_a_problem_and_no_endless_loop() -> None:
    bad = bytearray(encode_records([NewRecord(b"a")], 5))
    bad[8:12] = (3).to_bytes(4, "big")
    problem = decode_records(ORDERS_0, bytes(bad)).problem
    assert isinstance(problem, UnreadableRecordsError)
    assert (problem.offset, problem.next_offset) == (5, 6)


def compressed(codec: int, first: int = 0, times: int = 100) -> bytes:
    """A batch with three offsets from `first` on; `times`: how long the values are."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=2**31 - 1,
    )
    for offset, value in enumerate((b"zero", b"one", b"two")):
        builder.append(offset, timestamp=0, key=None, value=value * times, headers=[])
    batch = builder.build()
    batch[:8] = first.to_bytes(8, "big")
    return bytes(batch)

"""From bytes to records: where positions go when batches have gaps, or nothing to hand out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from groupspec.impl.core.errors import KafkaError, RecordDeserializationError, UnreadableRecordsError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.partition_state import Buffered
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.network.records import NewRecord, encode_records
from groupspec.impl.records import ConsumerRecord, ConsumerRecords, Decoded, Deserializer, Records
from groupspec.impl.testing import PlainDecoder
from groupspec.impl.wiring import DECODER

FIRST = TopicPartition("orders", 0)
PLACES = ((0, 10), (1, 20), (0, 11))


class WithGap(PlainDecoder):
    """As if the last batch ended 5 offsets behind its last record: compaction and transactions do that."""

    def decode(
        self, partition: TopicPartition, data: bytes, from_offset: int, aborted_transactions: object = ()
    ) -> Decoded:
        decoded = super().decode(partition, data, from_offset)
        return replace(decoded, next_offset=decoded.next_offset + 5)


def reading_from(offset: int, data: bytes) -> SubscriptionState:
    """A subscription with these bytes buffered."""
    subscription = SubscriptionState()
    subscription.assign_manually([FIRST])
    subscription.positions.seek(FIRST, offset)
    ((epoch, *_),) = subscription.positions.fetchable().values()
    assert subscription.positions.buffer(Buffered(FIRST, epoch, offset, data, 100))
    return subscription


def test_the_position_goes_behind_the_last_batch_and_not_only_behind_the_last_record() -> None:
    subscription = reading_from(10, b"10:a\n11:b\n")
    records = Records(subscription.positions, WithGap())
    assert [record.offset for record in records.take(1)] == [10]
    assert subscription.positions.position(FIRST) == 11
    assert [record.offset for record in records.take(5)] == [11]
    assert subscription.positions.position(FIRST) == 17


def test_a_batch_without_records_to_hand_out_is_passed_over() -> None:
    subscription = reading_from(10, b"")
    assert Records(subscription.positions, WithGap()).take(5) == []
    assert subscription.positions.position(FIRST) == 15
    assert subscription.positions.next_buffered() is None


def test_records_before_the_position_are_left_out() -> None:
    subscription = reading_from(10, b"8:a\n9:b\n10:c\n")
    assert [record.offset for record in Records(subscription.positions, PlainDecoder()).take(5)] == [10]


def buffering(data: Mapping[TopicPartition, bytes]) -> SubscriptionState:
    """A subscription with these bytes buffered, all from offset 10 on."""
    subscription = SubscriptionState()
    subscription.assign_manually(data)
    for partition in data:
        subscription.positions.seek(partition, 10)
    for partition, (epoch, offset, *_) in subscription.positions.fetchable().items():
        assert subscription.positions.buffer(Buffered(partition, epoch, offset, data[partition], 100))
    return subscription


def test_the_position_has_the_epoch_of_the_last_record_that_was_returned() -> None:
    first, second = encode_records([NewRecord(b"a")] * 2, 10, 3), encode_records([NewRecord(b"b")] * 2, 12, 4)
    subscription = buffering({FIRST: first + second})
    records = Records(subscription.positions, DECODER)
    epochs = []
    for at_most in (1, 2, 1):
        records.take(at_most)
        (position,) = subscription.positions.returned_positions().values()
        epochs.append((position.offset, position.leader_epoch))
    assert epochs == [(11, 3), (13, 4), (14, 4)]


def values(records: list[ConsumerRecord]) -> list[tuple[int, int]]:
    return [(record.partition, record.offset) for record in records]


SECOND = TopicPartition("orders", 1)
BAD = encode_records([NewRecord(b"twelve")], 12)[:-1] + b"?"


def test_O4_what_stands_before_a_corrupt_batch_is_returned_and_then_it_is_said_where_to_go_on() -> None:
    good = encode_records([NewRecord(b"ten"), NewRecord(b"eleven")], 10)
    subscription = buffering({FIRST: good + BAD + encode_records([NewRecord(b"thirteen")], 13)})
    decoder = Counting()
    records = Records(subscription.positions, decoder)
    assert values(records.take(5)) == [(0, 10), (0, 11)]
    for _ in range(3):
        with pytest.raises(UnreadableRecordsError, match=r"orders-0 at offset 12: .*seek\(orders-0, 13\)") as caught:
            records.take(5)
    assert (caught.value.partition, caught.value.offset, caught.value.next_offset) == (FIRST, 12, 13)
    assert isinstance(caught.value, KafkaError)
    assert subscription.positions.position(FIRST) == 12
    assert decoder.calls == 1
    subscription.positions.seek(FIRST, caught.value.next_offset)
    assert records.take(5) == []


def test_O4_a_corrupt_batch_stops_its_partition_and_no_other_one() -> None:
    subscription = buffering({FIRST: BAD, SECOND: encode_records([NewRecord(b"a"), NewRecord(b"b")], 10)})
    records = Records(subscription.positions, DECODER)
    with pytest.raises(UnreadableRecordsError):
        records.take(1)
    assert subscription.positions.returnable() == (SECOND,)
    assert values(records.take(5)) == [(1, 10), (1, 11)]
    with pytest.raises(UnreadableRecordsError):
        records.take(5)


def test_partitions_take_turns_whichever_of_them_has_more() -> None:
    many, few = b"".join(b"%d:x\n" % n for n in range(10, 16)), b"10:x\n"
    subscription = buffering({FIRST: many, SECOND: few})
    records = Records(subscription.positions, PlainDecoder())
    assert values(records.take(4)) == [(0, 10), (0, 11), (0, 12), (0, 13)]
    assert values(records.take(3)) == [(0, 14), (0, 15), (1, 10)]
    for partition in (FIRST, SECOND):  # both have news; the one that was served first waits
        epoch, offset, *_ = subscription.positions.fetchable()[partition]
        assert subscription.positions.buffer(Buffered(partition, epoch, offset, b"%d:x\n" % offset, 100))
    assert values(records.take(1)) == [(0, 16)]
    assert values(records.take(1)) == [(1, 11)]
    assert list(subscription.positions.fetchable()) == [FIRST, SECOND]


def test_a_partition_that_was_paused_in_the_middle_goes_on_where_it_was() -> None:
    subscription = buffering({FIRST: b"10:a\n11:b\n", SECOND: b"10:c\n"})
    records = Records(subscription.positions, PlainDecoder())
    assert values(records.take(1)) == [(0, 10)]
    subscription.positions.pause([FIRST])
    assert values(records.take(5)) == [(1, 10)]
    subscription.positions.resume([FIRST])
    assert values(records.take(5)) == [(0, 11)]


class Counting:
    """Counts what it decodes."""

    def __init__(self) -> None:
        self.calls = 0

    def decode(
        self, partition: TopicPartition, data: bytes, from_offset: int, aborted_transactions: object = ()
    ) -> Decoded:
        self.calls += 1
        return DECODER.decode(partition, data, from_offset)


def test_record_batches_as_they_are_on_the_wire() -> None:
    batch = encode_records([NewRecord(b"value", b"key", 77, (("trace", b"1"),)), NewRecord(None)], first_offset=10)
    subscription = reading_from(10, batch)
    first, second = Records(subscription.positions, DECODER).take(5)
    assert (first.topic, first.partition, first.offset, first.timestamp_ms) == ("orders", 0, 10, 77)
    assert (first.key, first.value, list(first.headers)) == (b"key", b"value", [("trace", b"1")])
    assert (second.key, second.value) == (None, None)
    assert subscription.positions.position(FIRST) == 12


# What the application makes of them ----------------------------------------------------------------------------------


def deserializing(data: bytes, **deserializers: Deserializer) -> tuple[SubscriptionState, Records]:
    subscription = reading_from(10, data)
    return subscription, Records(subscription.positions, DECODER, **deserializers)


def test_keys_and_values_are_deserialised_and_none_stays_none() -> None:
    batch = encode_records([NewRecord(b"1", b"a"), NewRecord(None, b"b"), NewRecord(b"3")], first_offset=10)
    _, records = deserializing(batch, key_deserializer=bytes.decode, value_deserializer=int)
    assert [(record.key, record.value) for record in records.take(5)] == [("a", 1), ("b", None), (None, 3)]


def test_a_record_that_can_not_be_deserialised_stops_its_partition_behind_those_before_it() -> None:
    batch = encode_records([NewRecord(b"1"), NewRecord(b"x"), NewRecord(b"3")], first_offset=10)
    subscription, records = deserializing(batch, value_deserializer=int)
    assert [record.value for record in records.take(5)] == [1]
    assert subscription.positions.position(FIRST) == 11
    for _ in range(2):  # each time, until somebody decides
        with pytest.raises(RecordDeserializationError, match=r"seek\(orders-0, 12\)") as raised:
            records.take(5)
    assert (raised.value.partition, raised.value.offset) == (FIRST, 11)
    assert isinstance(raised.value.__cause__, ValueError)
    assert subscription.positions.returnable() == ()


def test_a_first_record_that_can_not_be_deserialised_raises_at_once() -> None:
    subscription, records = deserializing(encode_records([NewRecord(b"x")], first_offset=10), value_deserializer=int)
    with pytest.raises(RecordDeserializationError):
        records.take(5)
    assert subscription.positions.position(FIRST) == 10


def test_what_a_poll_returns_is_a_list_and_a_dict() -> None:
    first, second, third = (ConsumerRecord("orders", number, offset, 5, None, b"") for number, offset in PLACES)
    returned = ConsumerRecords([first, second, third])
    assert list(returned) == [first, second, third]
    assert dict(returned.items()) == {FIRST: [first, third], SECOND: [second]}
    assert list(returned.keys()) == [FIRST, SECOND]
    assert list(returned.values()) == [[first, third], [second]]
    assert returned.records(SECOND) == [second]
    assert returned.records(TopicPartition("orders", 7)) == []
    assert not ConsumerRecords()
    assert first.timestamp == first.timestamp_ms == 5

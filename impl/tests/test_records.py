"""From bytes to records: where positions go when batches have gaps, or nothing to hand out."""

from __future__ import annotations

import pytest

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.subscription import Buffered, SubscriptionState
from groupspec.impl.network.records import NewRecord, encode_records
from groupspec.impl.records import Records
from groupspec.impl.threads.testing import PlainDecoder
from groupspec.impl.wiring import DECODER

FIRST = TopicPartition("orders", 0)


class WithGap(PlainDecoder):
    """As if the last batch ended 5 offsets behind its last record: compaction and transactions do that."""

    def next_offset(self, data: bytes, from_offset: int) -> int:
        return super().next_offset(data, from_offset) + 5


def reading_from(offset: int, data: bytes) -> SubscriptionState:
    """A subscription with these bytes buffered."""
    subscription = SubscriptionState()
    subscription.assign_manually([FIRST])
    subscription.seek(FIRST, offset)
    ((epoch, _),) = subscription.fetchable().values()
    assert subscription.buffer(Buffered(FIRST, epoch, offset, data, 100))
    return subscription


def test_the_position_goes_behind_the_last_batch_and_not_only_behind_the_last_record() -> None:
    subscription = reading_from(10, b"10:a\n11:b\n")
    records = Records(subscription, WithGap())
    assert [record.offset for record in records.take(1)] == [10]
    assert subscription.position(FIRST) == 11
    assert [record.offset for record in records.take(5)] == [11]
    assert subscription.position(FIRST) == 17


def test_a_batch_without_records_to_hand_out_is_passed_over() -> None:
    subscription = reading_from(10, b"")
    assert Records(subscription, WithGap()).take(5) == []
    assert subscription.position(FIRST) == 15
    assert subscription.next_buffered() is None


def test_records_before_the_position_are_left_out() -> None:
    subscription = reading_from(10, b"8:a\n9:b\n10:c\n")
    assert [record.offset for record in Records(subscription, PlainDecoder()).take(5)] == [10]


def test_O4_records_are_not_lost_because_those_of_another_partition_can_not_be_read() -> None:
    subscription = SubscriptionState()
    second = TopicPartition("orders", 1)
    subscription.assign_manually([FIRST, second])
    for partition in (FIRST, second):
        subscription.seek(partition, 10)
    for partition, (epoch, offset) in subscription.fetchable().items():
        data = b"10:a\n" if partition == FIRST else b"nonsense"
        assert subscription.buffer(Buffered(partition, epoch, offset, data, 100))
    records = Records(subscription, PlainDecoder())
    assert [record.offset for record in records.take(5)] == [10]
    with pytest.raises(ValueError, match="not enough values"):
        records.take(5)
    assert subscription.position(second) == 10


def test_record_batches_as_they_are_on_the_wire() -> None:
    batch = encode_records([NewRecord(b"value", b"key", 77, (("trace", b"1"),)), NewRecord(None)], first_offset=10)
    subscription = reading_from(10, batch)
    first, second = Records(subscription, DECODER).take(5)
    assert (first.topic, first.partition, first.offset, first.timestamp_ms) == ("orders", 0, 10, 77)
    assert (first.key, first.value, list(first.headers)) == (b"key", b"value", [("trace", b"1")])
    assert (second.key, second.value) == (None, None)
    assert subscription.position(FIRST) == 12

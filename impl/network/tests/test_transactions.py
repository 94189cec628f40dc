"""Which records a reader of what is committed gets, from batches as brokers store them (KIP-98)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c_py
from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.network.records import decode_records

FIRST = TopicPartition("orders", 0)
CONTROL = 0x20
CRC_AT, ATTRIBUTES_AT = 17, 21


def batch(first_offset: int, producer: int | None, values: Sequence[bytes], mark: int | None = None) -> bytes:
    """A batch of this producer's transaction, or of none; `mark`: it ends the transaction, 0 aborted, 1 committed."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=producer is not None,
        producer_id=-1 if producer is None else producer,
        producer_epoch=0,
        base_sequence=0,
        batch_size=2**31 - 1,
    )
    keys = [None] * len(values) if mark is None else [struct.pack(">hh", 0, mark)]
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        builder.append(number, timestamp=0, key=key, value=value, headers=[])
    made = bytearray(builder.build())
    made[:8] = struct.pack(">q", first_offset)
    if mark is not None:
        made[ATTRIBUTES_AT + 1] |= CONTROL
        made[CRC_AT:ATTRIBUTES_AT] = struct.pack(">I", calc_crc32c_py(made[ATTRIBUTES_AT:]))
    return bytes(made)


def values(data: bytes, aborted: Sequence[tuple[int, int]], from_offset: int = 0) -> list[bytes]:
    decoded = decode_records(FIRST, data, from_offset, aborted)
    assert decoded.problem is None
    return [record.value for record in decoded.records]


def test_the_leader_epoch_is_that_of_the_last_batch_also_of_one_that_is_hidden() -> None:
    last = bytearray(batch(2, 7, [b"c"]))
    last[12:16] = struct.pack(">i", 9)
    assert decode_records(FIRST, batch(0, None, [b"a", b"b"]) + bytes(last), 0, [(7, 2)]).leader_epoch == 9


ABORT, COMMIT = 0, 1
TWO_PRODUCERS = b"".join(
    [
        batch(0, 7, [b"a0", b"a1"]),
        batch(2, 8, [b"c0"]),
        batch(3, None, [b"plain"]),
        batch(4, 7, [b"end"], ABORT),
        batch(5, 7, [b"a2"]),  # the same producer's next transaction, which is committed
        batch(6, 8, [b"end"], COMMIT),
        batch(7, 7, [b"end"], COMMIT),
    ]
)


def test_records_of_an_aborted_transaction_are_left_out_and_no_others() -> None:
    assert values(TWO_PRODUCERS, [(7, 0)]) == [b"c0", b"plain", b"a2"]
    assert decode_records(FIRST, TWO_PRODUCERS, 0, [(7, 0)]).next_offset == 8


def test_a_reader_of_everything_gets_everything_but_the_marks() -> None:
    assert values(TWO_PRODUCERS, ()) == [b"a0", b"a1", b"c0", b"plain", b"a2"]


@pytest.mark.parametrize("order", [[(7, 0), (7, 5)], [(7, 5), (7, 0)]])
def test_two_transactions_of_one_producer_end_at_their_own_marks(order: Sequence[tuple[int, int]]) -> None:
    data = b"".join(
        [
            batch(0, 7, [b"first"]),
            batch(1, 7, [b"end"], ABORT),
            batch(2, 7, [b"good"]),
            batch(3, 7, [b"end"], COMMIT),
            batch(5, 7, [b"second"]),
            batch(6, 7, [b"end"], ABORT),
        ]
    )
    assert values(data, order) == [b"good"]


def test_a_transaction_that_began_before_what_was_asked_for_is_known_by_its_first_offset() -> None:
    data = batch(10, 7, [b"late"]) + batch(11, 7, [b"end"], ABORT)
    assert values(data, [(7, 0)], from_offset=10) == []
    assert values(data, [(8, 0)], from_offset=10) == [b"late"]


STEPS = st.lists(
    st.tuples(st.sampled_from([None, 7, 8, 9]), st.sampled_from(["write", "write", "abort", "abort", "commit"])),
    min_size=12,
    max_size=30,
)
"""Who does what next: a producer without a transaction writes only."""


@given(STEPS, st.randoms(use_true_random=False))
def test_of_any_log_who_reads_what_is_committed_gets_that_and_in_any_order_of_the_aborted_transactions(
    steps: Sequence[tuple[int | None, str]], random: Random
) -> None:
    """Apache Kafka names aborted transactions in the order of their offsets, other brokers do not (franz-go 1.21.4)."""
    data, offset, aborted = b"", 0, []
    begun: dict[int, int] = {}  # the first offset of each producer's open transaction
    written: dict[int | None, list[bytes]] = {}
    hidden: set[bytes] = set()
    every: list[bytes] = []
    for producer, what in steps:
        if what == "write" or producer is None:
            value = b"record %d" % offset
            data += batch(offset, producer, [value])
            every.append(value)
            if producer is not None:
                begun.setdefault(producer, offset)
                written.setdefault(producer, []).append(value)
        elif producer in begun:
            data += batch(offset, producer, [b"end"], ABORT if what == "abort" else COMMIT)
            first, values_of = begun.pop(producer), written.pop(producer)
            if what == "abort":
                aborted.append((producer, first))
                hidden |= set(values_of)
        else:
            continue
        offset += 1
    random.shuffle(aborted)
    assert values(data, aborted) == [value for value in every if value not in hidden]

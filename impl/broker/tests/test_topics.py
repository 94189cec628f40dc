"""Topics in memory: what is led where, listed and fetched."""

from __future__ import annotations

import pytest

from groupspec.impl.broker.topics import Topics, is_worth_answering
from groupspec.impl.core.messages import (
    EpochEnd,
    ErrorCode,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    TopicPartition,
)
from groupspec.impl.network.records import NewRecord, decode_records

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def topics() -> Topics:
    made = Topics({"orders": 2}, nodes=2)
    for number in range(3):
        made.append(FIRST, [NewRecord(b"%d" % number), NewRecord(b"more")])
    return made


def fetch(offset: int, *, max_bytes: int = 10_000, partition: TopicPartition = FIRST) -> FetchRequest:
    return FetchRequest({partition: offset}, 100, 1, max_bytes, max_bytes)


def test_partitions_are_spread_over_the_nodes() -> None:
    [metadata] = topics().metadata(["orders"])
    assert [partition.leader for partition in metadata.partitions] == [1, 2]
    [unknown] = topics().metadata(["payments"])
    assert unknown.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_fetch_brings_whole_batches_from_the_one_that_has_the_offset() -> None:
    fetched = topics().fetch(fetch(3), node=1).partitions[FIRST]
    assert (fetched.error, fetched.high_watermark) == (ErrorCode.NONE, 6)
    assert [record.offset for record in decode_records(FIRST, fetched.record_bytes).records] == [2, 3, 4, 5]


def test_a_fetch_brings_one_batch_however_small_the_limit() -> None:
    fetched = topics().fetch(fetch(0, max_bytes=1), node=1).partitions[FIRST]
    assert [record.offset for record in decode_records(FIRST, fetched.record_bytes).records] == [0, 1]


@pytest.mark.parametrize(
    ("request_", "node", "error"),
    [
        (fetch(7), 1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch(-1), 1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch(0), 2, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (fetch(0, partition=TopicPartition("orders", 2)), 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_can_not_be_fetched(request_: FetchRequest, node: int, error: ErrorCode) -> None:
    answer = topics().fetch(request_, node)
    assert [fetched.error for fetched in answer.partitions.values()] == [error]
    assert is_worth_answering(answer, 1)


def test_a_fetch_at_the_end_waits_for_more() -> None:
    answer = topics().fetch(fetch(6), node=1)
    assert not is_worth_answering(answer, 1)
    assert is_worth_answering(answer, 0)
    assert is_worth_answering(topics().fetch(FetchRequest({}, 100, 1, 1, 1), 1), 1)


def test_beginnings_and_ends() -> None:
    listed = topics().list_offsets(ListOffsetsRequest({FIRST: -1, SECOND: -1}), node=1)
    assert listed.offsets == {FIRST: ListedOffset(6), SECOND: ListedOffset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)}
    assert topics().list_offsets(ListOffsetsRequest({FIRST: -2}), node=1).offsets[FIRST] == ListedOffset(0)


def test_a_leader_that_is_elected_has_the_next_epoch_and_maybe_a_shorter_log() -> None:
    made = topics()
    made.elect(FIRST, 2)
    made.append(FIRST, [NewRecord(b"of epoch 0")])
    made.elect(FIRST, 1, end=4)
    made.append(FIRST, [NewRecord(b"of epoch 1")])
    [metadata] = made.metadata(["orders"])
    assert [(p.leader, p.leader_epoch) for p in metadata.partitions] == [(1, 1), (2, -1)]
    read = decode_records(FIRST, made.fetch(fetch(0), node=1).partitions[FIRST].record_bytes).records
    assert [(record.offset, record.leader_epoch) for record in read] == [(0, -1), (1, -1), (2, -1), (3, -1), (4, 1)]
    with pytest.raises(ValueError, match="a log can't end at 1"):
        made.elect(FIRST, 2, end=1)
    with pytest.raises(ValueError, match="node 3 does not exist"):
        made.elect(FIRST, 3)


@pytest.mark.parametrize(
    ("epoch", "end"),
    [(-1, EpochEnd(-1, -1)), (0, EpochEnd(0, 6)), (1, EpochEnd(1, 6)), (2, EpochEnd(2, 9)), (3, EpochEnd(3, 9)),
     (4, EpochEnd(-1, -1))],
)  # fmt: skip
def test_an_epoch_ends_where_the_next_one_begins(epoch: int, end: EpochEnd) -> None:
    made = topics()
    made.elect(FIRST, 1)
    made.elect(FIRST, 1)
    made.append(FIRST, [NewRecord(b"x")] * 3)
    made.elect(FIRST, 1, end=6)  # what epoch 1 wrote is gone
    made.append(FIRST, [NewRecord(b"x")] * 3)
    made.elect(FIRST, 2)
    asked = OffsetForLeaderEpochRequest({FIRST: epoch}, {FIRST: 3})
    assert made.ends_of_epochs(asked, node=2).ends == {FIRST: end}


@pytest.mark.parametrize(
    ("believed", "node", "error"),
    [({}, 1, "NONE"), ({FIRST: 1}, 1, "NONE"), ({FIRST: 0}, 1, "FENCED_LEADER_EPOCH"),
     ({FIRST: 2}, 1, "UNKNOWN_LEADER_EPOCH"), ({FIRST: 1}, 2, "NOT_LEADER_OR_FOLLOWER")],
)  # fmt: skip
def test_a_reader_that_believes_in_another_leader_is_refused(
    believed: dict[TopicPartition, int], node: int, error: str
) -> None:
    made = topics()
    made.elect(FIRST, 2)
    made.elect(FIRST, 1)
    answers = (
        made.fetch(FetchRequest({FIRST: 0}, 100, 1, 1, 1, leader_epochs=believed), node).partitions[FIRST],
        made.list_offsets(ListOffsetsRequest({FIRST: -1}, leader_epochs=believed), node).offsets[FIRST],
        made.ends_of_epochs(OffsetForLeaderEpochRequest({FIRST: 0}, believed), node).ends[FIRST],
    )
    assert {answer.error.name for answer in answers} == {error}


def test_a_topic_grows_and_never_shrinks() -> None:
    made = topics()
    made.set_partitions("orders", 4)
    assert made.partitions_of("orders") == 4
    assert made.end_of(FIRST) == 6
    with pytest.raises(ValueError, match="has 4 partitions and can't have 3"):
        made.set_partitions("orders", 3)

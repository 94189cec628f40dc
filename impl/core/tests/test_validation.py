"""Log truncation (KIP-320): when a position is compared with the log of a leader, and what follows from the answer.

The answers are those of Kafka's LeaderEpochFileCache.endOffsetFor; the outcomes those of Java's SubscriptionState
(maybeCompleteValidation), OffsetFetcherUtils and Metadata.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from groupspec.impl.core.errors import LogTruncationError
from groupspec.impl.core.events import Assign, Error, Fetch, FetchCommitted, MetadataUpdate, Start
from groupspec.impl.core.messages import (
    EpochEnd,
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    PartitionMetadata,
    TopicMetadata,
)
from groupspec.impl.core.partition_state import Buffered
from groupspec.impl.core.tests.scene import Scene, partitions

P0, P1 = partitions(0, 1)
ID, OTHER_ID = b"1" * 16, b"2" * 16


def metadata(scene: Scene, *epochs: int, node: int = 1, topic_id: bytes = ID) -> None:
    """Metadata is answered: the leader epochs of the first partitions."""
    leaders = tuple(PartitionMetadata(number, node, leader_epoch=epoch) for number, epoch in enumerate(epochs))
    scene.respond("Metadata", MetadataResponse((), (TopicMetadata(P0.topic, leaders, topic_id=topic_id),)))


def reading(*epochs: int, **config: Any) -> Scene:
    """Somebody who reads partitions by hand, whose leaders have these epochs; and who has read from 10 to 20."""
    scene = Scene(**({"group_id": None} | config))
    scene.coordinator.topics = {}  # metadata is answered by hand
    scene.do(Start())
    scene.do(Assign(partitions(*range(len(epochs)))))
    for partition in scene.subscription.assignment():
        scene.subscription.positions.seek(partition, 10)
    scene.do(Fetch())
    metadata(scene, *epochs)
    records = dict.fromkeys(scene.subscription.assignment(), FetchedPartition(b"records", 99))
    scene.respond("Fetch", FetchResponse(records))
    for epoch in epochs:
        buffered = scene.subscription.positions.next_buffered()
        assert buffered is not None
        assert scene.subscription.positions.advance(buffered, 10, 20, exhausted=True, leader_epoch=epoch)
    scene.subscription.positions.poll_started()
    scene.outputs.clear()
    return scene


def elected(scene: Scene, *epochs: int, node: int = 2) -> None:
    """Another leader, of which the metadata tell; then the application wants records."""
    scene.do(MetadataUpdate((P0.topic,)))
    scene.pass_ms(100)
    metadata(scene, *epochs, node=node)
    scene.do(Fetch())


def compared(scene: Scene) -> list[tuple[dict[Any, int], dict[Any, int]]]:
    """What was asked: epochs, and the leaders that are believed in."""
    return [(dict(r.epochs), dict(r.leader_epochs)) for r in scene.sent(OffsetForLeaderEpochRequest)]


def ended(scene: Scene, *ends: EpochEnd) -> None:
    """The leader says where the epochs end."""
    answer = dict(zip(partitions(*range(len(ends))), ends, strict=True))
    scene.respond("OffsetForLeaderEpoch", OffsetForLeaderEpochResponse(answer))


def fetched_from(scene: Scene) -> list[dict[Any, int]]:
    return [dict(request.offsets) for request in scene.sent(FetchRequest)]


def position(scene: Scene) -> int | None:
    return scene.describe().partitions[P0].position


# When ----------------------------------------------------------------------------------------------------------------


def test_after_an_election_the_new_leader_is_asked_before_it_is_fetched_from() -> None:
    scene = reading(3)
    elected(scene, 4)
    assert compared(scene) == [({P0: 3}, {P0: 4})]
    assert fetched_from(scene) == []
    ended(scene, EpochEnd(3, 20))
    assert fetched_from(scene) == [{P0: 20}]
    assert scene.sent(FetchRequest)[0].leader_epochs == {P0: 4}


def test_a_leader_that_stays_is_not_asked() -> None:
    scene = reading(3)
    elected(scene, 3, node=1)
    assert compared(scene) == []
    assert fetched_from(scene) == [{P0: 20}]


@pytest.mark.parametrize(("read", "leads"), [(-1, 4), (3, -1)])
def test_what_has_no_epoch_is_not_compared(read: int, leads: int) -> None:
    scene = reading(read)
    elected(scene, leads)
    assert compared(scene) == []
    assert fetched_from(scene) == [{P0: 20}]


def test_one_request_asks_a_leader_about_all_and_holds_back_only_those() -> None:
    scene = reading(3, 3)
    scene.subscription.positions.seek(P1, 50)  # nothing is known of what stands before it
    elected(scene, 4, 4)
    assert compared(scene) == [({P0: 3}, {P0: 4})]
    assert fetched_from(scene) == [{P1: 50}]
    scene.do(Fetch())
    assert len(compared(scene)) == 1


def joined(committed: FetchedOffset, *, leader_epoch: int) -> Scene:
    """A member whose committed offset is this one."""
    scene = Scene()
    scene.coordinator.topics = {}
    scene.preparing()
    metadata(scene, leader_epoch, leader_epoch)
    scene.join_accepted()
    scene.sync_accepted(P0)
    scene.assigned()
    scene.respond("OffsetFetch", OffsetFetchResponse({P0: committed}))
    scene.do(Fetch())
    return scene


def test_a_committed_offset_is_compared_before_the_first_fetch() -> None:
    scene = joined(FetchedOffset(42, leader_epoch=2), leader_epoch=5)
    assert compared(scene) == [({P0: 2}, {P0: 5})]
    ended(scene, EpochEnd(2, 42))
    assert fetched_from(scene) == [{P0: 42}]


def test_a_committed_offset_without_an_epoch_is_fetched_at_once() -> None:
    scene = joined(FetchedOffset(42), leader_epoch=5)
    assert compared(scene) == []
    assert fetched_from(scene) == [{P0: 42}]


def test_a_committed_epoch_that_is_later_than_the_leaders_awaits_newer_metadata() -> None:
    scene = joined(FetchedOffset(42, leader_epoch=7), leader_epoch=5)
    scene.pass_ms(100)
    metadata(scene, 6, 6)  # a broker that is behind
    assert (compared(scene), fetched_from(scene)) == ([], [])
    scene.pass_ms(1_000)
    metadata(scene, 7, 7)
    assert compared(scene) == [({P0: 7}, {P0: 7})]


def test_why_a_later_leader_is_awaited_is_told_once_and_that_it_is_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    scene = joined(FetchedOffset(42, leader_epoch=7), leader_epoch=5)
    for _ in range(20):
        scene.pass_ms(1_000)
        metadata(scene, 5, 5)
    [told] = [record for record in caplog.records if "leader epoch" in record.message]
    assert told.levelname == "WARNING"
    assert f"Nothing is read of {P0}: its leader epoch is 5, and 7 was told of, by a committed offset" in told.message
    assert "deleted and made anew" in told.message
    scene.pass_ms(1_000)
    metadata(scene, 7, 7)
    assert f"{P0} has a leader of epoch 7 now" in caplog.records[-1].message


def test_a_broker_that_is_behind_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    scene = reading(3)
    elected(scene, 2, node=1)
    assert caplog.records == []


def test_a_seek_with_an_epoch_is_compared_and_one_without_is_not() -> None:
    scene = reading(3)
    scene.subscription.positions.seek(P0, 15, leader_epoch=2)
    scene.do(Fetch())
    assert compared(scene) == [({P0: 2}, {P0: 3})]
    scene.subscription.positions.seek(P0, 15)
    scene.do(Fetch())
    ended(scene, EpochEnd(2, 5))  # about a position that is gone
    assert fetched_from(scene) == [{P0: 15}]
    assert position(scene) == 15


# What follows --------------------------------------------------------------------------------------------------------


def test_a_shorter_log_is_read_on_from_where_it_parts(caplog: pytest.LogCaptureFixture) -> None:
    scene = reading(3)
    elected(scene, 4)
    caplog.set_level("INFO")
    ended(scene, EpochEnd(2, 14))
    assert "going on at 14, where the logs part" in caplog.text
    assert fetched_from(scene) == [{P0: 14}]
    assert scene.subscription.positions.to_commit() == {P0: OffsetAndMetadata(14, "", 2)}
    assert scene.errors() == []


def test_a_log_that_ends_where_the_reader_is_lacks_nothing() -> None:
    scene = reading(3, auto_offset_reset="none")
    elected(scene, 4)
    ended(scene, EpochEnd(3, 20))
    assert scene.errors() == []
    assert fetched_from(scene) == [{P0: 20}]


@pytest.mark.parametrize("end", [EpochEnd(-1, -1), EpochEnd(-1, 15), EpochEnd(3, -1)])
def test_a_log_that_knows_nothing_of_the_epoch_is_read_from_where_the_policy_says(end: EpochEnd) -> None:
    scene = reading(3, auto_offset_reset="latest")
    elected(scene, 4)
    ended(scene, end)
    (request,) = scene.sent(ListOffsetsRequest)
    assert (request.timestamps, request.leader_epochs) == ({P0: -1}, {P0: 4})


def test_what_was_committed_is_no_place_to_go_on_where_the_log_does_not_have_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    scene = joined(FetchedOffset(42, leader_epoch=2), leader_epoch=5)
    ended(scene, EpochEnd(-1, -1))
    assert len(scene.sent(OffsetFetchRequest)) == 1
    assert scene.sent(ListOffsetsRequest)[0].timestamps == {P0: -2}  # the scene's policy is earliest
    assert "was truncated: it has not the records before 42 that were read; going on where" in caplog.text


@pytest.mark.parametrize(
    ("end", "divergent", "says"),
    [
        (EpochEnd(2, 14), OffsetAndMetadata(14, "", 2), r"orders-0 \(from offset 14 on\)"),
        (EpochEnd(-1, -1), None, r"orders-0 \(from where on is not known\)"),
    ],
)
def test_without_a_policy_the_application_has_to_choose(
    end: EpochEnd, divergent: OffsetAndMetadata | None, says: str
) -> None:
    scene = reading(3, auto_offset_reset="none")
    elected(scene, 4)
    ended(scene, end)
    (told,) = scene.seen(Error)
    with pytest.raises(LogTruncationError, match=says) as raised:
        raise told.error
    assert raised.value.divergent_offsets == {P0: divergent}
    scene.pass_ms(60_000)
    assert len(compared(scene)) == 1  # until it asks for records again
    scene.do(Fetch())
    ended(scene, end)
    assert len(scene.seen(Error)) == 2
    scene.subscription.positions.seek(P0, 14)
    scene.do(Fetch())
    assert fetched_from(scene) == [{P0: 14}]


@pytest.mark.parametrize(
    "error", ["FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "DISCONNECTED", "OFFSET_OUT_OF_RANGE"]
)
def test_a_leader_that_does_not_say_is_looked_up_and_asked_again(error: str) -> None:
    scene = reading(3)
    elected(scene, 4)
    scene.answer("OffsetForLeaderEpoch", error)
    scene.pass_ms(99)
    assert len(compared(scene)) == 1
    scene.pass_ms(1)
    scene.answer("OffsetForLeaderEpoch", error)  # asked again before the metadata were there
    metadata(scene, 5)
    scene.pass_ms(100)
    assert compared(scene) == [({P0: 3}, {P0: 4}), ({P0: 3}, {P0: 4}), ({P0: 3}, {P0: 5})]
    assert fetched_from(scene) == []


def test_what_the_answer_leaves_out_is_asked_about_again_after_the_backoff() -> None:
    scene = reading(3, 3)
    elected(scene, 4, 4)
    ended(scene, EpochEnd(3, 20))
    assert len(compared(scene)) == 1
    scene.pass_ms(100)
    metadata(scene, 4, 4)
    assert compared(scene)[1:] == [({P1: 3}, {P1: 4})]


def test_a_broker_that_has_no_words_for_it_is_fetched_from() -> None:
    scene = reading(3)
    elected(scene, 4)
    request = scene.waiting("OffsetForLeaderEpoch").request
    assert isinstance(request, OffsetForLeaderEpochRequest)
    code = ErrorCode.UNSUPPORTED_VERSION
    scene.respond("OffsetForLeaderEpoch", OffsetForLeaderEpochResponse({P0: EpochEnd(-1, -1, code)}, code))
    assert fetched_from(scene) == [{P0: 20}]


def test_who_may_not_describe_the_topic_is_told_so_each_time_that_it_asks_for_records() -> None:
    scene = reading(3)
    elected(scene, 4)
    for times in (1, 2):
        scene.answer("OffsetForLeaderEpoch", "TOPIC_AUTHORIZATION_FAILED")
        scene.pass_ms(60_000)
        assert scene.errors() == ["TopicAuthorizationError"] * times
        scene.do(Fetch())
    assert fetched_from(scene) == []


def test_a_leader_elected_while_the_answer_is_under_way_is_asked_too() -> None:
    scene = reading(3)
    elected(scene, 4)
    elected(scene, 5, node=3)
    ended(scene, EpochEnd(3, 20))
    assert compared(scene) == [({P0: 3}, {P0: 4}), ({P0: 3}, {P0: 5})]
    ended(scene, EpochEnd(3, 20))
    assert fetched_from(scene) == [{P0: 20}]


# What is known of leaders --------------------------------------------------------------------------------------------


def test_O8_metadata_of_the_past_change_nothing_unless_the_topic_is_another_one() -> None:
    scene = reading(3)
    elected(scene, 2, node=1)  # a broker that is behind
    assert fetched_from(scene) == [{P0: 20}]
    assert scene.sent(FetchRequest)[0].leader_epochs == {P0: 3}
    scene.answer("Fetch", "NOT_LEADER_OR_FOLLOWER")
    scene.pass_ms(100)
    scene.answer("Fetch", "NOT_LEADER_OR_FOLLOWER")
    metadata(scene, 0, topic_id=OTHER_ID)
    scene.pass_ms(100)
    assert compared(scene) == []
    (reset,) = scene.sent(ListOffsetsRequest)
    assert (dict(reset.timestamps), reset.leader_epochs) == ({P0: -2}, {P0: 0})


def test_a_topic_that_was_created_anew_is_not_waited_for_until_it_has_as_many_leaders() -> None:
    scene = joined(FetchedOffset(42, leader_epoch=7), leader_epoch=5)
    scene.pass_ms(100)
    metadata(scene, 0, 0, topic_id=OTHER_ID)
    assert len(scene.sent(MetadataRequest)) >= 1
    scene.respond("OffsetFetch", OffsetFetchResponse({P0: FetchedOffset(-1)}))
    assert [request.leader_epochs for request in scene.sent(ListOffsetsRequest)] == [{P0: 0}]


def test_what_a_member_commits_has_the_epoch_of_the_last_record() -> None:
    scene = reading(3, group_id="readers")
    assert scene.subscription.positions.returned_positions() == {P0: OffsetAndMetadata(20, "", 3)}
    assert scene.subscription.positions.to_commit() == {P0: OffsetAndMetadata(20, "", 3)}
    scene.subscription.positions.set_committed({P0: OffsetAndMetadata(20, "", 3)})
    assert scene.subscription.positions.to_commit() == {}
    scene.do(FetchCommitted((P0,), 1, 60_000))
    assert fetched_from(scene) == []


def test_M4_what_a_truncation_leaves_of_unprocessed_records_is_not_committed_before_the_next_poll() -> None:
    """Simulated seed 9626: the new leader's log ended between what was processed and what had been returned."""
    scene = Scene(enable_auto_commit=True)
    positions = scene.subscription.positions
    scene.stable(0)
    (place,) = positions.fetchable().values()
    records = Buffered(P0, place.epoch, 10, b"...", 20)
    assert positions.buffer(records)
    assert positions.advance(records, 10, 13, True, 3)
    (place,) = positions.fetchable().values()
    assert positions.truncate(P0, place, place._replace(offset=12))
    assert positions.position(P0) == 12
    assert {tp: at.offset for tp, at in positions.to_commit().items()} == {P0: 10}
    positions.poll_started()
    assert {tp: at.offset for tp, at in positions.to_commit().items()} == {P0: 12}

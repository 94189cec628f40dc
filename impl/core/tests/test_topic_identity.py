"""A topic that was deleted and made anew under its name is another one: what was kept of the old one ends (rule O7)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from groupspec.impl.core.events import Commit, Error, Fetch, FetchCommitted, MetadataUpdate, Subscribe, Unsubscribe
from groupspec.impl.core.messages import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from groupspec.impl.core.metadata import BEHIND_AT_MOST_MS
from groupspec.impl.core.tests.scene import TOPIC, Scene, partitions

(P0,) = partitions(0)
(ELSEWHERE,) = partitions(0, topic="another")
OLD, NEW, NEWER = (bytes([number]) * 16 for number in (1, 2, 3))
AT_10 = {P0: OffsetAndMetadata(10)}


def member(**config: Any) -> Scene:
    """A member with one partition and a position, which has fetched nothing yet; the topic has an id."""
    scene = Scene(**config)
    scene.coordinator.topic_ids[TOPIC] = OLD
    return scene.stable(0)


def reader(*, returned: int = 2, **config: Any) -> Scene:
    """The same, which has fetched the records from 10 to 15, and returned so many."""
    scene = member(**config)
    scene.do(Fetch())
    scene.respond("Fetch", FetchResponse({P0: FetchedPartition(b"records", 15)}))
    buffered = scene.subscription.positions.next_buffered()
    assert buffered is not None
    assert scene.subscription.positions.advance(buffered, 10, 10 + returned, exhausted=returned == 5)
    scene.outputs.clear()
    return scene


def recreated(scene: Scene, topic_id: bytes = NEW) -> None:
    """The topic is made anew, and the client asks for metadata."""
    scene.coordinator.topic_ids[TOPIC] = topic_id
    scene.do(MetadataUpdate((TOPIC,)))
    scene.pass_ms(100)


def listed(scene: Scene, offset: int) -> None:
    scene.respond("ListOffsets", ListOffsetsResponse({P0: ListedOffset(offset)}))


def at(scene: Scene) -> tuple[str, int | None]:
    """State and position of the partition."""
    described = scene.describe().partitions[P0]
    return described.state, described.position


def committed(scene: Scene) -> list[int]:
    return [request.offsets[P0].offset for request in scene.sent(OffsetCommitRequest)]


# Where reading begins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "timestamp"), [("earliest", -2), ("latest", -1)])
def test_O7_the_reset_policy_says_where_the_new_topic_is_read(policy: str, timestamp: int) -> None:
    scene = reader(auto_offset_reset=policy)
    recreated(scene)
    assert at(scene) == ("AWAITING_POSITION", None)
    assert [request.timestamps for request in scene.sent(ListOffsetsRequest)] == [{P0: timestamp}]
    assert scene.sent(OffsetFetchRequest) == []
    listed(scene, 3)
    assert at(scene) == ("FETCHABLE", 3)


def test_the_log_says_why_reading_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    scene = reader()
    with caplog.at_level(logging.WARNING):
        recreated(scene)
    (line,) = caplog.messages
    assert "Topic orders was deleted and made anew" in line
    assert "orders-0" in line


def test_O7_without_a_policy_the_application_is_told() -> None:
    scene = reader(auto_offset_reset="none")
    recreated(scene)
    assert scene.errors() == ["NoOffsetForPartitionError"]
    assert "made anew" in str(scene.seen(Error)[0].error)
    assert at(scene) == ("AWAITING_POSITION", None)


def test_O7_who_has_read_nothing_asks_for_the_committed_offset_again() -> None:
    """It may be of the new topic already: another member's, that has read it before."""
    scene = member()
    recreated(scene)
    scene.committed_are(4)
    assert at(scene) == ("FETCHABLE", 4)
    assert scene.sent(ListOffsetsRequest) == []


def test_O7_a_paused_partition_stays_paused_and_the_chosen_beginning_is_that_of_the_new_topic() -> None:
    scene = reader()
    scene.subscription.positions.pause([P0])
    scene.subscription.positions.seek_by_time([P0], -1)
    recreated(scene)
    assert [request.timestamps for request in scene.sent(ListOffsetsRequest)][-1] == {P0: -1}
    listed(scene, 15)  # of the old topic
    assert at(scene) == ("AWAITING_POSITION", None)
    listed(scene, 7)
    assert at(scene) == ("PAUSED", 7)


def test_O7_a_topic_that_was_away_is_another_one_when_it_is_back() -> None:
    scene = reader(returned=5)
    counts = scene.coordinator.topics
    scene.coordinator.topics = {"another": 1}
    recreated(scene)
    assert at(scene) == ("FETCHABLE", 15)
    scene.coordinator.topics = counts
    recreated(scene)
    assert at(scene) == ("AWAITING_POSITION", None)


# What ends -----------------------------------------------------------------------------------------------------------


def test_O7_a_batch_in_hand_is_not_returned_any_more() -> None:
    scene = reader(returned=2)
    buffered = scene.subscription.positions.next_buffered()
    recreated(scene)
    assert buffered is not None
    assert scene.subscription.positions.next_buffered() is None
    assert not scene.subscription.positions.advance(buffered, 12, 15, exhausted=True)


def test_O7_the_answer_to_a_fetch_of_the_old_topic_is_dropped() -> None:
    scene = reader(returned=5)
    scene.do(Fetch())
    recreated(scene)
    listed(scene, 0)
    scene.respond("Fetch", FetchResponse({P0: FetchedPartition(b"of the old one", 15)}))
    assert scene.subscription.positions.next_buffered() is None
    assert [dict(request.offsets) for request in scene.sent(FetchRequest)] == [{P0: 15}, {P0: 0}]


def test_O7_nothing_of_the_old_topic_is_committed_automatically_and_the_new_position_is() -> None:
    scene = reader(returned=5, enable_auto_commit=True)
    scene.poll()
    recreated(scene)
    scene.pass_ms(5_000)
    assert committed(scene) == []
    listed(scene, 0)
    scene.pass_ms(5_000)
    assert committed(scene) == [0]


def test_O7_an_automatic_commit_that_is_answered_later_says_nothing_of_the_new_topic() -> None:
    scene = reader(returned=5, enable_auto_commit=True)
    scene.poll()
    scene.pass_ms(5_000)
    assert committed(scene) == [15]
    recreated(scene)
    listed(scene, 15)
    scene.answer("OffsetCommit")
    scene.pass_ms(5_000)
    assert committed(scene) == [15, 15]


def test_O7_a_fixed_automatic_commit_loses_what_is_of_the_old_topic() -> None:
    """The application asked for a commit behind it, which fixed what it covers (rule M6)."""
    scene = Scene(enable_auto_commit=True)
    scene.coordinator.topic_ids[TOPIC] = OLD
    scene.stable(0)
    scene.subscription.positions.seek(P0, 12)
    scene.poll()
    scene.do(Commit({ELSEWHERE: OffsetAndMetadata(1)}, 1))
    scene.pass_ms(5_000)
    scene.do(Commit({ELSEWHERE: OffsetAndMetadata(2)}, 2))
    recreated(scene)
    scene.committed_are(3)
    scene.answer("OffsetCommit")
    assert [dict(request.offsets) for request in scene.sent(OffsetCommitRequest)][1:] == [
        {ELSEWHERE: OffsetAndMetadata(2)}
    ]


def test_O7_a_commit_that_waits_is_refused_if_its_topic_was_made_anew_meanwhile() -> None:
    scene = reader(returned=5)
    scene.do(Commit(AT_10, 1))
    scene.do(Commit(AT_10, 2, 60_000))
    recreated(scene)
    scene.answer("OffsetCommit", "UNKNOWN_TOPIC_OR_PARTITION")
    for number in (1, 2):
        assert scene.result(number).error is not None
    assert "made anew" in str(scene.result(2).error)
    assert committed(scene) == [10]
    scene.do(Commit(AT_10, 3))
    scene.answer("OffsetCommit")
    assert scene.result(3).error is None


def test_O7_a_commit_on_its_way_to_the_core_is_of_the_topic_that_it_was_asked_for() -> None:
    scene = reader(returned=5)
    as_of = scene.subscription.positions.recreations()
    chosen = scene.subscription.positions.returned_positions()
    recreated(scene)
    scene.subscription.positions.ask_for_commit(as_of)
    scene.do(Commit(chosen, 1))
    assert "made anew" in str(scene.result(1).error)
    assert committed(scene) == []


# By id ---------------------------------------------------------------------------------------------------------------


def gone(scene: Scene, api: str, error: str) -> None:
    """The broker has no topic of that id any more, and tells it in its answer; the topic is there under another id."""
    scene.pass_ms(100)  # Metadata was asked for longer ago than the backoff
    scene.coordinator.topic_ids[TOPIC] = NEW
    scene.answer(api, error)
    scene.pass_ms(100)


def test_O7_requests_say_which_topic_they_mean() -> None:
    scene = reader(returned=5)
    scene.do(Fetch())
    scene.do(Commit(AT_10, 1))
    scene.do(FetchCommitted((P0,), 2, 60_000))
    assert [request.topic_ids for request in scene.sent(FetchRequest)] == [{TOPIC: OLD}]
    assert [request.topic_ids for request in scene.sent(OffsetCommitRequest)] == [{TOPIC: OLD}]
    assert [request.topic_ids for request in scene.sent(OffsetFetchRequest)] == [{TOPIC: OLD}]


@pytest.mark.parametrize("error", ["UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID"])
@pytest.mark.parametrize(("policy", "timestamp"), [("earliest", -2), ("latest", -1)])
def test_O7_what_only_a_fetch_tells_leads_to_the_reset_policy(policy: str, timestamp: int, error: str) -> None:
    scene = reader(returned=5, auto_offset_reset=policy)
    scene.do(Fetch())
    gone(scene, "Fetch", error)
    assert [request.timestamps for request in scene.sent(ListOffsetsRequest)] == [{P0: timestamp}]
    listed(scene, 0)
    scene.do(Fetch())
    last = scene.sent(FetchRequest)[-1]
    assert (dict(last.offsets), dict(last.topic_ids)) == ({P0: 0}, {TOPIC: NEW})


def test_O7_without_a_policy_the_application_is_told_of_what_only_a_fetch_tells() -> None:
    scene = reader(returned=5, auto_offset_reset="none")
    scene.do(Fetch())
    gone(scene, "Fetch", "UNKNOWN_TOPIC_ID")
    assert scene.errors() == ["NoOffsetForPartitionError"]


def test_O7_a_topic_that_a_fetch_says_is_gone_is_asked_for_until_it_is_back() -> None:
    scene = reader(returned=5)
    counts, scene.coordinator.topics = scene.coordinator.topics, {"another": 1}
    scene.do(Fetch())
    gone(scene, "Fetch", "UNKNOWN_TOPIC_ID")
    scene.pass_ms(5_000)
    assert at(scene) == ("FETCHABLE", 15)
    assert len(scene.sent(FetchRequest)) == 1
    scene.coordinator.topics = counts
    scene.pass_ms(1_000)
    assert at(scene) == ("AWAITING_POSITION", None)


def test_O7_a_commit_of_a_topic_that_is_gone_is_not_sent_again_when_another_has_its_name() -> None:
    scene = reader(returned=5)
    scene.do(Commit(AT_10, 1, 60_000))
    gone(scene, "OffsetCommit", "UNKNOWN_TOPIC_ID")
    scene.pass_ms(1_000)
    assert "made anew" in str(scene.result(1).error)
    assert committed(scene) == [10]


def test_O7_a_commit_of_a_topic_that_is_away_keeps_its_id() -> None:
    scene = reader(returned=5)
    scene.coordinator.topics = {"another": 1}
    scene.do(MetadataUpdate((TOPIC,)))
    scene.pass_ms(100)
    scene.do(Commit(AT_10, 1, 60_000))
    assert [request.topic_ids for request in scene.sent(OffsetCommitRequest)] == [{TOPIC: OLD}]


def test_a_question_about_a_topic_that_is_not_subscribed_to_any_more_asks_for_its_metadata() -> None:
    """Schedule 2002131: only the present subscription was asked for, so that the old id was sent again and again."""
    scene = Scene({TOPIC: 4, "another": 1})
    scene.coordinator.topic_ids[TOPIC] = OLD
    scene.stable(0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    scene.do(Subscribe(("another",)))
    scene.poll()
    scene.do(FetchCommitted((P0,), 2, 60_000))
    gone(scene, "OffsetFetch", "UNKNOWN_TOPIC_ID")
    assert [request.topic_ids for request in scene.sent(OffsetFetchRequest)][-1] == {TOPIC: NEW}


def test_commits_of_a_topic_that_is_away_do_not_ask_for_it_more_often() -> None:
    """Schedule 4569: an automatic commit is tried after each backoff, and Metadata came as often."""
    scene = reader(returned=5, enable_auto_commit=True)
    scene.coordinator.topics = {"another": 1}
    scene.poll()
    asked = len(scene.sent(MetadataRequest))
    scene.pass_ms(5_000)
    for _ in range(20):
        scene.answer("OffsetCommit", "UNKNOWN_TOPIC_ID")
        scene.pass_ms(100)
    assert len(scene.sent(OffsetCommitRequest)) > 20
    assert 2 <= len(scene.sent(MetadataRequest)) - asked <= 4


def test_a_question_for_the_committed_offset_of_a_topic_that_is_gone_is_asked_of_the_new_one() -> None:
    scene = member()
    scene.do(FetchCommitted((P0,), 1, 60_000))
    gone(scene, "OffsetFetch", "UNKNOWN_TOPIC_ID")
    assert [request.topic_ids for request in scene.sent(OffsetFetchRequest)][-1] == {TOPIC: NEW}


def test_the_committed_offset_of_a_topic_that_is_away_is_asked_for_by_name() -> None:
    scene = member()
    scene.coordinator.topics = {"another": 1}
    scene.do(MetadataUpdate((TOPIC,)))
    scene.pass_ms(100)
    scene.do(FetchCommitted((P0,), 1, 60_000))
    assert [request.topic_ids for request in scene.sent(OffsetFetchRequest)] == [{}]


# How it is known -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [(bytes(16), bytes(16)), (OLD, bytes(16), OLD), (bytes(16), OLD), (OLD, OLD)])
def test_O7_nothing_is_guessed_where_brokers_name_no_ids(ids: tuple[bytes, ...]) -> None:
    """A broker before Metadata 10, all the time or while brokers are upgraded."""
    scene = Scene()
    scene.coordinator.topic_ids[TOPIC] = ids[0]
    scene.stable(0)
    for topic_id in ids[1:]:
        recreated(scene, topic_id)
    assert at(scene) == ("FETCHABLE", 10)


def test_that_a_committed_offset_may_be_of_an_older_topic_is_said_where_brokers_name_no_ids(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        Scene().stable(0)
        assert [line for line in caplog.messages if "may be of an older topic" in line and "before Kafka 2.8" in line]
        caplog.clear()
        scene = member()
        assert not [line for line in caplog.messages if "older topic" in line]
        recreated(scene)
        scene.committed_are(4)
    assert [line for line in caplog.messages if "may be of an older topic" in line and "before Kafka 4.2" in line]


def test_O7_a_broker_that_is_behind_does_not_bring_the_old_topic_back() -> None:
    scene = reader()
    recreated(scene)
    listed(scene, 0)
    recreated(scene, OLD)
    assert at(scene) == ("FETCHABLE", 0)
    scene.outputs.clear()
    scene.pass_ms(1_000)  # it is asked for again
    recreated(scene, NEWER)
    assert at(scene) == ("AWAITING_POSITION", None)


def test_who_was_told_of_two_new_topics_in_the_wrong_order_comes_to_the_later_one() -> None:
    """No id tells which is later: a broker that was behind has named one that had never been heard of."""
    scene = reader()
    for topic_id in (NEWER, NEW, NEWER):
        recreated(scene, topic_id)
    scene.pass_ms(BEHIND_AT_MOST_MS - 1_000)
    assert scene.core.metadata.topic_ids([P0]) == {TOPIC: NEW}
    scene.pass_ms(2_000)
    assert scene.core.metadata.topic_ids([P0]) == {TOPIC: NEWER}


def test_O7_other_topics_keep_what_they_have() -> None:
    scene = reader()
    scene.coordinator.topics = {TOPIC: 4, "another": 1}
    scene.coordinator.topic_ids["another"] = OLD
    scene.do(MetadataUpdate(("another",)))
    scene.pass_ms(100)
    scene.coordinator.topic_ids["another"] = NEW
    scene.do(MetadataUpdate(("another",)))
    scene.pass_ms(100)
    assert at(scene) == ("FETCHABLE", 12)

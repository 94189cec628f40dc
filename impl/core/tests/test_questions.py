"""What the application asks about the log and the cluster: who is asked, what is asked again, and when it is over."""

from __future__ import annotations

from typing import Any

from groupspec.impl.core.errors import ConsumerClosedError, KafkaTimeoutError, TopicAuthorizationError
from groupspec.impl.core.events import (
    DescribeMember,
    GroupMetadata,
    ListOffsets,
    ListTopics,
    Start,
)
from groupspec.impl.core.messages import (
    Broker,
    ErrorCode,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.tests.scene import GROUP, MEMBER, TOPIC, Scene, partitions

P0, P1 = partitions(0, 1)
LIMIT_MS = 5_000


def asking(**config: Any) -> Scene:
    """A consumer without a group that has asked for offsets, as future 1."""
    scene = Scene(group_id=None, **config)
    scene.do(Start())
    scene.do(ListOffsets({P0: -2, P1: 77}, 1, LIMIT_MS))
    return scene


def listed(scene: Scene, answers: dict[TopicPartition, ListedOffset]) -> None:
    """Every ListOffsets is answered so."""
    while scene.is_waiting("ListOffsets"):
        request = scene.waiting("ListOffsets").request
        assert isinstance(request, ListOffsetsRequest)
        scene.respond("ListOffsets", ListOffsetsResponse({p: answers[p] for p in request.timestamps}))


def asked(scene: Scene) -> dict[TopicPartition, int]:
    """What all ListOffsets so far have asked for."""
    return {p: timestamp for request in scene.sent(ListOffsetsRequest) for p, timestamp in request.timestamps.items()}


def test_offsets_are_asked_of_the_leaders_and_a_time_that_nothing_follows_has_none() -> None:
    scene = asking()
    assert asked(scene) == {P0: -2, P1: 77}
    listed(scene, {P0: ListedOffset(3), P1: ListedOffset(-1)})
    assert scene.result(1).result == {P0: ListedOffset(3), P1: None}
    assert "questions_deadline" not in scene.describe().timers_ms


def test_each_leader_is_asked_for_its_own() -> None:
    scene = Scene(group_id=None)
    scene.coordinator.topics = {}  # metadata is answered by hand
    scene.do(Start())
    scene.do(ListOffsets({P0: -2, P1: -2}, 1, LIMIT_MS))
    leaders = tuple(PartitionMetadata(number, number) for number in (0, 1))
    topic = TopicMetadata(TOPIC, leaders)
    scene.respond("Metadata", MetadataResponse((Broker(0, "a", 1), Broker(1, "b", 1)), (topic,)))
    assert [request.timestamps for request in scene.sent(ListOffsetsRequest)] == [{P0: -2}, {P1: -2}]
    scene.respond("ListOffsets", ListOffsetsResponse({P0: ListedOffset(3)}))
    assert not scene.is_done(1)
    scene.respond("ListOffsets", ListOffsetsResponse({P1: ListedOffset(4)}))
    assert scene.result(1).result == {P0: ListedOffset(3), P1: ListedOffset(4)}


def test_what_failed_in_passing_is_asked_again_and_what_was_found_is_not() -> None:
    scene = asking()
    listed(scene, {P0: ListedOffset(3), P1: ListedOffset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)})
    assert not scene.is_waiting("ListOffsets")  # not before the backoff is over
    scene.expire("questions_backoff")
    assert scene.sent(ListOffsetsRequest)[-1].timestamps == {P1: 77}
    listed(scene, {P1: ListedOffset(9, timestamp_ms=80)})
    assert scene.result(1).result == {P0: ListedOffset(3), P1: ListedOffset(9, timestamp_ms=80)}


def test_who_leads_a_partition_that_was_asked_about_is_asked_for_although_nobody_wants_its_topic_any_more() -> None:
    scene = asking()
    scene.poll()  # what matters now is what is subscribed to: nothing
    listed(scene, {P0: ListedOffset(3), P1: ListedOffset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)})
    scene.pass_ms(2 * scene.config.retry_backoff_ms)
    assert [request.topics for request in scene.sent(MetadataRequest)] == [(TOPIC,), (TOPIC,)]


def test_a_refusal_and_the_end_of_the_time_are_the_callers() -> None:
    scene = asking()
    listed(scene, {P0: ListedOffset(3), P1: ListedOffset(-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)})
    assert isinstance(scene.result(1).error, TopicAuthorizationError)
    assert scene.errors() == []  # not the next poll's, too
    scene = asking()
    listed(scene, {P0: ListedOffset(3), P1: ListedOffset(-1, ErrorCode.LEADER_NOT_AVAILABLE)})
    scene.pass_ms(LIMIT_MS)
    error = scene.result(1).error
    assert isinstance(error, KafkaTimeoutError)
    assert "orders-1: LEADER_NOT_AVAILABLE" in str(error)


def test_an_answer_that_comes_late_changes_nothing() -> None:
    scene = asking()
    scene.pass_ms(LIMIT_MS)
    assert isinstance(scene.result(1).error, KafkaTimeoutError)
    listed(scene, {P0: ListedOffset(3), P1: ListedOffset(4)})
    assert isinstance(scene.result(1).error, KafkaTimeoutError)


def test_the_end_answers_everybody() -> None:
    scene = asking()
    scene.close()
    assert isinstance(scene.result(1).error, ConsumerClosedError)
    scene.do(ListTopics(None, 2, LIMIT_MS))
    assert isinstance(scene.result(2).error, ConsumerClosedError)


def test_read_committed_asks_for_the_end_of_what_is_committed() -> None:
    assert asking(isolation_level="read_committed").sent(ListOffsetsRequest)[0].read_committed
    assert not asking().sent(ListOffsetsRequest)[0].read_committed


def test_topics_are_named_with_their_partitions_and_those_that_do_not_exist_are_left_out() -> None:
    scene = Scene(group_id=None)
    scene.coordinator.topics = {}
    scene.do(Start())
    scene.do(ListTopics(("orders", "gone"), 1, LIMIT_MS))
    assert scene.sent(MetadataRequest) == [MetadataRequest(("orders", "gone"))]
    here = TopicMetadata("orders", (PartitionMetadata(0, 1),))
    gone = TopicMetadata("gone", (), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    scene.respond("Metadata", MetadataResponse((), (here, gone)))
    assert scene.result(1).result == (here,)


def test_a_topic_that_is_just_being_made_is_asked_for_again() -> None:
    scene = Scene(group_id=None, allow_auto_create_topics=True)
    scene.coordinator.topics = {}
    scene.do(Start())
    scene.do(ListTopics(("orders",), 1, LIMIT_MS))
    assert scene.sent(MetadataRequest)[0].creates
    scene.respond("Metadata", MetadataResponse((), (TopicMetadata("orders", (), ErrorCode.LEADER_NOT_AVAILABLE),)))
    assert not scene.is_done(1)
    scene.expire("questions_backoff")
    scene.respond("Metadata", MetadataResponse((), (TopicMetadata("orders", (PartitionMetadata(0, 1),)),)))
    assert scene.is_done(1)


def test_the_members_identity_is_that_of_one_moment() -> None:
    scene = Scene().stable()
    scene.do(DescribeMember(1))
    assert scene.result(1).result == GroupMetadata(GROUP, 1, MEMBER, None)

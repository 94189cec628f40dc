"""Where a partition begins, what is fetched, and which answers come too late to be of use.

What must follow from each error of OffsetFetch, ListOffsets, Fetch and Metadata stands in the specification's table of
request handling, and is tried by conformance/stateful/tests/test_request_handling.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupspec.impl.core.events import Assign, Fetch, FetchCommitted, MetadataUpdate, Start, Subscribe, Unsubscribe
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    OffsetFetchRequest,
    OffsetFetchResponse,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.partition_state import Position
from groupspec.impl.core.tests.scene import Scene, partitions

P0, P1, P2 = partitions(0, 1, 2)
GONE = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "DISCONNECTED", "TIMED_OUT"]


def assigned(*numbers: int, **config: Any) -> Scene:
    """A member with new partitions whose committed offsets are being asked for."""
    scene = Scene(**config).completing()
    scene.sync_accepted(*partitions(*numbers))
    scene.assigned()
    return scene


def state(scene: Scene, partition: TopicPartition = P0) -> str:
    return scene.describe().partitions[partition].state


def listed(scene: Scene, offset: int = 0, error: str = "NONE") -> None:
    """ListOffsets is answered for all partitions that it asked for."""
    request = scene.waiting("ListOffsets").request
    assert isinstance(request, ListOffsetsRequest)
    answer = dict.fromkeys(request.timestamps, ListedOffset(offset, ErrorCode[error]))
    scene.respond("ListOffsets", ListOffsetsResponse(answer))


def fetched(scene: Scene, records: bytes = b"records", error: str = "NONE", only: TopicPartition | None = None) -> None:
    """Fetch is answered for all partitions that it asked for; those that are not `only` are at their end."""
    request = scene.waiting("Fetch").request
    assert isinstance(request, FetchRequest)
    found = {p: records if only in (None, p) else b"" for p in request.offsets}
    ends = {p: 99 if found[p] else offset for p, offset in request.offsets.items()}
    scene.respond("Fetch", FetchResponse({p: FetchedPartition(r, ends[p], ErrorCode[error]) for p, r in found.items()}))


def use_up(scene: Scene, partition: TopicPartition) -> None:
    """The application takes the two records of this partition that wait, which is the first with any."""
    buffered = scene.subscription.positions.next_buffered()
    assert buffered is not None
    assert buffered.partition == partition
    assert scene.subscription.positions.advance(buffered, buffered.offset, buffered.offset + 2, exhausted=True)


# Positions
# -------------------------------------------------------------------------------------------------------------


def test_O1_a_new_partition_begins_at_its_committed_offset() -> None:
    scene = assigned(0, 1)
    assert state(scene) == "AWAITING_POSITION"
    scene.committed_are(42)
    assert (state(scene), scene.describe().partitions[P0].position) == ("FETCHABLE", 42)


@pytest.mark.parametrize(("policy", "timestamp"), [("earliest", -2), ("latest", -1)])
def test_O6_without_a_committed_offset_the_policy_decides(policy: str, timestamp: int) -> None:
    scene = assigned(0, auto_offset_reset=policy)
    scene.committed_are(-1)
    (request,) = scene.sent(ListOffsetsRequest)
    assert request.timestamps == {P0: timestamp}
    listed(scene, 7)
    assert scene.describe().partitions[P0].position == 7


def age_policy() -> Scene:
    """A minute is the age, and it is a minute and a half past midnight in 1970."""
    scene = assigned(0, auto_offset_reset="by_duration:PT1M")
    scene.core.context.epoch_ms = 90_000 - scene.now_ms
    scene.committed_are(-1)
    return scene


def asked_for_times(scene: Scene) -> list[dict[TopicPartition, int]]:
    return [dict(request.timestamps) for request in scene.sent(ListOffsetsRequest)]


def test_by_age_a_partition_begins_at_the_first_record_that_is_young_enough() -> None:
    scene = age_policy()
    listed(scene, 50)
    assert scene.describe().partitions[P0].position is None
    listed(scene, 7)
    assert asked_for_times(scene) == [{P0: -1}, {P0: 30_000}]
    assert scene.describe().partitions[P0].position == 7


def test_by_age_it_begins_at_the_end_before_the_look_if_no_record_is_young_enough() -> None:
    scene = age_policy()
    listed(scene, 50)
    listed(scene, -1)
    assert scene.describe().partitions[P0].position == 50


def test_by_age_a_failed_look_is_repeated_and_what_the_application_chooses_comes_first() -> None:
    scene = age_policy()
    listed(scene, 50)
    listed(scene, error="NOT_LEADER_OR_FOLLOWER")
    scene.pass_ms(100)
    assert asked_for_times(scene)[-1] == {P0: 30_100}
    scene.subscription.positions.seek_by_time([P0], -2)
    listed(scene, 7)
    assert scene.describe().partitions[P0].position is None
    scene.poll()
    listed(scene, 3)
    assert asked_for_times(scene)[-1] == {P0: -2}
    assert scene.describe().partitions[P0].position == 3


@pytest.mark.parametrize("choose", ["seek", "reassign", "answer"])
def test_by_age_the_end_is_kept_only_while_it_is_needed(choose: str) -> None:
    scene = age_policy()
    listed(scene, 50)
    ends = scene.core.offsets._ends
    assert list(ends) == [P0]
    if choose == "seek":
        scene.subscription.positions.seek(P0, 3)
    elif choose == "reassign":
        scene.do(Assign(partitions(1)))
    else:
        listed(scene, 7)
    scene.poll()
    assert scene.core.offsets._ends == {}


def test_by_age_a_position_that_does_not_exist_is_found_anew_each_time() -> None:
    scene = age_policy()
    listed(scene, 50)
    listed(scene, 7)
    scene.do(Fetch())
    fetched(scene, b"", error="OFFSET_OUT_OF_RANGE")
    listed(scene, 60)
    listed(scene, 55)
    assert [next(iter(asked.values())) for asked in asked_for_times(scene)] == [-1, 30_000, -1, 30_000]
    assert scene.describe().partitions[P0].position == 55


def test_O6_without_a_policy_the_application_is_told_and_may_seek() -> None:
    scene = assigned(0, auto_offset_reset="none")
    scene.committed_are(-1)
    assert scene.errors() == ["NoOffsetForPartitionError"]
    assert state(scene) == "AWAITING_POSITION"
    scene.subscription.positions.seek(P0, 3)
    scene.poll()
    assert state(scene) == "FETCHABLE"


def test_resets_go_to_the_leader_of_each_partition() -> None:
    scene = assigned(0, 1, 2)
    scene.committed_are(-1)
    assert [r.timestamps for r in scene.sent(ListOffsetsRequest)] == [{P0: -2, P2: -2}, {P1: -2}]


def test_O1_another_leader_is_no_reason_to_reset() -> None:
    scene = Scene().stable(0)
    scene.do(Fetch())
    fetched(scene, b"", "NOT_LEADER_OR_FOLLOWER")
    scene.pass_ms(100)
    assert scene.sent(ListOffsetsRequest) == []
    assert scene.describe().partitions[P0].position == 10


@pytest.mark.parametrize("error", GONE)
def test_O1_D1_a_failed_lookup_is_repeated_and_never_a_reset(error: str) -> None:
    scene = assigned(0)
    scene.answer("OffsetFetch", error)
    assert scene.sent(ListOffsetsRequest) == []
    scene.coordinator_found()
    scene.pass_ms(100)
    scene.committed_are(5)
    assert scene.describe().partitions[P0].position == 5


def test_O1_however_often_a_lookup_fails_in_passing_that_is_no_reset() -> None:
    scene = assigned(0)
    for _ in range(5):
        scene.answer("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS")
        scene.expire("offsets_backoff")
    assert scene.sent(ListOffsetsRequest) == []
    scene.committed_are(5)
    assert scene.describe().partitions[P0].position == 5


def test_O1_what_is_asked_again_is_only_what_still_needs_a_position() -> None:
    scene = Scene().completing()
    scene.sync_accepted(P0, P1)
    scene.assigned()
    scene.answer("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS")
    scene.subscription.positions.seek(P0, 50)
    scene.expire("offsets_backoff")
    assert scene.sent(OffsetFetchRequest)[-1].partitions == (P1,)


@pytest.mark.parametrize("error", ["COORDINATOR_LOAD_IN_PROGRESS", "UNSTABLE_OFFSET_COMMIT", "REQUEST_TIMED_OUT"])
def test_D3_a_passing_failure_is_tried_again_after_the_backoff(error: str) -> None:
    scene = assigned(0)
    scene.answer("OffsetFetch", error)
    assert scene.describe().connection == "STABLE"
    scene.pass_ms(99)
    assert not scene.is_waiting("OffsetFetch")
    scene.pass_ms(1)
    assert scene.is_waiting("OffsetFetch")


def test_the_first_failing_partition_decides() -> None:
    scene = assigned(0, 1)
    offsets = {P0: FetchedOffset(5), P1: FetchedOffset(-1, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)}
    scene.respond("OffsetFetch", OffsetFetchResponse(offsets))
    assert state(scene, P0) == state(scene, P1) == "AWAITING_POSITION"
    scene.pass_ms(100)
    assert scene.is_waiting("OffsetFetch")


def test_O1_a_partition_that_the_answer_leaves_out_is_asked_for_again() -> None:
    scene = assigned(0, 1)
    scene.respond("OffsetFetch", OffsetFetchResponse({P0: FetchedOffset(5)}))
    assert (state(scene, P0), state(scene, P1)) == ("FETCHABLE", "AWAITING_POSITION")
    scene.pass_ms(100)
    assert scene.sent(OffsetFetchRequest)[-1].partitions == (P1,)


def test_O3_a_position_that_comes_after_a_seek_is_dropped() -> None:
    scene = assigned(0)
    scene.subscription.positions.seek(P0, 77)
    scene.committed_are(5)
    assert scene.describe().partitions[P0].position == 77


def test_O3_a_position_of_an_earlier_assignment_is_dropped() -> None:
    scene = assigned(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.revoked()
    scene.join_accepted(2)
    scene.sync_accepted(P0)
    scene.assigned()
    scene.committed_are(5)  # the answer to the first question
    assert state(scene) == "AWAITING_POSITION"
    scene.committed_are(6)
    assert scene.describe().partitions[P0].position == 6


def test_O2_a_kept_partition_keeps_position_pause_and_the_lookup_under_way() -> None:
    scene = assigned(0, 1, partition_assignment_strategy=("cooperative-sticky",))
    scene.subscription.positions.seek(P0, 50)
    scene.subscription.positions.pause([P0])
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(2)
    scene.sync_accepted(P0, P1)
    scene.assigned()
    assert (state(scene, P0), scene.describe().partitions[P0].position) == ("PAUSED", 50)
    scene.committed_are(6)
    assert scene.describe().partitions[P1].position == 6
    assert len(scene.sent(OffsetFetchRequest)) == 1


def test_C3_in_the_assigned_callback_a_position_is_looked_up_only_if_wanted() -> None:
    scene = Scene().completing()
    scene.sync_accepted(P0, P1)
    scene.do(Fetch())
    assert scene.sent(OffsetFetchRequest) == []
    scene.subscription.positions.want_position(P0)
    scene.do(Fetch())
    assert scene.sent(OffsetFetchRequest)[0].partitions == (P0,)
    scene.committed_are(5)
    assert (state(scene, P0), scene.subscription.positions.position(P0)) == ("ASSIGNED", 5)
    assert scene.sent(FetchRequest) == []
    scene.assigned()
    assert state(scene, P0) == "FETCHABLE"


def test_C3_while_a_revocation_is_due_a_position_is_looked_up_only_if_wanted() -> None:
    scene = Scene().completing()
    scene.sync_accepted(P0, P1)
    scene.assigned()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.committed_are(5)  # that was asked for before
    assert (state(scene, P0), scene.subscription.positions.position(P0)) == ("PENDING_REVOCATION", None)
    scene.do(Fetch())
    assert len(scene.sent(OffsetFetchRequest)) == 1
    scene.subscription.positions.want_position(P0)
    scene.do(Fetch())
    assert [sent.partitions for sent in scene.sent(OffsetFetchRequest)[1:]] == [(P0,)]
    scene.committed_are(5)
    assert (state(scene, P0), scene.subscription.positions.position(P0)) == ("PENDING_REVOCATION", 5)
    assert scene.sent(FetchRequest) == []


# Committed offsets, asked for
# --------------------------------------------------------------------------------------------


def test_the_application_asks_for_committed_offsets() -> None:
    scene = Scene().stable(0)
    scene.do(FetchCommitted((P0, P1), future_id=1, deadline_ms=9_000))
    scene.respond("OffsetFetch", OffsetFetchResponse({P0: FetchedOffset(5, "note"), P1: FetchedOffset(-1)}))
    assert scene.result(1).result == {P0: OffsetAndMetadata(5, "note"), P1: None}


def test_such_a_question_is_repeated_until_its_deadline() -> None:
    scene = Scene().stable(0)
    scene.do(FetchCommitted((P0,), future_id=1, deadline_ms=500))
    scene.answer("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS")
    scene.pass_ms(100)
    assert scene.is_waiting("OffsetFetch")
    scene.pass_ms(400)
    assert type(scene.result(1).error).__name__ == "KafkaTimeoutError"


def test_a_question_of_which_the_answer_leaves_a_partition_out_is_asked_again() -> None:
    scene = Scene().stable(0)
    scene.do(FetchCommitted((P0, P1), future_id=1, deadline_ms=9_000))
    scene.respond("OffsetFetch", OffsetFetchResponse({P0: FetchedOffset(5)}))
    scene.pass_ms(100)
    scene.respond("OffsetFetch", OffsetFetchResponse({P0: FetchedOffset(5), P1: FetchedOffset(-1)}))
    assert scene.result(1).result == {P0: OffsetAndMetadata(5), P1: None}


def test_a_refused_question_is_told_to_who_asked() -> None:
    scene = Scene().stable(0)
    scene.do(FetchCommitted((P0,), future_id=1, deadline_ms=500))
    scene.answer("OffsetFetch", "GROUP_AUTHORIZATION_FAILED")
    assert type(scene.result(1).error).__name__ == "GroupAuthorizationError"
    assert scene.errors() == []


def test_questions_that_need_no_coordinator_are_answered_at_once() -> None:
    scene = Scene().stable(0)
    scene.do(FetchCommitted((), future_id=1, deadline_ms=500))
    assert scene.result(1).result == {}
    loner = Scene(group_id=None)
    loner.do(Start())
    loner.do(FetchCommitted((P0,), future_id=1, deadline_ms=500))
    assert "group_id" in str(loner.result(1).error)


# Fetching
# ---------------------------------------------------------------------------------------------------------------


def test_O5_what_is_fetchable_is_fetched_from_its_leader() -> None:
    scene = Scene().stable(0, 1, 2, committed=10)
    scene.do(Fetch())
    assert [(s.node, dict(s.request.offsets)) for s in scene.unanswered if isinstance(s.request, FetchRequest)] == [
        (1, {P0: 10, P2: 10}),
        (2, {P1: 10}),
    ]


def test_a_leader_is_left_alone_while_records_of_one_of_its_partitions_wait() -> None:
    """A fetch of the others, which may be at their end, would keep that one waiting for fetch.max.wait.ms."""
    scene = Scene().stable(0, 2)  # one leader
    scene.do(Fetch())
    fetched(scene, only=P0)
    scene.do(Fetch())
    assert not scene.is_waiting("Fetch")
    use_up(scene, P0)
    scene.do(Fetch())
    assert list(scene.sent(FetchRequest)[-1].offsets.items()) == [(P2, 10), (P0, 12)]  # whose turn it is comes first


def test_what_is_used_up_and_has_more_is_fetched_while_records_of_others_wait() -> None:
    scene = Scene().stable(0, 2)  # one leader
    scene.do(Fetch())
    fetched(scene)
    use_up(scene, P0)
    scene.do(Fetch())
    assert [dict(request.offsets) for request in scene.sent(FetchRequest)][1:] == [{P0: 12}]
    use_up(scene, P2)
    scene.do(Fetch())
    assert len(scene.sent(FetchRequest)) == 2  # one at a time goes to each leader
    fetched(scene)
    assert dict(scene.sent(FetchRequest)[-1].offsets) == {P2: 12}  # the records of P0 do not end the later demand


def test_what_was_asked_for_ahead_is_dropped_when_the_position_is_moved_or_the_partition_is_gone() -> None:
    scene = Scene().stable(0, 2)
    scene.do(Fetch())
    fetched(scene)
    use_up(scene, P0)
    scene.do(Fetch())
    scene.subscription.positions.seek(P0, 70)
    fetched(scene)
    assert scene.subscription.positions.returnable() == (P2,)
    scene.subscription.keep_only([P0])
    assert scene.subscription.positions.returnable() == ()
    scene.do(Fetch())
    assert dict(scene.sent(FetchRequest)[-1].offsets) == {P0: 70}


def test_a_leader_is_not_kept_waiting_by_records_of_a_paused_partition() -> None:
    scene = Scene().stable(0, 2)
    scene.do(Fetch())
    fetched(scene, only=P0)
    scene.subscription.positions.pause([P0])
    scene.do(Fetch())
    assert scene.sent(FetchRequest)[-1].offsets == {P2: 10}


def test_O3_a_seek_between_the_choice_of_a_position_and_its_fetch_is_fetched_by_the_next_demand() -> None:
    scene = Scene().stable(0)
    fetchable = scene.subscription.positions.fetchable

    def seek_behind_it() -> dict[TopicPartition, Position]:
        """The application's thread runs just after the look."""
        seen = fetchable()
        scene.subscription.positions.fetchable = fetchable  # type: ignore[method-assign]
        scene.subscription.positions.seek(P0, 500)
        return seen

    scene.subscription.positions.fetchable = seek_behind_it  # type: ignore[method-assign]
    scene.do(Fetch())
    scene.do(Fetch())
    assert [request.offsets for request in scene.sent(FetchRequest)] == [{P0: 500}]


def test_nothing_is_fetched_without_a_demand() -> None:
    scene = Scene().stable(0)
    scene.pass_ms(10_000)
    assert scene.sent(FetchRequest) == []


def test_the_demand_stands_until_there_are_records() -> None:
    scene = Scene().stable(0)
    scene.do(Fetch())
    fetched(scene, b"")
    fetched(scene, b"records")
    assert not scene.is_waiting("Fetch")
    buffered = scene.subscription.positions.next_buffered()
    assert buffered is not None and (buffered.offset, buffered.record_bytes) == (10, b"records")
    scene.do(Fetch())
    assert not scene.is_waiting("Fetch")  # what is buffered is not fetched again


def test_O5_the_position_moves_when_records_are_returned() -> None:
    scene = Scene().stable(0)
    scene.do(Fetch())
    fetched(scene)
    assert scene.describe().partitions[P0].position == 10
    buffered = scene.subscription.positions.next_buffered()
    assert buffered is not None
    assert scene.subscription.positions.advance(buffered, 10, 12, exhausted=False)
    assert (scene.describe().partitions[P0].position, scene.describe().partitions[P0].buffered) == (12, True)
    assert scene.subscription.positions.advance(buffered, 12, 20, exhausted=True)
    assert scene.subscription.positions.next_buffered() is None


def test_O5_paused_and_revoked_partitions_are_neither_fetched_nor_returned() -> None:
    scene = Scene().stable(0, 1)
    scene.do(Fetch())
    fetched(scene)
    scene.subscription.positions.pause([P0])
    assert scene.subscription.positions.next_buffered() is None
    scene.subscription.positions.resume([P0])
    assert scene.subscription.positions.next_buffered() is not None
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.subscription.positions.next_buffered() is None


def test_O3_records_for_a_position_of_the_past_are_dropped() -> None:
    scene = Scene().stable(0)
    scene.do(Fetch())
    scene.subscription.positions.seek(P0, 500)
    fetched(scene)
    assert scene.subscription.positions.next_buffered() is None
    assert scene.sent(FetchRequest)[-1].offsets == {P0: 500}


def test_O3_records_collected_before_a_revocation_are_not_returned() -> None:
    scene = Scene().stable(0)
    scene.do(Fetch())
    fetched(scene)
    buffered = scene.subscription.positions.next_buffered()
    assert buffered is not None
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert not scene.subscription.positions.advance(buffered, 10, 12, exhausted=False)
    scene.revoked()
    scene.join_accepted(2)
    scene.sync_accepted(P0)
    scene.assigned()
    scene.committed_are(10)
    assert not scene.subscription.positions.advance(buffered, 10, 12, exhausted=False)


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_an_offset_out_of_range_is_reset(policy: str) -> None:
    scene = Scene(auto_offset_reset=policy).stable(0)
    scene.do(Fetch())
    fetched(scene, b"", "OFFSET_OUT_OF_RANGE")
    assert state(scene) == "AWAITING_POSITION"
    listed(scene, 33)
    assert scene.describe().partitions[P0].position == 33
    assert len(scene.sent(OffsetFetchRequest)) == 0


def test_O6_an_offset_out_of_range_without_a_policy_is_reported() -> None:
    scene = Scene(auto_offset_reset="none").stable(0)
    scene.do(Fetch())
    fetched(scene, b"", "OFFSET_OUT_OF_RANGE")
    assert scene.errors() == ["OffsetOutOfRangeError"]
    assert scene.describe().partitions[P0].position == 10


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode(777)])
def test_a_fetch_that_fails_for_a_reason_that_nobody_knows_is_repeated_after_the_backoff(code: ErrorCode) -> None:
    scene = Scene(retry_backoff_ms=100).stable(0)
    scene.do(Fetch())
    scene.respond("Fetch", FetchResponse({P0: FetchedPartition(b"", 99, code)}))
    assert (scene.errors(), len(scene.sent(FetchRequest))) == ([], 1)
    scene.pass_ms(100)
    assert len(scene.sent(FetchRequest)) == 2


def test_a_partition_that_a_fetch_answer_leaves_out_is_fetched_again() -> None:
    scene = Scene().stable(0, 2)
    scene.do(Fetch())
    scene.respond("Fetch", FetchResponse({P0: FetchedPartition(b"", 99)}))
    assert scene.sent(FetchRequest)[-1].offsets == {P0: 10, P2: 10}


# Metadata
# ---------------------------------------------------------------------------------------------------------------


def test_metadata_is_refreshed_when_it_is_old_and_when_the_application_says_so() -> None:
    scene = Scene(metadata_max_age_ms=10_000).stable(0)
    scene.pass_ms(10_000)
    assert len(scene.sent(MetadataRequest)) == 1
    scene.do(MetadataUpdate(("bills",)))
    assert scene.sent(MetadataRequest)[-1].topics == ("bills", "orders")


def test_a_topic_that_does_not_exist_is_asked_for_again_once_in_a_while() -> None:
    scene = Scene({"bills": 1}).start()
    scene.poll()
    scene.pass_ms(10_000)
    assert len(scene.sent(MetadataRequest)) == 11
    assert scene.errors() == []


def test_a_topic_that_was_missing_is_asked_for_as_soon_as_it_is_wanted_again() -> None:
    scene = Scene({"bills": 1}).start()
    for topic in ("orders", "bills"):
        scene.do(Subscribe((topic,)))
        scene.poll()
        scene.pass_ms(2_000)
    before = len(scene.sent(MetadataRequest))
    scene.do(Subscribe(("orders",)))
    scene.poll()
    scene.pass_ms(100)
    assert len(scene.sent(MetadataRequest)) == before + 1


@pytest.mark.parametrize(
    ("error", "reported"), [("LEADER_NOT_AVAILABLE", 0), ("TOPIC_AUTHORIZATION_FAILED", 1), ("INVALID_REQUEST", 1)]
)
def test_a_topic_with_an_error_is_asked_for_again(error: str, reported: int) -> None:
    scene = Scene()
    scene.coordinator.topics = {}
    scene.start()
    scene.poll()
    scene.respond("Metadata", MetadataResponse((), (TopicMetadata("orders", (), ErrorCode[error]),)))
    assert len(scene.errors()) == reported
    scene.pass_ms(1_000)
    assert len(scene.sent(MetadataRequest)) == 2


def test_metadata_that_is_refused_as_a_whole_is_told_of_once_and_asked_for_again() -> None:
    scene = Scene()
    scene.coordinator.topics = {}
    scene.start()
    scene.poll()
    for _ in range(2):
        scene.respond("Metadata", MetadataResponse((), (), error=ErrorCode(129)))  # REBOOTSTRAP_REQUIRED
        scene.pass_ms(200)
    assert scene.errors() == ["ProtocolError"]
    assert len(scene.sent(MetadataRequest)) == 3


def test_Q1_a_refused_topic_is_told_of_once_until_the_application_polls_again() -> None:
    scene = Scene()
    scene.coordinator.topics = {}
    scene.start()
    scene.poll()
    refused = MetadataResponse((), (TopicMetadata("orders", (), ErrorCode.TOPIC_AUTHORIZATION_FAILED),))
    for _ in range(3):
        scene.respond("Metadata", refused)
        scene.pass_ms(1_000)
    assert scene.errors() == ["TopicAuthorizationError"]
    scene.poll()
    scene.respond("Metadata", refused)
    assert scene.errors() == ["TopicAuthorizationError"] * 2


def test_metadata_is_only_asked_for_what_matters() -> None:
    scene = Scene({"orders": 2, "bills": 2}).stable(0)
    scene.do(Unsubscribe(1))
    scene.revoked()
    scene.do(Subscribe(("bills",)))
    scene.poll()
    assert scene.sent(MetadataRequest)[-1].topics == ("bills",)


def test_metadata_that_are_wrong_are_asked_for_of_what_is_subscribed_to_by_then() -> None:
    """Schedule 1000830: a callback had chosen the other topic; until the next poll only the first one was asked for."""
    scene = Scene({"orders": 2, "bills": 2})
    scene.do(Start())
    scene.do(MetadataUpdate(("orders", "bills")))
    scene.do(Subscribe(("orders",)))
    scene.poll()
    scene.coordinator_found()
    scene.join_accepted()
    scene.sync_accepted(P0)
    scene.do(Subscribe(("bills",)))
    scene.assigned()
    scene.revoked()
    scene.join_accepted(2)
    scene.sync_accepted(*partitions(0, topic="bills"))
    scene.assigned()
    scene.committed_are(-1)
    scene.answer("ListOffsets", "NOT_LEADER_OR_FOLLOWER")
    scene.pass_ms(100)
    assert "bills" in (scene.sent(MetadataRequest)[-1].topics or ())


def test_a_partition_that_does_not_exist_is_looked_for_again_once_in_a_while() -> None:
    scene = Scene({"orders": 1}, group_id=None)
    scene.do(Start())
    scene.do(Assign((P1,)))
    scene.pass_ms(5_000)
    assert len(scene.sent(MetadataRequest)) == 6
    scene.coordinator.topics = {"orders": 2}
    scene.pass_ms(1_000)
    assert scene.is_waiting("ListOffsets")


# Subscription state
# -----------------------------------------------------------------------------------------------------


def test_manual_assignment_keeps_what_stays() -> None:
    scene = Scene()
    scene.do(Start())
    scene.do(Assign((P0, P1)))
    scene.subscription.positions.seek(P0, 5)
    scene.do(Assign((P0, P2)))
    assert (state(scene, P0), state(scene, P2)) == ("FETCHABLE", "AWAITING_POSITION")
    assert scene.describe().owned == ()


# Where the application wants to begin ---------------------------------------------------------------------------------


@pytest.mark.parametrize("committed", [True, False])
def test_O3_seeking_to_the_beginning_or_the_end_asks_the_leader_whatever_is_committed(committed: bool) -> None:
    scene = Scene(auto_offset_reset="none").stable(0, committed=10) if committed else assigned(0)
    scene.subscription.positions.seek_by_time([P0], -1)
    scene.do(Fetch())
    assert scene.sent(ListOffsetsRequest)[-1].timestamps == {P0: -1}
    assert state(scene) == "AWAITING_POSITION"
    if scene.is_waiting("OffsetFetch"):  # asked before the seek: of no use any more (rule O3)
        scene.committed_are(10)
        assert state(scene) == "AWAITING_POSITION"
    listed(scene, 50)
    assert scene.describe().partitions[P0].position == 50
    assert scene.errors() == []


def test_a_seek_to_an_offset_follows_a_seek_to_the_end() -> None:
    scene = assigned(0)
    scene.committed_are(10)
    scene.subscription.positions.seek_by_time([P0], -1)
    scene.do(Fetch())
    scene.subscription.positions.seek(P0, 7)
    listed(scene, 50)
    assert scene.describe().partitions[P0].position == 7


def test_a_seek_to_the_beginning_outlasts_a_leader_that_moves() -> None:
    scene = assigned(0)
    scene.committed_are(10)
    scene.subscription.positions.seek_by_time([P0], -2)
    scene.do(Fetch())
    listed(scene, -1, "NOT_LEADER_OR_FOLLOWER")
    scene.pass_ms(1_000)
    assert scene.sent(ListOffsetsRequest)[-1].timestamps == {P0: -2}
    listed(scene, 3)
    assert scene.describe().partitions[P0].position == 3


def test_the_lag_counts_to_the_end_and_of_what_is_committed_to_the_first_open_transaction() -> None:
    for isolation_level, lag in (("read_uncommitted", 89), ("read_committed", 30)):
        scene = assigned(0, isolation_level=isolation_level)
        scene.committed_are(10)
        assert scene.subscription.positions.lag(P0) is None
        scene.do(Fetch())
        request = scene.waiting("Fetch").request
        assert isinstance(request, FetchRequest)
        assert request.read_committed is (isolation_level == "read_committed")
        answer = FetchedPartition(b"", 99, last_stable_offset=40, aborted_transactions=())
        scene.respond("Fetch", FetchResponse({P0: answer}))
        assert scene.subscription.positions.lag(P0) == lag
        assert scene.subscription.positions.high_watermark(P0) == 99


def test_a_fetch_names_the_leader_that_it_believes_in_and_looks_for_another_one_when_it_is_refused() -> None:
    scene = Scene(group_id=None)
    scene.coordinator.topics = {}  # metadata is answered by hand
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.do(Fetch())

    def leader_is(epoch: int) -> None:
        topic = TopicMetadata(P0.topic, (PartitionMetadata(0, 1, leader_epoch=epoch),))
        scene.respond("Metadata", MetadataResponse((), (topic,)))

    leader_is(4)
    listed(scene)
    fetched(scene, b"", "FENCED_LEADER_EPOCH")
    scene.pass_ms(100)
    leader_is(5)
    fetched(scene, b"", "FENCED_LEADER_EPOCH")  # sent before the answer
    scene.pass_ms(100)
    assert [request.leader_epochs for request in scene.sent(FetchRequest)] == [{P0: 4}, {P0: 4}, {P0: 5}]

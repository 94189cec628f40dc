"""A commit goes out in the membership that it was asked for in, or not at all (rule M1)."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import Assign, Commit, Subscribe, Unsubscribe
from groupspec.impl.core.messages import OffsetAndMetadata, OffsetCommitRequest
from groupspec.impl.core.tests.scene import MEMBER, TOPIC, Scene, partitions

P0, P1 = partitions(0, 1)
COOPERATIVE = ("cooperative-sticky",)
BOTH = pytest.mark.parametrize("deadline_ms", [None, 60_000], ids=["commit_async", "commit"])


def commit(future_id: int, deadline_ms: int | None = None) -> Commit:
    return Commit({P0: OffsetAndMetadata(5)}, future_id, deadline_ms)


def unsubscribe(scene: Scene) -> None:
    """From the call to its end; LeaveGroup may still be unanswered."""
    scene.do(Unsubscribe(9))
    scene.revoked()
    assert scene.is_done(9)


def rejoin(scene: Scene, generation: int) -> None:
    scene.poll()
    scene.join_accepted(generation)
    scene.sync_accepted(P0)
    scene.assigned()


def error_of(scene: Scene, future_id: int) -> str:
    return type(scene.result(future_id).error).__name__


@BOTH
def test_M1_what_waits_for_a_coordinator_when_its_member_leaves_fails_without_a_request(
    deadline_ms: int | None,
) -> None:
    scene = Scene().stable(0)
    scene.heartbeat("NOT_COORDINATOR")
    scene.do(commit(1, deadline_ms))
    unsubscribe(scene)
    assert error_of(scene, 1) == "CommitFailedError"
    scene.coordinator_found()
    assert scene.sent(OffsetCommitRequest) == []


@BOTH
@pytest.mark.parametrize("then", ["nothing", "assign", "subscribe"])
def test_M1_what_is_behind_an_earlier_one_when_its_member_leaves_is_sent_as_nobody_else(
    deadline_ms: int | None, then: str
) -> None:
    scene = Scene().stable(0)
    scene.do(commit(1))
    scene.do(commit(2, deadline_ms))
    unsubscribe(scene)
    if then == "assign":
        scene.do(Assign((P0,)))
    elif then == "subscribe":
        scene.do(Subscribe((TOPIC,)))
        rejoin(scene, generation=3)
    scene.answer("OffsetCommit")
    assert (scene.is_done(1), error_of(scene, 2)) == (True, "CommitFailedError")
    assert [sent.generation for sent in scene.sent(OffsetCommitRequest)] == [1]


def test_M1_what_is_tried_again_when_its_member_has_left_fails() -> None:
    scene = Scene(retry_backoff_ms=100).stable(0)
    scene.do(commit(1, deadline_ms=60_000))
    unsubscribe(scene)
    scene.answer("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS")
    scene.pass_ms(100)
    assert error_of(scene, 1) == "CommitFailedError"
    assert len(scene.sent(OffsetCommitRequest)) == 1


@BOTH
def test_M1_what_is_behind_an_earlier_one_when_the_membership_is_lost_is_not_sent_in_the_next(
    deadline_ms: int | None,
) -> None:
    scene = Scene().stable(0)
    scene.do(commit(1))
    scene.do(commit(2, deadline_ms))
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    scene.revoked()
    rejoin(scene, generation=3)
    scene.answer("OffsetCommit")
    assert error_of(scene, 2) == "CommitFailedError"
    assert [sent.generation for sent in scene.sent(OffsetCommitRequest)] == [1]


def test_M1_who_was_no_member_when_it_asked_is_not_sent_as_nobody_when_it_is_subscribed_no_more() -> None:
    scene = Scene()
    scene.start()
    scene.do(Unsubscribe(8))
    scene.do(commit(1))
    scene.coordinator_found()
    scene.do(Subscribe((TOPIC,)))
    scene.do(commit(2))
    scene.do(Unsubscribe(9))
    scene.answer("OffsetCommit")
    assert (scene.result(1).error, error_of(scene, 2)) == (None, "CommitFailedError")


@BOTH
def test_M1_a_rebalance_ends_no_membership_what_waits_is_sent_in_the_next_generation(deadline_ms: int | None) -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(commit(1))
    scene.do(commit(2, deadline_ms))
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    rejoin(scene, generation=2)
    scene.answer("OffsetCommit")
    assert [(sent.member_id, sent.generation) for sent in scene.sent(OffsetCommitRequest)] == [(MEMBER, 1), (MEMBER, 2)]


@BOTH
def test_who_has_assigned_its_partitions_itself_goes_on_as_nobody_with_others(deadline_ms: int | None) -> None:
    scene = Scene()
    scene.do(Assign((P0,)))
    scene.start()
    scene.do(Unsubscribe(8))
    scene.do(Assign((P0,)))
    scene.do(commit(1, deadline_ms))
    scene.do(Assign((P1,)))
    scene.coordinator_found()
    assert [(sent.member_id, sent.generation) for sent in scene.sent(OffsetCommitRequest)] == [("", -1)]

"""Finding the coordinator: on demand, one lookup at a time, spaced, and given up for nobody who still needs it."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import (
    Assign,
    Commit,
    ConnectCoordinator,
    FetchCommitted,
    Poll,
    ResponseReceived,
    Start,
    UnsolicitedResponse,
)
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetAndMetadata,
)
from groupspec.impl.core.tests.scene import Scene, partitions

RETRIABLE = [
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT",
    "NETWORK_EXCEPTION",
    "DISCONNECTED",
    "TIMED_OUT",
]


def test_D7_discovery_is_on_demand() -> None:
    scene = Scene()
    assert scene.describe().connection == "DOWN"
    scene.do(Start())
    scene.do(Poll())
    assert (scene.describe().connection, scene.apis()) == ("INITIALIZED", [])


def test_D2_at_most_one_lookup_is_out() -> None:
    scene = Scene().start()
    scene.poll()
    scene.poll()
    scene.pass_ms(10_000)
    assert len(scene.sent(FindCoordinatorRequest)) == 1


@pytest.mark.parametrize("error", RETRIABLE)
def test_D3_a_failed_lookup_is_repeated_after_the_backoff(error: str) -> None:
    scene = Scene(retry_backoff_ms=100).start()
    scene.poll()
    scene.answer("FindCoordinator", error)
    assert scene.describe().connection == "INITIALIZED"
    scene.pass_ms(99)
    assert len(scene.sent(FindCoordinatorRequest)) == 1
    scene.pass_ms(1)
    assert len(scene.sent(FindCoordinatorRequest)) == 2
    scene.coordinator_found()
    assert scene.seen(ConnectCoordinator) == [ConnectCoordinator(2, "localhost", 9093)]


@pytest.mark.parametrize("error", ["GROUP_AUTHORIZATION_FAILED", "INVALID_GROUP_ID", "UNKNOWN_SERVER_ERROR"])
def test_a_refused_lookup_is_reported_and_repeated_when_the_application_polls(error: str) -> None:
    scene = Scene().start()
    scene.poll()
    scene.answer("FindCoordinator", error)
    assert (scene.describe().connection, len(scene.errors())) == ("INITIALIZED", 1)
    scene.pass_ms(60_000)
    assert not scene.is_waiting("FindCoordinator")
    scene.poll()
    assert scene.is_waiting("FindCoordinator")


def test_L2_a_close_that_has_to_commit_looks_the_coordinator_up_although_that_was_refused() -> None:
    """Schedule 18053: nobody polls any more, and it waited out its whole time for a coordinator that nobody sought."""
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(partitions(0)[0], 17)
    scene.heartbeat("NOT_COORDINATOR")
    scene.answer("FindCoordinator", "GROUP_AUTHORIZATION_FAILED")
    scene.close()
    assert scene.is_waiting("FindCoordinator")
    scene.answer("FindCoordinator", "GROUP_AUTHORIZATION_FAILED")
    scene.revoked()
    assert scene.is_done(999)


def test_a_refused_lookup_fails_whoever_waits_for_it() -> None:
    scene = Scene()
    scene.do(Start())
    scene.do(Assign(partitions(0)))
    scene.do(Commit({partitions(0)[0]: OffsetAndMetadata(5)}, future_id=1, deadline_ms=10_000))
    scene.do(FetchCommitted(partitions(0), future_id=2, deadline_ms=10_000))
    scene.answer("FindCoordinator", "GROUP_AUTHORIZATION_FAILED")
    assert type(scene.result(1).error).__name__ == "GroupAuthorizationError"
    assert type(scene.result(2).error).__name__ == "GroupAuthorizationError"


def test_D8_manual_assignment_looks_a_coordinator_up_only_for_offsets() -> None:
    scene = Scene()
    scene.do(Start())
    scene.do(Assign(partitions(0)))
    assert scene.apis() == ["FindCoordinator"]  # the committed offset is where reading begins
    scene.coordinator_found()
    scene.committed_are(5)
    scene.poll()
    scene.pass_ms(600_000)
    assert scene.apis() == ["FindCoordinator"]


def test_without_a_group_nothing_needs_a_coordinator() -> None:
    scene = Scene(group_id=None)
    scene.do(Start())
    scene.do(Assign(partitions(0)))
    scene.poll()
    assert scene.apis() == []
    assert scene.is_waiting("ListOffsets")


def test_an_answer_to_nothing_is_an_error_and_changes_nothing() -> None:
    scene = Scene().stable(0)
    before = scene.describe()
    with pytest.raises(UnsolicitedResponse, match="request 4711, which awaits no answer"):
        scene.do(ResponseReceived(4711, HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)))
    assert scene.describe() == before


def test_an_answer_of_another_kind_is_an_error_and_changes_nothing() -> None:
    scene = Scene().preparing()
    before = scene.describe()
    with pytest.raises(UnsolicitedResponse, match="which is a JoinGroup"):
        scene.do(ResponseReceived(scene.waiting("JoinGroup").request_id, HeartbeatResponse(ErrorCode.NONE)))
    assert scene.describe() == before


def test_a_second_answer_to_the_same_request_is_an_error() -> None:
    scene = Scene().preparing()
    request_id = scene.waiting("JoinGroup").request_id
    scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
    with pytest.raises(UnsolicitedResponse):
        scene.do(ResponseReceived(request_id, JoinGroupResponse(ErrorCode.NONE)))


def test_J9_an_answer_to_a_join_that_timed_out_is_ignored() -> None:
    scene = Scene().preparing()
    request_id = scene.waiting("JoinGroup").request_id
    scene.answer("JoinGroup", "TIMED_OUT")
    before = scene.describe()
    scene.do(ResponseReceived(request_id, JoinGroupResponse(ErrorCode.NONE, 9, "range", "x", "late-id")))
    assert scene.describe() == before


def test_D7_a_member_that_loses_its_partitions_looks_for_its_coordinator_meanwhile() -> None:
    scene = Scene(retry_backoff_ms=100).stable(0)
    scene.heartbeat("UNKNOWN_MEMBER_ID")  # onPartitionsLost is due, and takes its time
    scene.do(FetchCommitted(partitions(0), future_id=1, deadline_ms=60_000))
    scene.answer("OffsetFetch", "NOT_COORDINATOR")
    scene.answer("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    scene.expire("offsets_deadline")
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.expire("lookup_backoff")
    assert scene.is_waiting("FindCoordinator")


def test_M3_a_commit_before_a_rebalance_outlives_a_refused_lookup_and_is_sent_when_the_application_may_again() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.subscription.positions.seek(partitions(0)[0], 17)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit", "NOT_COORDINATOR")
    scene.answer("FindCoordinator", "GROUP_AUTHORIZATION_FAILED")
    scene.expire("commit_backoff")
    assert (scene.describe().rebalance, scene.is_waiting("OffsetCommit")) == ("PREPARE_REVOCATION", False)
    scene.poll()
    scene.coordinator_found()
    assert scene.is_waiting("OffsetCommit")

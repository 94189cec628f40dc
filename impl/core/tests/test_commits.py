"""Commits: in order, as whom, when not at all, and what each error does (Kafka's ConsumerCoordinator)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupspec.impl.core.events import (
    Assign,
    CallbackKind,
    CallbackStarted,
    Commit,
    PartitionsRevoked,
    RevokePartitions,
    Start,
    Unsubscribe,
)
from groupspec.impl.core.messages import (
    ErrorCode,
    JoinGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from groupspec.impl.core.partition_state import Buffered
from groupspec.impl.core.tests.scene import MEMBER, Scene, partitions

P0, P1, P2 = partitions(0, 1, 2)
COOPERATIVE = ("cooperative-sticky",)
GONE = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "REQUEST_TIMED_OUT", "DISCONNECTED", "TIMED_OUT"]
TOPIC_MISSING = "UNKNOWN_TOPIC_OR_PARTITION"
PASSING = ["COORDINATOR_LOAD_IN_PROGRESS", TOPIC_MISSING]
FATAL = [
    "GROUP_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "OFFSET_METADATA_TOO_LARGE",
    "INVALID_COMMIT_OFFSET_SIZE",
    "UNKNOWN_SERVER_ERROR",
]


def sync(offset: int = 5, future_id: int = 1, deadline_ms: int = 60_000) -> Commit:
    return Commit({P0: OffsetAndMetadata(offset)}, future_id, deadline_ms)


def asynchronous(offset: int = 5, future_id: int = 2) -> Commit:
    return Commit({P0: OffsetAndMetadata(offset)}, future_id)


def with_dirty_position(**config: Any) -> Scene:
    """A stable member with automatic commits whose application has read up to offset 12."""
    scene = Scene(enable_auto_commit=True, **config).stable(0, 1)
    scene.subscription.positions.seek(P0, 12)
    return scene


def with_unprocessed_records(**config: Any) -> Scene:
    """A stable member with auto-commit; its application has records up to offset 15 and has not polled since."""
    scene = Scene(enable_auto_commit=True, **config).stable(0)
    hand_over_records(scene)
    return scene


def hand_over_records(scene: Scene) -> None:
    """A poll() returns those from 10 up to 15."""
    records = Buffered(P0, next(iter(scene.subscription.positions.fetchable().values()))[0], 10, b"...", 20)
    scene.subscription.positions.buffer(records)
    scene.poll()
    assert scene.subscription.positions.advance(records, 10, 15, exhausted=True)


def error_of(scene: Scene, future_id: int) -> str:
    return type(scene.result(future_id).error).__name__


# As whom, and in which order
# -------------------------------------------------------------------------------------------


def test_M1_a_commit_carries_the_identity_of_the_moment() -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.do(sync())
    (commit,) = scene.sent(OffsetCommitRequest)
    assert (commit.member_id, commit.generation, commit.group_instance_id) == (MEMBER, 1, "one")
    scene.answer("OffsetCommit")
    assert scene.result(1).result == {P0: OffsetAndMetadata(5)}


def test_M1_X1_with_manual_assignment_a_commit_carries_nobodys_identity() -> None:
    scene = Scene(group_instance_id="one")
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.coordinator_found()
    scene.do(sync())
    (commit,) = scene.sent(OffsetCommitRequest)
    assert (commit.member_id, commit.generation, commit.group_instance_id) == ("", -1, None)


def test_with_manual_assignment_no_answer_to_a_commit_makes_it_join() -> None:
    scene = Scene()
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.poll()
    scene.coordinator_found()
    scene.do(sync())
    scene.answer("OffsetCommit", "REBALANCE_IN_PROGRESS")
    assert error_of(scene, 1) == "RebalanceInProgressError"
    assert not scene.describe().rejoin_needed
    scene.poll()
    assert not scene.sent(JoinGroupRequest)


def test_M6_commits_go_out_one_after_the_other_and_end_in_order() -> None:
    scene = Scene().stable(0)
    scene.do(asynchronous(5, future_id=1))
    scene.do(sync(6, future_id=2))
    assert len(scene.sent(OffsetCommitRequest)) == 1
    scene.answer("OffsetCommit")
    assert scene.is_done(1) and not scene.is_done(2)
    scene.answer("OffsetCommit")
    assert [c.offsets[P0].offset for c in scene.sent(OffsetCommitRequest)] == [5, 6]


def test_M6_an_empty_commit_waits_for_those_before_it_and_sends_nothing() -> None:
    scene = Scene().stable(0)
    scene.do(asynchronous())
    scene.do(Commit({}, future_id=9, deadline_ms=60_000))
    assert not scene.is_done(9)
    scene.answer("OffsetCommit")
    assert scene.is_done(9)
    assert len(scene.sent(OffsetCommitRequest)) == 1


def test_D7_an_asynchronous_commit_finds_the_coordinator_and_fails_if_that_fails() -> None:
    scene = Scene()
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.do(asynchronous())
    scene.answer("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    assert error_of(scene, 2) == "RetriableCommitFailedError"


def test_D4_no_commit_is_sent_while_the_coordinator_is_unknown() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("NOT_COORDINATOR")
    scene.do(sync())
    assert scene.sent(OffsetCommitRequest) == []
    scene.coordinator_found()
    assert len(scene.sent(OffsetCommitRequest)) == 1


# When not
# ---------------------------------------------------------------------------------------------------------------


def test_a_commit_during_a_round_fails_without_a_request() -> None:
    for scene in (Scene().preparing(), Scene().completing()):
        scene.do(sync())
        assert error_of(scene, 1) == "RebalanceInProgressError"
        assert scene.sent(OffsetCommitRequest) == []


def test_a_commit_without_membership_fails_without_a_request() -> None:
    scene = Scene().start()
    scene.do(sync())
    assert error_of(scene, 1) == "CommitFailedError"


def test_C2_a_commit_in_the_lost_callback_fails_without_a_request() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    scene.do(CallbackStarted())
    scene.do(sync())
    assert error_of(scene, 1) == "CommitFailedError"


@pytest.mark.parametrize("generation", [1, 2])
def test_M1_who_leaves_in_a_round_commits_in_its_callback_as_who_it_still_is(generation: int) -> None:
    """Java fails it (generationIfStable). Nobody else has the partition before the round is over."""
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    if generation == 2:
        scene.join_accepted(generation)
    scene.do(Unsubscribe(3))
    scene.do(CallbackStarted())
    scene.do(sync())
    (commit,) = scene.sent(OffsetCommitRequest)
    assert (commit.generation, commit.member_id) == (generation, MEMBER)
    scene.answer("OffsetCommit")
    assert scene.is_done(1)
    scene.do(PartitionsRevoked())
    assert scene.is_done(3)


def test_a_commit_in_the_revoked_callback_works() -> None:
    scene = Scene().stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(CallbackStarted())
    scene.do(sync())
    scene.answer("OffsetCommit")
    assert scene.result(1).error is None
    scene.do(PartitionsRevoked())
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


def test_M7_no_automatic_commit_covers_a_partition_that_is_gone() -> None:
    scene = with_dirty_position(auto_commit_interval_ms=1_000)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit", "TOPIC_AUTHORIZATION_FAILED")
    scene.revoked()
    scene.join_accepted(generation=2)
    scene.sync_accepted(P1)
    scene.assigned()
    scene.committed_are(10)
    before = len(scene.sent(OffsetCommitRequest))
    scene.subscription.positions.seek(P1, 15)
    scene.pass_ms(2_000)
    assert [set(sent.offsets) for sent in scene.sent(OffsetCommitRequest)[before:]] == [{P1}]


def test_M7_what_the_application_names_is_committed_whoever_owns_it() -> None:
    scene = Scene().stable(0)
    scene.do(Commit({P2: OffsetAndMetadata(1)}, future_id=1, deadline_ms=60_000))
    (commit,) = scene.sent(OffsetCommitRequest)
    assert (commit.member_id, commit.generation, set(commit.offsets)) == (MEMBER, 1, {P2})
    scene.answer("OffsetCommit")
    assert scene.result(1).error is None


def test_a_consumer_without_a_subscription_commits_as_nobody() -> None:
    scene = Scene(group_instance_id="one")
    scene.do(Start())
    scene.do(sync())
    scene.coordinator_found()
    (commit,) = scene.sent(OffsetCommitRequest)
    assert (commit.member_id, commit.generation, commit.group_instance_id) == ("", -1, None)


def test_a_negative_offset_is_refused() -> None:
    scene = Scene().stable(0)
    scene.do(sync(offset=-1))
    assert "0 or more" in str(scene.result(1).error)


def test_a_commit_without_a_group_is_refused() -> None:
    scene = Scene(group_id=None)
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.do(sync())
    assert "group_id" in str(scene.result(1).error)


# Errors
# -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", PASSING)
def test_D3_a_waiting_commit_is_tried_again_after_the_backoff(error: str) -> None:
    scene = Scene(retry_backoff_ms=100).stable(0)
    scene.do(sync())
    scene.answer("OffsetCommit", error)
    scene.pass_ms(99)
    assert len(scene.sent(OffsetCommitRequest)) == 1
    scene.pass_ms(1)
    scene.answer("OffsetCommit")
    assert scene.result(1).error is None


@pytest.mark.parametrize("error", PASSING + GONE)
def test_an_asynchronous_commit_is_tried_once(error: str) -> None:
    scene = Scene().stable(0)
    scene.do(asynchronous())
    scene.answer("OffsetCommit", error)
    assert error_of(scene, 2) == "RetriableCommitFailedError"


@pytest.mark.parametrize("error", GONE)
def test_D1_a_waiting_commit_survives_the_loss_of_the_coordinator(error: str) -> None:
    scene = Scene(retry_backoff_ms=100).stable(0)
    scene.do(sync())
    scene.answer("OffsetCommit", error)
    assert scene.describe().connection == "COORDINATOR_DISCOVERY"
    scene.coordinator_found()
    scene.pass_ms(100)
    scene.answer("OffsetCommit")
    assert scene.result(1).error is None


def test_L2_a_waiting_commit_ends_with_its_deadline() -> None:
    scene = Scene().stable(0)
    scene.do(sync(deadline_ms=500))
    scene.do(sync(future_id=3, deadline_ms=700))
    scene.pass_ms(500)
    assert error_of(scene, 1) == "KafkaTimeoutError"
    assert not scene.is_done(3)
    scene.pass_ms(200)
    assert error_of(scene, 3) == "KafkaTimeoutError"


@pytest.mark.parametrize("error", FATAL)
def test_a_refused_commit_is_told_to_the_caller_only(error: str) -> None:
    scene = Scene().stable(0)
    scene.do(sync())
    scene.answer("OffsetCommit", error)
    assert scene.result(1).error is not None
    assert (scene.describe().rebalance, scene.errors()) == ("STABLE", [])


def test_M2_rebalance_in_progress_fails_the_commit_and_starts_the_rebalance() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(sync())
    scene.answer("OffsetCommit", "REBALANCE_IN_PROGRESS")
    assert error_of(scene, 1) == "RebalanceInProgressError"
    assert (scene.describe().rebalance, scene.describe().member_id) == ("PREPARING_REBALANCE", MEMBER)
    assert scene.describe().owned == (P0,)


@pytest.mark.parametrize(("error", "kept"), [("UNKNOWN_MEMBER_ID", ""), ("ILLEGAL_GENERATION", MEMBER)])
def test_M2_J4_a_commit_can_show_that_the_identity_is_gone(error: str, kept: str) -> None:
    scene = Scene().stable(0)
    scene.do(sync())
    scene.answer("OffsetCommit", error)
    assert error_of(scene, 1) == "CommitFailedError"
    assert (scene.describe().rebalance, scene.describe().member_id) == ("REVOKING_PARTITION", kept)
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"])
def test_J9_while_a_join_is_out_a_commits_error_does_not_touch_the_identity(error: str) -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(sync())
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit", error)
    assert scene.result(1).error is not None
    assert (scene.describe().rebalance, scene.describe().member_id) == ("PREPARING_REBALANCE", MEMBER)
    assert len(scene.sent(JoinGroupRequest)) == 1


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"])
def test_J9_an_error_about_an_identity_of_the_past_only_fails_the_commit(error: str) -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(sync())
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.sync_accepted(P0)
    scene.assigned()
    scene.answer("OffsetCommit", error)
    # that the group rebalanced is no judgement of an identity: the caller hears it as Java's does
    expected = "RebalanceInProgressError" if error == "REBALANCE_IN_PROGRESS" else "CommitFailedError"
    assert error_of(scene, 1) == expected
    assert (scene.describe().rebalance, scene.describe().generation) == ("STABLE", 2)


def test_J9_during_the_round_such_a_commit_fails_as_a_rebalance() -> None:
    scene = Scene(partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(sync())
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.join_accepted(generation=2)
    scene.answer("OffsetCommit", "ILLEGAL_GENERATION")
    assert error_of(scene, 1) == "RebalanceInProgressError"
    assert scene.describe().rebalance == "COMPLETING_REBALANCE"


@pytest.mark.parametrize(("commit", "reported"), [(sync(future_id=2), []), (asynchronous(), ["FencedInstanceIdError"])])
def test_X2_a_fenced_commit_is_raised_and_ends_the_membership(commit: Commit, reported: list[str]) -> None:
    scene = Scene(group_instance_id="one").stable(0)
    scene.do(commit)
    scene.answer("OffsetCommit", "FENCED_INSTANCE_ID")
    assert error_of(scene, 2) == "FencedInstanceIdError"
    assert scene.errors() == reported
    assert (scene.describe().rebalance, scene.describe().heartbeat) == ("REVOKING_PARTITION", "DISABLED")


# Automatic
# --------------------------------------------------------------------------------------------------------------


def test_M5_automatic_commits_keep_their_interval_and_commit_only_what_is_new() -> None:
    scene = with_dirty_position(auto_commit_interval_ms=1_000)
    scene.pass_ms(1_000)
    (commit,) = scene.sent(OffsetCommitRequest)
    assert commit.offsets == {P0: OffsetAndMetadata(12)}
    scene.pass_ms(1_500)
    assert len(scene.sent(OffsetCommitRequest)) == 1
    scene.answer("OffsetCommit")
    scene.pass_ms(5_000)
    assert len(scene.sent(OffsetCommitRequest)) == 1
    scene.subscription.positions.seek(P0, 13)
    scene.pass_ms(1_000)
    assert len(scene.sent(OffsetCommitRequest)) == 2


def test_M4_records_of_the_poll_in_progress_are_not_committed() -> None:
    scene = with_unprocessed_records(auto_commit_interval_ms=1_000)
    scene.pass_ms(1_000)
    assert scene.sent(OffsetCommitRequest) == []
    scene.poll()
    scene.pass_ms(1_000)
    assert scene.sent(OffsetCommitRequest)[0].offsets == {P0: OffsetAndMetadata(15)}


def test_M6_an_automatic_commit_does_not_rewind_the_applications_own() -> None:
    scene = with_unprocessed_records(auto_commit_interval_ms=1_000)
    scene.do(sync(offset=13))
    scene.answer("OffsetCommit")
    scene.pass_ms(2_000)
    assert len(scene.sent(OffsetCommitRequest)) == 1
    scene.poll()
    scene.pass_ms(1_000)
    assert scene.sent(OffsetCommitRequest)[-1].offsets == {P0: OffsetAndMetadata(15)}


def test_M4_the_commit_before_a_rebalance_waits_until_the_records_are_processed() -> None:
    scene = with_unprocessed_records()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "PREPARE_REVOCATION"
    assert scene.sent(OffsetCommitRequest) == []
    scene.poll()
    assert scene.sent(OffsetCommitRequest)[0].offsets == {P0: OffsetAndMetadata(15)}


@pytest.mark.parametrize("looked_for", ["to_commit", "has_unprocessed"])
def test_M8_a_poll_that_begins_as_the_rebalance_does_hides_nothing_that_is_to_be_committed(
    looked_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = with_unprocessed_records()
    positions = scene.subscription.positions
    looks: Callable[..., object] = getattr(positions, looked_for)

    def and_then_a_poll_begins(*asked: object) -> object:
        found = looks(*asked)
        positions.poll_started()
        return found

    monkeypatch.setattr(positions, looked_for, and_then_a_poll_begins)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    monkeypatch.undo()
    scene.poll()
    assert scene.sent(OffsetCommitRequest)[0].offsets == {P0: OffsetAndMetadata(15)}
    assert scene.describe().rebalance == "PREPARE_REVOCATION"


def test_M8_an_earlier_commit_that_is_heard_of_late_takes_nothing_back_before_the_revocation() -> None:
    scene = with_unprocessed_records()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.poll()
    scene.do(asynchronous(offset=12))  # asked for before that poll(), by a thread that the core has not heard since
    assert _committed(scene) == [15, 12, 15]
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_M8_what_was_chosen_since_a_commit_was_fixed_for_another_one_is_committed_before_the_revocation() -> None:
    """Schedule 111705: a commit() behind it was out of time before it was sent."""
    scene = Scene(enable_auto_commit=True).stable(0)
    positions = scene.subscription.positions
    positions.seek(P0, 12)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(asynchronous(offset=12))
    scene.answer("OffsetCommit")
    scene.do(Commit({P0: OffsetAndMetadata(12)}, 3, deadline_ms=scene.now_ms + 100))
    scene.pass_ms(100)
    positions.seek(P0, 30)
    assert _committed(scene) == [12, 12, 30]
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def _committed(scene: Scene) -> list[int]:
    """Every commit is answered, up to ten; which offsets of P0 were sent, in order."""
    for _ in range(10):
        if scene.is_waiting("OffsetCommit"):
            scene.answer("OffsetCommit")
    return [request.offsets[P0].offset for request in scene.sent(OffsetCommitRequest)]


def test_M6_an_automatic_commit_that_waits_covers_no_more_than_the_applications_behind_it() -> None:
    """Counterexample of the model commits-2: the application reads on before a coordinator is found."""
    scene = with_dirty_position()
    scene.heartbeat("NOT_COORDINATOR")
    scene.expire("auto_commit")
    scene.do(asynchronous(offset=12))
    scene.subscription.positions.seek(P0, 20)
    scene.poll()
    scene.coordinator_found()
    assert _committed(scene) == [12, 12]
    scene.expire("auto_commit")
    assert _committed(scene) == [12, 12, 20]


def test_M6_an_automatic_commit_that_is_tried_again_covers_no_more_than_the_applications_behind_it() -> None:
    scene = with_dirty_position(retry_backoff_ms=100)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(asynchronous(offset=12))
    scene.subscription.positions.seek(P0, 20)
    scene.answer("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS")
    scene.pass_ms(100)
    assert _committed(scene)[:3] == [12, 12, 12]


def test_M6_who_passes_the_commit_before_a_rebalance_also_goes_before_it() -> None:
    """It covers what is processed by the next poll.

    The application's, asked for before that, must not come after it.
    """
    scene = with_unprocessed_records()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.heartbeat("NOT_COORDINATOR")
    scene.do(asynchronous(offset=12))
    scene.poll()
    scene.coordinator_found()
    assert _committed(scene) == [12, 15]


def test_M6_who_comes_when_it_awaits_a_poll_does_not_pass_who_came_before_it_did() -> None:
    """Schedule 205893: the last commit() was sent before the commit_async() that was called first, which rewound it."""
    scene = Scene(enable_auto_commit=True, partition_assignment_strategy=COOPERATIVE).stable(0)
    scene.do(asynchronous(offset=7, future_id=1))
    scene.subscription.positions.seek(P0, 8)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.do(asynchronous(offset=8, future_id=2))
    scene.subscription.positions.seek(P0, 10)
    hand_over_records(scene)
    scene.do(asynchronous(offset=12, future_id=3))
    assert _committed(scene) == [7, 8, 12]
    scene.poll()
    assert _committed(scene) == [7, 8, 12, 15]


@pytest.mark.parametrize("error", PASSING + GONE)
def test_a_timed_commit_is_tried_again_after_the_backoff(error: str) -> None:
    scene = with_dirty_position(auto_commit_interval_ms=60_000, retry_backoff_ms=100)
    scene.expire("auto_commit")
    scene.answer("OffsetCommit", error)
    if scene.is_waiting("FindCoordinator"):
        scene.coordinator_found()
    scene.pass_ms(100)
    assert len(scene.sent(OffsetCommitRequest)) == 2
    assert scene.errors() == []


def test_M7_no_timed_commit_between_join_and_sync() -> None:
    scene = with_dirty_position(partition_assignment_strategy=COOPERATIVE, auto_commit_interval_ms=1_000)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit")
    scene.subscription.positions.seek(P0, 14)
    scene.pass_ms(2_000)
    assert len(scene.sent(OffsetCommitRequest)) == 1


def test_D1_a_timed_commit_with_manual_assignment_finds_the_coordinator() -> None:
    scene = Scene(enable_auto_commit=True, auto_commit_interval_ms=1_000)
    scene.do(Start())
    scene.do(Assign((P0,)))
    scene.subscription.positions.seek(P0, 3)
    scene.coordinator_found()
    scene.pass_ms(1_000)
    scene.answer("OffsetCommit", "NOT_COORDINATOR")
    assert scene.describe().connection == "INITIALIZED"
    scene.pass_ms(100)
    assert scene.describe().connection == "COORDINATOR_DISCOVERY"
    scene.coordinator_found()
    assert len(scene.sent(OffsetCommitRequest)) == 2


# Before a rebalance
# -----------------------------------------------------------------------------------------------------


def test_M3_a_passing_failure_is_tried_again_and_then_the_rebalance_goes_on() -> None:
    scene = with_dirty_position(retry_backoff_ms=100)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS")
    scene.poll()
    scene.poll()
    assert (scene.describe().rebalance, len(scene.sent(OffsetCommitRequest))) == ("PREPARE_REVOCATION", 1)
    scene.pass_ms(100)
    scene.answer("OffsetCommit")
    assert scene.describe().rebalance == "REVOKING_PARTITION"


@pytest.mark.parametrize("error", [*FATAL, "REBALANCE_IN_PROGRESS", TOPIC_MISSING])
def test_M3_a_fatal_failure_does_not_stop_the_rebalance(error: str) -> None:
    scene = with_dirty_position()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit", error)
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    assert scene.errors() == []


def test_M3_a_missing_topic_does_not_hide_what_the_coordinator_says_of_the_others() -> None:
    """A broker answers for topics that it does not know by itself, and the coordinator for the others."""
    scene = with_dirty_position(retry_backoff_ms=100)
    scene.subscription.positions.seek(P1, 7)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    loading = {P0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, P1: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    scene.respond("OffsetCommit", OffsetCommitResponse(loading))
    assert scene.describe().rebalance == "PREPARE_REVOCATION"
    scene.pass_ms(100)
    scene.respond("OffsetCommit", OffsetCommitResponse({P0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, P1: ErrorCode.NONE}))
    assert scene.describe().rebalance == "REVOKING_PARTITION"


def test_M3_the_time_limit_does_not_stop_the_rebalance() -> None:
    scene = with_dirty_position()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.expire("commit_deadline")
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    scene.answer("OffsetCommit", "UNKNOWN_MEMBER_ID")
    assert scene.describe().member_id == MEMBER


def test_M3_a_cooperative_member_joins_when_the_time_limit_is_over() -> None:
    scene = with_dirty_position(partition_assignment_strategy=COOPERATIVE)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.expire("commit_deadline")
    assert scene.describe().rebalance == "PREPARING_REBALANCE"


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
def test_C2_the_commit_before_the_rebalance_can_show_that_everything_is_lost(error: str) -> None:
    scene = with_dirty_position()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.answer("OffsetCommit", error)
    callback = scene.subscription.pending_callback()
    assert callback is not None and callback.kind is CallbackKind.LOST
    assert len(scene.seen(RevokePartitions)) == 1


def test_C2_losing_the_identity_ends_the_commit_before_the_rebalance() -> None:
    scene = with_dirty_position()
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.heartbeat("UNKNOWN_MEMBER_ID")
    scene.answer("OffsetCommit")
    scene.revoked()
    assert scene.describe().rebalance == "PREPARING_REBALANCE"
    assert len(scene.sent(OffsetCommitRequest)) == 1


def test_nothing_to_commit_means_no_commit() -> None:
    scene = Scene(enable_auto_commit=True).stable(0)
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    assert scene.describe().rebalance == "REVOKING_PARTITION"
    assert scene.sent(OffsetCommitRequest) == []

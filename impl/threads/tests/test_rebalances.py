"""Rebalances with two threads: what the application sees of them, and when."""

from __future__ import annotations

import pytest

from groupspec.impl.core.errors import CommitFailedError
from groupspec.impl.testing import Callback
from groupspec.impl.threads.tests.stage import Stage, partitions


def test_J7_subscribing_alone_sends_nothing() -> None:
    with Stage() as stage:
        stage.subscribe()
        stage.advance(60_000)
        assert stage.sent() == []
        assert stage.state == "UNJOINED"
        stage.poll()
        assert stage.sent() == ["FindCoordinator"]


def test_a_first_join_from_the_first_poll_to_the_first_record() -> None:
    with Stage() as stage:
        stage.joining()
        assert stage.state == "PREPARING_REBALANCE"
        stage.error("JoinGroup", "MEMBER_ID_REQUIRED")
        stage.joined()
        assert stage.state == "COMPLETING_REBALANCE"
        stage.synced(0, 1)
        assert stage.state == "ASSIGNING_PARTITIONS"
        assert stage.callbacks() == []  # the background thread has nobody to call: it waits for a poll (Q2)
        stage.poll()
        assert stage.callbacks() == [("assigned", partitions(0, 1))]
        assert stage.state == "STABLE"
        assert stage.ask(lambda consumer: consumer.assignment()) == set(partitions(0, 1))
        stage.fetched(10, 11)
        assert [record.offset for record in stage.poll()] == [10, 11]
        assert stage.ask(lambda consumer: consumer.position(partitions(0)[0])) == 12


def test_P4_a_long_poll_takes_part_in_the_rebalance_while_it_waits() -> None:
    with Stage() as stage:
        stage.subscribe()
        poll = stage.begin_poll(60_000)
        stage.found()
        stage.joined()
        stage.synced(2)
        assert stage.callbacks() == [("assigned", partitions(2))]
        assert stage.state == "STABLE"
        assert not poll.done
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        assert stage.callbacks()[1:] == [("revoked", partitions(2))]
        stage.joined()
        stage.synced(2)
        stage.fetched(10)  # O3: that was asked for in the former assignment
        assert not poll.done
        stage.fetched(10)
        assert [record.offset for record in poll.outcome()] == [10]


def test_C3_J7_eager_everything_is_revoked_inside_a_poll_before_the_join() -> None:
    with Stage() as stage:
        stage.stable(0, 1)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        assert stage.state == "REVOKING_PARTITION"
        assert "JoinGroup" not in stage.sent()
        stage.poll()
        assert stage.callbacks() == [("revoked", partitions(0, 1))]
        assert stage.is_waiting("JoinGroup")
        stage.joined()
        stage.synced(1, 2)
        stage.poll()
        assert stage.callbacks()[1:] == [("assigned", partitions(1, 2))]
        assert stage.state == "STABLE"


def test_C1_K2_cooperative_only_what_moves_is_revoked_and_a_second_round_follows() -> None:
    with Stage(cooperative=True) as stage:
        stage.stable(0, 1)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        assert stage.state == "PREPARING_REBALANCE"
        assert stage.ask(lambda consumer: consumer.assignment()) == set(partitions(0, 1))
        stage.joined()
        stage.synced(0)
        assert stage.state == "REVOKING_PARTITION"
        stage.poll()
        assert stage.callbacks() == [("revoked", partitions(1))]
        assert stage.state == "ASSIGNING_PARTITIONS"
        stage.poll()
        assert stage.callbacks()[1:] == [("assigned", ())]
        assert stage.state == "PREPARING_REBALANCE"  # K2: what was let go of can go to another member now
        stage.joined()
        stage.synced(0)
        stage.poll()
        assert stage.state == "STABLE"


@pytest.mark.parametrize("cooperative", [False, True])
def test_C2_lost_membership_is_told_as_lost_and_the_member_joins_again(cooperative: bool) -> None:
    with Stage(cooperative=cooperative) as stage:
        stage.stable(0, 1)
        stage.heartbeat("UNKNOWN_MEMBER_ID")
        assert stage.sent() == ["Heartbeat"]
        stage.poll()
        assert stage.callbacks() == [("lost", partitions(0, 1))]
        assert stage.ask(lambda consumer: consumer.assignment()) == set()
        assert stage.sent() == ["Heartbeat", "JoinGroup"]


def test_a_revocation_that_nobody_has_started_becomes_a_loss() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.heartbeat("UNKNOWN_MEMBER_ID")
        stage.poll()
        assert stage.callbacks() == [("lost", partitions(0))]


def test_a_revocation_that_runs_stays_one_whatever_is_lost_meanwhile() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.listener.park = True
        stage.begin_poll(0)
        stage.heartbeat("UNKNOWN_MEMBER_ID")
        stage.listener.park = False
        stage.release()
        stage.poll()
        assert stage.callbacks() == [("revoked", partitions(0))]
        assert stage.is_waiting("JoinGroup")


def test_H1_heartbeats_go_on_while_a_callback_runs() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.listener.park = True
        poll = stage.begin_poll(0)
        for _ in range(3):
            stage.advance(3_000)
            stage.error("Heartbeat", "NONE")
        assert not poll.done
        assert stage.listener.inside == Callback("revoked", partitions(0))
        stage.listener.park = False
        stage.release()
        assert poll.outcome() == []
        assert stage.state == "PREPARING_REBALANCE"


def test_C4_what_the_listener_raises_comes_out_of_the_poll_and_the_rebalance_goes_on() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.listener.park = True
        poll = stage.begin_poll(0)
        stage.listener.park = False
        stage.release(ZeroDivisionError("of all things"))
        with pytest.raises(ZeroDivisionError) as caught:
            poll.outcome()
        assert caught.value.__notes__ == ["raised by the rebalance listener; the rebalance went on"]
        assert stage.state == "PREPARING_REBALANCE"
        stage.joined()
        stage.synced(0)
        stage.poll()
        assert stage.state == "STABLE"


def test_C5_position_seek_pause_and_commit_work_inside_callbacks() -> None:
    done: list[object] = []
    with Stage() as stage:
        partition = partitions(0)[0]

        def use_everything(callback: Callback) -> None:
            consumer = stage.consumer
            if callback.kind == "assigned":
                done.append(consumer.position(partition))
                consumer.seek(partition, 40)
                consumer.pause([partition])
                done.append(consumer.paused())
            else:
                consumer.commit({partition: 41})
                done.append("committed")

        stage.listener.during = use_everything
        stage.joining()
        stage.joined()
        stage.synced(0)
        stage.poll()
        assert done == [10, {partition}]
        assert stage.describe().partitions[partition].position == 40
        assert stage.describe().partitions[partition].state == "PAUSED"
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        poll = stage.begin_poll(0)
        assert stage.state == "REVOKING_PARTITION"
        stage.error("OffsetCommit", "NONE")
        assert done[2:] == ["committed"]
        assert poll.outcome() == []
        assert stage.state == "PREPARING_REBALANCE"


def test_C2_a_commit_inside_lost_fails_without_a_request() -> None:
    failures: list[Exception] = []
    with Stage() as stage:
        stage.stable(0)

        def commit(callback: Callback) -> None:
            try:
                stage.consumer.commit({callback.partitions[0]: 41})
            except CommitFailedError as error:
                failures.append(error)

        stage.listener.during = commit
        stage.heartbeat("UNKNOWN_MEMBER_ID")
        stage.poll()
        assert len(failures) == 1
        assert "OffsetCommit" not in stage.sent()


@pytest.mark.parametrize("call", ["poll", "unsubscribe", "close"])
def test_calls_that_would_wait_for_their_own_callback_are_refused(call: str) -> None:
    with Stage() as stage:

        def misuse(_: Callback) -> None:
            getattr(stage.consumer, call)()

        stage.listener.during = misuse
        stage.joining()
        stage.joined()
        stage.synced(0)
        with pytest.raises(Exception, match=r"inside a rebalance callback would wait for that callback"):
            stage.poll()
        stage.listener.during = None
        stage.poll()
        assert stage.state == "STABLE"


def test_P2_a_poll_that_waits_keeps_the_poll_interval_from_running_out() -> None:
    with Stage(max_poll_interval_ms=6_000, session_timeout_ms=60_000, heartbeat_interval_ms=50_000) as stage:
        stage.stable(0)
        poll = stage.begin_poll(30_000)
        stage.advance(29_000)
        assert "LeaveGroup" not in stage.sent()
        stage.advance(1_000)
        assert poll.outcome() == []


def test_P1_P3_an_application_that_does_not_poll_leaves_and_is_told_at_its_next_poll() -> None:
    with Stage(max_poll_interval_ms=6_000, session_timeout_ms=60_000, heartbeat_interval_ms=50_000) as stage:
        stage.stable(0)
        stage.advance(6_000)
        assert stage.sent() == ["LeaveGroup"]
        assert stage.callbacks() == []
        stage.poll()
        assert stage.callbacks() == [("lost", partitions(0))]
        assert stage.sent() == ["LeaveGroup", "JoinGroup"]


def test_X2_errors_of_the_group_come_out_of_polls_one_each_and_the_next_poll_tries_again() -> None:
    with Stage() as stage:
        stage.joining()
        stage.error("JoinGroup", "GROUP_AUTHORIZATION_FAILED")
        with pytest.raises(Exception, match="GROUP_AUTHORIZATION_FAILED"):
            stage.poll()
        assert not stage.is_waiting("JoinGroup")  # the poll that told it does nothing else
        stage.poll()
        assert stage.is_waiting("JoinGroup")
        stage.joined()
        stage.synced(0)
        stage.poll()
        assert stage.state == "STABLE"

"""Rebalances with two threads: what the application sees of them, and when."""

from __future__ import annotations

import pytest

from groupspec.impl.core.errors import CommitFailedError
from groupspec.impl.testing import Callback
from groupspec.impl.threads.designs import Design
from groupspec.impl.threads.tests.scripted_consumer import ScriptedConsumer, partitions


def test_J7_subscribing_alone_sends_nothing() -> None:
    with ScriptedConsumer() as driven:
        driven.subscribe()
        driven.advance(60_000)
        assert driven.sent() == []
        assert driven.state == "UNJOINED"
        driven.poll()
        assert driven.sent() == ["FindCoordinator"]


def test_a_first_join_from_the_first_poll_to_the_first_record() -> None:
    with ScriptedConsumer() as driven:
        driven.joining()
        assert driven.state == "PREPARING_REBALANCE"
        driven.error("JoinGroup", "MEMBER_ID_REQUIRED")
        driven.joined()
        assert driven.state == "COMPLETING_REBALANCE"
        driven.synced(0, 1)
        assert driven.state == "ASSIGNING_PARTITIONS"
        assert driven.callbacks() == []  # the background thread has nobody to call: it waits for a poll (Q2)
        driven.poll()
        assert driven.callbacks() == [("assigned", partitions(0, 1))]
        assert driven.state == "STABLE"
        assert driven.ask(lambda consumer: consumer.assignment()) == set(partitions(0, 1))
        driven.fetched(10, 11)
        assert [record.offset for record in driven.poll()] == [10, 11]
        assert driven.ask(lambda consumer: consumer.position(partitions(0)[0])) == 12


def test_P4_a_long_poll_takes_part_in_the_rebalance_while_it_waits() -> None:
    with ScriptedConsumer() as driven:
        driven.subscribe()
        poll = driven.begin_poll(60_000)
        driven.found()
        driven.joined()
        driven.synced(2)
        assert driven.callbacks() == [("assigned", partitions(2))]
        assert driven.state == "STABLE"
        assert not poll.done
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        assert driven.callbacks()[1:] == [("revoked", partitions(2))]
        driven.joined()
        driven.synced(2)
        driven.fetched(10)  # O3: that was asked for in the former assignment
        assert not poll.done
        driven.fetched(10)
        assert [record.offset for record in poll.outcome()] == [10]


def test_C3_J7_eager_everything_is_revoked_inside_a_poll_before_the_join() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0, 1)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        assert driven.state == "REVOKING_PARTITION"
        assert "JoinGroup" not in driven.sent()
        driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0, 1))]
        assert driven.is_waiting("JoinGroup")
        driven.joined()
        driven.synced(1, 2)
        driven.poll()
        assert driven.callbacks()[1:] == [("assigned", partitions(1, 2))]
        assert driven.state == "STABLE"


def test_C1_K2_cooperative_only_what_moves_is_revoked_and_a_second_round_follows(design: Design) -> None:
    with ScriptedConsumer(cooperative=True) as driven:
        driven.stable(0, 1)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        assert driven.state == "PREPARING_REBALANCE"
        assert driven.ask(lambda consumer: consumer.assignment()) == set(partitions(0, 1))
        driven.joined()
        driven.synced(0)
        assert driven.state == "REVOKING_PARTITION"
        driven.poll()
        assert driven.callbacks()[:1] == [("revoked", partitions(1))]
        if design == "background":  # its thread has still to take the revocation's end when the poll is over
            assert driven.state == "ASSIGNING_PARTITIONS"
            driven.poll()
        assert driven.callbacks()[1:] == [("assigned", ())]
        assert driven.state == "PREPARING_REBALANCE"  # K2: what was let go of can go to another member now
        driven.joined()
        driven.synced(0)
        driven.poll()
        assert driven.state == "STABLE"


@pytest.mark.parametrize("cooperative", [False, True])
def test_C2_lost_membership_is_told_as_lost_and_the_member_joins_again(cooperative: bool) -> None:
    with ScriptedConsumer(cooperative=cooperative) as driven:
        driven.stable(0, 1)
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        assert driven.sent() == ["Heartbeat"]
        driven.poll()
        assert driven.callbacks() == [("lost", partitions(0, 1))]
        assert driven.ask(lambda consumer: consumer.assignment()) == set()
        assert driven.sent() == ["Heartbeat", "JoinGroup"]


def test_a_revocation_that_nobody_has_started_becomes_a_loss() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        driven.poll()
        driven.poll()
        assert driven.callbacks() == [("lost", partitions(0))]


def test_a_revocation_that_runs_stays_one_whatever_is_lost_meanwhile() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.listener.park = True
        driven.begin_poll(0)
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        driven.listener.park = False
        driven.release()
        driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.is_waiting("JoinGroup")


def test_H1_heartbeats_go_on_while_a_callback_runs() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.listener.park = True
        poll = driven.begin_poll(0)
        for _ in range(3):
            driven.advance(3_000)
            driven.error("Heartbeat", "NONE")
        assert not poll.done
        assert driven.listener.inside == Callback("revoked", partitions(0))
        driven.listener.park = False
        driven.release()
        assert poll.outcome() == []
        assert driven.state == "PREPARING_REBALANCE"


def test_C4_what_the_listener_raises_comes_out_of_the_poll_and_the_rebalance_goes_on() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.listener.park = True
        poll = driven.begin_poll(0)
        driven.listener.park = False
        driven.release(ZeroDivisionError("of all things"))
        with pytest.raises(ZeroDivisionError) as caught:
            poll.outcome()
        assert caught.value.__notes__ == ["raised by the rebalance listener; the rebalance went on"]
        assert driven.state == "PREPARING_REBALANCE"
        driven.joined()
        driven.synced(0)
        driven.poll()
        assert driven.state == "STABLE"


def test_C5_position_seek_pause_and_commit_work_inside_callbacks() -> None:
    done: list[object] = []
    with ScriptedConsumer() as driven:
        partition = partitions(0)[0]

        def use_everything(callback: Callback) -> None:
            consumer = driven.consumer
            if callback.kind == "assigned":
                done.append(consumer.position(partition))
                consumer.seek(partition, 40)
                consumer.pause([partition])
                done.append(consumer.paused())
            else:
                consumer.commit({partition: 41})
                done.append("committed")

        driven.listener.during = use_everything
        driven.joining()
        driven.joined()
        driven.synced(0)
        driven.poll()
        assert done == [10, {partition}]
        assert driven.describe().partitions[partition].position == 40
        assert driven.describe().partitions[partition].state == "PAUSED"
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        poll = driven.begin_poll(0)
        assert driven.state == "REVOKING_PARTITION"
        driven.error("OffsetCommit", "NONE")
        assert done[2:] == ["committed"]
        assert poll.outcome() == []
        assert driven.state == "PREPARING_REBALANCE"


def test_C2_a_commit_inside_lost_fails_without_a_request() -> None:
    failures: list[Exception] = []
    with ScriptedConsumer() as driven:
        driven.stable(0)

        def commit(callback: Callback) -> None:
            try:
                driven.consumer.commit({callback.partitions[0]: 41})
            except CommitFailedError as error:
                failures.append(error)

        driven.listener.during = commit
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        driven.poll()
        assert len(failures) == 1
        assert "OffsetCommit" not in driven.sent()


@pytest.mark.parametrize("call", ["poll", "unsubscribe", "close"])
def test_calls_that_would_wait_for_their_own_callback_are_refused(call: str) -> None:
    with ScriptedConsumer() as driven:

        def misuse(_: Callback) -> None:
            getattr(driven.consumer, call)()

        driven.listener.during = misuse
        driven.joining()
        driven.joined()
        driven.synced(0)
        with pytest.raises(Exception, match=r"inside a rebalance callback would wait for that callback"):
            driven.poll()
        driven.listener.during = None
        driven.poll()
        assert driven.state == "STABLE"


def test_P2_a_poll_that_waits_keeps_the_poll_interval_from_running_out() -> None:
    with ScriptedConsumer(
        max_poll_interval_ms=6_000, session_timeout_ms=60_000, heartbeat_interval_ms=50_000
    ) as driven:
        driven.stable(0)
        poll = driven.begin_poll(30_000)
        driven.advance(29_000)
        assert "LeaveGroup" not in driven.sent()
        driven.advance(1_000)
        assert poll.outcome() == []


def test_P1_P3_an_application_that_does_not_poll_leaves_and_is_told_at_its_next_poll() -> None:
    with ScriptedConsumer(
        max_poll_interval_ms=6_000, session_timeout_ms=60_000, heartbeat_interval_ms=50_000
    ) as driven:
        driven.stable(0)
        driven.advance(6_000)
        assert driven.sent() == ["LeaveGroup"]
        assert driven.callbacks() == []
        driven.poll()
        assert driven.callbacks() == [("lost", partitions(0))]
        assert driven.sent() == ["LeaveGroup", "JoinGroup"]


def test_C1_who_left_before_it_was_told_of_its_partitions_hears_nothing_of_them() -> None:
    """As Java's classic consumer: by now they may be another member's."""
    with ScriptedConsumer(
        max_poll_interval_ms=6_000, session_timeout_ms=60_000, heartbeat_interval_ms=50_000
    ) as driven:
        driven.joining()
        driven.joined()
        driven.synced(0, 1)
        driven.advance(6_000)
        assert driven.sent()[-1] == "LeaveGroup"
        driven.poll()
        driven.poll()  # in the background design the core hears of the first one's answers when it has returned
        assert driven.callbacks() == []
        assert driven.sent()[-1] == "JoinGroup"
        driven.joined()
        driven.synced(1)
        driven.poll()
        assert driven.callbacks() == [("assigned", partitions(1))]


def test_C1_of_what_is_lost_the_listener_hears_what_it_was_told_of() -> None:
    with ScriptedConsumer(cooperative=True) as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.joined()
        driven.synced(0, 1)
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        driven.poll()
        driven.poll()
        assert driven.callbacks() == [("lost", partitions(0))]


def test_X2_errors_of_the_group_come_out_of_polls_one_each_and_the_next_poll_tries_again() -> None:
    with ScriptedConsumer() as driven:
        driven.joining()
        driven.error("JoinGroup", "GROUP_AUTHORIZATION_FAILED")
        with pytest.raises(Exception, match="GROUP_AUTHORIZATION_FAILED"):
            driven.poll()
        assert not driven.is_waiting("JoinGroup")  # the poll that told it does nothing else
        driven.poll()
        assert driven.is_waiting("JoinGroup")
        driven.joined()
        driven.synced(0)
        driven.poll()
        assert driven.state == "STABLE"

"""close(), from every phase: bounded, once, with everything answered."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import ConsumerClosedError, KafkaError
from groupspec.impl.core.events import Fetch, SendRequest, Unsubscribe
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse, OffsetAndMetadata, OffsetCommitRequest
from groupspec.impl.testing import Call, CallThread
from groupspec.impl.threads.tests.stage import Stage, partitions


def begin_close(stage: Stage, timeout_ms: int = 2_000) -> Call[None]:
    return stage.begin(lambda consumer: consumer.close(timeout_ms))


def subscribed(stage: Stage) -> None:
    stage.subscribe()


def discovering(stage: Stage) -> None:
    stage.subscribe()
    stage.poll()


def preparing(stage: Stage) -> None:
    stage.joining()


def completing(stage: Stage) -> None:
    stage.joining().joined()


def assigning(stage: Stage) -> None:
    completing(stage)
    stage.synced(0)


def stable(stage: Stage) -> None:
    stage.stable(0)


def revoking(stage: Stage) -> None:
    stage.stable(0)
    stage.heartbeat("REBALANCE_IN_PROGRESS")


def committing(stage: Stage) -> None:
    stage.stable(0)
    stage.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}))


def losing(stage: Stage) -> None:
    stage.stable(0)
    stage.heartbeat("UNKNOWN_MEMBER_ID")


def heartbeating(stage: Stage) -> None:
    stage.stable(0)
    stage.expire("heartbeat")


PHASES = [subscribed, discovering, preparing, completing, assigning, stable, revoking, committing, losing, heartbeating]
MEMBERS = (completing, assigning, stable, revoking, committing, heartbeating)


@pytest.mark.parametrize("phase", PHASES)
def test_L2_close_ends_in_its_time_from_every_phase_though_nobody_answers(phase: Callable[[Stage], None]) -> None:
    with Stage() as stage:
        phase(stage)
        close = begin_close(stage)
        stage.advance(2_000)
        assert close.done
        close.outcome()
        assert stage.transport.closed
        assert stage.describe().connection == "DOWN"
        assert stage.describe().timers_ms == {}
        assert stage.sent().count("LeaveGroup") == (1 if phase in MEMBERS else 0)  # L1


@pytest.mark.parametrize("phase", PHASES)
def test_L1_close_without_any_time_still_says_good_bye(phase: Callable[[Stage], None]) -> None:
    with Stage() as stage:
        phase(stage)
        close = begin_close(stage, 0)
        close.outcome()
        assert stage.sent().count("LeaveGroup") == (1 if phase in MEMBERS else 0)


def test_C7_the_callback_runs_before_the_good_bye() -> None:
    with Stage() as stage:
        stage.stable(0, 1)
        stage.listener.park = True
        close = begin_close(stage)
        assert stage.listener.inside is not None
        assert "LeaveGroup" not in stage.sent()
        stage.listener.park = False
        stage.release()
        assert stage.callbacks() == [("revoked", partitions(0, 1))]
        stage.error("LeaveGroup", "NONE")
        close.outcome()


def test_L5_close_commits_what_was_returned_last() -> None:
    with Stage(enable_auto_commit=True) as stage:
        stage.stable(0)
        stage.fetched(10, 11)
        stage.poll()
        close = begin_close(stage)
        request = stage.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(12)}
        assert stage.callbacks() == []
        stage.error("OffsetCommit", "NONE")
        assert stage.callbacks() == [("revoked", partitions(0))]
        stage.error("LeaveGroup", "NONE")
        close.outcome()


def test_T4_L5_a_wakeup_before_close_does_not_take_the_last_commit_away() -> None:
    with Stage(enable_auto_commit=True) as stage:
        stage.stable(0)
        stage.fetched(10)
        stage.poll()
        stage.consumer.wakeup()
        close = begin_close(stage)
        stage.error("OffsetCommit", "NONE")
        stage.error("LeaveGroup", "NONE")
        close.outcome()


def test_C4_close_does_everything_before_it_raises_what_the_listener_raised() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.listener.park = True
        close = begin_close(stage)
        stage.listener.park = False
        stage.release(ZeroDivisionError("of all things"))
        stage.error("LeaveGroup", "NONE")
        with pytest.raises(ZeroDivisionError):
            close.outcome()
        assert stage.transport.closed


def test_L4_a_second_close_changes_nothing_and_other_calls_are_refused() -> None:
    with Stage() as stage:
        stage.stable(0)
        close = begin_close(stage)
        stage.error("LeaveGroup", "NONE")
        close.outcome()
        begin_close(stage).outcome()
        with pytest.raises(ConsumerClosedError):
            stage.poll()
        assert stage.sent().count("LeaveGroup") == 1


def test_L4_two_threads_close_and_one_good_bye_is_said() -> None:
    with Stage() as stage:
        stage.stable(0)
        first = begin_close(stage, 60_000)
        second = CallThread(stage.runtime, "second").begin(lambda: stage.consumer.close(60_000))
        stage.settle()
        assert not first.done
        assert not second.done
        stage.error("LeaveGroup", "NONE")
        first.outcome()
        second.outcome()
        assert stage.sent().count("LeaveGroup") == 1


def test_close_from_another_thread_ends_the_poll_that_waits() -> None:
    with Stage() as stage:
        stage.stable(0)
        poll = stage.begin_poll(60_000)
        close = CallThread(stage.runtime, "second").begin(lambda: stage.consumer.close(2_000))
        stage.settle()
        with pytest.raises(ConsumerClosedError, match="during this call"):
            poll.outcome()
        assert stage.callbacks() == [("revoked", partitions(0))]
        stage.error("LeaveGroup", "NONE")
        close.outcome()


def test_L2_close_does_not_wait_for_another_threads_callback_longer_than_its_time() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.listener.park = True
        poll = stage.begin_poll(0)
        close = CallThread(stage.runtime, "second").begin(lambda: stage.consumer.close(2_000))
        stage.settle()
        assert not close.done
        stage.advance(2_000)
        close.outcome()
        assert stage.sent()[-1] == "LeaveGroup"
        stage.release()
        with pytest.raises(ConsumerClosedError):
            poll.outcome()


def test_Q1_a_commit_under_way_is_answered_and_its_callback_runs_before_close_returns() -> None:
    told: list[Exception | None] = []
    with Stage() as stage:
        stage.stable(0)
        stage.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}, lambda _, error: told.append(error)))
        close = begin_close(stage)
        stage.advance(2_000)
        close.outcome()
        assert len(told) == 1
        assert told[0] is not None


def test_H6_close_works_although_the_background_thread_has_died() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.answer(10**9, HeartbeatResponse(ErrorCode.NONE))
        close = begin_close(stage)
        stage.error("LeaveGroup", "NONE")
        with pytest.raises(Exception, match="10"):
            close.outcome()
        assert stage.callbacks() == [("revoked", partitions(0))]
        assert stage.transport.closed


def test_a_commit_callback_may_close_and_ends_the_poll_around_it() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}, lambda *_: consumer.close(2_000)))
        poll = stage.begin_poll(60_000)
        stage.error("OffsetCommit", "NONE")
        stage.error("LeaveGroup", "NONE")
        with pytest.raises(ConsumerClosedError, match="during this call"):
            poll.outcome()


def test_nothing_is_sent_after_close() -> None:
    with Stage(enable_auto_commit=True) as stage:
        stage.stable(0)
        close = begin_close(stage)
        stage.error("LeaveGroup", "NONE")
        close.outcome()
        sent = len([output for output in stage.driver.outputs if isinstance(output, SendRequest)])
        stage.advance(600_000)
        assert len([output for output in stage.driver.outputs if isinstance(output, SendRequest)]) == sent


def test_a_consumer_closes_itself_at_the_end_of_its_block() -> None:
    with Stage() as stage:
        with stage.consumer:
            pass
        assert stage.transport.closed


def test_M4_a_block_that_raises_does_not_commit_what_it_has_not_processed() -> None:
    def application(consumer: Consumer) -> None:
        with consumer:
            consumer.poll(0)  # 10 and 11
            consumer.poll(0)  # those are processed; here are 12 and 13
            raise ZeroDivisionError("in the middle of the second two")

    with Stage(enable_auto_commit=True, max_poll_records=2) as stage:
        stage.stable(0)
        stage.fetched(10, 11, 12, 13)
        work = stage.begin(application)
        request = stage.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(12)}
        stage.error("OffsetCommit", "NONE")
        stage.error("LeaveGroup", "NONE")
        with pytest.raises(ZeroDivisionError):
            work.outcome()


def test_M4_a_block_that_ends_well_commits_all_that_it_was_given() -> None:
    def application(consumer: Consumer) -> None:
        with consumer:
            consumer.poll(0)

    with Stage(enable_auto_commit=True) as stage:
        stage.stable(0)
        stage.fetched(10, 11)
        work = stage.begin(application)
        request = stage.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(12)}
        stage.error("OffsetCommit", "NONE")
        stage.error("LeaveGroup", "NONE")
        work.outcome()


@pytest.mark.parametrize("seed", range(60))
def test_L2_no_call_hangs_whenever_another_thread_closes_without_waiting(seed: int) -> None:
    """unsubscribe() and assign() wait for what a consumer that has been closed does not do any more."""
    schedule = [random.Random(seed).randrange(4) for _ in range(200)]
    for call in (lambda consumer: consumer.unsubscribe(), lambda consumer: consumer.commit_async()):
        with Stage(schedule) as stage:
            stage.stable(0)
            close = CallThread(stage.runtime, "second").begin(lambda: stage.consumer.close(0))
            under_way = stage.begin(call)
            stage.advance(120_000)
            assert under_way.done
            assert close.done


def test_L2_whoever_asks_after_the_end_is_answered_at_once() -> None:
    """As unsubscribe() does whose thread got no turn between its first look and its question."""
    with Stage() as stage:
        stage.stable(0)
        stage.driver.shut_down(stage.runtime.now_ms())
        future = stage.driver.call(Unsubscribe)
        assert future.done
        with pytest.raises(ConsumerClosedError):
            future.outcome()
        assert stage.driver.settle(stage.runtime.now_ms() + 60_000)


def commit_and_tell(told: list[int], number: int, consumer: Consumer) -> None:
    consumer.commit_async({}, lambda *_: told.append(number))


@pytest.mark.parametrize("seed", range(40))
def test_T2_two_threads_run_each_callback_once_while_a_consumer_is_closed_around_a_stuck_one(seed: int) -> None:
    schedule = [random.Random(seed).randrange(4) for _ in range(300)]
    told: list[int] = []
    with Stage(schedule) as stage:
        stage.stable(0)
        for number in range(4):
            stage.call(partial(commit_and_tell, told, number))
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.listener.park = True
        stage.begin_poll(0)
        close = CallThread(stage.runtime, "second").begin(lambda: stage.consumer.close(1_000))
        stage.settle()
        stage.advance(1_000)
        close.outcome()
        stage.release()
        assert told == [0, 1, 2, 3]


def test_H6_whatever_ends_the_background_thread_the_next_call_hears_of_it_and_close_ends() -> None:
    with Stage() as stage:
        stage.stable(0)
        handle = stage.core.handle

        def exits(event: object, now_ms: int) -> object:
            stage.core.handle = handle  # type: ignore[method-assign]
            raise SystemExit("not a good idea in a trace sink")

        stage.core.handle = exits  # type: ignore[assignment, method-assign]
        with pytest.raises(SystemExit):
            stage.submit(Fetch())
        assert not stage.driver.is_running()
        with pytest.raises(KafkaError, match="background thread was ended by SystemExit"):
            stage.call(lambda consumer: consumer.commit_async({}))
        stage.call(lambda consumer: consumer.commit_async({}))
        assert stage.driver.is_running()
        close = begin_close(stage)
        stage.error("LeaveGroup", "NONE")
        close.outcome()


def test_L4_the_thread_is_woken_and_joined_before_its_network_goes() -> None:
    with Stage() as stage:
        before_ms = stage.runtime.now_ms()
        close = stage.transport.close
        running: list[bool] = []

        def watched(timeout_ms: int) -> None:
            running.append(stage.driver.is_running())
            close(timeout_ms)

        stage.transport.close = watched  # type: ignore[method-assign]
        stage.driver.shut_down(before_ms)
        assert running == [False]
        assert stage.runtime.now_ms() == before_ms

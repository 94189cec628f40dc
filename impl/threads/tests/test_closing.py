"""close(), from every phase: bounded, once, with everything answered."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import ConsumerClosedError, GroupAuthorizationError
from groupspec.impl.core.events import SendRequest, Unsubscribe
from groupspec.impl.core.messages import OffsetAndMetadata, OffsetCommitRequest
from groupspec.impl.scripted import api_of
from groupspec.impl.testing import Call, Callback, CallThread
from groupspec.impl.threads.tests.scripted_consumer import ScriptedConsumer, partitions


def begin_close(driven: ScriptedConsumer, timeout_ms: int = 2_000) -> Call[None]:
    return driven.begin(lambda consumer: consumer.close(timeout_ms))


def subscribed(driven: ScriptedConsumer) -> None:
    driven.subscribe()


def discovering(driven: ScriptedConsumer) -> None:
    driven.subscribe()
    driven.poll()


def preparing(driven: ScriptedConsumer) -> None:
    driven.joining()


def completing(driven: ScriptedConsumer) -> None:
    driven.joining().joined()


def assigning(driven: ScriptedConsumer) -> None:
    completing(driven)
    driven.synced(0)


def stable(driven: ScriptedConsumer) -> None:
    driven.stable(0)


def revoking(driven: ScriptedConsumer) -> None:
    driven.stable(0)
    driven.heartbeat("REBALANCE_IN_PROGRESS")


def committing(driven: ScriptedConsumer) -> None:
    driven.stable(0)
    driven.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}))


def losing(driven: ScriptedConsumer) -> None:
    driven.stable(0)
    driven.heartbeat("UNKNOWN_MEMBER_ID")


def heartbeating(driven: ScriptedConsumer) -> None:
    driven.stable(0)
    driven.expire("heartbeat")


PHASES = [subscribed, discovering, preparing, completing, assigning, stable, revoking, committing, losing, heartbeating]
MEMBERS = (completing, assigning, stable, revoking, committing, heartbeating)


@pytest.mark.parametrize("phase", PHASES)
def test_L2_close_ends_in_its_time_from_every_phase_though_nobody_answers(
    phase: Callable[[ScriptedConsumer], None],
) -> None:
    with ScriptedConsumer() as driven:
        phase(driven)
        close = begin_close(driven)
        driven.advance(2_000)
        assert close.done
        close.outcome()
        assert driven.transport.closed
        assert driven.describe().connection == "DOWN"
        assert driven.describe().timers_ms == {}
        assert driven.sent().count("LeaveGroup") == (1 if phase in MEMBERS else 0)  # L1


@pytest.mark.parametrize("phase", PHASES)
def test_L1_close_without_any_time_still_says_good_bye(phase: Callable[[ScriptedConsumer], None]) -> None:
    with ScriptedConsumer() as driven:
        phase(driven)
        close = begin_close(driven, 0)
        close.outcome()
        assert driven.sent().count("LeaveGroup") == (1 if phase in MEMBERS else 0)


def test_C7_the_callback_runs_before_the_good_bye() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0, 1)
        driven.listener.park = True
        close = begin_close(driven)
        assert driven.listener.inside is not None
        assert "LeaveGroup" not in driven.sent()
        driven.listener.park = False
        driven.release()
        assert driven.callbacks() == [("revoked", partitions(0, 1))]
        driven.error("LeaveGroup", "NONE")
        close.outcome()


def test_L5_close_commits_what_was_returned_last() -> None:
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.poll()
        close = begin_close(driven)
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(12)}
        assert driven.callbacks() == []
        driven.error("OffsetCommit", "NONE")
        assert driven.callbacks() == [("revoked", partitions(0))]
        driven.error("LeaveGroup", "NONE")
        close.outcome()


def test_T4_L5_a_wakeup_before_close_does_not_take_the_last_commit_away() -> None:
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        driven.fetched(10)
        driven.poll()
        driven.consumer.wakeup()
        close = begin_close(driven)
        driven.error("OffsetCommit", "NONE")
        driven.error("LeaveGroup", "NONE")
        close.outcome()


def test_C4_close_does_everything_before_it_raises_what_the_listener_raised() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.listener.park = True
        close = begin_close(driven)
        driven.listener.park = False
        driven.release(ZeroDivisionError("of all things"))
        driven.error("LeaveGroup", "NONE")
        with pytest.raises(ZeroDivisionError):
            close.outcome()
        assert driven.transport.closed


@pytest.mark.parametrize("last_call", [Consumer.close, Consumer.unsubscribe])
def test_what_the_next_poll_would_have_raised_comes_out_of_the_last_call(last_call: Callable[[Consumer], None]) -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("GROUP_AUTHORIZATION_FAILED")
        call = driven.begin(last_call)
        driven.error("LeaveGroup", "NONE")
        with pytest.raises(GroupAuthorizationError):
            call.outcome()
        assert driven.listener.calls[-1] == Callback("revoked", partitions(0))


def test_L4_a_second_close_changes_nothing_and_other_calls_are_refused() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        close = begin_close(driven)
        driven.error("LeaveGroup", "NONE")
        close.outcome()
        begin_close(driven).outcome()
        with pytest.raises(ConsumerClosedError):
            driven.poll()
        assert driven.sent().count("LeaveGroup") == 1


def test_L4_two_threads_close_and_one_good_bye_is_said() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        first = begin_close(driven, 60_000)
        second = CallThread(driven.runtime, "second").begin(lambda: driven.consumer.close(60_000))
        driven.settle()
        assert not first.done
        assert not second.done
        driven.error("LeaveGroup", "NONE")
        first.outcome()
        second.outcome()
        assert driven.sent().count("LeaveGroup") == 1


def test_close_from_another_thread_ends_the_poll_that_waits() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        close = CallThread(driven.runtime, "second").begin(lambda: driven.consumer.close(2_000))
        driven.settle()
        with pytest.raises(ConsumerClosedError, match="during this call"):
            poll.outcome()
        assert driven.callbacks() == [("revoked", partitions(0))]
        driven.error("LeaveGroup", "NONE")
        close.outcome()


def test_L2_close_does_not_wait_for_another_threads_callback_longer_than_its_time() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.listener.park = True
        poll = driven.begin_poll(0)
        close = CallThread(driven.runtime, "second").begin(lambda: driven.consumer.close(2_000))
        driven.settle()
        assert not close.done
        driven.advance(2_000)
        close.outcome()
        assert driven.sent()[-1] == "LeaveGroup"
        driven.release()
        with pytest.raises(ConsumerClosedError):
            poll.outcome()


def test_Q1_a_commit_under_way_is_answered_and_its_callback_runs_before_close_returns() -> None:
    told: list[Exception | None] = []
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}, lambda _, error: told.append(error)))
        close = begin_close(driven)
        driven.advance(2_000)
        close.outcome()
        assert len(told) == 1
        assert told[0] is not None


def test_a_commit_callback_may_close_and_ends_the_poll_around_it() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}, lambda *_: consumer.close(2_000)))
        poll = driven.begin_poll(60_000)
        driven.error("OffsetCommit", "NONE")
        driven.error("LeaveGroup", "NONE")
        with pytest.raises(ConsumerClosedError, match="during this call"):
            poll.outcome()


def test_nothing_is_sent_after_close() -> None:
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        close = begin_close(driven)
        driven.error("LeaveGroup", "NONE")
        close.outcome()
        sent = len([output for output in driven.driver.outputs if isinstance(output, SendRequest)])
        driven.advance(600_000)
        assert len([output for output in driven.driver.outputs if isinstance(output, SendRequest)]) == sent


def test_a_consumer_closes_itself_at_the_end_of_its_block() -> None:
    with ScriptedConsumer() as driven:
        with driven.consumer:
            pass
        assert driven.transport.closed


def test_M4_a_block_that_raises_does_not_commit_what_it_has_not_processed() -> None:
    def application(consumer: Consumer) -> None:
        with consumer:
            consumer.poll(0)  # 10 and 11
            consumer.poll(0)  # those are processed; here are 12 and 13
            raise ZeroDivisionError("in the middle of the second two")

    with ScriptedConsumer(enable_auto_commit=True, max_poll_records=2) as driven:
        driven.stable(0)
        driven.fetched(10, 11, 12, 13)
        work = driven.begin(application)
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(12)}
        driven.error("OffsetCommit", "NONE")
        driven.error("LeaveGroup", "NONE")
        with pytest.raises(ZeroDivisionError):
            work.outcome()


def test_L5_close_commits_behind_the_last_record_wherever_that_stands() -> None:
    with ScriptedConsumer(enable_auto_commit=True, max_poll_records=2) as driven:
        driven.stable(0)
        driven.fetched(10, 14, 15, 16)
        assert [record.offset for record in driven.poll()] == [10, 14]
        closing = driven.begin(lambda consumer: consumer.close())
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(15)}
        driven.error("OffsetCommit", "NONE")
        driven.error("LeaveGroup", "NONE")
        closing.outcome()


def test_M4_a_block_that_ends_well_commits_all_that_it_was_given() -> None:
    def application(consumer: Consumer) -> None:
        with consumer:
            consumer.poll(0)

    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        work = driven.begin(application)
        request = driven.waiting("OffsetCommit").request
        assert isinstance(request, OffsetCommitRequest)
        assert request.offsets == {partitions(0)[0]: OffsetAndMetadata(12)}
        driven.error("OffsetCommit", "NONE")
        driven.error("LeaveGroup", "NONE")
        work.outcome()


@pytest.mark.parametrize("seed", range(60))
def test_L2_no_call_hangs_whenever_another_thread_closes_without_waiting(seed: int) -> None:
    """unsubscribe() and assign() wait for what a consumer that has been closed does not do any more."""
    schedule = [random.Random(seed).randrange(4) for _ in range(200)]
    for call in (lambda consumer: consumer.unsubscribe(), lambda consumer: consumer.commit_async()):
        with ScriptedConsumer(schedule) as driven:
            driven.stable(0)
            close = CallThread(driven.runtime, "second").begin(lambda: driven.consumer.close(0))
            under_way = driven.begin(call)
            driven.advance(120_000)
            assert under_way.done
            assert close.done


def test_L2_whoever_asks_after_the_end_is_answered_at_once() -> None:
    """As unsubscribe() does whose thread got no turn between its first look and its question."""
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.driver.shut_down(driven.runtime.now_ms())
        future = driven.driver.call(Unsubscribe)
        assert future.done
        with pytest.raises(ConsumerClosedError):
            future.outcome()
        assert driven.driver.settle(driven.runtime.now_ms() + 60_000)


def commit_and_tell(told: list[int], number: int, consumer: Consumer) -> None:
    consumer.commit_async({}, lambda *_: told.append(number))


@pytest.mark.parametrize("seed", range(40))
def test_T2_two_threads_run_each_callback_once_while_a_consumer_is_closed_around_a_stuck_one(seed: int) -> None:
    schedule = [random.Random(seed).randrange(4) for _ in range(300)]
    told: list[int] = []
    with ScriptedConsumer(schedule) as driven:
        driven.stable(0)
        for number in range(4):
            driven.call(partial(commit_and_tell, told, number))
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.listener.park = True
        driven.begin_poll(0)
        close = CallThread(driven.runtime, "second").begin(lambda: driven.consumer.close(1_000))
        driven.settle()
        driven.advance(1_000)
        close.outcome()
        driven.release()
        assert told == [0, 1, 2, 3]


def test_L4_the_thread_is_woken_and_joined_before_its_network_goes() -> None:
    with ScriptedConsumer() as driven:
        before_ms = driven.runtime.now_ms()
        close = driven.transport.close
        running: list[bool] = []

        def watched(timeout_ms: int) -> None:
            running.append(driven.driver.is_running())
            close(timeout_ms)

        driven.transport.close = watched  # type: ignore[method-assign]
        driven.driver.shut_down(before_ms)
        assert running == [False]
        assert driven.runtime.now_ms() == before_ms


@pytest.mark.parametrize("api", ["OffsetCommit", "LeaveGroup"])
def test_a_request_that_cannot_be_sent_takes_neither_callback_nor_the_error_from_a_close(api: str) -> None:
    with ScriptedConsumer(enable_auto_commit=True) as driven:
        driven.stable(0)
        driven.fetched(10)
        assert driven.poll()
        send = driven.transport.send

        def broken(request: SendRequest, now_ms: int) -> None:
            if api_of(request.request) == api:
                driven.transport.send = send  # type: ignore[method-assign]
                raise OSError("the network is gone")
            send(request, now_ms)

        driven.transport.send = broken  # type: ignore[method-assign]
        close = begin_close(driven)
        driven.advance(3_000)
        with pytest.raises(OSError, match="the network is gone"):
            close.outcome()
        assert driven.callbacks() == [("revoked", partitions(0))]


def test_H6_unsubscribe_does_everything_before_it_raises_what_has_ended_a_thread() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        send = driven.transport.send

        def broken(request: SendRequest, now_ms: int) -> None:
            driven.transport.send = send  # type: ignore[method-assign]
            raise OSError(f"{api_of(request.request)} cannot be sent")

        driven.transport.send = broken  # type: ignore[method-assign]
        with pytest.raises(OSError, match="LeaveGroup cannot be sent"):
            driven.call(lambda consumer: consumer.unsubscribe())
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.ask(lambda consumer: consumer.subscription() | consumer.assignment()) == set()
        driven.joining_anew()

"""The background driver: two queues, futures, and what becomes of them when the thread between them dies."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import (
    CallbackStarted,
    Commit,
    EnforceRebalance,
    Error,
    Fetch,
    InputEvent,
    Output,
    PartitionsRevoked,
    Poll,
    RevokePartitions,
    SendRequest,
    Subscribe,
    UnsolicitedResponse,
    Unsubscribe,
)
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse, OffsetAndMetadata
from groupspec.impl.threads.futures import Futures
from groupspec.impl.threads.tests.stage import TOPIC, Stage, partitions

NEVER_SENT = 10**9


def heartbeat_answer(error: str = "NONE") -> HeartbeatResponse:
    return HeartbeatResponse(ErrorCode[error])


def test_D7_the_thread_starts_with_the_consumer_and_needs_no_coordinator() -> None:
    with Stage() as stage:
        assert stage.describe().connection == "INITIALIZED"
        assert stage.sent() == []


def test_Q1_events_arrive_once_and_in_order() -> None:
    taken: list[InputEvent] = []
    with Stage() as stage:
        handle = stage.core.handle

        def watched(event: InputEvent, now_ms: int) -> list[Output]:
            taken.append(event)
            return handle(event, now_ms)

        stage.core.handle = watched  # type: ignore[method-assign]
        wanted = [Subscribe((TOPIC,)), *(EnforceRebalance(f"reason {number}") for number in range(20)), Fetch()]
        for event in wanted:
            stage.driver.submit(event)
        stage.settle()
        assert taken == wanted


def test_Q3_an_event_that_waits_for_the_coordinator_holds_up_no_other() -> None:
    with Stage() as stage:
        stage.call(lambda consumer: consumer.assign(partitions(0)))
        commit = stage.begin(lambda consumer: consumer.commit_async({partitions(0)[0]: 5}))
        assert commit.done
        assert stage.describe().connection == "COORDINATOR_DISCOVERY"
        stage.submit(Poll())
        stage.call(lambda consumer: consumer.seek(partitions(0)[0], 7))
        stage.submit(Fetch())
        assert stage.is_waiting("Fetch")  # although nobody has found the coordinator


def test_T3_a_future_is_completed_exactly_once() -> None:
    with Stage() as stage:
        futures = Futures(stage.runtime)
        future = futures.new()
        futures.complete(future.number, "first")
        assert future.outcome() == "first"
        with pytest.raises(LookupError, match="completed before"):
            futures.complete(future.number, "second")
        assert futures.fail_all(ValueError("late")) == 0
        assert future.outcome() == "first"


def test_T3_who_stops_waiting_changes_nothing_for_the_commit() -> None:
    with Stage() as stage:
        stage.stable(0)
        commit = stage.begin(lambda consumer: consumer.commit({partitions(0)[0]: 5}))
        stage.consumer.wakeup()
        stage.settle()
        with pytest.raises(Exception, match="wakeup"):
            commit.outcome()
        stage.error("OffsetCommit", "NONE")
        stage.poll()
        assert stage.describe().connection == "STABLE"


def test_CALLBACK_STARTED_goes_before_the_callback_and_its_answer_after() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.listener.park = True
        stage.begin_poll(0)
        assert stage.driver.submitted[-1] == CallbackStarted()
        assert isinstance(stage.driver.told[-1], RevokePartitions)
        stage.listener.park = False
        stage.release()
        assert PartitionsRevoked() in stage.driver.submitted


def test_H6_the_death_of_the_background_thread_is_raised_by_the_next_poll_and_the_one_after_revives_it() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse) as caught:
            stage.poll()
        assert "this ended the background thread" in caught.value.__notes__[0]
        stage.poll()
        assert stage.state == "STABLE"
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.poll()
        assert stage.is_waiting("JoinGroup")


def test_H6_a_poll_that_waits_is_told_at_once() -> None:
    with Stage() as stage:
        stage.stable(0)
        poll = stage.begin_poll(60_000)
        stage.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse):
            poll.outcome()


def test_H6_so_is_a_commit() -> None:
    with Stage() as stage:
        stage.stable(0)
        commit = stage.begin(lambda consumer: consumer.commit({partitions(0)[0]: 5}))
        stage.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse):
            commit.outcome()


def test_Q1_answers_that_were_on_their_way_when_the_thread_died_are_not_lost() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.expire("heartbeat")
        heartbeat = stage.waiting("Heartbeat")
        stage.transport.answer(NEVER_SENT, heartbeat_answer())
        stage.transport.answer(heartbeat.request_id, heartbeat_answer("REBALANCE_IN_PROGRESS"))
        stage.settle()
        assert stage.state == "STABLE"
        with pytest.raises(UnsolicitedResponse):
            stage.poll()
        stage.poll()
        stage.poll()
        assert stage.callbacks() == [("revoked", partitions(0))]


def test_Q1_events_that_came_while_the_thread_was_dead_are_not_lost() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.answer(NEVER_SENT, heartbeat_answer())
        stage.submit(EnforceRebalance("asked for while nobody listened"))
        assert stage.state == "STABLE"
        with pytest.raises(UnsolicitedResponse):
            stage.poll()
        stage.poll()
        stage.poll()
        assert stage.callbacks() == [("revoked", partitions(0))]


def test_calls_that_wait_for_the_thread_work_after_it_was_revived() -> None:
    with Stage() as stage:
        stage.call(lambda consumer: consumer.assign(partitions(0)))
        handle = stage.core.handle

        def broken(event: InputEvent, now_ms: int) -> list[Output]:
            raise ZeroDivisionError

        stage.core.handle = broken  # type: ignore[method-assign]
        stage.submit(Poll())
        stage.core.handle = handle  # type: ignore[method-assign]
        with pytest.raises(ZeroDivisionError):
            stage.poll()
        stage.poll()
        stage.call(lambda consumer: consumer.assign(partitions(1)))
        assert stage.ask(lambda consumer: consumer.assignment()) == set(partitions(1))


def test_an_event_that_kills_the_thread_answers_its_own_future() -> None:
    with Stage() as stage:
        stage.stable(0)

        def broken(event: InputEvent, now_ms: int) -> list[Output]:
            raise ZeroDivisionError(f"cannot take {type(event).__name__}")

        stage.core.handle = broken  # type: ignore[method-assign]
        with pytest.raises(ZeroDivisionError, match="cannot take Commit"):
            stage.call(lambda consumer: consumer.commit({partitions(0)[0]: 5}))


def test_a_request_that_cannot_be_sent_fails_as_one_that_broke() -> None:
    with Stage() as stage:
        stage.stable(0)
        send = stage.transport.send

        def broken(request: SendRequest, now_ms: int) -> None:
            raise OSError("no buffers")

        stage.transport.send = broken  # type: ignore[method-assign]
        stage.expire("heartbeat")
        stage.transport.send = send  # type: ignore[method-assign]
        with pytest.raises(OSError, match="no buffers"):
            stage.poll()
        stage.poll()
        assert stage.is_waiting("FindCoordinator")  # the core took it for a broken connection


def test_Q1_what_is_left_over_at_the_end_is_cancelled_visibly() -> None:
    with Stage() as stage:
        stage.stable(0)
        future = stage.driver.call(lambda number: Unsubscribe(number))
        before_ms = stage.runtime.now_ms()
        stage.driver.shut_down(before_ms)
        assert stage.runtime.now_ms() == before_ms  # the thread was woken, not waited for
        late = Commit({partitions(0)[0]: OffsetAndMetadata(5)}, 77)
        stage.driver.submit(late)
        assert future.done
        with pytest.raises(Exception, match="closed before this could be answered"):
            future.outcome()
        assert [type(event) for event in stage.driver.left_over] == [Unsubscribe, Commit]
        assert stage.transport.closed


def test_errors_of_the_core_are_consumer_events() -> None:
    with Stage() as stage:
        stage.joining()
        stage.error("JoinGroup", "INVALID_SESSION_TIMEOUT")
        assert [type(output) for output in stage.driver.outputs if isinstance(output, Error)] == [Error]
        assert stage.driver.told == []
        with pytest.raises(Exception, match=r"group\.min\.session\.timeout\.ms"):
            stage.poll()
        assert len(stage.driver.told) == 1

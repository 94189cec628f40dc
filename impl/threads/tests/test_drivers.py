"""Any driver: events, futures, and errors."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import (
    CallbackStarted,
    EnforceRebalance,
    Error,
    Fetch,
    InputEvent,
    Output,
    PartitionsRevoked,
    RevokePartitions,
    SendRequest,
    Subscribe,
    UnsolicitedResponse,
)
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse
from groupspec.impl.testing import Callback
from groupspec.impl.threads.futures import Futures
from groupspec.impl.threads.tests.scripted_consumer import TOPIC, ScriptedConsumer, partitions

NEVER_SENT = 10**9


def heartbeat_answer(error: str = "NONE") -> HeartbeatResponse:
    return HeartbeatResponse(ErrorCode[error])


def test_Q1_events_arrive_once_and_in_order() -> None:
    taken: list[InputEvent] = []
    with ScriptedConsumer() as driven:
        handle = driven.core.handle

        def watched(event: InputEvent, now_ms: int) -> list[Output]:
            taken.append(event)
            return handle(event, now_ms)

        driven.core.handle = watched  # type: ignore[method-assign]
        wanted = [Subscribe((TOPIC,)), *(EnforceRebalance(f"reason {number}") for number in range(20)), Fetch()]
        for event in wanted:
            driven.driver.submit(event)
        driven.settle()
        assert taken == wanted


def test_T3_a_future_is_completed_exactly_once() -> None:
    with ScriptedConsumer() as driven:
        futures = Futures(driven.runtime)
        future = futures.new()
        futures.complete(future.number, "first")
        assert future.outcome() == "first"
        with pytest.raises(LookupError, match="completed before"):
            futures.complete(future.number, "second")
        assert futures.fail_all(ValueError("late")) == 0
        assert future.outcome() == "first"


def test_T3_who_stops_waiting_changes_nothing_for_the_commit() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        commit = driven.begin(lambda consumer: consumer.commit({partitions(0)[0]: 5}))
        driven.consumer.wakeup()
        driven.settle()
        with pytest.raises(Exception, match="wakeup"):
            commit.outcome()
        driven.error("OffsetCommit", "NONE")
        driven.poll()
        assert driven.describe().connection == "STABLE"


def test_CALLBACK_STARTED_goes_before_the_callback_and_its_answer_after() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.listener.park = True
        driven.begin_poll(0)
        assert driven.driver.submitted[-1] == CallbackStarted()
        assert isinstance(driven.driver.told[-1], RevokePartitions)
        driven.listener.park = False
        driven.release()
        assert PartitionsRevoked() in driven.driver.submitted


def test_H6_a_poll_that_waits_is_told_at_once() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        driven.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse):
            poll.outcome()


def test_H6_a_poll_whose_callback_was_told_goes_on_with_another_thread() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)

        def hears(_: Callback) -> None:
            driven.transport.answer(NEVER_SENT, heartbeat_answer())
            with pytest.raises(UnsolicitedResponse):
                driven.consumer.commit({partitions(0)[0]: 5})

        driven.listener.during = hears
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        poll = driven.begin_poll(60_000)
        assert driven.callbacks() == [("revoked", partitions(0))]
        driven.error("OffsetCommit", "NONE")
        assert driven.is_waiting("JoinGroup")
        assert not poll.done


def test_H6_so_is_a_commit() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        commit = driven.begin(lambda consumer: consumer.commit({partitions(0)[0]: 5}))
        driven.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse):
            commit.outcome()


def test_an_event_that_kills_the_thread_answers_its_own_future() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)

        def broken(event: InputEvent, now_ms: int) -> list[Output]:
            raise ZeroDivisionError(f"cannot take {type(event).__name__}")

        driven.core.handle = broken  # type: ignore[method-assign]
        with pytest.raises(ZeroDivisionError, match="cannot take Commit"):
            driven.call(lambda consumer: consumer.commit({partitions(0)[0]: 5}))


def test_a_request_that_cannot_be_sent_fails_as_one_that_broke() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        send = driven.transport.send

        def broken(request: SendRequest, now_ms: int) -> None:
            raise OSError("no buffers")

        driven.transport.send = broken  # type: ignore[method-assign]
        driven.expire("heartbeat")
        driven.transport.send = send  # type: ignore[method-assign]
        with pytest.raises(OSError, match="no buffers"):
            driven.poll()
        driven.poll()
        assert driven.is_waiting("FindCoordinator")  # the core took it for a broken connection


def test_errors_of_the_core_are_consumer_events() -> None:
    with ScriptedConsumer() as driven:
        driven.joining()
        driven.error("JoinGroup", "INVALID_SESSION_TIMEOUT")
        assert [type(output) for output in driven.driver.outputs if isinstance(output, Error)] == [Error]
        assert driven.driver.told == []
        with pytest.raises(Exception, match=r"group\.min\.session\.timeout\.ms"):
            driven.poll()
        assert len(driven.driver.told) == 1

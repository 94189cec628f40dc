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
from groupspec.impl.threads.tests.scripted_consumer import TOPIC, ScriptedConsumer, partitions

NEVER_SENT = 10**9


def heartbeat_answer(error: str = "NONE") -> HeartbeatResponse:
    return HeartbeatResponse(ErrorCode[error])


def test_D7_the_thread_starts_with_the_consumer_and_needs_no_coordinator() -> None:
    with ScriptedConsumer() as driven:
        assert driven.describe().connection == "INITIALIZED"
        assert driven.sent() == []


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


def test_Q3_an_event_that_waits_for_the_coordinator_holds_up_no_other() -> None:
    with ScriptedConsumer() as driven:
        driven.call(lambda consumer: consumer.assign(partitions(0)))
        commit = driven.begin(lambda consumer: consumer.commit_async({partitions(0)[0]: 5}))
        assert commit.done
        assert driven.describe().connection == "COORDINATOR_DISCOVERY"
        driven.submit(Poll())
        driven.call(lambda consumer: consumer.seek(partitions(0)[0], 7))
        driven.submit(Fetch())
        assert driven.is_waiting("Fetch")  # although nobody has found the coordinator


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


def test_H6_the_death_of_the_background_thread_is_raised_by_the_next_poll_and_the_one_after_revives_it() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse) as caught:
            driven.poll()
        assert "this ended the background thread" in caught.value.__notes__[0]
        driven.poll()
        assert driven.state == "STABLE"
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.poll()
        assert driven.is_waiting("JoinGroup")


def test_H6_a_poll_that_waits_is_told_at_once() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        driven.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse):
            poll.outcome()


def test_H6_so_is_a_commit() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        commit = driven.begin(lambda consumer: consumer.commit({partitions(0)[0]: 5}))
        driven.answer(NEVER_SENT, heartbeat_answer())
        with pytest.raises(UnsolicitedResponse):
            commit.outcome()


def test_Q1_answers_that_were_on_their_way_when_the_thread_died_are_not_lost() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.expire("heartbeat")
        heartbeat = driven.waiting("Heartbeat")
        driven.transport.answer(NEVER_SENT, heartbeat_answer())
        driven.transport.answer(heartbeat.request_id, heartbeat_answer("REBALANCE_IN_PROGRESS"))
        driven.settle()
        assert driven.state == "STABLE"
        with pytest.raises(UnsolicitedResponse):
            driven.poll()
        driven.poll()
        driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0))]


def test_Q1_events_that_came_while_the_thread_was_dead_are_not_lost() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.answer(NEVER_SENT, heartbeat_answer())
        driven.submit(EnforceRebalance("asked for while nobody listened"))
        assert driven.state == "STABLE"
        with pytest.raises(UnsolicitedResponse):
            driven.poll()
        driven.poll()
        driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0))]


def test_calls_that_wait_for_the_thread_work_after_it_was_revived() -> None:
    with ScriptedConsumer() as driven:
        driven.call(lambda consumer: consumer.assign(partitions(0)))
        handle = driven.core.handle

        def broken(event: InputEvent, now_ms: int) -> list[Output]:
            raise ZeroDivisionError

        driven.core.handle = broken  # type: ignore[method-assign]
        driven.submit(Poll())
        driven.core.handle = handle  # type: ignore[method-assign]
        with pytest.raises(ZeroDivisionError):
            driven.poll()
        driven.poll()
        driven.call(lambda consumer: consumer.assign(partitions(1)))
        assert driven.ask(lambda consumer: consumer.assignment()) == set(partitions(1))


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


def test_Q1_what_is_left_over_at_the_end_is_cancelled_visibly() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        future = driven.driver.call(lambda number: Unsubscribe(number))
        before_ms = driven.runtime.now_ms()
        driven.driver.shut_down(before_ms)
        assert driven.runtime.now_ms() == before_ms  # the thread was woken, not waited for
        late = Commit({partitions(0)[0]: OffsetAndMetadata(5)}, 77)
        driven.driver.submit(late)
        assert future.done
        with pytest.raises(Exception, match="closed before this could be answered"):
            future.outcome()
        assert [type(event) for event in driven.driver.left_over] == [Unsubscribe, Commit]
        assert driven.transport.closed


def test_errors_of_the_core_are_consumer_events() -> None:
    with ScriptedConsumer() as driven:
        driven.joining()
        driven.error("JoinGroup", "INVALID_SESSION_TIMEOUT")
        assert [type(output) for output in driven.driver.outputs if isinstance(output, Error)] == [Error]
        assert driven.driver.told == []
        with pytest.raises(Exception, match=r"group\.min\.session\.timeout\.ms"):
            driven.poll()
        assert len(driven.driver.told) == 1

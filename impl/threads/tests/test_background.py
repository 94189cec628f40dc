"""The background driver: two queues, futures, and what becomes of them when the thread between them dies."""

from __future__ import annotations

import pytest

from groupspec.impl.core.errors import ConsumerClosedError, IllegalStateError, KafkaError, KafkaTimeoutError
from groupspec.impl.core.events import (
    Close,
    Commit,
    EnforceRebalance,
    Fetch,
    InputEvent,
    Output,
    PartitionsRevoked,
    Poll,
    ResponseReceived,
    SendRequest,
    UnsolicitedResponse,
    Unsubscribe,
)
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse, OffsetAndMetadata
from groupspec.impl.threads.tests.scripted_consumer import ScriptedConsumer, partitions

DESIGNS = ("background",)
NEVER_SENT = 10**9


def heartbeat_answer(error: str = "NONE") -> HeartbeatResponse:
    return HeartbeatResponse(ErrorCode[error])


def test_D7_the_thread_starts_with_the_consumer_and_needs_no_coordinator() -> None:
    with ScriptedConsumer() as driven:
        assert driven.describe().connection == "INITIALIZED"
        assert driven.sent() == []


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


def test_H6_a_seek_to_an_end_is_done_and_leaves_it_to_the_next_poll_to_raise_what_has_ended_the_thread() -> None:
    """Schedule 7291: it raised, and the poll that followed went on where the application was before."""
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.answer(NEVER_SENT, heartbeat_answer())
        driven.call(lambda consumer: consumer.seek_to_end(*partitions(0)))
        assert driven.describe().partitions[partitions(0)[0]].position is None
        with pytest.raises(UnsolicitedResponse):
            driven.poll()


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


def test_H6_close_works_although_the_background_thread_has_died() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.answer(10**9, HeartbeatResponse(ErrorCode.NONE))
        close = driven.begin(lambda consumer: consumer.close(2_000))
        driven.error("LeaveGroup", "NONE")
        with pytest.raises(Exception, match="10"):
            close.outcome()
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.transport.closed


def test_H6_whatever_ends_the_background_thread_the_next_call_hears_of_it_and_close_ends() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        handle = driven.core.handle

        def exits(event: object, now_ms: int) -> object:
            driven.core.handle = handle  # type: ignore[method-assign]
            raise SystemExit("not a good idea in a trace sink")

        driven.core.handle = exits  # type: ignore[assignment, method-assign]
        with pytest.raises(SystemExit):
            driven.submit(Fetch())
        assert not driven.driver.is_running()
        with pytest.raises(KafkaError, match="background thread was ended by SystemExit"):
            driven.call(lambda consumer: consumer.commit_async({}))
        driven.call(lambda consumer: consumer.commit_async({}))
        assert driven.driver.is_running()
        close = driven.begin(lambda consumer: consumer.close(2_000))
        driven.error("LeaveGroup", "NONE")
        close.outcome()


def test_what_is_queued_behind_the_end_fails_at_once() -> None:
    """As a commit does that a callback makes while its consumer is closed around it."""
    with ScriptedConsumer() as driven:
        driven.stable(0)
        now_ms = driven.runtime.now_ms()
        driven.driver.call(lambda number: Close(number, now_ms, processed=True))
        driven.driver.submit(PartitionsRevoked())
        asked = driven.driver.call(Unsubscribe)
        driven.settle()
        assert asked.done
        with pytest.raises(ConsumerClosedError):
            asked.outcome()


def out_of_time(driven: ScriptedConsumer) -> None:
    """The background thread is held up for so long that an unsubscribe() gives up; then it goes on."""
    send = driven.transport.send

    def slow(request: SendRequest, now_ms: int) -> None:
        driven.transport.send = send  # type: ignore[method-assign]
        driven.runtime.sleep_ms(70_000)
        send(request, now_ms)

    driven.stable(0)
    driven.transport.send = slow  # type: ignore[method-assign]
    driven.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}))
    unsubscribe = driven.begin(lambda consumer: consumer.unsubscribe())
    driven.advance(60_000)
    with pytest.raises(KafkaTimeoutError, match="has not answered in 60000 ms"):
        unsubscribe.outcome()
    assert driven.ask(lambda consumer: consumer.subscription()) == {"orders"}
    driven.advance(10_000)
    assert driven.callbacks() == []


def test_L1_what_is_subscribed_to_after_an_unsubscribe_that_is_out_of_time_is_not_left_with_it() -> None:
    """Java's LeaveGroup is not waited for either, and what comes after it is a new membership."""
    with ScriptedConsumer() as driven:
        out_of_time(driven)
        driven.subscribe()
        assert driven.callbacks() == [("revoked", partitions(0))]
        driven.joining_anew()


@pytest.mark.parametrize("chosen", [{"payments"}, set()])
def test_C7_an_unsubscribe_that_is_out_of_time_is_carried_out_by_the_next_poll(chosen: set[str]) -> None:
    """What the callback chooses goes with what it is called for, as in Java's KafkaConsumer.unsubscribe."""
    with ScriptedConsumer() as driven:
        out_of_time(driven)
        if chosen:
            driven.listener.during = lambda _: driven.consumer.subscribe(chosen)
        with pytest.raises(IllegalStateError, match="without topics"):
            driven.poll(1_000)
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.ask(lambda consumer: consumer.subscription() | consumer.assignment()) == set()
        driven.joining_anew()


def test_D8_partitions_can_be_chosen_after_an_unsubscribe_that_is_out_of_time() -> None:
    with ScriptedConsumer() as driven:
        out_of_time(driven)
        driven.call(lambda consumer: consumer.assign(partitions(1)))
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.ask(lambda consumer: consumer.assignment()) == set(partitions(1))


def test_H6_an_unsubscribe_whose_thread_dies_again_and_again_is_carried_out_all_the_same() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)

        def broken(timeout_ms: int) -> list[ResponseReceived]:
            raise OSError("no network")

        poll, driven.transport.poll = driven.transport.poll, broken  # type: ignore[method-assign]
        with pytest.raises(OSError, match="no network"):
            driven.call(lambda consumer: consumer.unsubscribe())
        driven.transport.poll = poll  # type: ignore[method-assign]
        assert driven.ask(lambda consumer: consumer.subscription()) == set()

"""The heartbeat design: gates and checks of its thread, and what happens in the calling thread alone (KIP-62).

A driven consumer is taken to wait inside poll() between two calls; where a test is about nobody polling it is not
(`attentive`). Time is virtual: between two looks of the heartbeat thread the retry backoff of 100 ms passes.
"""

from __future__ import annotations

from typing import Final

import pytest

from groupspec.impl.core.config import Settings
from groupspec.impl.core.errors import FencedInstanceIdError, GroupAuthorizationError, KafkaError
from groupspec.impl.core.events import (
    CallbackStarted,
    InputEvent,
    Output,
    ResponseReceived,
    SendRequest,
    ServerEvent,
    TimerExpired,
)
from groupspec.impl.core.messages import ErrorCode, HeartbeatRequest, HeartbeatResponse, OffsetAndMetadata
from groupspec.impl.core.scope import Scope
from groupspec.impl.scripted import api_of
from groupspec.impl.threads.heartbeat import HeartbeatDriver
from groupspec.impl.threads.tests.scripted_consumer import ScriptedConsumer, partitions

DESIGNS = ("heartbeat",)
BACKOFF_MS = 100
SHORT: Final = Settings(session_timeout_ms=10_000, heartbeat_interval_ms=3_000, max_poll_interval_ms=60_000)


def inattentive(driven: ScriptedConsumer) -> ScriptedConsumer:
    """The application is busy with something else from here on."""
    driven.attentive = False
    return driven


def in_the_network(driven: ScriptedConsumer, error: str = "NONE") -> None:
    """A heartbeat has been answered, and nobody has looked yet."""
    sent = driven.waiting("Heartbeat")
    driven.transport.answer(sent.request_id, HeartbeatResponse(ErrorCode[error]))


def busy(driven: ScriptedConsumer, duration_ms: int, error: str = "NONE") -> None:
    """The application works for a while; every heartbeat is answered at the next look."""
    driven.attentive = False
    for _ in range(duration_ms // BACKOFF_MS):
        driven.advance(BACKOFF_MS)
        if driven.is_waiting("Heartbeat"):
            in_the_network(driven, error)


def break_next(driven: ScriptedConsumer, timer: str, error: BaseException) -> None:
    """This expiry of a timer will raise, once."""
    handle = driven.core.handle

    def broken(event: InputEvent, now_ms: int) -> list[Output]:
        if event == TimerExpired(timer):
            driven.core.handle = handle  # type: ignore[method-assign]
            raise error
        return handle(event, now_ms)

    driven.core.handle = broken  # type: ignore[method-assign]


# Gates
# ---------------------------------------------------------------------------------------------------------------


def test_H3_the_thread_starts_with_the_first_join_and_is_silent_until_there_is_a_generation() -> None:
    with ScriptedConsumer(max_poll_interval_ms=600_000) as driven:
        driven.subscribe()
        driven.poll()
        assert not driven.driver.is_running()
        driven.found()
        assert driven.is_waiting("JoinGroup")
        assert driven.driver.is_running()
        driven.advance(300_000)
        assert driven.sent() == ["FindCoordinator", "JoinGroup"]
        driven.joined()
        driven.advance(3_000 + BACKOFF_MS)
        assert driven.sent()[2:] == ["SyncGroup", "Heartbeat"]


def test_H3_who_is_no_member_any_more_sends_none_and_the_same_thread_goes_on_after_the_next_join() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        inattentive(driven).advance(60_000)
        assert driven.sent() == ["Heartbeat"]
        driven.attentive = True
        driven.poll()
        driven.joined()
        driven.synced(0)
        driven.poll()
        driven.advance(3_000)
        assert driven.sent() == ["Heartbeat", "JoinGroup", "SyncGroup", "Heartbeat"]


# The order of the checks
# -----------------------------------------------------------------------------------------------------


def test_the_network_is_polled_before_the_checks_so_an_answer_counts_though_the_session_is_over() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.advance(9_950)
        assert driven.is_waiting("Heartbeat")
        in_the_network(driven)
        driven.runtime.advance(150)
        assert driven.describe().connection == "STABLE"
        assert driven.describe().timers_ms["session"] > driven.runtime.now_ms() + 9_000


def test_H5_the_session_is_over_before_the_poll_interval_is_looked_at() -> None:
    with ScriptedConsumer(**(SHORT | Settings(max_poll_interval_ms=10_000))) as driven:
        inattentive(driven.stable(0))
        driven.advance(10_000 + BACKOFF_MS)
        assert driven.sent() == ["Heartbeat", "FindCoordinator"]
        assert driven.describe().member_id  # an expired session is no loss of membership


def test_while_the_coordinator_is_unknown_nothing_expires_and_it_is_looked_up_again_and_again() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.advance(3_000)
        in_the_network(driven, "NOT_COORDINATOR")
        driven.advance(2 * BACKOFF_MS)
        for _ in range(3):
            driven.error("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
            driven.advance(4 * BACKOFF_MS)
        driven.advance(120_000)
        assert set(driven.sent()) == {"Heartbeat", "FindCoordinator"}
        driven.found()
        driven.advance(BACKOFF_MS)
        assert driven.sent()[-1] == "LeaveGroup"


def test_P1_the_poll_interval_is_looked_at_before_a_heartbeat_that_is_due() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        now_ms = driven.runtime.now_ms()
        driven.core.timers.expire_now("heartbeat", now_ms)
        driven.core.timers.expire_now("poll_interval", now_ms)
        driven.settle()
        driven.advance(BACKOFF_MS)
        assert driven.sent() == ["LeaveGroup"]


def test_a_heartbeat_is_marked_as_sent_before_it_is_sent() -> None:
    marked: list[int] = []
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        send = driven.transport.send

        def watched(request: SendRequest, now_ms: int) -> None:
            if isinstance(request.request, HeartbeatRequest):
                marked.append(driven.core.heartbeats.heartbeat.last_heartbeat_send_ms - now_ms)
                raise OSError("no buffers")
            send(request, now_ms)

        driven.transport.send = watched  # type: ignore[method-assign]
        driven.expire("heartbeat")
        assert marked == [0]
        assert driven.describe().timers_ms["heartbeat"] == driven.runtime.now_ms() + 3_000


# Answers
# -------------------------------------------------------------------------------------------------------------


def test_H7_a_heartbeat_that_failed_is_tried_again_after_the_backoff() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.advance(3_000)
        in_the_network(driven, "COORDINATOR_LOAD_IN_PROGRESS")
        driven.advance(3 * BACKOFF_MS)
        assert driven.sent() == ["Heartbeat", "Heartbeat"]


def test_H7_a_failure_that_the_calling_thread_takes_in_wakes_the_thread_that_sleeps_until_the_next_look() -> None:
    with ScriptedConsumer(**(SHORT | Settings(retry_backoff_ms=40))) as driven:
        driven.stable(0)
        driven.begin_poll(60_000)
        driven.advance(3_000)
        driven.error("Heartbeat", "COORDINATOR_LOAD_IN_PROGRESS")
        driven.advance(40)
        assert driven.sent() == ["Heartbeat", "Heartbeat"]


def test_H2_a_heartbeat_that_waited_for_the_answer_to_the_last_one_is_sent_with_the_look_that_finds_it() -> None:
    with ScriptedConsumer(**(SHORT | Settings(heartbeat_interval_ms=1_000))) as driven:
        inattentive(driven.stable(0))
        driven.advance(2_500)
        in_the_network(driven)
        assert not driven.is_waiting("Heartbeat")
        driven.advance(BACKOFF_MS)
        assert driven.is_waiting("Heartbeat")


def test_a_lookup_after_the_backoff_is_sent_before_the_thread_sleeps_again() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.advance(3_000)
        in_the_network(driven, "NOT_COORDINATOR")
        driven.advance(BACKOFF_MS)
        driven.error("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
        driven.advance(2 * BACKOFF_MS)
        assert driven.is_waiting("FindCoordinator")


def test_H1_REBALANCE_IN_PROGRESS_is_a_sign_of_life_and_heartbeats_go_on_until_the_application_polls() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        busy(driven, 30_000, "REBALANCE_IN_PROGRESS")
        assert driven.sent() == ["Heartbeat"] * 10
        assert driven.describe().connection == "STABLE"
        driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0))]
        assert driven.sent()[-1] == "JoinGroup"


# What the calling thread does, and nobody else
# -------------------------------------------------------------------------------


def test_J7_cooperative_a_later_join_needs_a_poll_too_and_no_other_call_joins() -> None:
    with ScriptedConsumer(cooperative=True, **SHORT) as driven:
        driven.stable(0)
        busy(driven, 30_000, "REBALANCE_IN_PROGRESS")
        commit = driven.begin(lambda consumer: consumer.commit({partitions(0)[0]: 5}, timeout_ms=1_000))
        driven.error("OffsetCommit", "NONE")
        commit.outcome()
        assert "JoinGroup" not in driven.sent()
        driven.poll()
        assert driven.sent()[-1] == "JoinGroup"


def test_P1_who_takes_part_in_no_rebalance_leaves_when_the_poll_interval_is_over() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        busy(driven, 59_900, "REBALANCE_IN_PROGRESS")
        assert set(driven.sent()) == {"Heartbeat"}
        busy(driven, 60_000)
        assert driven.sent()[-1] == "LeaveGroup"  # the thread has nothing to do any more, and lives
        assert driven.driver.is_running()
        driven.error("LeaveGroup", "NONE")
        driven.poll()
        assert driven.callbacks() == [("lost", partitions(0))]
        assert driven.sent()[-1] == "JoinGroup"


def test_M4_nothing_is_committed_between_two_polls() -> None:
    with ScriptedConsumer(**(SHORT | Settings(enable_auto_commit=True))) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        assert len(driven.poll()) == 2
        driven.poll()
        busy(driven, 30_000)
        assert "OffsetCommit" not in driven.sent()
        driven.poll()
        assert driven.sent()[-1] == "OffsetCommit"


def test_O5_nothing_is_fetched_between_two_polls() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.fetched(10)
        driven.advance(1_000)
        assert driven.describe().partitions[partitions(0)[0]].buffered is not False
        assert not driven.is_waiting("Fetch")
        assert [record.offset for record in driven.poll()] == [10]
        assert driven.is_waiting("Fetch")  # the next ones come while the application works on these


def test_the_heartbeat_thread_sends_heartbeats_and_leaves_and_looks_up_the_coordinator_and_nothing_else() -> None:
    with ScriptedConsumer(**(SHORT | Settings(enable_auto_commit=True))) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.poll()
        driven.call(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}))
        do, by_thread = driven.driver._do, set[str]()

        def watched(output: Output) -> None:
            if driven.core.scope is Scope.HEARTBEAT and isinstance(output, SendRequest):
                by_thread.add(api_of(output.request))
            do(output)

        driven.driver._do = watched  # type: ignore[method-assign]
        busy(driven, 5_000, "REBALANCE_IN_PROGRESS")
        busy(driven, 2_000, "NOT_COORDINATOR")
        driven.found()
        busy(driven, 60_000)
        assert by_thread == {"Heartbeat", "FindCoordinator", "LeaveGroup"}


def test_H2_a_poll_that_waits_in_the_network_does_not_hold_a_heartbeat_up() -> None:
    """Nor does its thread sleep over one: it would look again after the backoff, and the calling thread wakes it."""
    with ScriptedConsumer(**(SHORT | Settings(retry_backoff_ms=70))) as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        for sent in range(1, 6):
            driven.advance(3_000)
            assert driven.sent() == ["Heartbeat"] * sent
            driven.error("Heartbeat", "NONE")
        assert not poll.done


@pytest.mark.parametrize("call", ["poll", "commit"])
def test_what_the_heartbeat_thread_takes_in_first_is_gone_on_with_in_the_call_that_waits(call: str) -> None:
    """An answer is taken in by whoever is quicker; the calling thread goes on at once, and not at its next event."""
    with ScriptedConsumer(cooperative=True, **SHORT) as driven:
        driven.stable(0)
        assert isinstance(driven.driver, HeartbeatDriver)
        client = driven.driver._client
        poll_network = client.poll

        def is_held_up(timeout_ms: int, seen: int | None = None) -> None:
            poll_network(timeout_ms, seen)
            driven.runtime.sleep_ms(2 * BACKOFF_MS)

        client.poll = is_held_up  # type: ignore[method-assign]
        if call == "poll":
            driven.begin_poll(60_000)
            driven.advance(3_000 + 2 * BACKOFF_MS)
            in_the_network(driven, "REBALANCE_IN_PROGRESS")
            driven.advance(4 * BACKOFF_MS)
            assert driven.is_waiting("JoinGroup")
        else:
            driven.begin(lambda consumer: consumer.commit_async({partitions(0)[0]: 11}))
            driven.advance(4 * BACKOFF_MS)
            driven.begin(lambda consumer: consumer.commit({partitions(0)[0]: 12}))
            driven.advance(4 * BACKOFF_MS)
            sent = driven.waiting("OffsetCommit")
            driven.transport.answer(sent.request_id, driven.coordinator.answer(sent.request))
            driven.advance(8 * BACKOFF_MS)
            assert driven.sent().count("OffsetCommit") == 2


# Failures
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "raised", "says"),
    [
        (GroupAuthorizationError("no READ on the group"), GroupAuthorizationError, "no READ on the group"),
        (ConnectionRefusedError("authentication failed"), ConnectionRefusedError, "authentication failed"),
        (ZeroDivisionError("of all things"), ZeroDivisionError, "of all things"),
    ],
)
def test_H6_what_ends_the_thread_is_kept_and_raised_by_the_next_poll_and_a_later_one_starts_another(
    error: Exception, raised: type[Exception], says: str
) -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        break_next(driven, "heartbeat", error)
        driven.advance(9_000)
        assert not driven.driver.is_running()
        assert "Heartbeat" not in driven.sent()
        with pytest.raises(raised, match=says) as caught:
            driven.poll()
        assert "this ended the heartbeat thread" in caught.value.__notes__[0]
        assert not driven.driver.is_running()
        driven.poll()
        assert driven.driver.is_running()
        driven.advance(BACKOFF_MS)
        assert driven.sent() == ["Heartbeat"]  # it was due long ago


def test_what_ends_the_thread_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        break_next(driven, "heartbeat", ZeroDivisionError("of all things"))
        driven.advance(9_000)
        assert "ZeroDivisionError('of all things') ended the heartbeat thread: the next poll() raises it" in caplog.text


def test_H6_an_interrupt_ends_the_thread_and_is_raised_by_the_next_poll() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        break_next(driven, "heartbeat", KeyboardInterrupt("in the heartbeat thread"))
        with pytest.raises(KeyboardInterrupt):
            driven.advance(9_000)
        with pytest.raises(KafkaError, match="heartbeat thread was ended by KeyboardInterrupt"):
            driven.poll()


def test_H6_a_poll_that_waits_hears_of_it_at_once() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        break_next(driven, "heartbeat", ZeroDivisionError("of all things"))
        poll = driven.begin_poll(60_000)
        driven.advance(3_000)
        with pytest.raises(ZeroDivisionError):
            poll.outcome()


def test_what_goes_wrong_in_the_calling_thread_is_raised_there_and_the_heartbeats_go_on() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        poll = driven.begin_poll(60_000)
        driven.transport.answer(10**9, HeartbeatResponse(ErrorCode.NONE))
        driven.settle()
        with pytest.raises(Exception, match="awaits no answer"):
            poll.outcome()
        driven.advance(3_000)
        assert driven.sent() == ["Heartbeat"]


def test_X2_a_refused_heartbeat_reaches_the_next_poll_and_the_thread_goes_on() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.advance(3_000)
        in_the_network(driven, "GROUP_AUTHORIZATION_FAILED")
        driven.advance(2 * BACKOFF_MS)
        with pytest.raises(GroupAuthorizationError):
            driven.poll()
        assert driven.sent() == ["Heartbeat", "Heartbeat"]


# The end
# -------------------------------------------------------------------------------------------------------------


def test_L4_the_thread_ends_before_the_network_and_is_woken_for_it() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        close, running = driven.transport.close, list[bool]()

        def watched(timeout_ms: int) -> None:
            running.append(driven.driver.is_running())
            close(timeout_ms)

        driven.transport.close = watched  # type: ignore[method-assign]
        before_ms = driven.runtime.now_ms()
        closing = driven.begin(lambda consumer: consumer.close(2_000))
        driven.error("LeaveGroup", "NONE")
        closing.outcome()
        assert running == [False]
        assert driven.runtime.now_ms() == before_ms


def test_L1_a_thread_that_fails_during_a_close_takes_nothing_away_from_it() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        driven.listener.park = True
        close = driven.begin(lambda consumer: consumer.close(20_000))
        break_next(driven, "heartbeat", ZeroDivisionError("of all things"))
        driven.advance(4_000)
        assert not driven.driver.is_running()
        driven.release()
        driven.error("LeaveGroup", "NONE")
        close.outcome()
        assert driven.sent() == ["LeaveGroup"]


def test_a_consumer_that_was_forgotten_has_its_thread_end_and_close_the_network() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        driven.driver.abandon()
        closed_at_once = driven.transport.closed  # no: the thread uses it
        driven.advance(BACKOFF_MS)
        assert (closed_at_once, driven.transport.closed) == (False, True)
        assert not driven.driver.is_running()
        assert "LeaveGroup" not in driven.sent()


def test_a_consumer_that_was_forgotten_while_its_thread_has_nothing_to_do_ends_soon_all_the_same() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.joining())
        driven.driver.abandon()
        driven.advance(5_000)
        assert driven.transport.closed


def test_a_consumer_that_was_forgotten_before_it_had_a_thread_closes_its_network_at_once() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.subscribe()
        driven.driver.abandon()
        assert driven.transport.closed


def test_a_thread_that_closes_the_network_waits_for_the_call_that_is_in_it() -> None:
    """Another thread has closed, and given this one up; the call that it interrupts is in the network (rule L4)."""
    with ScriptedConsumer(**SHORT) as driven:
        inattentive(driven.stable(0))
        assert isinstance(driven.driver, HeartbeatDriver)
        client = driven.driver._client
        client._busy = True
        driven.driver.abandon()
        driven.advance(BACKOFF_MS)
        closed_meanwhile = driven.transport.closed
        with client._turn:
            client._busy = False
            client._turn.notify_all()
        driven.settle()
        assert (closed_meanwhile, driven.transport.closed) == (False, True)


def test_Q1_answers_that_were_on_their_way_when_a_call_failed_are_not_lost() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        driven.expire("heartbeat")
        poll = driven.begin_poll(60_000)
        heartbeat = driven.waiting("Heartbeat")
        driven.transport.answer(10**9, HeartbeatResponse(ErrorCode.NONE))
        driven.transport.answer(heartbeat.request_id, HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))
        driven.settle()
        with pytest.raises(Exception, match="awaits no answer"):
            poll.outcome()
        driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0))]


def test_Q3_what_waits_for_the_coordinator_holds_up_nothing() -> None:
    with ScriptedConsumer() as driven:
        driven.call(lambda consumer: consumer.assign(partitions(0)))
        driven.call(lambda consumer: consumer.commit_async({partitions(0)[0]: OffsetAndMetadata(5)}))
        driven.call(lambda consumer: consumer.seek(partitions(0)[0], 7))
        driven.poll()
        assert driven.is_waiting("Fetch")  # although nobody has found the coordinator
        assert driven.describe().connection == "COORDINATOR_DISCOVERY"


def test_an_answer_that_is_out_of_the_network_counts_before_a_close_that_has_no_time() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.joining().joined()
        driven.synced()
        driven.poll()
        driven.heartbeat("NOT_COORDINATOR")
        lookup = driven.waiting("FindCoordinator")
        driver = driven.driver
        assert isinstance(driver, HeartbeatDriver)
        driver._client._completed.put(
            ResponseReceived(lookup.request_id, driven.coordinator.answer(lookup.request, ErrorCode.NONE))
        )
        driven.begin(lambda consumer: consumer.close(0)).outcome()
        assert "LeaveGroup" in driven.sent()


def test_nobody_is_in_the_network_after_its_end() -> None:
    with ScriptedConsumer(**SHORT) as driven:
        driven.stable(0)
        driver, entered = driven.driver, list[int]()
        assert isinstance(driver, HeartbeatDriver)
        driver._client.close(0)

        def entering(timeout_ms: int) -> list[ResponseReceived]:
            entered.append(timeout_ms)
            return []

        driven.transport.poll = entering  # type: ignore[method-assign]
        driver._client.poll(1_000)
        driver._client.poll_no_wakeup()
        assert not entered


def test_C1_a_callback_that_begins_as_the_network_fails_is_run_and_the_member_goes_on() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        submit = driven.driver.submit

        def broken(event: ServerEvent) -> None:
            submit(event)
            if isinstance(event, CallbackStarted):
                raise OSError("the network is gone")

        driven.driver.submit = broken  # type: ignore[method-assign]
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        with pytest.raises(OSError, match="the network is gone"):
            driven.poll()
        assert driven.callbacks() == [("revoked", partitions(0))]
        driven.poll()
        assert driven.is_waiting("JoinGroup")


def test_who_is_fenced_between_two_polls_is_told_what_is_lost_by_the_next_one_although_it_raises() -> None:
    """As Java's AsyncKafkaConsumer.processBackgroundEvents: all events, and then the first error."""
    with ScriptedConsumer(group_instance_id="billing-1") as driven:
        busy(driven.stable(0), 3_500, "FENCED_INSTANCE_ID")
        assert driven.callbacks() == []
        for _ in range(2):
            with pytest.raises(FencedInstanceIdError):
                driven.poll()
            assert driven.callbacks() == [("lost", partitions(0))]

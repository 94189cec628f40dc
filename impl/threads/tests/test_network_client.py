"""One network that two threads use: turns, and no news missed."""

from __future__ import annotations

import gc
import sys
from itertools import count
from types import FrameType
from typing import Any

import pytest

from groupspec.impl.core.events import (
    COORDINATOR,
    ConnectCoordinator,
    DisconnectCoordinator,
    ResponseReceived,
    SendRequest,
)
from groupspec.impl.core.messages import ErrorCode, HeartbeatRequest, HeartbeatResponse, NoAnswer
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.runtime import ThreadingRuntime
from groupspec.impl.threads.memory_transport import MemoryTransport
from groupspec.impl.threads.network_client import NetworkClient

DESIGNS = ("heartbeat",)
BOUND_MS = 2_000
REQUEST = SendRequest(1, COORDINATOR, HeartbeatRequest("billing", 1, "member", None), 30_000)


def test_what_is_posted_is_carried_out_in_order_by_whoever_polls() -> None:
    with RunToIdleRuntime() as runtime:
        transport = MemoryTransport(runtime)
        client = NetworkClient(transport, runtime)
        client.post(ConnectCoordinator(1, "localhost", 9092))
        client.post(REQUEST)
        client.post(DisconnectCoordinator("a test"))
        assert (transport.sent, transport.coordinator) == ([], None)
        client.transmit_sends()
        assert transport.sent == [REQUEST]
        assert transport.unanswered() == []  # it went with its connection


def test_who_waits_in_the_network_sends_what_another_thread_posts() -> None:
    with RunToIdleRuntime() as runtime:
        transport = MemoryTransport(runtime)
        client = NetworkClient(transport, runtime)
        polls: list[int] = []

        def wait() -> None:
            for _ in range(2):
                client.poll(60_000, client.news())
                polls.append(runtime.now_ms())

        runtime.thread(wait, "caller").start()
        runtime.run_until_idle()
        client.poll_no_wakeup()  # does not wait for its turn
        client.post(REQUEST)
        client.nudge()
        runtime.run_until_idle()
        assert transport.sent == [REQUEST]
        transport.answer(1, HeartbeatResponse(ErrorCode.NONE))
        runtime.run_until_idle()
        assert len(polls) == 2
        answer = client.next_answer()
        assert answer is not None
        assert answer.response == HeartbeatResponse(ErrorCode.NONE)


@pytest.mark.parametrize("schedule", [(), (1,), (0, 1), (1, 1), (0, 0, 1), (1, 0, 1), (0, 1, 1, 1), (1, 1, 1, 1, 1, 1)])
def test_news_between_the_look_and_the_wait_is_not_missed_though_another_thread_polls_in_between(
    schedule: tuple[int, ...],
) -> None:
    with RunToIdleRuntime(schedule) as runtime:
        client = NetworkClient(MemoryTransport(runtime), runtime)
        seen = client.news()
        client.nudge()
        client.poll_no_wakeup()  # takes the transport's own wake, if there was one
        before_ms = runtime.now_ms()
        client.poll(60_000, seen)
        assert runtime.now_ms() == before_ms


class Ended(MemoryTransport):
    """Says whether the wait for answers is over."""

    is_over = False

    def poll(self, timeout_ms: int) -> list[ResponseReceived]:
        answers = super().poll(timeout_ms)
        self.is_over = True
        return answers


def test_an_interrupt_anywhere_in_a_turn_leaves_the_network_free_for_the_next_one() -> None:
    """Control-C in the calling thread; the close() after it must not wait for a turn that nobody gives back."""
    runtime, points = ThreadingRuntime(), 0
    gc.disable()  # a finaliser that the collector calls meanwhile would take the interrupt
    try:
        while is_interrupted_at(points, runtime):
            points += 1
    finally:
        gc.enable()
    assert points > 10


def is_interrupted_at(point: int, runtime: ThreadingRuntime) -> bool:
    """Poll with a KeyboardInterrupt at this point, if the poll gets there; then poll again."""
    transport = Ended(runtime)
    client = NetworkClient(transport, runtime)
    interrupts: list[KeyboardInterrupt] = []
    points = count()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        """Where Python looks for signals: at the beginning of a function, and when it has returned."""
        if not frame.f_globals["__name__"].startswith("groupspec.impl.") or transport.is_over:
            return None
        if event in ("call", "return") and next(points) == point:
            raise KeyboardInterrupt
        return trace

    def poll() -> None:
        sys.settrace(trace)
        try:
            client.poll(0)
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
        finally:
            sys.settrace(None)

    for call in (poll, lambda: client.poll(0)):
        thread = runtime.thread(call, "caller")
        thread.start()
        assert thread.join(BOUND_MS), f"nobody gives the turn back after an interrupt at point {point}"
    return bool(interrupts)


def test_a_request_that_can_not_be_sent_is_raised_and_answered_as_one_that_broke() -> None:
    with RunToIdleRuntime() as runtime:
        transport = MemoryTransport(runtime)
        client = NetworkClient(transport, runtime)

        def broken(request: SendRequest, now_ms: int) -> None:
            raise OSError("no buffers")

        transport.send = broken  # type: ignore[method-assign]
        client.post(REQUEST)
        with pytest.raises(OSError, match="no buffers"):
            client.poll(0)
        answer = client.next_answer()
        assert answer is not None
        assert answer.response == NoAnswer(ErrorCode.DISCONNECTED)
        client.poll(0)  # it is free again


def test_closing_sends_what_was_posted() -> None:
    with RunToIdleRuntime() as runtime:
        transport = MemoryTransport(runtime)
        client = NetworkClient(transport, runtime)
        client.post(REQUEST)
        client.close(0)
        assert transport.sent == [REQUEST]
        assert transport.closed

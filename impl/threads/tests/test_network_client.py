"""One network that two threads use: turns, and no news missed."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import COORDINATOR, ConnectCoordinator, DisconnectCoordinator, SendRequest
from groupspec.impl.core.messages import ErrorCode, HeartbeatRequest, HeartbeatResponse, NoAnswer
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.threads.memory_transport import MemoryTransport
from groupspec.impl.threads.network_client import NetworkClient

DESIGNS = ("heartbeat",)
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

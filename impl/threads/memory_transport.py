"""A network in memory: requests are kept, to be inspected, and answered when a test says so.

For tests of everything above the network. The one who answers may be the test, at idle, or a function that answers at
once (`answer_always`). Time limits of requests are kept as by the real one: TIMED_OUT when the runtime's clock says so.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import ErrorCode, NoAnswer, Request, Response
from groupspec.impl.runtime import Runtime

Answer = Callable[[Request], Response | None]


class Waiting(Struct, frozen=True):
    """A request that has not been answered yet."""

    sent: SendRequest
    deadline_ms: int


class MemoryTransport:
    """Implements `groupspec.impl.core.transport.Transport`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._news = runtime.condition("memory transport", from_outside=True)
        self._waiting: dict[int, Waiting] = {}
        self._ready: list[ResponseReceived] = []
        self._woken = False
        self._answers: dict[type[Request], Answer] = {}
        self.sent: list[SendRequest] = []
        self.coordinator: tuple[int, str, int] | None = None
        self.closed = False

    # The driver's side -----------------------------------------------------------------------------------------------

    def connect_coordinator(self, node_id: int, host: str, port: int) -> None:
        """Remember the coordinator."""
        self.coordinator = (node_id, host, port)

    def disconnect_coordinator(self) -> None:
        """Requests under way to it will not be answered, unless a test insists: late answers exist."""
        self.coordinator = None
        with self._news:
            for number in [n for n, waiting in self._waiting.items() if waiting.sent.node == COORDINATOR]:
                del self._waiting[number]

    def send(self, request: SendRequest, now_ms: int) -> None:
        """Put it there, or answer it."""
        answer = self._answers.get(type(request.request))
        response = answer(request.request) if answer is not None else None
        with self._news:
            self.sent.append(request)
            if response is not None:
                self._ready.append(ResponseReceived(request.request_id, response))
            else:
                self._waiting[request.request_id] = Waiting(request, now_ms + request.timeout_ms)

    def poll(self, timeout_ms: int) -> list[ResponseReceived]:
        """Wait for answers, a wake, or the time limit of a request."""
        with self._news:
            if self._waiting:
                limit_ms = min(waiting.deadline_ms for waiting in self._waiting.values())
                timeout_ms = min(timeout_ms, limit_ms - self._runtime.now_ms())
            self._news.wait_for(lambda: self._ready or self._woken, max(0, timeout_ms))
            self._expire()
            self._woken = False
            ready, self._ready = self._ready, []
            return ready

    def wake(self) -> None:
        """End the poll."""
        with self._news:
            self._woken = True
            self._news.notify_all()

    def close(self, timeout_ms: int) -> None:
        """Nothing is sent any more."""
        self.closed = True

    def _expire(self) -> None:
        now_ms = self._runtime.now_ms()
        for number in [n for n, waiting in self._waiting.items() if waiting.deadline_ms <= now_ms]:
            del self._waiting[number]
            self._ready.append(ResponseReceived(number, NoAnswer(ErrorCode.TIMED_OUT)))

    # The other side ---------------------------------------------------------------------------------------------------

    def answer(self, request_id: int, response: Response) -> None:
        """Answer a request, also one that was given up or never sent, and wake the thread that waits for it."""
        with self._news:
            self._waiting.pop(request_id, None)
            self._ready.append(ResponseReceived(request_id, response))
            self._news.notify_all()

    def answer_always(self, kind: type[Request], answer: Answer) -> None:
        """From now on requests of this kind are answered as soon as they are sent; None: this one is not."""
        self._answers[kind] = answer

    def unanswered(self) -> list[SendRequest]:
        """What waits for an answer, oldest first."""
        with self._news:
            return [waiting.sent for waiting in self._waiting.values()]

"""A network in memory in which answers race: with each other, with timers, and with what the application does.

Only those of one connection keep their order: each has a queue, and a thread that answers what is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from groupspec.conformance.schedules.requests import Requests
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import Response
from groupspec.impl.runtime import Queue
from groupspec.impl.scheduling import ScheduledRuntime
from groupspec.impl.scripted import api_of
from groupspec.impl.threads.memory_transport import MemoryTransport, Waiting


class CannotSend(OSError):
    """The network can't take a request: what raises it is a defect, and ends the thread that sends."""


class End:
    """What comes last over a connection."""


class _Told:
    """What must not be is no failure of the network that the member could get over. No generator, for speed."""

    def __init__(self, ends_by: Callable[[AssertionError], None]) -> None:
        self._ends_by = ends_by

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, wrong: BaseException | None, trace: object) -> None:
        if isinstance(wrong, AssertionError):
            self._ends_by(wrong)


class RacingTransport(MemoryTransport):
    """A network in memory whose answers come from other threads, one for each connection.

    Attributes:
        broken_ms: When it could not take a request.
        broken_in: In which thread.
    """

    SHARED_FIELDS: ClassVar = ("closed",)

    def __init__(self, runtime: ScheduledRuntime, requests: Requests, breaks: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(runtime)
        self._scheduled = runtime
        self._breaks = set(breaks)
        self._sent_of: Counter[str] = Counter()
        self.broken_ms: list[int] = []
        self.broken_in: list[str] = []
        self._arrived: dict[str | int, Queue[SendRequest | End]] = {}  # by connection
        self._requests = requests
        self._broken: AssertionError | None = None
        self._told = _Told(self._ends_by)
        self.serve: Callable[[SendRequest], Response | None] = lambda _: None

    def disconnect_coordinator(self) -> None:
        """See Transport."""
        super().disconnect_coordinator()
        with self._told:
            self._requests.disconnected(self._runtime.now_ms())

    def poll(self, timeout_ms: int) -> list[ResponseReceived]:
        """See Transport."""
        with self._told:
            assert not self.closed, "the network is asked for answers after it was closed (rule L4)"
            self._requests.turned(self._runtime.now_ms())
        answers = super().poll(timeout_ms)
        with self._told:
            self._requests.answered(answers, self._runtime.now_ms())
        return answers

    def send(self, request: SendRequest, now_ms: int) -> None:
        """See Transport. What is wrong with a request is raised by its connection, not in the member."""
        api = api_of(request.request)
        self._sent_of[api] += 1
        breaks = (api, self._sent_of[api]) in self._breaks
        with self._told:
            assert not self.closed, f"{api} is sent after the network was closed (rule L4)"
            self._requests.sent(request, now_ms, arrives=not breaks)
        if breaks:
            self.broken_ms.append(now_ms)
            self.broken_in.append(self._scheduled.current().name)
            raise CannotSend(f"{api} cannot be sent")
        with self._news:
            self.sent.append(request)
            self._waiting[request.request_id] = Waiting(request, now_ms + request.timeout_ms)
        self._goes_out(request, now_ms)

    def close(self, timeout_ms: int) -> None:
        """See Transport. The connections end."""
        super().close(timeout_ms)
        self._end()

    def expect_whole(self) -> None:
        """At the end, when the connections that would have told it may be gone. Raises AssertionError."""
        if self._broken is not None:
            raise self._broken

    def _goes_out(self, request: SendRequest, now_ms: int) -> None:
        """It reaches its broker."""
        self._arrives(request)

    def _arrives(self, request: SendRequest) -> None:
        if request.node not in self._arrived:
            self._connect(request.node)
        self._arrived[request.node].put(request)

    def _ends_by(self, wrong: AssertionError) -> None:
        self._broken = wrong
        self._end()

    def _connect(self, node: str | int) -> None:
        arrived = self._arrived[node] = Queue(self._runtime, f"requests to {node}")
        self._runtime.thread(partial(self._serve, arrived), f"connection to {node}").start()

    def _end(self) -> None:
        for arrived in tuple(self._arrived.values()):
            arrived.put(End())

    def _serve(self, arrived: Queue[SendRequest | End]) -> None:
        """Answer what comes over one connection, in its order, but for what the member has given up before."""
        while isinstance(request := arrived.get(None), SendRequest) and not self.closed:
            self.expect_whole()
            request = self._first(request)
            if self._waits_for(request):
                response = self.serve(request)
                if response is not None:
                    self.answer(request.request_id, response)
                else:
                    self._is_silent(request)
        self.expect_whole()

    def _first(self, request: SendRequest) -> SendRequest:
        """Which one comes next over the connection as this one has arrived."""
        return request

    def _waits_for(self, request: SendRequest) -> bool:
        """Whether the member does, so that its broker looks at it."""
        return request.request_id in self._waiting

    def _is_silent(self, request: SendRequest) -> None:
        """It gets no answer."""

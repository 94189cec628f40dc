"""One network that two threads use: after Kafka's ConsumerNetworkClient.

A transport has one calling thread at a time. Whoever is in it carries out what all have posted, and takes the answers
of all; what it may not wait for is left to the other one. Posting never waits: it wakes the thread in the network.
"""

from __future__ import annotations

from collections.abc import Callable

from groupspec.impl.core import events
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import ErrorCode, NoAnswer
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import Queue, Runtime

NetworkOutput = SendRequest | events.ConnectCoordinator | events.DisconnectCoordinator


class NetworkClient:
    """Takes no lock of another object's, so that it may be called with a lock held; `poll` alone may wait."""

    def __init__(self, transport: Transport, runtime: Runtime) -> None:
        self._transport = transport
        self._runtime = runtime
        self._unsent: Queue[NetworkOutput] = Queue(runtime, "unsent")
        self._completed: Queue[ResponseReceived] = Queue(runtime, "answers")
        self._turn = runtime.condition("turn in the network")
        self._busy = False  # a thread is in the transport
        self._closed = False  # nobody may be in it any more: a close need not wait for another thread's call
        self._news = 0

    def post(self, output: NetworkOutput) -> None:
        """To be carried out by the next thread that polls, in this order."""
        self._unsent.put(output)

    def next_answer(self) -> ResponseReceived | None:
        """Take the oldest answer."""
        return self._completed.get()

    # Waiting ----------------------------------------------------------------------------------------------------------

    def news(self) -> int:
        """How often something has happened: to be asked before looking."""
        with self._turn:
            return self._news

    def is_busy(self) -> bool:
        """Whether a thread is in the network."""
        with self._turn:
            return self._busy

    def nudge(self) -> None:
        """Something has happened: the thread that waits in the network returns, to look."""
        with self._turn:
            self._news += 1
            busy = self._busy
        if busy:
            self._transport.wake()

    def poll(self, timeout_ms: int, seen: int | None = None) -> None:
        """Carry out what was posted, then wait for answers; not at all if there is news since `seen`."""
        self._take_turn(lambda: self._move(timeout_ms if seen in (None, self._news) else 0), wait=True)

    def poll_no_wakeup(self) -> None:
        """The same without waiting for anything. If another thread is in the network, it does that just now."""
        self._take_turn(lambda: self._move(0), wait=False)

    def transmit_sends(self) -> None:
        """Carry out what was posted."""
        if len(self._unsent):
            self.poll_no_wakeup()

    def close(self, timeout_ms: int) -> None:
        """Send what was posted, for at most `timeout_ms`, then close the network."""
        self._take_turn(lambda: self._close(timeout_ms), wait=True)

    def _take_turn(self, work: Callable[[], None], wait: bool) -> None:
        """Do this as the only thread in the network; not if that is closed, nor, without waiting, if it is busy.

        In one function: were the turn taken in one and given back in another (a context manager's), a KeyboardInterrupt
        between them would leave the network busy for ever.
        """
        taken = False
        try:
            with self._turn:
                if wait:
                    self._turn.wait_for(lambda: not self._busy)
                if self._busy or self._closed:
                    return
                taken = self._busy = True
            work()
        finally:
            if taken:
                with self._turn:
                    self._busy = False
                    self._turn.notify_all()

    def _close(self, timeout_ms: int) -> None:
        self._closed = True
        try:
            self._carry_out()
        finally:
            self._transport.close(timeout_ms)

    def _move(self, timeout_ms: int) -> None:
        self._carry_out()
        for answer in self._transport.poll(timeout_ms):
            self._completed.put(answer)

    def _carry_out(self) -> None:
        while (output := self._unsent.get()) is not None:
            match output:
                case events.ConnectCoordinator(node_id, host, port):
                    self._transport.connect_coordinator(node_id, host, port)
                case events.DisconnectCoordinator():
                    self._transport.disconnect_coordinator()
                case SendRequest():
                    self._send(output)

    def _send(self, request: SendRequest) -> None:
        """A request that can't even be sent fails as one that broke on its way: the core must not wait for it."""
        try:
            self._transport.send(request, self._runtime.now_ms())
        except Exception:
            self._completed.put(ResponseReceived(request.request_id, NoAnswer(ErrorCode.DISCONNECTED)))
            raise

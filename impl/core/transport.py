"""What the background thread asks of a network, so that the core's drivers never see a socket.

`groupspec.impl.network.transport.SocketTransport` is the real one; tests have theirs in memory. One thread, the one
that drives the core, makes all calls but `wake`.
"""

from __future__ import annotations

from typing import Protocol

from groupspec.impl.core.events import ResponseReceived, SendRequest


class Transport(Protocol):
    """Requests out, answers in. Nothing here raises because of a peer: a failure is an answer, `NoAnswer`."""

    def connect_coordinator(self, node_id: int, host: str, port: int) -> None:
        """From now on requests to COORDINATOR go there, over a connection that nothing else uses."""

    def disconnect_coordinator(self) -> None:
        """Close that connection. Requests still under way on it are never answered: the core fails them itself."""

    def send(self, request: SendRequest, now_ms: int) -> None:
        """Queue a request; never blocks. Its time limit counts from `now_ms`."""

    def poll(self, timeout_ms: int) -> list[ResponseReceived]:
        """Move bytes for at most `timeout_ms`, less as soon as there is an answer or `wake` is called.

        Returns the answers so far, in order per connection. A request that failed is answered with `NoAnswer`:
        TIMED_OUT if its own time limit passed, DISCONNECTED if the connection broke.
        """

    def wake(self) -> None:
        """Let the current `poll`, or the next one, return at once. May be called from any thread."""

    def close(self, timeout_ms: int) -> None:
        """Send what is queued, for at most `timeout_ms`, then close everything."""

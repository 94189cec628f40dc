"""The requests under way, by their ids, and which of them were given up.

A request ends in one of three ways: it is answered; it fails (a NoAnswer); or it is given up, because the state that
needed it is gone. Nobody here keeps the time: the limit goes out in SendRequest, and the transport answers
`NoAnswer(TIMED_OUT)` when it is over (`SocketTransport._expire`). The answer to one that failed or was given up may
still come: it is late (`dispatch.is_late`). An answer to anything else was never asked for.
"""

from __future__ import annotations

from collections import deque
from typing import get_args

from msgspec import Struct

from groupspec.impl.core.context import Context, Identity
from groupspec.impl.core.events import COORDINATOR, SendRequest, UnsolicitedResponse
from groupspec.impl.core.messages import NoAnswer, Request, Response

RESPONSES: dict[str, type[Response]] = {
    kind.__name__.removesuffix("Response"): kind for kind in get_args(Response) if kind is not NoAnswer
}
"""The answer that belongs to each request that the core sends."""

APIS: dict[type[Request], str] = {kind: kind.__name__.removesuffix("Request") for kind in get_args(Request)}
"""The API of each request, as Kafka's protocol names it."""

REMEMBERED = 1000
"""How many given up requests are remembered, so that a late answer is known as such."""


class Sent(Struct, frozen=True):
    """A request as it was sent, with the identity of that moment (rule J9)."""

    request_id: int
    request: Request
    node: str | int
    identity: Identity
    sent_ms: int

    @property
    def api(self) -> str:
        """The API's name, as in the protocol guide."""
        return APIS[type(self.request)]


class Requests:
    """Every request of one core."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._next_id = 1
        self._pending: dict[int, Sent] = {}
        self._given_up: deque[Sent] = deque(maxlen=REMEMBERED)

    def send(self, request: Request, node: str | int, timeout_ms: int) -> Sent:
        """Send it, and expect an answer within `timeout_ms`: every request has an end (rule D6)."""
        sent = Sent(self._next_id, request, node, self._context.identity, self._context.now_ms)
        self._next_id += 1
        self._pending[sent.request_id] = sent
        self._context.emit(SendRequest(sent.request_id, node, request, timeout_ms))
        return sent

    def give_up(self, sent: Sent | None) -> None:
        """Give a request up: its answer will be late."""
        if sent is not None and self._pending.pop(sent.request_id, None) is not None:
            self._given_up.append(sent)

    def give_up_all(self) -> None:
        """The end: no answer counts any more."""
        for sent in list(self._pending.values()):
            self.give_up(sent)

    def to_coordinator(self) -> list[Sent]:
        """The requests that the coordinator has not answered, oldest first."""
        return [sent for sent in self._pending.values() if sent.node == COORDINATOR]

    def pending(self, api: str) -> list[Sent]:
        """The unanswered requests of one API."""
        return [sent for sent in self._pending.values() if sent.api == api]

    def is_pending(self, sent: Sent) -> bool:
        """Whether this request was neither answered nor given up."""
        return sent.request_id in self._pending

    def look_up(self, request_id: int, response: Response) -> Sent:
        """The request that this answers. UnsolicitedResponse if there is none, or it is of another kind."""
        sent = self._pending.get(request_id) or next((s for s in self._given_up if s.request_id == request_id), None)
        if sent is None:
            raise UnsolicitedResponse(
                f"{type(response).__name__} for request {request_id}, which awaits no answer; "
                f"awaited are {sorted(self._pending) or 'none'}"
            )
        if not isinstance(response, (NoAnswer, RESPONSES[sent.api])):
            raise UnsolicitedResponse(f"{type(response).__name__} for request {request_id}, which is a {sent.api}")
        return sent

    def end(self, sent: Sent, response: Response) -> None:
        """The answer has come. If it is that there is none, a real one may still come late."""
        if isinstance(response, NoAnswer):
            self.give_up(sent)
        elif self._pending.pop(sent.request_id, None) is None:
            self._given_up.remove(sent)

"""Which answer belongs to which request.

A client may number its requests as it likes, and all of them alike: a broker copies the id into the answer, and answers
what a connection brings in order (Kafka's protocol guide, "Network"; `SocketServer.Processor` mutes a channel until its
request is answered). So an answer belongs to the oldest request of its id that waits on its connection.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

from groupspec.conformance.history.entry import Entry

Asked = TypeVar("Asked")

ENDINGS: Final = ("response", "sent_raw", "note")
"""What becomes of a request: its answer, bytes that are none, or the broker's word that none will come."""


class Waiting(Generic[Asked]):
    """Requests that wait for their answers, by connection and id."""

    def __init__(self) -> None:
        self._asked: defaultdict[Hashable, deque[Asked]] = defaultdict(deque)

    def add(self, where: Hashable, request: Asked) -> None:
        """It has come."""
        self._asked[where].append(request)

    def take(self, where: Hashable) -> Asked | None:
        """The one that is answered now; None if nobody has asked."""
        waiting = self._asked.get(where)
        if not waiting:
            return None
        request = waiting.popleft()
        if not waiting:
            del self._asked[where]
        return request


def pairs(entries: Iterable[Entry]) -> list[tuple[Entry, Entry | None]]:
    """Every request with what became of it, in the order in which the requests arrived; None for what did not end."""
    waiting = Waiting[int]()
    found: list[tuple[Entry, Entry | None]] = []
    for entry in entries:
        if entry.source != "wire" or not entry.api:
            continue
        where = entry.node, entry.connection, entry.correlation_id
        if entry.kind == "request":
            waiting.add(where, len(found))
            found.append((entry, None))
        elif entry.kind in ENDINGS and (place := waiting.take(where)) is not None:
            found[place] = found[place][0], entry
    return found

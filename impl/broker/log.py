"""The broker's log: everything that crossed its wire, in one order, with one clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from groupspec.impl.core.messages import Request
from groupspec.impl.network.codec import Answer
from groupspec.impl.runtime import Lock

Kind = Literal["connect", "disconnect", "request", "response", "sent_raw", "garbage", "note"]


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One thing that happened, as the broker saw it.

    `number` counts from 0 without gaps; `at_us` is the machine's monotonic clock. `connection` is 0 for what belongs to
    none. `error` is an error code's name, "NONE" for success, "" where there is none to tell. `throttle_ms` is what an
    answer says of the client's quota. `message` is what was decoded, or what was encoded; `raw` the bytes of a frame
    without its length prefix. `text` explains notes and garbage.
    """

    number: int
    at_us: int
    kind: Kind
    node: int = 0
    connection: int = 0
    client_id: str = ""
    api: str = ""
    version: int = -1
    correlation_id: int = -1
    message: Request | Answer | None = None
    error: str = ""
    throttle_ms: int = 0
    raw: bytes = b""
    text: str = ""

    def __str__(self) -> str:
        what = " ".join(word for word in (self.api and f"{self.api} v{self.version}", self.error, self.text) if word)
        return f"{self.at_us / 1e6:.6f} node {self.node} connection {self.connection} {self.kind} {what}".rstrip()


class Condition(Lock, Protocol):
    """What is needed of a `threading.Condition`; the broker's server brings one."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait to be notified."""

    def notify_all(self) -> None:
        """Wake the waiting threads."""


class BrokerFailure(Exception):
    """The broker itself broke, or outlived its time. Its cause is attached."""


class NotHappened(AssertionError):
    """What was waited for did not happen. The message has the end of the log."""


class WireLog:
    """Events, for reading and for waiting, from any thread."""

    def __init__(self, condition: Condition, now_us: Callable[[], int]) -> None:
        self._condition = condition
        self._now_us = now_us
        self._events: list[WireEvent] = []
        self._listeners: list[Callable[[WireEvent], None]] = []
        self._failure: BaseException | None = None

    @property
    def events(self) -> list[WireEvent]:
        """Everything so far."""
        with self._condition:
            return list(self._events)

    @property
    def failure(self) -> BaseException | None:
        """What broke the broker itself; None as long as nothing did."""
        return self._failure

    def now_ms(self) -> int:
        """The time by the clock that stamps the events."""
        return self._now_us() // 1_000

    def listen(self, listener: Callable[[WireEvent], None]) -> None:
        """Call this with every event from now on, in the broker's thread. It must be quick, and not raise."""
        with self._condition:
            self._listeners.append(listener)

    def add(self, kind: Kind, **fields: Any) -> WireEvent:
        """One more event, now; `fields` are those of WireEvent."""
        with self._condition:
            event = WireEvent(len(self._events), self._now_us(), kind, **fields)
            self._events.append(event)
            for listener in self._listeners:
                listener(event)
            self._condition.notify_all()
            return event

    def fail(self, failure: BaseException) -> None:
        """The broker itself failed: waiting threads are woken, and the first failure is kept."""
        with self._condition:
            self._failure = self._failure or failure
            self._condition.notify_all()

    def raise_failure(self) -> None:
        """Raises BrokerFailure if the broker broke."""
        if self._failure is not None:
            raise BrokerFailure(f"the scripted broker broke: {self._failure}") from self._failure

    def wait_for(
        self, predicate: Callable[[WireEvent], bool], timeout_s: float, what: str, since: WireEvent | None = None
    ) -> WireEvent:
        """The first event after `since`, past or to come, that is accepted. Raises NotHappened, BrokerFailure."""
        deadline_us = self._now_us() + int(timeout_s * 1_000_000)
        looked_at = 0 if since is None else since.number + 1
        with self._condition:
            while True:
                self.raise_failure()
                for event in self._events[looked_at:]:
                    if predicate(event):
                        return event
                looked_at = max(looked_at, len(self._events))
                left_us = deadline_us - self._now_us()
                if left_us <= 0:
                    raise NotHappened(self._complaint(what, timeout_s))
                self._condition.wait(left_us / 1_000_000)

    def _complaint(self, what: str, timeout_s: float) -> str:
        last = "\n".join(f"  {event}" for event in self._events[-20:])
        return f"{what} did not happen within {timeout_s} s; the log ends with\n{last or '  nothing at all'}"

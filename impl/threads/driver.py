"""What the Consumer asks of a threading design: events in, futures and consumer events out.

The Consumer is the polling thread's side: it runs API calls and callbacks, and knows nothing of the network. Which
thread carries an event out, and when, is the driver's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, ServerEvent
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import Runtime
from groupspec.impl.threads.futures import Future


class Driver(Protocol):
    """One member being driven. All methods but `wakeup` are the polling thread's."""

    def ensure_running(self) -> None:
        """Start, or start again after a failure that was reported."""

    def submit(self, event: ServerEvent) -> None:
        """Send an event to the core."""

    def call(self, make_event: Callable[[int], ServerEvent]) -> Future:
        """The same, with a future for the outcome; its number goes into the event."""

    def settle(self, deadline_ms: int) -> bool:
        """Wait until every event submitted so far has been taken by the core; False if the deadline came first."""

    def wait_until(self, happened: Callable[[], bool], deadline_ms: int | None) -> bool:
        """Wait for something that the core brings about; also returns, with True, once the driver has failed."""

    def has_consumer_events(self) -> bool:
        """Whether there is an event from the core to take."""

    def next_consumer_event(self) -> ConsumerEvent | None:
        """Take the oldest event from the core, if there is one."""

    def failure(self) -> Exception | None:
        """Why the driver does not run any more; None while all is well."""

    def take_failure(self) -> Exception | None:
        """The same, for the one that reports it: afterwards `ensure_running` starts it again (rule H6)."""

    def nudge(self) -> None:
        """Wake the thread in `wait_until`; from any thread."""

    def shut_down(self, deadline_ms: int) -> None:
        """End what runs, then close the network; every event and future left over is answered (rules L4, Q1)."""

    def abandon(self) -> None:
        """Nobody uses it any more, and nobody can shut it down: end by yourself. Takes no lock and waits for nothing.

        For garbage collection, which may happen in any thread, in the middle of anything.
        """

    def is_over(self) -> bool:
        """Whether it was shut down, or abandoned. Takes no lock."""


DriverFactory = Callable[[Core, Transport, Runtime], Driver]

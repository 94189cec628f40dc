"""What the Consumer asks of a threading design. There are two: `background` and `heartbeat`.

Its methods are called by the application's thread; `nudge`, `abandon` and `is_over` by any.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, ServerEvent
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import Runtime
from groupspec.impl.threads.futures import Future


class Driver(Protocol):
    """Brings the application, the core and the network together."""

    core: Core

    def ensure_running(self) -> None:
        """Start what has to run, unless it does, has ended for good, or has failed and nobody was told yet (H6)."""

    def is_running(self) -> bool:
        """Whether the design's own thread runs."""

    def polling(self) -> AbstractContextManager[None]:
        """The application is inside poll() meanwhile."""

    def submit(self, event: ServerEvent) -> None:
        """Hand an event over to the core."""

    def call(self, make_event: Callable[[int], ServerEvent]) -> Future:
        """The same for an event whose outcome is wanted."""

    def settle(self, deadline_ms: int) -> bool:
        """Wait until the core has taken all that was submitted; False if the deadline came first."""

    def wait_until(self, happened: Callable[[], bool], deadline_ms: int | None) -> bool:
        """Wait for the core to bring something about; True at once if the design's thread has failed."""

    def has_consumer_events(self) -> bool:
        """Whether the core has something for the application."""

    def next_consumer_event(self) -> ConsumerEvent | None:
        """Take it."""

    def failure(self) -> Exception | None:
        """What ended the design's thread before its time."""

    def take_failure(self) -> Exception | None:
        """The same; from now on another thread may be started."""

    def nudge(self) -> None:
        """Have the waiting thread look again."""

    def shut_down(self, deadline_ms: int) -> None:
        """End the thread, then the network; every event and future left over is answered (rules L4, Q1)."""

    def abandon(self) -> None:
        """Nobody uses it any more: the thread ends, and closes the network; without a thread it is closed here.

        For garbage collection, which may happen in any thread, in the middle of anything: takes no lock, never waits.
        """

    def is_over(self) -> bool:
        """Whether the end has been asked for. Takes no lock."""


DriverFactory = Callable[[Core, Transport, Runtime], Driver]

"""The core: a consumer-group member without threads, sockets or clocks.

`handle(event, now_ms)` takes one input event and returns what is to be done about it, in order; `advance(now_ms)` does
the same for all timers that are due.
"""

from __future__ import annotations

from groupspec.impl.core.config import Config
from groupspec.impl.core.events import Description, InputEvent, Output
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.timers import Timers
from groupspec.impl.trace import TraceSink


class Core:
    """One member. Everything happens inside `handle`; the outputs say what the driver has to do next."""

    def __init__(self, config: Config, subscription: SubscriptionState, trace: TraceSink | None = None) -> None:
        self.config = config
        self.subscription = subscription
        self.timers = Timers()

    def handle(self, event: InputEvent, now_ms: int) -> list[Output]:
        """Take one event. UnsolicitedResponse: an answer to nothing; nothing has changed then."""
        raise NotImplementedError

    def advance(self, now_ms: int) -> list[Output]:
        """Fire every timer that is due, in the order of `timers.ORDER`."""
        raise NotImplementedError

    def next_deadline_ms(self) -> int | None:
        """When `advance` is needed at the latest; None: not at all."""
        return self.timers.next_deadline_ms()

    def describe(self) -> Description:
        """The state, in the proposal's names."""
        raise NotImplementedError

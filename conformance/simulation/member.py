"""What the parts of a run see of one process, and of the application in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

from groupspec.conformance.simulation.loop import Loop
from groupspec.conformance.simulation.network import Link
from groupspec.conformance.simulation.plan import MemberPlan
from groupspec.conformance.traces.schema import SourceName
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, InputEvent
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.records import Records
from groupspec.impl.trace import TraceEvent


class Calls(ABC):
    """What the application is at.

    Attributes:
        is_in_callback: A rebalance callback runs.
        is_polling, poll_began_ms: It is in poll(), and since when.
        leaves_from_ms, closes_from_ms: When it first called close() or unsubscribe(), and close().
        told_before_close: How much its core had told by then.
        paused: What it has paused, of what it owns.
    """

    is_in_callback: bool
    is_polling: bool
    poll_began_ms: int
    leaves_from_ms: int | None
    closes_from_ms: int | None
    told_before_close: int
    paused: set[TopicPartition]

    @property
    @abstractmethod
    def leaves_uncommitted(self) -> bool:
        """Whether it is in unsubscribe(), which commits nothing, as in Java's client, or its close() is out of time."""


class Member(ABC):
    """A process of a member's.

    Attributes:
        name: The member's and, after a dot, which process of the member's this is.
        application: What its application is at.
        is_standing_still: It does nothing, and does not know it (SIGSTOP, a virtual machine that moves).
        has_stood_still: It did so at some time.
        trace: What the core has told.
        trace_source: How its trace is judged.
    """

    name: str
    plan: MemberPlan
    loop: Loop
    core: Core
    subscription: SubscriptionState
    link: Link
    application: Calls
    is_standing_still: bool
    has_stood_still: bool
    trace: list[TraceEvent]
    trace_source: SourceName = "reference"

    @abstractmethod
    def happens(self, what: Callable[[], None]) -> None:
        """Something happens to this process: later, if it stands still; never, if it has ended."""

    @abstractmethod
    def end(self) -> None:
        """It is no more."""


class CoreMember(Member):
    """A process without threads: its application speaks to the core.

    Attributes:
        records: What was fetched.
        consumer_events: What waits for the application.
        outcomes: Of calls, by their numbers.
    """

    records: Records
    consumer_events: deque[ConsumerEvent]
    outcomes: dict[int, Exception | None]

    @abstractmethod
    def give(self, event: InputEvent) -> None:
        """An event for the core, now."""

    @abstractmethod
    def call(self, make_event: Callable[[int], InputEvent]) -> int:
        """An event with an outcome, which is in `outcomes` then by the number that is returned."""

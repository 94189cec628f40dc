"""An application and its consumer: what is the same whether it runs in steps or in a thread."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Final

from groupspec.conformance.simulation.ledger import Ledger
from groupspec.conformance.simulation.member import Calls, Member
from groupspec.conformance.simulation.plan import TOPICS
from groupspec.conformance.simulation.situations import Watch
from groupspec.impl.core.errors import FencedInstanceIdError, KafkaError
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition

COMMIT_LIMIT_MS: Final = 10_000
CLOSE_LIMIT_MS: Final = 30_000
BETWEEN_POLLS_MS: Final = 1_000
"""How long an application rests whose poll() does not wait, or has raised an error."""

CALLBACK_MS: Final = 3
MOST_SOUGHT: Final = 3
"""How many records it goes back."""


class Application(Calls):
    """A loop around poll().

    Attributes:
        wanted: What it is to do before its next poll.
        topics: What it subscribes to.
        slow_callback_ms, slow_work_ms: How long the next callback, and the next work, take besides.
        raises_next: The next callback raises: then so does the poll() that has run it.
        is_closing, is_unsubscribing: It has called, or is to call, close(); it is in unsubscribe().
        errors: What poll() has raised.
    """

    def __init__(self, process: Member, ledger: Ledger, watch: Watch) -> None:
        self._process = process
        self._loop = process.loop
        self._ledger = ledger
        self._watch = watch
        self._plan = process.plan
        self.poll_ms = process.plan.poll_ms
        self.topics: tuple[str, ...] = TOPICS
        self.wanted: list[str] = []
        self.close_limit_ms = CLOSE_LIMIT_MS
        self.slow_callback_ms = self.slow_work_ms = 0
        self.raises_next = False
        self.paused: set[TopicPartition] = set()
        self.is_in_callback = False
        self.leaves_from_ms = self.closes_from_ms = None
        self.told_before_close = 0
        self.is_closing = self.is_unsubscribing = False
        self.is_polling = False
        self.poll_began_ms = 0
        self.errors: list[KafkaError] = []
        self._has_failed = False  # in the last poll()
        self._close_deadline_ms: int | None = None
        self._callback_began_ms = 0
        self._in_callbacks_ms = 0
        self._in_callbacks_before_ms = 0

    # What a run has it do --------------------------------------------------------------------------------------------

    @abstractmethod
    def start(self) -> None:
        """The first step."""

    @abstractmethod
    def stop(self) -> None:
        """No more steps."""

    @abstractmethod
    def hurry(self) -> None:
        """Whatever takes long is over now."""

    @abstractmethod
    def want(self, what: str) -> None:
        """Something to do before the next poll."""

    @abstractmethod
    def close(self, limit_ms: int | None = None) -> None:
        """Have it end: a poll() that waits is interrupted."""

    # What is so ------------------------------------------------------------------------------------------------------

    @property
    def is_fenced(self) -> bool:
        """Whether it was told that another process has its instance id; then it closes."""
        return any(isinstance(error, FencedInstanceIdError) for error in self.errors)

    @property
    def leaves_uncommitted(self) -> bool:
        """See Calls."""
        is_late = self._close_deadline_ms is not None and self._loop.now_ms >= self._close_deadline_ms
        return self.is_unsubscribing or is_late

    def rests(self) -> bool:
        """Whether it waits before it polls again: its poll() does not wait, or has just raised an error."""
        has_failed, self._has_failed = self._has_failed, False
        return has_failed or not self.poll_ms

    # What it does, for the ledger and the watch ----------------------------------------------------------------------

    def change_topics(self) -> None:
        """One topic instead of all, or all again."""
        self.topics = TOPICS[:1] if self.topics == TOPICS else TOPICS

    def goes_back(self) -> tuple[TopicPartition, OffsetAndMetadata] | None:
        """Where to seek: some records of the first partition that has a position are to be processed again."""
        for partition, position in self._process.subscription.positions.returned_positions().items():
            offset = max(0, position.offset - MOST_SOUGHT)
            self._ledger.sought(self._process, partition, offset)
            return partition, OffsetAndMetadata(offset, leader_epoch=position.leader_epoch)
        return None

    def raised(self, error: KafkaError) -> None:
        """poll() has raised this."""
        self._ledger.raised(self._process, error)
        self.errors.append(error)
        self._has_failed = True

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """The assigned callback begins."""
        self._ledger.assigned(self._process, partitions)
        for partition in partitions:
            self._watch.assigned(self._process, partition)

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """The revoked or lost callback is over."""
        self._ledger.release(self._process, partitions)
        self.paused.difference_update(partitions)

    def callback_begins(self) -> int:
        """A callback begins; how long it takes, in milliseconds."""
        self.is_in_callback = True
        extra_ms, self.slow_callback_ms = self.slow_callback_ms, 0
        self._callback_began_ms = self._loop.now_ms
        return CALLBACK_MS + extra_ms

    def callback_ends(self) -> bool:
        """It ends; whether it raises."""
        took_ms = self._loop.now_ms - self._callback_began_ms
        self._in_callbacks_ms += took_ms
        self._watch.callback_ran(self._process, took_ms)
        raises, self.raises_next = self.raises_next, False
        self.is_in_callback = False
        return raises

    def unsubscribe_begins(self) -> None:
        """unsubscribe() is called."""
        self.is_unsubscribing, self.leaves_from_ms = True, self.leaves_from_ms or self._loop.now_ms

    def close_begins(self) -> int:
        """close() is called; when it has to be over."""
        self.leaves_from_ms = self.leaves_from_ms or self._loop.now_ms
        self.closes_from_ms, self.told_before_close = self._loop.now_ms, len(self._process.trace)
        self._close_deadline_ms = self._loop.now_ms + self.close_limit_ms
        self._in_callbacks_before_ms = self._in_callbacks_ms
        self._watch.closes(self._process)
        return self._close_deadline_ms

    def close_ends(self) -> None:
        """close() has returned."""
        in_callbacks_ms = self._in_callbacks_ms - self._in_callbacks_before_ms
        self._ledger.closed(self._process, self._loop.now_ms - (self._close_deadline_ms or 0) - in_callbacks_ms)

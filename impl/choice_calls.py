"""What a consumer reads: topics, which its group divides, or partitions; and how it lets go of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from groupspec.impl import arguments
from groupspec.impl.core import events
from groupspec.impl.core.errors import ConfigError, IllegalStateError, KafkaTimeoutError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.listener import RebalanceListener
from groupspec.impl.partition_calls import PartitionCalls
from groupspec.impl.threads.futures import Future


class ChoiceCalls(PartitionCalls):
    """The calls that choose."""

    _chosen = ""  # how partitions are chosen: "topics", "partitions", or not yet
    _topics: frozenset[str] = frozenset()
    _by_pattern = False
    _leave: Future | None = None  # of an unsubscribe() that is under way, maybe longer than its call was

    def subscribe(
        self,
        topics: Iterable[str] = (),
        listener: RebalanceListener | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
    ) -> None:
        """Have the group give this member partitions of these topics, from the next poll() on. None: unsubscribe.

        `pattern`: instead of names a regular expression that the beginning of a name must match (`re.match`, as in
        kafka-python; for whole names end it with "$"). Topics that come later are found within metadata_max_age_ms.

        What an unsubscribe() could not finish in its time comes first; KafkaTimeoutError if it still does not end.
        """
        wanted = arguments.topic_names(topics)
        told = arguments.listener(listener, "subscribe()")
        matching = None if pattern is None else arguments.pattern(pattern, "subscribe()")
        if wanted and matching is not None:
            raise ValueError("subscribe(): give topics or a pattern, not both")
        if not wanted and matching is None:
            self.unsubscribe()
            return
        with self._call_guard.use("subscribe()"):
            self._need_background()
            if self._config.group_id is None:
                raise ConfigError("subscribe() needs a group_id; without a group, assign() partitions")
            self._choose("topics", "subscribe()")
            self._topics = frozenset(wanted)
            self._by_pattern = matching is not None
            self._callbacks.listener = told
            self._driver.submit(events.Subscribe(wanted, matching))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these, without the group's help (rule D8). None: unsubscribe. Otherwise as subscribe()."""
        wanted = arguments.partitions(partitions, "assign()")
        if not wanted:
            self.unsubscribe()
            return
        with self._call_guard.use("assign()"):
            self._need_background()
            self._choose("partitions", "assign()")
            self._driver.submit(events.Assign(wanted))
            limit_ms = self._limit_ms(None, "assign()")
            if not self._driver.settle(self._runtime.now_ms() + limit_ms):
                raise KafkaTimeoutError(f"assign(): the background thread has not answered in {limit_ms} ms")
            self._report_failure()
            self._call_guard.check_open()

    def unsubscribe(self) -> None:
        """Leave the group, or let go of assigned partitions. The listener is called before this returns (rule C7).

        Raises, when all is done, what a callback raised, or what the next poll() would have. KafkaTimeoutError if it is
        out of time: the member leaves as soon as it can, and its listener is called by poll(), subscribe() or assign().
        """
        with self._call_guard.use("unsubscribe()"):
            self._call_guard.refuse_in_callback("unsubscribe()")
            self._note_failure()
            self._driver.ensure_running()
            self._leave = self._driver.call(events.Unsubscribe)
            self._finish_unsubscribe("unsubscribe()", self._leave)
            self._callbacks.raise_first()

    def _finish_unsubscribe(self, call: str, leave: Future) -> None:
        """Wait until nothing is owned any more, and run the callbacks for that. A thread that ends is replaced."""
        limit_ms = self._limit_ms(None, call)
        while not leave.done:
            self._callbacks.serve()
            in_time = self._driver.wait_until(
                lambda: leave.done or self._driver.has_consumer_events() or not self._call_guard.is_open(),
                self._runtime.now_ms() + limit_ms,
            )
            self._call_guard.check_open()
            if not in_time:
                raise KafkaTimeoutError(f"{call}: the background thread has not answered in {limit_ms} ms")
            self._note_failure()
            self._driver.ensure_running()
        self._note_failure()
        self._forget_choice()
        leave.outcome()

    def _has_left(self) -> bool:
        """Whether an unsubscribe() that went on after its call is done."""
        return self._leave is not None and self._leave.done

    def _forget_choice(self) -> None:
        self._leave, self._chosen = None, ""
        self._topics, self._by_pattern = frozenset(), False

    def subscription(self) -> set[str]:
        """The topics subscribed to; by pattern: those that are known to match, so far."""
        with self._call_guard.use("subscription()"):
            return set(self._subscription.topics() if self._by_pattern else self._topics)

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are this consumer's now."""
        with self._call_guard.use("assignment()"):
            return set(self._subscription.assignment())

    def _choose(self, how: str, call: str) -> None:
        """What an unsubscribe() has left behind goes first; what its callbacks choose goes with it, as in Java."""
        if self._leave is not None and not self._call_guard.is_in_callback():
            self._finish_unsubscribe(call, self._leave)
        if self._chosen not in ("", how):
            raise IllegalStateError(f"The consumer has {self._chosen} chosen: unsubscribe() before choosing {how}")
        self._chosen = how

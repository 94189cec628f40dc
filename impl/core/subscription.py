"""What the member wants and what it has, and which callbacks are due; how far it has read is in `positions`.

Each field has one owner, who alone writes it; the other thread only reads it, always under the lock:

    field                          written by
    topics, pattern, kind,         the core (background thread)
    assigned set
    callback_pending               the core: the assigned callback of this partition has not finished
    pending_revocation             the core: paused because it is about to be taken away (rule Q5)
    callback (kind, started)       kind by the core until the polling thread starts the callback; started by the latter
    untold, assigned_void          set by the core; cleared by the polling thread when the assigned callback starts
    commits_asked                  put by the polling thread as it asks for a commit, taken by the core

Check-then-act steps (which kind of callback is it?) are one method each, so that nothing can change in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from groupspec.impl.core.events import CallbackKind
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.partition_state import PendingCallback, Shared
from groupspec.impl.core.positions import Positions

LockFactory = Callable[[], AbstractContextManager[object]]


class SubscriptionState:
    """Thread-safe; all methods are short. `lock` makes the lock (from the runtime); none is needed in one thread.

    Attributes:
        positions: How far what is assigned has been read.
    """

    def __init__(self, lock: LockFactory = nullcontext) -> None:
        self._lock = lock()
        self._shared = Shared()
        self.positions = Positions(self._lock, self._shared)

    # What both may ask ------------------------------------------------------------------------------------------------

    def topics(self) -> tuple[str, ...]:
        """The subscribed topics, sorted; empty without a subscription."""
        with self._lock:
            return self._shared.topics

    def has_pattern(self) -> bool:
        """Whether the topics are those that match a pattern."""
        with self._lock:
            return self._shared.pattern is not None

    def wants(self, topic: str) -> bool:
        """Whether it is one of them; by pattern, if it matches: which ones do, may not be known yet.

        As Java's SubscriptionState.checkAssignmentMatchedSubscription.
        """
        with self._lock:
            pattern = self._shared.pattern
            return topic in self._shared.topics if pattern is None else pattern.match(topic) is not None

    def is_subscribed(self) -> bool:
        """Whether topics are wanted, be they named or matched; it may be that none matches."""
        with self._lock:
            return bool(self._shared.topics) or self._shared.pattern is not None

    def is_resolved(self) -> bool:
        """Whether it is known which topics those are."""
        with self._lock:
            return self._shared.listed

    def is_manual(self) -> bool:
        """Whether partitions were assigned by hand (rule D8)."""
        with self._lock:
            return self._shared.manual

    def assignment(self) -> tuple[TopicPartition, ...]:
        """The assigned partitions, sorted."""
        with self._lock:
            return tuple(sorted(self._shared.partitions))

    # The polling thread -----------------------------------------------------------------------------------------------

    def pending_callback(self) -> PendingCallback | None:
        """The revocation callback that is due or runs. It may still change its kind until it has started."""
        with self._lock:
            return self._shared.callback

    def start_callback(self) -> PendingCallback | None:
        """Take the callback that is due: from here on its kind is settled. None if there is none any more."""
        with self._lock:
            if self._shared.callback is not None:
                self._shared.callback = replace(self._shared.callback, started=True)
            return self._shared.callback

    def start_assigned_callback(self) -> bool:
        """Whether the listener is to be told of its new partitions; from here on that is settled.

        Not if the membership ended while the callback waited: by now they may be another member's (Kafka
        AbstractCoordinator.joinGroupIfNeeded: "modified by heartbeat thread ... before the rebalance callback
        triggered").
        """
        with self._lock:
            if not self._shared.assigned_void:
                self._shared.untold.clear()
            return not self._shared.assigned_void

    def told_of(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Those of which the listener knows that they are assigned: of no others it hears that they go (rule C1)."""
        with self._lock:
            return tuple(tp for tp in partitions if tp not in self._shared.untold)

    # The core ---------------------------------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str], pattern: re.Pattern[str] | None = None) -> None:
        """Want these topics; or those that match, which are none but these until `list_topics` has said which."""
        with self._lock:
            if self._shared.manual:
                self._shared.manual = False
                self._shared.partitions.clear()
            self._shared.topics = tuple(sorted(set(topics)))
            self._shared.pattern = pattern
            self._shared.listed = pattern is None

    def list_topics(self, names: Iterable[str]) -> None:
        """The topics that there are: those that match are wanted from now on. Nothing without a pattern."""
        with self._lock:
            pattern = self._shared.pattern
            if pattern is not None:
                self._shared.topics = tuple(sorted(name for name in set(names) if pattern.match(name)))
                self._shared.listed = True

    def unsubscribe(self) -> None:
        """Want nothing, have nothing."""
        with self._lock:
            self._shared.topics, self._shared.pattern, self._shared.listed = (), None, True
            self._shared.manual = False
            self._shared.partitions.clear()
            self._shared.untold.clear()
            self._shared.callback = None

    def assign_manually(self, partitions: Iterable[TopicPartition]) -> None:
        """Have exactly these, without a group; what was there before stays as it is."""
        with self._lock:
            self._shared.manual = True
            self._shared.topics, self._shared.pattern, self._shared.listed = (), None, True
            self._shared.replace(partitions, callback_pending=False)

    def assign_from_group(self, partitions: Iterable[TopicPartition]) -> None:
        """Have exactly these. New ones wait for the assigned callback; kept ones keep everything (rule O2)."""
        with self._lock:
            self._shared.untold = set(partitions) - set(self._shared.partitions)
            self._shared.assigned_void = False
            self._shared.replace(partitions, callback_pending=True)
            for p in self._shared.partitions.values():
                p.pending_revocation = False

    def void_assigned_callback(self) -> None:
        """The membership is gone: if the assigned callback has not started, the listener is not called."""
        with self._lock:
            self._shared.assigned_void = True

    def assigned_callback_done(self) -> None:
        """The assigned callback has returned: new partitions may get positions and be fetched."""
        with self._lock:
            for p in self._shared.partitions.values():
                p.callback_pending = False

    def keep_only(self, partitions: Iterable[TopicPartition]) -> None:
        """Give up all other partitions, with what was buffered of them."""
        with self._lock:
            self._shared.replace(partitions, callback_pending=False)

    def pause_for_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        """Neither fetch nor return records of these until they are assigned again (rule Q5)."""
        with self._lock:
            for tp in partitions:
                self._shared.partitions[tp].pending_revocation = True

    def announce_callback(self, kind: CallbackKind, partitions: tuple[TopicPartition, ...]) -> None:
        """A revocation callback is due."""
        with self._lock:
            self._shared.callback = PendingCallback(kind, partitions)

    def turn_callback_into_lost(self) -> bool:
        """The membership is gone: the due callback becomes one for everything lost. False if it has started already."""
        with self._lock:
            callback = self._shared.callback
            if callback is None or callback.started:
                return False
            everything = tuple(sorted(self._shared.partitions))
            for p in self._shared.partitions.values():
                p.pending_revocation = True
            self._shared.callback = PendingCallback(CallbackKind.LOST, everything)
            return True

    def finish_callback(self) -> PendingCallback | None:
        """The callback has returned: forget it, and say which one it was."""
        with self._lock:
            callback, self._shared.callback = self._shared.callback, None
            return callback

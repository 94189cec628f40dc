"""What the member wants, what it has, and how far it has read: the one object that both threads touch.

Each field has one owner, who alone writes it; the other thread only reads it, always under the lock:

    field                          written by
    topics, pattern, kind,         the core (background thread)
    assigned set
    callback_pending               the core: the assigned callback of this partition has not finished
    pending_revocation             the core: paused because it is about to be taken away (rule Q5)
    committed, lookup bookkeeping  the core
    buffered, unreadable           put by the core, cleared by the polling thread when the last record is returned
    position                       the first one by the core (committed offset, reset policy); from then on by the
                                   polling thread (records returned, seek)
    leader_epoch                   with the position
    read_from                      the core; cleared with a position that is set from outside
    safe_position and its epoch,   the polling thread
    paused, wanted
    quiet_poll_ms                  the polling thread; cleared by the core
    commit_awaits_poll             the core
    reset_to                       the polling thread; cleared with the position that follows from it
    end_offset, high_watermark     the core
    callback (kind, started)       kind by the core until the polling thread starts the callback; started by the latter
    untold, assigned_void          set by the core; cleared by the polling thread when the assigned callback starts

Check-then-act steps (may these records be returned? which kind of callback is it?) are one method each, so that nothing
can change in between. `epoch` changes whenever a partition is assigned anew or its position is set from outside:
answers that were asked for in an earlier epoch are of no use any more (rule O3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from groupspec.impl.core.errors import IllegalStateError
from groupspec.impl.core.events import CallbackKind, PartitionDescription
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.partition_state import (
    Buffered,
    LeaderAndEpoch,
    PartitionState,
    PendingCallback,
    Position,
    Shared,
)

LockFactory = Callable[[], AbstractContextManager[object]]


class SubscriptionState:
    """Thread-safe; all methods are short. `lock` makes the lock (from the runtime); none is needed in one thread."""

    def __init__(self, lock: LockFactory = nullcontext) -> None:
        self._lock = lock()
        self._shared = Shared()

    # What both may ask ------------------------------------------------------------------------------------------------

    def topics(self) -> tuple[str, ...]:
        """The subscribed topics, sorted; empty without a subscription."""
        with self._lock:
            return self._shared.topics

    def has_pattern(self) -> bool:
        """Whether the topics are those that match a pattern."""
        with self._lock:
            return self._shared.pattern is not None

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

    def paused(self) -> tuple[TopicPartition, ...]:
        """The partitions that the application has paused."""
        with self._lock:
            return tuple(sorted(tp for tp, p in self._shared.partitions.items() if p.paused))

    def position(self, partition: TopicPartition) -> int | None:
        """The offset of the next record to return; None while it is not known. IllegalStateError if not assigned."""
        with self._lock:
            return self._assigned(partition).position

    def high_watermark(self, partition: TopicPartition) -> int | None:
        """The end of the partition when it was last fetched; None before that. IllegalStateError if not assigned."""
        with self._lock:
            return self._assigned(partition).high_watermark

    def lag(self, partition: TopicPartition) -> int | None:
        """How many offsets are between position and end; None if one is not known. IllegalStateError."""
        with self._lock:
            return self._assigned(partition).lag()

    def lags(self) -> dict[TopicPartition, int | None]:
        """The same of every assigned partition."""
        with self._lock:
            return {tp: p.lag() for tp, p in sorted(self._shared.partitions.items())}

    def describe(self) -> dict[TopicPartition, PartitionDescription]:
        """Every assigned partition."""
        with self._lock:
            return {
                tp: PartitionDescription(p.state(), p.position, p.paused, p.buffered is not None, p.fetch_in_flight)
                for tp, p in sorted(self._shared.partitions.items())
            }

    # The polling thread ----------------------------------------------------------------------------------------------

    def poll_started(self, quietly_at_ms: int | None = None) -> None:
        """The application called poll() or close(): what it was given before counts as processed (rule M4).

        Auto-commits cover only that. To be called once at the beginning of each poll(), before records are taken.
        `quietly_at_ms`: the time, of a poll() of which the core is not told by an event.
        """
        with self._lock:
            self._shared.quiet_poll_ms = quietly_at_ms
            for p in self._shared.partitions.values():
                p.safe_position, p.safe_leader_epoch = p.position, p.leader_epoch

    def next_buffered(self) -> Buffered | None:
        """Records that may be returned now, if any; they stay buffered until `advance` says that they are used up.

        Partitions take turns: each is served until its records are used up, and then stands behind the others, here and
        in the order of `fetchable`, so that none starves.
        """
        with self._lock:
            for p in self._shared.partitions.values():
                if p.buffered is not None and p.state() == "FETCHABLE":
                    return p.buffered
            return None

    def advance(
        self, buffered: Buffered, from_offset: int, to_offset: int, exhausted: bool, leader_epoch: int = -1
    ) -> bool:
        """Move the position over records that are about to be returned; False: they must be dropped instead.

        One step (rules O3, O4): the partition is still this member's and not about to be revoked, nobody has moved its
        position, so the records between the two offsets are the application's. `exhausted`: nothing is left of them.
        `leader_epoch`: of the last one.
        """
        with self._lock:
            p = self._shared.partitions.get(buffered.partition)
            if p is None or p.buffered is not buffered:
                return False
            if p.state() != "FETCHABLE":
                return False
            if p.position != from_offset:
                p.buffered = None
                return False
            if to_offset != from_offset:
                p.position, p.leader_epoch = to_offset, leader_epoch
            if exhausted:
                p.buffered = None
                self._put_last(buffered.partition)
            return True

    def is_buffered(self, buffered: Buffered) -> bool:
        """Whether these records still wait to be returned."""
        with self._lock:
            p = self._shared.partitions.get(buffered.partition)
            return p is not None and p.buffered is buffered

    def stop_at(self, buffered: Buffered) -> None:
        """These can't be read: the partition stands still until a seek(), behind the others, which need not wait."""
        with self._lock:
            p = self._shared.partitions.get(buffered.partition)
            if p is not None and p.buffered is buffered:
                p.unreadable = True
                self._put_last(buffered.partition)

    def returned_positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions after all records returned so far: what commit() without arguments means."""
        with self._lock:
            return {
                tp: OffsetAndMetadata(p.position, "", p.leader_epoch)
                for tp, p in sorted(self._shared.partitions.items())
                if p.position is not None
            }

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Set the position. What was buffered or is being looked up is forgotten. IllegalStateError, ValueError.

        `leader_epoch`: of the record before it, if that is known: then the leader's log is compared with it first.
        """
        if offset < 0:
            raise ValueError(f"seek({partition}, {offset}): an offset is 0 or more")
        with self._lock:
            p = self._assigned(partition)
            p.epoch = self._new_epoch()
            p.set_position(offset, leader_epoch)
            p.reset_to = None
            p.buffered = None
            p.fetch_in_flight = False

    def seek_by_time(self, partitions: Iterable[TopicPartition], timestamp: int) -> None:
        """Read on from where this time is: -2 the beginning, -1 the end. All or nothing: IllegalStateError.

        The position is not known until a leader has been asked, which happens with the next poll() or position().
        """
        with self._lock:
            for p in [self._assigned(tp) for tp in partitions]:
                p.epoch = self._new_epoch()
                p.set_position(None)
                p.reset_to = timestamp
                p.buffered = None
                p.fetch_in_flight = False

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Neither fetch nor return records of these. All or nothing: IllegalStateError if one is not assigned."""
        self._set_paused(partitions, True)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """The opposite of pause()."""
        self._set_paused(partitions, False)

    def want_position(self, partition: TopicPartition) -> None:
        """Look the position up although the assigned callback still runs (rule C3); the next Fetch event acts on it."""
        with self._lock:
            self._assigned(partition).wanted = True

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

    def does_commit_await_poll(self) -> bool:
        """Whether the core has to hear of a poll() before that returns more: else a commit would wait for ever."""
        with self._lock:
            return self._shared.commit_awaits_poll

    def take_quiet_poll_ms(self) -> int | None:
        """When the application last polled, if no event has said so; once."""
        with self._lock:
            at_ms, self._shared.quiet_poll_ms = self._shared.quiet_poll_ms, None
            return at_ms

    # The core --------------------------------------------------------------------------------------------------------

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
            self._replace(partitions, callback_pending=False)

    def assign_from_group(self, partitions: Iterable[TopicPartition]) -> None:
        """Have exactly these. New ones wait for the assigned callback; kept ones keep everything (rule O2)."""
        with self._lock:
            self._shared.untold = set(partitions) - set(self._shared.partitions)
            self._shared.assigned_void = False
            self._replace(partitions, callback_pending=True)
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
            self._replace(partitions, callback_pending=False)

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

    def without_position(self) -> dict[TopicPartition, int]:
        """Partitions whose position is to be looked up, with their epochs."""
        with self._lock:
            without = [
                (tp, p.epoch)
                for tp, p in self._shared.partitions.items()
                if p.position is None and (p.state() == "AWAITING_POSITION" or (p.wanted and p.state() == "ASSIGNED"))
            ]
        return dict(sorted(without)) if without else {}

    def resets(self) -> dict[TopicPartition, int]:
        """Partitions that the application wants to begin elsewhere than at the committed offset: the timestamps."""
        with self._lock:
            return {tp: p.reset_to for tp, p in self._shared.partitions.items() if p.reset_to is not None}

    def set_ends(self, partition: TopicPartition, epoch: int, end_offset: int, high_watermark: int) -> None:
        """Where the partition ends, and where for this consumer, as a leader has just said."""
        with self._lock:
            if (p := self._in_epoch(partition, epoch)) is not None:
                p.end_offset, p.high_watermark = end_offset, high_watermark

    def set_position(
        self, partition: TopicPartition, epoch: int, offset: int, committed: bool, leader_epoch: int = -1
    ) -> bool:
        """The first position of a partition, if it still awaits one; False if the answer came too late (rule O3)."""
        with self._lock:
            p = self._in_epoch(partition, epoch)
            if p is None or p.position is not None or p.pending_revocation:
                return False
            p.set_position(offset, leader_epoch)
            p.reset_to = None
            if committed:
                p.committed = offset
            return True

    def drop_position(self, partition: TopicPartition, epoch: int, offset: int) -> int | None:
        """This position must be found anew, in the epoch that is returned; None if it is another one by now."""
        with self._lock:
            p = self._in_epoch(partition, epoch)
            if p is None or p.position != offset:
                return None
            p.epoch = self._new_epoch()
            p.set_position(None)
            p.fetch_in_flight = False
            return p.epoch

    def position_is_right(self, partition: TopicPartition, position: Position, leader: LeaderAndEpoch) -> None:
        """The log of this leader has the record before this position, if it is still the partition's."""
        with self._lock:
            if (p := self._at(partition, position)) is not None:
                p.read_from = leader

    def truncate(self, partition: TopicPartition, position: Position, end: Position) -> bool:
        """Nothing behind `end` is in the log any more: read on there. False if it is another position by now."""
        with self._lock:
            if (p := self._at(partition, position)) is None:
                return False
            p.epoch = self._new_epoch()
            p.set_position(end.offset, end.leader_epoch)
            p.read_from = end.read_from
            return True

    def is_current(self, partition: TopicPartition, epoch: int) -> bool:
        """Whether the partition is still assigned and in this epoch."""
        with self._lock:
            return self._in_epoch(partition, epoch) is not None

    def fetchable(self) -> dict[TopicPartition, Position]:
        """What may be fetched (rule O5), and from where; what was fetched longest ago comes first."""
        with self._lock:
            return {
                tp: Position(p.epoch, p.position, p.leader_epoch, p.read_from)
                for tp, p in self._shared.partitions.items()
                if not p.fetch_in_flight and p.buffered is None and p.position is not None and p.state() == "FETCHABLE"
            }

    def returnable(self) -> tuple[TopicPartition, ...]:
        """Partitions of which records wait that poll() can return now."""
        with self._lock:
            return tuple(
                tp
                for tp, p in self._shared.partitions.items()
                if p.buffered is not None and not p.unreadable and p.state() == "FETCHABLE"
            )

    def begin_fetch(
        self, fetchable: Mapping[TopicPartition, Position], leaders: Mapping[TopicPartition, LeaderAndEpoch]
    ) -> dict[TopicPartition, Position]:
        """Mark as fetched from these leaders those that are still in the epoch that `fetchable` saw, and return them.

        A seek() in between has begun another epoch: marked by it, the partition would wait for ever for the end of a
        fetch that ends in the old one.
        """
        with self._lock:
            current = {tp: known for tp, known in fetchable.items() if self._in_epoch(tp, known.epoch)}
            for tp in current:
                p = self._shared.partitions[tp]
                p.fetch_in_flight, p.read_from = True, leaders.get(tp)
            return current

    def fetch_ended(self, partition: TopicPartition, epoch: int) -> bool:
        """The fetch came back; False if it belongs to an earlier assignment or position and must be dropped."""
        with self._lock:
            p = self._in_epoch(partition, epoch)
            if p is not None:
                p.fetch_in_flight = False
            return p is not None

    def buffer(self, buffered: Buffered) -> bool:
        """Hand records over to the polling thread; False if they are not what it expects next (rules O3, O5)."""
        with self._lock:
            p = self._in_epoch(buffered.partition, buffered.epoch)
            if p is None or p.position != buffered.offset or p.pending_revocation:
                return False
            p.buffered, p.unreadable = buffered, False
            return True

    def to_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What an automatic commit covers: positions as of the last poll() that are not committed yet (rule M4)."""
        with self._lock:
            return {
                tp: OffsetAndMetadata(p.safe_position, "", p.safe_leader_epoch)
                for tp, p in sorted(self._shared.partitions.items())
                if p.safe_position is not None and p.safe_position != p.committed
            }

    def commit_awaits_poll(self, awaits: bool) -> None:
        """Whether the commit before a rebalance waits until what was returned is processed."""
        with self._lock:
            self._shared.commit_awaits_poll = awaits

    def has_unprocessed(self, partitions: Iterable[TopicPartition] | None = None) -> bool:
        """Whether the last poll() returned records of these partitions, or of any: only the next poll settles them."""
        with self._lock:
            states = self._shared.partitions
            asked = states if partitions is None else partitions
            return any(states[tp].position != states[tp].safe_position for tp in asked if tp in states)

    def set_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """The coordinator has these. What the application has committed itself it has processed (rule M6).

        Otherwise an automatic commit, which covers only what was returned before the last poll(), would rewind it.
        """
        with self._lock:
            for tp, committed in offsets.items():
                p = self._shared.partitions.get(tp)
                if p is None:
                    continue
                p.committed = committed.offset
                if p.position is not None and (p.safe_position or 0) < committed.offset <= p.position:
                    p.safe_position, p.safe_leader_epoch = committed.offset, committed.leader_epoch

    # -----------------------------------------------------------------------------------------------------------------

    def _set_paused(self, partitions: Iterable[TopicPartition], paused: bool) -> None:
        with self._lock:
            found = [self._assigned(tp) for tp in partitions]
            for p in found:
                p.paused = paused

    def _assigned(self, partition: TopicPartition) -> PartitionState:
        try:
            return self._shared.partitions[partition]
        except KeyError:
            have = ", ".join(map(str, sorted(self._shared.partitions))) or "none"
            raise IllegalStateError(f"{partition} is not assigned to this consumer; assigned: {have}") from None

    def _in_epoch(self, partition: TopicPartition, epoch: int) -> PartitionState | None:
        """The partition, if it is still assigned and in this epoch."""
        p = self._shared.partitions.get(partition)
        return p if p is not None and p.epoch == epoch else None

    def _at(self, partition: TopicPartition, position: Position) -> PartitionState | None:
        """The partition, if this is still its position."""
        p = self._in_epoch(partition, position.epoch)
        return p if p is not None and p.position == position.offset else None

    def _replace(self, partitions: Iterable[TopicPartition], callback_pending: bool) -> None:
        before, wanted = self._shared.partitions, set(partitions)
        self._shared.untold &= wanted
        kept = {tp: p for tp, p in before.items() if tp in wanted}
        new = {
            tp: PartitionState(self._new_epoch(), callback_pending=callback_pending)
            for tp in sorted(wanted - set(before))
        }
        self._shared.partitions = kept | new

    def _put_last(self, partition: TopicPartition) -> None:
        self._shared.partitions[partition] = self._shared.partitions.pop(partition)

    def _new_epoch(self) -> int:
        self._shared.next_epoch += 1
        return self._shared.next_epoch

"""How far each assigned partition has been read: its position, its fetches, what is buffered, what is committed.

Who writes each field of a partition, always under the lock:

    field                          written by
    epoch                          whoever assigns the partition, or sets its position from outside
    position, leader_epoch         the first one by the core (committed offset, reset policy); from then on by the
                                   polling thread (records returned, seek); where it cannot be read on, by the core
    read_from                      the core; cleared with a position that is set from outside
    safe_position and its epoch,   the polling thread
    paused, wanted
    committed, fetch_in_flight     the core; cleared with a new epoch
    buffered, unreadable           put by the core, cleared by the polling thread when the last record is returned
    reset_to                       the polling thread; cleared with the position that follows from it
    recreated                      the core; cleared in the same way
    end_offset, high_watermark     the core

Check-then-act steps (may these records be returned?) are one method each, so that nothing can change in between.
`epoch` changes whenever a partition is assigned anew or its position is set from outside: answers that were asked for
in an earlier epoch are of no use any more (rule O3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

from groupspec.impl.core.events import PartitionDescription
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.partition_state import Buffered, CommitAsked, LeaderAndEpoch, Position, Shared


class Positions:
    """Thread-safe; all methods are short. One per `SubscriptionState`, which makes it, and shares lock and state."""

    def __init__(self, lock: AbstractContextManager[object], shared: Shared) -> None:
        self._lock = lock
        self._shared = shared

    # What both may ask ------------------------------------------------------------------------------------------------

    def position(self, partition: TopicPartition) -> int | None:
        """The offset of the next record to return; None while it is not known. IllegalStateError if not assigned."""
        with self._lock:
            return self._shared.assigned(partition).position

    def paused(self) -> tuple[TopicPartition, ...]:
        """The partitions that the application has paused."""
        with self._lock:
            return tuple(sorted(tp for tp, p in self._shared.partitions.items() if p.paused))

    def high_watermark(self, partition: TopicPartition) -> int | None:
        """The end of the partition when it was last fetched; None before that. IllegalStateError if not assigned."""
        with self._lock:
            return self._shared.assigned(partition).high_watermark

    def lag(self, partition: TopicPartition) -> int | None:
        """How many offsets are between position and end; None if one is not known. IllegalStateError."""
        with self._lock:
            return self._shared.assigned(partition).lag()

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

    # The polling thread -----------------------------------------------------------------------------------------------

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
        self,
        buffered: Buffered,
        from_offset: int,
        to_offset: int,
        exhausted: bool,
        leader_epoch: int = -1,
        empty: bool = False,
    ) -> bool:
        """Move the position over records that are about to be returned; False: they must be dropped instead.

        One step (rules O3, O4): the partition is still this member's and not about to be revoked, nobody has moved its
        position, so the records between the two offsets are the application's. `exhausted`: nothing is left of them.
        `leader_epoch`: of the last one. `empty`: there is none, so nothing of it waits to be processed (rule M4).
        """
        with self._lock:
            p = self._shared.partitions.get(buffered.partition)
            if p is None or p.buffered is not buffered or p.state() != "FETCHABLE":
                return False
            assert p.position == from_offset, "whoever moves a position drops what is buffered"
            if to_offset != from_offset:
                p.position, p.leader_epoch = to_offset, leader_epoch
                if empty and p.safe_position == from_offset:
                    p.safe_position, p.safe_leader_epoch = to_offset, leader_epoch
            if exhausted:
                p.buffered = None
                self._shared.put_last(buffered.partition)
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
                self._shared.put_last(buffered.partition)

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
            self._shared.assigned(partition).begin_anew(self._shared.new_epoch(), offset, leader_epoch)

    def seek_by_time(self, partitions: Iterable[TopicPartition], timestamp: int) -> None:
        """Read on from where this time is: -2 the beginning, -1 the end. All or nothing: IllegalStateError.

        The position is not known until a leader has been asked, which happens with the next poll() or position().
        """
        with self._lock:
            for p in [self._shared.assigned(tp) for tp in partitions]:
                p.begin_anew(self._shared.new_epoch(), None, reset_to=timestamp)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Neither fetch nor return records of these. All or nothing: IllegalStateError if one is not assigned."""
        self._set_paused(partitions, True)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """The opposite of pause()."""
        self._set_paused(partitions, False)

    def want_position(self, partition: TopicPartition) -> None:
        """Look the position up although the assigned callback still runs, or the revoked one is due (rule C3).

        The next Fetch event acts on it. (As Java's SubscriptionState, whose shouldInitialize asks for neither.)
        """
        with self._lock:
            self._shared.assigned(partition).wanted = True

    def recreations(self) -> int:
        """How often a topic was made anew so far: offsets that were read before another time may be the old one's."""
        with self._lock:
            return self._shared.recreations

    def ask_for_commit(self, recreations: int | None = None) -> None:
        """The application asks the core for a commit: keep what was processed until then (rule M6).

        `recreations`: when its offsets were chosen, if that is not now.
        """
        with self._lock:
            as_of = self._shared.recreations if recreations is None else recreations
            self._shared.commits_asked.append(CommitAsked(self._to_commit(), as_of))

    def does_commit_await_poll(self) -> bool:
        """Whether the core has to hear of a poll() before that returns more: else a commit would wait for ever."""
        with self._lock:
            return self._shared.commit_awaits_poll

    # The core ---------------------------------------------------------------------------------------------------------

    def without_position(self) -> dict[TopicPartition, int]:
        """Partitions whose position is to be looked up, with their epochs."""
        with self._lock:
            without = [
                (tp, p.epoch)
                for tp, p in self._shared.partitions.items()
                if p.position is None and (p.wanted or p.state() == "AWAITING_POSITION")
            ]
        return dict(sorted(without)) if without else {}

    def resets(self) -> dict[TopicPartition, int]:
        """Partitions that the application wants to begin elsewhere than at the committed offset: the timestamps."""
        with self._lock:
            return {tp: p.reset_to for tp, p in self._shared.partitions.items() if p.reset_to is not None}

    def of_recreated_topics(self) -> tuple[TopicPartition, ...]:
        """Partitions that begin where the reset policy says, whatever is committed: their topics were made anew."""
        with self._lock:
            return tuple(tp for tp, p in self._shared.partitions.items() if p.recreated)

    def set_position(
        self, partition: TopicPartition, epoch: int, offset: int, committed: bool, leader_epoch: int = -1
    ) -> bool:
        """The first position of a partition, if it still awaits one; False if the answer came too late (rule O3)."""
        with self._lock:
            p = self._shared.in_epoch(partition, epoch)
            if p is None or p.position is not None or (p.pending_revocation and not p.wanted):
                return False
            p.begin_anew(epoch, offset, leader_epoch)
            if committed:
                p.committed = offset
            return True

    def drop_position(self, partition: TopicPartition, epoch: int, offset: int) -> int | None:
        """This position must be found anew, in the epoch that is returned; None if it is another one by now."""
        with self._lock:
            p = self._shared.in_epoch(partition, epoch)
            if p is None or p.position != offset:
                return None
            p.begin_anew(self._shared.new_epoch(), None)
            p.committed = None
            return p.epoch

    def topic_recreated(self, topic: str) -> tuple[TopicPartition, ...]:
        """Another topic has this name: what is kept of the old one ends (rule O7). Returns the partitions of it."""
        with self._lock:
            self._shared.recreations += 1
            self._shared.recreated[topic] = self._shared.recreations
            concerned = sorted(tp for tp in self._shared.partitions if tp.topic == topic)
            for tp in concerned:
                self._shared.partitions[tp].topic_recreated(self._shared.new_epoch())
            return tuple(concerned)

    def recreated_since(self, recreations: int) -> set[str]:
        """The topics that were made anew since there had been so many."""
        with self._lock:
            return {topic for topic, at in self._shared.recreated.items() if at > recreations}

    def is_current(self, partition: TopicPartition, epoch: int) -> bool:
        """Whether the partition is still assigned and in this epoch."""
        with self._lock:
            return self._shared.in_epoch(partition, epoch) is not None

    def position_is_right(self, partition: TopicPartition, position: Position, leader: LeaderAndEpoch) -> None:
        """The log of this leader has the record before this position, if it is still the partition's."""
        with self._lock:
            if (p := self._shared.at(partition, position)) is not None:
                p.read_from = leader

    def truncate(self, partition: TopicPartition, position: Position, end: Position) -> bool:
        """Nothing behind `end` is in the log any more: read on there. False if it is another position by now.

        What was committed is of the log before: the same offset is to be committed again, with its new leader epoch.
        What is left of the records that the application works on counts as processed with its next poll() (rule M4).
        """
        with self._lock:
            if (p := self._shared.at(partition, position)) is None:
                return False
            processed, its_epoch = p.safe_position, p.safe_leader_epoch
            p.begin_anew(self._shared.new_epoch(), end.offset, end.leader_epoch)
            if processed is not None and processed < end.offset:
                p.safe_position, p.safe_leader_epoch = processed, its_epoch
            p.read_from, p.committed = end.read_from, None
            return True

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
            current = {tp: known for tp, known in fetchable.items() if self._shared.in_epoch(tp, known.epoch)}
            for tp in current:
                p = self._shared.partitions[tp]
                p.fetch_in_flight, p.read_from = True, leaders.get(tp)
            return current

    def fetch_answered(self, partition: TopicPartition, epoch: int, end_offset: int, high_watermark: int) -> None:
        """The fetch came back, and said where the partition ends, and where for this consumer."""
        with self._lock:
            if (p := self._shared.in_epoch(partition, epoch)) is not None:
                p.fetch_in_flight, p.end_offset, p.high_watermark = False, end_offset, high_watermark

    def fetch_ended(self, partition: TopicPartition, epoch: int) -> None:
        """The fetch came back, or will not. One of an earlier assignment or position concerns nobody any more."""
        with self._lock:
            if (p := self._shared.in_epoch(partition, epoch)) is not None:
                p.fetch_in_flight = False

    def buffer(self, buffered: Buffered) -> bool:
        """Hand records over to the polling thread; False if they are not what it expects next (rules O3, O5)."""
        with self._lock:
            p = self._shared.in_epoch(buffered.partition, buffered.epoch)
            if p is None or p.position != buffered.offset or p.pending_revocation:
                return False
            p.buffered, p.unreadable = buffered, False
            return True

    def to_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What an automatic commit covers: positions as of the last poll() that are not committed yet (rule M4)."""
        with self._lock:
            return self._to_commit()

    def _to_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            tp: OffsetAndMetadata(p.safe_position, "", p.safe_leader_epoch)
            for tp, p in sorted(self._shared.partitions.items())
            if p.safe_position is not None and p.safe_position != p.committed
        }

    def is_commit_asked(self) -> bool:
        """Whether the application has asked for a commit that is still on its way to the core."""
        with self._lock:
            return bool(self._shared.commits_asked)

    def take_commit_asked(self) -> CommitAsked:
        """It has come: what an automatic commit covered when it was asked for. Without threads that is now."""
        with self._lock:
            if self._shared.commits_asked:
                return self._shared.commits_asked.popleft()
            return CommitAsked(self._to_commit(), self._shared.recreations)

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

    def commit_awaits_poll(self, awaits: bool) -> None:
        """Whether the commit before a rebalance waits until what was returned is processed."""
        with self._lock:
            self._shared.commit_awaits_poll = awaits

    def take_quiet_poll_ms(self) -> int | None:
        """When the application last polled, if no event has said so; once."""
        with self._lock:
            at_ms, self._shared.quiet_poll_ms = self._shared.quiet_poll_ms, None
            return at_ms

    def _set_paused(self, partitions: Iterable[TopicPartition], paused: bool) -> None:
        with self._lock:
            found = [self._shared.assigned(tp) for tp in partitions]
            for p in found:
                p.paused = paused

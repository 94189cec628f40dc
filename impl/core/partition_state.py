"""What is kept of each assigned partition, and of the subscription as a whole: see `subscription` and `positions`."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

from groupspec.impl.core.errors import IllegalStateError
from groupspec.impl.core.events import CallbackKind
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition


class LeaderAndEpoch(NamedTuple):
    """Who leads a partition, and the how-manieth leader that is (-1: not said)."""

    node: int
    epoch: int


class Position(NamedTuple):
    """Where to read on: `epoch` of the partition, `offset`, and which log that offset is of (KIP-320).

    `leader_epoch`: of the record before it, -1 if that is not known. `read_from`: the leader whose log is known to have
    it, None if it has not been compared with any.
    """

    epoch: int
    offset: int
    leader_epoch: int = -1
    read_from: LeaderAndEpoch | None = None


class Buffered(Struct, frozen=True):
    """Record batches of one fetch, undecoded: `record_bytes` as on the wire, to be read from `offset` on."""

    partition: TopicPartition
    epoch: int
    offset: int
    record_bytes: bytes
    high_watermark: int
    aborted_transactions: tuple[tuple[int, int], ...] = ()  # producer id, first offset


@dataclass(frozen=True, slots=True)
class PendingCallback:
    """The revocation callback that is due, or runs: its kind is settled once it has started."""

    kind: CallbackKind
    partitions: tuple[TopicPartition, ...]
    started: bool = False


class CommitAsked(NamedTuple):
    """The application asked for a commit: what was processed then, and how many topics had been made anew."""

    processed: dict[TopicPartition, OffsetAndMetadata]
    recreations: int


@dataclass(slots=True)
class PartitionState:
    """One assigned partition; who writes which field stands in `positions`."""

    epoch: int
    position: int | None = None
    leader_epoch: int = -1  # of the record before the position
    read_from: LeaderAndEpoch | None = None  # the leader whose log is known to have that record
    safe_position: int | None = None  # the position when the application last called poll()
    safe_leader_epoch: int = -1
    committed: int | None = None
    paused: bool = False
    reset_to: int | None = None  # the timestamp at which to begin, instead of the committed offset (-2 first, -1 end)
    recreated: bool = False  # its topic: it begins where the reset policy says, instead of at the committed offset
    end_offset: int | None = None  # as the last answer said
    high_watermark: int | None = None
    wanted: bool = False  # the application asked for the position although the assigned callback still runs
    callback_pending: bool = False
    pending_revocation: bool = False
    fetch_in_flight: bool = False
    buffered: Buffered | None = None
    unreadable: bool = False  # what is buffered

    def begin_anew(self, epoch: int, offset: int | None, leader_epoch: int = -1, reset_to: int | None = None) -> None:
        """Another place: what was buffered, or asked for, of the one before is of no use any more."""
        self.epoch = epoch
        self.position = self.safe_position = offset
        self.leader_epoch = self.safe_leader_epoch = leader_epoch
        self.read_from, self.reset_to, self.recreated = None, reset_to, False
        self.buffered, self.fetch_in_flight = None, False

    def topic_recreated(self, epoch: int) -> None:
        """It is of another topic now, of which nothing is known (rule O7).

        What is committed by name may be of either. Who has read of the old topic has owned the partition since, so that
        it can only be of that one; who has not asks for it once more.
        """
        has_read = self.end_offset is not None
        self.begin_anew(epoch, None, reset_to=self.reset_to)
        self.recreated = has_read
        self.committed = self.end_offset = self.high_watermark = None

    def lag(self) -> int | None:
        """How many offsets are between position and end; None if one is not known."""
        if self.position is None or self.end_offset is None:
            return None
        return max(0, self.end_offset - self.position)

    def state(self) -> str:
        """The name of the partition's state (see events.PartitionDescription)."""
        if self.pending_revocation:
            return "PENDING_REVOCATION"
        if self.callback_pending:
            return "ASSIGNED"
        if self.position is None:
            return "AWAITING_POSITION"
        return "PAUSED" if self.paused else "FETCHABLE"


@dataclass(slots=True)
class Shared:
    """Everything that stands under the lock."""

    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    listed: bool = True  # `topics` are those that match, as far as the cluster has named its topics
    manual: bool = False
    partitions: dict[TopicPartition, PartitionState] = field(default_factory=dict)  # whose turn it is comes first
    callback: PendingCallback | None = None
    untold: set[TopicPartition] = field(default_factory=set)  # assigned, and the listener has not been called yet
    assigned_void: bool = False  # nor will it be
    next_epoch: int = 1
    quiet_poll_ms: int | None = None
    commit_awaits_poll: bool = False
    commits_asked: deque[CommitAsked] = field(default_factory=deque)
    recreations: int = 0  # how often a topic was made anew
    recreated: dict[str, int] = field(default_factory=dict)  # topic -> the how-manieth of these was its last one

    def assigned(self, partition: TopicPartition) -> PartitionState:
        """The partition. IllegalStateError if it is not assigned."""
        try:
            return self.partitions[partition]
        except KeyError:
            have = ", ".join(map(str, sorted(self.partitions))) or "none"
            raise IllegalStateError(f"{partition} is not assigned to this consumer; assigned: {have}") from None

    def in_epoch(self, partition: TopicPartition, epoch: int) -> PartitionState | None:
        """The partition, if it is still assigned and in this epoch."""
        p = self.partitions.get(partition)
        return p if p is not None and p.epoch == epoch else None

    def at(self, partition: TopicPartition, position: Position) -> PartitionState | None:
        """The partition, if this is still its position."""
        p = self.in_epoch(partition, position.epoch)
        return p if p is not None and p.position == position.offset else None

    def replace(self, partitions: Iterable[TopicPartition], callback_pending: bool) -> None:
        """Have exactly these: what is kept stays as it is, and `callback_pending` is said of the others."""
        before, wanted = self.partitions, set(partitions)
        self.untold &= wanted
        kept = {tp: p for tp, p in before.items() if tp in wanted}
        new = sorted(wanted - set(before))
        self.partitions = kept | {tp: PartitionState(self.new_epoch(), callback_pending=callback_pending) for tp in new}

    def put_last(self, partition: TopicPartition) -> None:
        """Now it is the others' turn."""
        self.partitions[partition] = self.partitions.pop(partition)

    def new_epoch(self) -> int:
        """One that no partition has had."""
        self.next_epoch += 1
        return self.next_epoch

"""What must hold of records, commits, ownership and callbacks, by the books of one run (`conformance.books`).

Nothing is lost as long as every commit stays at or below a partition's mark, and nobody begins above it. A partition's
records may be processed twice when its reader was killed, stood still, lost it, commits by itself and was not answered,
or gave it up while a request of it had just failed.

Rules: C1 (callbacks alternate), K1 and S1 (owners), M4 and M6 (commits), O1 to O3 (positions), M8 (the commit before a
revocation), L2 (close).

A log may be cut (`logs`): who has read more than is left of it reads on where it was cut, or from the beginning if
nobody knows where that is. What the former leader had behind the cut counts for nothing, and no record that follows
there may be left out: so whoever reads on at its old position has lost some.

A topic may be made anew (`logs`): then its books begin anew, and whoever reads on at its old position has lost records,
too. What is of the old topic counts for nothing, and is returned by no poll() that begins after the process was told
that there is another one (O7). A commit by name that was sent before may land on the new one: then who has read nothing
of the old one since it has the partition may begin there, and nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from groupspec.conformance.books import Books
from groupspec.conformance.simulation.logs import Logs
from groupspec.conformance.simulation.member import Member
from groupspec.impl.core.errors import FencedInstanceIdError, ProtocolError
from groupspec.impl.core.messages import ErrorCode, OffsetAndMetadata, TopicPartition
from groupspec.impl.records import ConsumerRecord

SLACK_MS: Final = 50
"""What a call may be late: messages of the application and the core cross in no time, and nothing else is slow."""


class Broken(AssertionError):
    """A promise is broken.

    Attributes:
        promise: Which, in a word; failures of one promise are alike.
        at_ms: When; None: just now.
    """

    def __init__(self, promise: str, text: str, at_ms: int | None = None) -> None:
        super().__init__(f"{promise}: {text}")
        self.promise = promise
        self.at_ms = at_ms


def expect(condition: bool, promise: str, text: str) -> None:
    """Broken, unless this holds."""
    if not condition:
        raise Broken(promise, text)


class Kept:
    """What is found wrong in a consumer's own thread, which may keep to itself whatever is raised there.

    To be entered around that; a class instead of a generator, for speed. `first`: the first thing that was found.
    """

    def __init__(self) -> None:
        self.first: AssertionError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, wrong: BaseException | None, trace: object) -> None:
        if isinstance(wrong, AssertionError) and self.first is None:
            self.first = wrong


class Ledger(Books[Member, TopicPartition]):
    """The books, and what must hold by them.

    Attributes:
        kept: What is found wrong in consumers' own threads.
        committed: Partition -> the offset that the coordinator has.
        may_be_fenced: Members, by number, whose instance id may have another member id than the one that their process
            has: another JoinGroup has reached the group.
    """

    def __init__(
        self,
        is_member: Callable[[str], bool],
        has_forgotten: Callable[[str | None], bool],
        logs: Logs,
    ) -> None:
        super().__init__()
        self._logs = logs
        self._cut: dict[TopicPartition, tuple[int, int]] = {}  # how far back readers may go, what they had processed
        self.kept = Kept()
        self.may_be_fenced: set[int] = set()
        self._is_member = is_member
        self._has_forgotten = has_forgotten
        self.committed: dict[TopicPartition, int] = {}
        self._committed_epochs: dict[TopicPartition, int] = {}
        self._next: dict[tuple[Member, TopicPartition], tuple[int, int]] = {}  # of which topic of the name, and offset
        self._sought: dict[tuple[Member, TopicPartition], int] = {}
        self._troubled: dict[Member, int] = {}
        self._known: dict[tuple[Member, str], tuple[int, int]] = {}  # which topic of the name it is, told when
        self._gone: dict[tuple[Member, str], set[int]] = {}  # those that it was before
        self._meant: dict[tuple[Member, int], dict[str, int]] = {}  # by a commit under way: which topics of their names
        self._landed: dict[TopicPartition, set[int]] = {}  # what commits of the old topic have left on the new one
        self._of_old: set[TopicPartition] = set()  # those whose commit is one of the old topic
        self._has_read: set[tuple[Member, TopicPartition]] = set()  # since it has it
        self._goes_on: set[tuple[Member, TopicPartition]] = set()  # in the new topic, and has read of the old one

    # Callbacks -------------------------------------------------------------------------------------------------------

    def assigned(self, process: Member, partitions: Iterable[TopicPartition]) -> None:
        """The assigned callback begins."""
        for partition in partitions:
            is_new = partition not in self.owned(process)
            expect(is_new, "callbacks", f"{process.name} is assigned {partition} twice (C1)")
            self.assign(process, partition)
            key = (process, partition)
            self._next.pop(key, None)
            self._has_read.discard(key)
            self._goes_on.discard(key)
        self.check_owners(process)

    def check_owners(self, process: Member) -> None:
        """In one generation a partition has one owner among those that live, run, and are members.

        Who was replaced by another process with its instance id is no member, and learns it by its next request; its
        callback may begin before that. A static member that stood still while a generation came and went joins the
        next one with what it has, if the application asks for that before a heartbeat fails; what others have got
        meanwhile it hears from its SyncGroup (rule K1: the assignor believes the later claim).
        """
        generation = process.core.context.identity.generation
        if generation < 0:
            return
        mine = self.owned(process)
        is_in = self._is_member(process.core.context.identity.member_id)
        for other, theirs in self._owned.items():
            if other is process or other.is_standing_still or not mine & theirs:
                continue
            has_missed_one = min(one.core.membership.owned_generation for one in (process, other)) < generation - 1
            if has_missed_one or not (is_in and self._is_member(other.core.context.identity.member_id)):
                self.may_double(mine & theirs)
                continue
            expect(
                other.core.context.identity.generation != generation,
                "owners",
                (
                    f"{sorted(map(str, mine & theirs))} belong to {process.name} and to {other.name} "
                    f"in generation {generation} (K1)"
                ),
            )

    def release_begins(self, process: Member, partitions: Iterable[TopicPartition], is_lost: bool) -> None:
        """The revoked or lost callback begins: what has been processed is committed by now, or is lost (M8)."""
        for partition in partitions:
            expect(
                partition in self.owned(process),
                "callbacks",
                f"{process.name} gives up {partition}, which it does not own (C1)",
            )
            position = process.subscription.positions.returned_positions().get(partition)
            if position is None or not self._is_uncommitted(process, partition, position):
                continue
            if self._knows(process, partition.topic) < self._logs.made[partition.topic]:
                continue  # it is a position in a topic that is no more
            leaves = process.application.leaves_uncommitted
            has_gone_back = (process, partition) in self._sought and position.offset <= self.committed.get(partition, 0)
            is_excused = (
                has_gone_back or is_lost or leaves or process.plan.commits != "auto" or self._is_troubled(process)
            )
            expect(
                is_excused,
                "commit before revocation",
                (
                    f"{process.name} is at {position.offset} in {partition} when it gives it up, and has "
                    f"committed {self.committed.get(partition, 0)}, though nothing had failed (M8)"
                ),
            )
            self.may_double([partition])

    def _is_uncommitted(self, process: Member, partition: TopicPartition, position: OffsetAndMetadata) -> bool:
        """Whether others would begin before it: the same offset in a later epoch has other records before it.

        What a commit of the old topic has left on the new one says nothing of what was read in that.
        """
        if partition in self._of_old:
            return self._next.get((process, partition), (-1, 0))[0] == self._logs.made[partition.topic]
        is_later = position.leader_epoch > self._committed_epochs.get(partition, -1)
        return position.offset > self.committed.get(partition, 0) or is_later

    def trouble(self, process: Member, now_ms: int) -> None:
        """A request of it failed, or its coordinator was unknown."""
        self._troubled[process] = now_ms

    def _is_troubled(self, process: Member) -> bool:
        """Whether that was so lately, or will be: the commit before a rebalance is given up sooner than its request."""
        at_ms = self._troubled.get(process)
        limit_ms = 2 * process.plan.config.max_poll_interval_ms
        return process.link.has_lost or (at_ms is not None and process.loop.now_ms - at_ms <= limit_ms)

    def stopped(self, process: Member) -> None:
        """It is killed, or stands still: others go on from what it has committed."""
        self.may_double(self.owned(process))

    # Records ---------------------------------------------------------------------------------------------------------

    def returned(self, process: Member, records: Sequence[ConsumerRecord]) -> None:
        """poll() returns these: in order, and of what is owned."""
        is_given = f"{process.name} is given"
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            self._expect_present(process, record)
            if partition not in self.owned(process):
                raise Broken("records of others", f"{is_given} a record of {partition}, which it does not own (O3)")
            if partition in process.application.paused:
                raise Broken("records of paused partitions", f"{is_given} a record of {partition}, which it has paused")
            key = (process, partition)
            made, expected = self._next.get(key, (record.timestamp_ms, record.offset))
            if record.timestamp_ms != made:
                expected = record.offset  # of another topic: `processed` sees where it begins
                if key in self._has_read:
                    self._goes_on.add(key)
            may_go_back = partition in self._cut or record.timestamp_ms < self._logs.made[record.topic]
            if record.offset > expected or (record.offset < expected and not may_go_back):
                text = f"{is_given} {record.offset} of {partition} instead of {expected} (O2)"
                raise Broken("order of records", text)
            self._next[key] = (record.timestamp_ms, record.offset + 1)
            self._has_read.add(key)

    def _expect_present(self, process: Member, record: ConsumerRecord) -> None:
        """A record of a topic that is no more is returned only to a poll() that began before the process was told."""
        known, told_ms = self._known[process, record.topic]
        if record.timestamp_ms == known:
            return
        gone = self._gone.get((process, record.topic), ())
        is_old = (
            record.timestamp_ms in gone and record.timestamp_ms < known and told_ms < process.application.poll_began_ms
        )
        text = f"{process.name} is given {record.offset} of a {record.topic} that it was told is no more (O7)"
        expect(not is_old, "records of another topic", text)

    def _knows(self, process: Member, topic: str) -> int:
        """Which topic of this name the process was told is there; -1: it was told of none."""
        return self._known.get((process, topic), (-1, 0))[0]

    def told_topic(self, process: Member, topic: str, topic_id: bytes) -> bool:
        """The process was told which topic has this name; whether that is one that it knows to be no more.

        Of two that it has not heard of before it cannot know which one is the later: it goes by whom it asks.
        """
        made, known = self._logs.how_manieth(topic, topic_id), self._knows(process, topic)
        gone = self._gone.setdefault((process, topic), set())
        if made in gone:
            return made < known
        if made != known:
            gone.add(known)
            self._known[process, topic] = (made, process.loop.now_ms)
        return False

    def made_anew(self, topic: str) -> None:
        """The topic is no more: what is known of it, and what was committed, ends with it."""
        for partition in self._logs.all_partitions([topic]):
            for of_partition in (self.marks, self._cut, self.committed, self._committed_epochs, self._landed):
                of_partition.pop(partition, None)
            self._of_old.discard(partition)
            for key in [key for key in self._sought if key[1] == partition]:
                del self._sought[key]

    def sought(self, process: Member, partition: TopicPartition, offset: int) -> None:
        """The application has gone back to this offset; a commit of it may still be on its way when all is given up."""
        self._next[process, partition] = (self._knows(process, partition.topic), offset)
        self.may_double([partition])
        self._sought[process, partition] = min(offset, self._sought.get((process, partition), offset))

    def cut(self, partition: TopicPartition, goes_back_to: int, end: int) -> None:
        """The log ends here now, and whoever has read more may read again from `goes_back_to` on."""
        lowest, most = self._cut.get(partition, (goes_back_to, 0))
        mark = self.marks.get(partition, 0)
        self._cut[partition] = (min(lowest, goes_back_to), max(most, mark))
        self.marks[partition] = min(mark, end)
        self.may_double([partition])

    def processed(self, process: Member, records: Sequence[ConsumerRecord]) -> None:
        """The application has worked on these."""
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            if record.timestamp_ms < self._logs.made[record.topic]:
                continue  # of a topic that is no more
            if record.leader_epoch != self._logs.epochs[partition]:
                self.may_double([partition])  # before the next fetch it is asked whether the log has still what it read
            if record.leader_epoch != self._logs.epoch_of(partition, record.offset):
                lowest, most = self._cut[partition]
                self._cut[partition] = (lowest, max(most, record.offset + 1))
                continue
            mark = self.marks.get(partition, 0)
            taken = self.take(process, partition, record.offset, record.offset)
            if taken.missing and record.offset > self._may_begin_at(process, partition):
                text = f"{process.name} processes {record.offset} of {partition}; {mark} was never processed (O1)"
                raise Broken("lost records", text)
            if taken.doubled and not taken.excused:
                raise Broken(
                    "doubled records",
                    f"{process.name} processes {record.offset} of {partition} again (up to {mark} was done), "
                    "though whoever had it before gave it up in order",
                )

    def commit_sent(self, process: Member, request_id: int, partitions: Iterable[TopicPartition]) -> None:
        """A commit leaves the process, of the topics that it knew until just now."""
        meant: dict[str, int] = {}
        for topic in {partition.topic for partition in partitions}:
            made, told_ms = self._known.get((process, topic), (0, 0))
            meant[topic] = made if told_ms < process.loop.now_ms else made - 1
        self._meant[process, request_id] = meant

    def commit_stored(
        self,
        process: Member,
        offsets: dict[TopicPartition, OffsetAndMetadata],
        is_stale: bool,
        request_id: int = 0,
    ) -> bool:
        """The coordinator has accepted a commit; `is_stale`: over a connection that is broken.

        Returns whether that was one by name, of a topic that is no more.
        """
        meant = self._meant.pop((process, request_id), {})
        of_old = {p for p in offsets if meant.get(p.topic, self._logs.made[p.topic]) < self._logs.made[p.topic]}
        for partition in of_old:
            self._landed.setdefault(partition, set()).add(offsets[partition].offset)
            self._is_committed(partition, offsets[partition])
        self._of_old |= of_old
        self._store(process, {p: wanted for p, wanted in offsets.items() if p not in of_old}, is_stale)
        return bool(of_old)

    def _may_begin_at(self, process: Member, partition: TopicPartition) -> int:
        """The last offset at which a commit of the old topic may have it begin; before, where the log ends. -1: none.

        Who has read of the old topic since it has the partition begins where the reset policy says.
        """
        key, made = (process, partition), self._logs.made[partition.topic]
        if key in self._goes_on or self._next.get(key, (made, 0))[0] < made:
            return -1
        return max(self._landed.get(partition, ()), default=-1)

    def _is_committed(self, partition: TopicPartition, wanted: OffsetAndMetadata) -> None:
        if wanted.offset < self.committed.get(partition, 0):
            self.may_double([partition])
        self.committed[partition] = wanted.offset
        self._committed_epochs[partition] = wanted.leader_epoch

    def _store(self, process: Member, offsets: dict[TopicPartition, OffsetAndMetadata], is_stale: bool) -> None:
        for partition, wanted in offsets.items():
            mark, before = self.marks.get(partition, 0), self.committed.get(partition, 0)
            goes_back_to, processed = self._cut.get(partition, (before, mark))
            expect(
                wanted.offset <= max(mark, processed, self._may_begin_at(process, partition)),
                "commit of unread records",
                f"{process.name} commits {wanted.offset} of {partition}; processed is up to {mark} (M4)",
            )
            expect(
                wanted.offset >= min(before, goes_back_to, self._sought.get((process, partition), before))
                or is_stale
                or partition in self._landed,
                "commit goes back",
                f"{process.name} commits {wanted.offset} of {partition}; {before} was committed before (M6)",
            )
            self._is_committed(partition, wanted)
            self._of_old.discard(partition)

    # Calls -----------------------------------------------------------------------------------------------------------

    def raised(self, process: Member, error: Exception) -> None:
        """poll() raises this: it is fenced off, or a SyncGroup reached a coordinator that still reads its log (D3)."""
        may_be = process.plan.number in self.may_be_fenced or self._has_forgotten(process.plan.config.group_instance_id)
        is_fenced = may_be and isinstance(error, FencedInstanceIdError)
        is_loading = isinstance(error, ProtocolError) and error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        expect(
            is_fenced or is_loading,
            "errors",
            f"poll() of {process.name} raises {error!r}, which nothing accounts for",
        )
        self.stopped(process)

    def closed(self, process: Member, late_ms: int) -> None:
        """close() returns, so much after its time limit, callbacks aside."""
        is_in_time = late_ms <= SLACK_MS or process.has_stood_still
        expect(is_in_time, "close", f"close() of {process.name} was {late_ms} ms late (L2)")

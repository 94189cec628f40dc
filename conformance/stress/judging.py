"""The verdict on a run: every record, every owner and every silence, each thing that is wrong put down to a process.

The rules are those of the simulation's ledger, by the same books (`conformance.books`). What cannot be seen from
outside the processes is replaced by what can: whether a member could commit by the trouble that the run has made for
it, and who is no member any more by the coordinator's own log.

Whose fault: records that are lost or doubled are put down to somebody by what the group had committed when their reader
was assigned the partition (`commits`); or to the reader itself, if it had read of the partition already. Who begins
below what was committed is not excused by what happened to others. A partition that two have is put down to the one
that had it first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from groupspec.conformance.books import Books
from groupspec.conformance.stress.commits import Blame, Commit, Commits, Gap
from groupspec.conformance.stress.plan import REQUEST_MS, SESSION_MS
from groupspec.conformance.stress.timeline import Happening, client_of
from groupspec.conformance.stress.troubles import Span, Troubles

COMMIT_TROUBLE_US: Final = (REQUEST_MS + 1_000) * 1000
"""A commit before a revocation may fail through trouble that is not older: a request times out, a connection is new."""

LOG_SLACK_US: Final = 100_000
"""The coordinator's log is in milliseconds of another clock, and is written after the fact."""

SAME_POLL_US: Final = 200_000
"""Callbacks of one poll(100) follow each other within that time."""

LETS_GO_WITHIN_US: Final = 6_000_000
"""Who is out of the group hears so with its next request: a heartbeat, a look-up of the coordinator, reconnecting."""

HANG_US: Final = 15_000_000
"""Nothing is heard for so long of a process that could poll: each poll() takes 100 ms, each slow callback 2.5 s."""

HEARD_WITHIN_US: Final = (SESSION_MS + 1_000) * 1000
"""Who has been in no trouble for so long is not put out: six heartbeats go out in a session."""

NO_STALL_US: Final = 500_000
"""Less than that of a stall in this time keeps nobody from its heartbeats."""

Promise = Literal["lost", "doubled", "owners", "hang", "expired", "close", "crash", "unstable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that is broken.

    `process`: whose doing; "": nobody's in particular. `records`: how many it is about. `partition`: -1: no single one.
    """

    promise: Promise
    process: str
    at_us: int
    text: str
    records: int = 0
    partition: int = -1

    @property
    def client(self) -> str:
        """Which client the process runs."""
        return client_of(self.process)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found; by client how many records were processed, and how many of them again with an excuse."""

    findings: tuple[Finding, ...]
    processed: Mapping[str, int]
    excused: Mapping[str, int]
    longest_overlap_ms: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a process reads of a partition that it has, one record after the other: from where, and up to where so far.

    `jump`: how it came there, if it had read something else of it before.
    """

    begin: int
    position: int
    jump: str = ""


class Judge:
    """Goes through a run once, in the order of time.

    `noted` are from the coordinator's log and records (`cluster`); `stalls`: when the machine stood still; `began_us`:
    from when the times in texts count.
    """

    def __init__(
        self,
        happenings: Sequence[Happening],
        noted: Iterable[Happening],
        stalls: Sequence[Span] = (),
        began_us: int = 0,
    ) -> None:
        self._happenings = sorted([*happenings, *noted], key=lambda one: one.at_us)
        self._troubles = Troubles(self._happenings, stalls)
        self._out: dict[str, list[int]] = {}
        for one in self._happenings:
            if one.kind in ("expelled", "left"):
                self._out.setdefault(one.process, []).append(one.at_us)
        self._standing: dict[str, str] = {}
        self._member_id: dict[str, str] = {}  # the last one by which it joined, where the log says it
        self._given: dict[str, int | None] = {}  # process -> how many partitions it was given last; None: no assignment
        self._leader = ""
        self._started_us: dict[str, int] = {}
        self._coordinator_began_us = 0
        self._stale: dict[tuple[str, int], int] = {}  # what came to a process that had left the group, and when
        self._books: Books[str, int] = Books()
        self._assigned_us: dict[tuple[str, int], int] = {}
        self._last: dict[int, str] = {}
        self._commits = Commits(began_us)
        self._reader: dict[int, str] = {}  # who has processed the record before a partition's mark
        self._reads: dict[tuple[str, int], _Reading] = {}
        self._gaps: dict[int, list[Gap]] = {}
        self._overlaps: dict[tuple[str, int], int] = {}
        self._closing: set[str] = set()
        self._longest_overlap_us = 0
        self._findings: list[Finding] = []
        self._processed: Counter[str] = Counter()
        self._excused: Counter[str] = Counter()

    def verdict(self, ends: Mapping[int, int], unstable_us: int = 0) -> Verdict:
        """What is wrong.

        Args:
            ends: Partition -> the offset after its last record.
            unstable_us: When the group should have been stable, and was not; 0: it was.
        """
        for one in self._happenings:
            if unstable_us and one.at_us > unstable_us:
                self._findings += self._in_the_way(ends, unstable_us)
                unstable_us, ends = 0, {}
            self._take(one)
        if unstable_us:  # and nothing has happened since
            self._findings += self._in_the_way(ends, unstable_us)
            ends = {}
        self._findings += self._never_processed(ends)
        found = tuple(sorted(self._findings, key=lambda finding: finding.at_us))
        return Verdict(found, self._processed, self._excused, self._longest_overlap_us // 1000)

    def _take(self, one: Happening) -> None:
        match one.kind:
            case "assigned":
                self._assign(one)
            case "revoked" | "lost":
                self._release(one)
            case "consumed":
                self._consume(one)
            case "committed":
                self._commit(one)
            case "stopped" | "disconnected" | "busy":
                self._books.may_double(self._books.owned(one.process))
            case "expelled" | "left" | "joined":
                self._expire(one)
                self._standing[one.process] = one.kind
                if one.kind != "joined":
                    self._books.may_double(self._books.owned(one.process))
            case "silence":
                self._silence(one)
            case "closing":
                self._closing.add(one.process)
            case "killed" | "ended":
                self._is_gone(one)
            case "started":
                self._given[one.process] = None
                self._started_us[one.process] = one.at_us
            case "broker up" | "loaded":
                self._coordinator_began_us = one.at_us
            case "fenced":
                self._fenced(one)
            case "led":
                self._leader = one.process
            case _:
                pass

    # Owners -----------------------------------------------------------------------------------------------------------

    def _assign(self, one: Happening) -> None:
        self._given[one.process] = len(one.partitions)
        for partition in one.partitions:
            others = [owner for owner in self._books.owners(partition) if owner != one.process]
            for other in others:
                self._meet(one, other, partition)
            key = (one.process, partition)
            self._commits.assigned(*key)
            self._assigned_us[key] = one.at_us
            self._reads.pop(key, None)
            self._books.assign(one.process, partition)

    def _meet(self, one: Happening, other: str, partition: int) -> None:
        """A process is assigned what another has. One of them is out of the group, and can't know it yet.

        Mostly that is the other one. But a callback may also come late, with an assignment of a generation that is
        over: its process may be expelled by then. One that has left by itself knows that it has: the same poll() has to
        tell that the partition is lost.
        """
        standing = self._standing.get(one.process, "")
        if standing == "expelled":
            self._overlaps.setdefault((one.process, partition), one.at_us)
            return
        if standing == "left":
            self._stale[one.process, partition] = one.at_us
            return
        self._overlaps.setdefault((other, partition), one.at_us)
        if not self._was_out(other, partition, one.at_us):
            told = f"{one.process} is assigned {partition}, which {other} has; it is not out of the group by the log"
            self._find("owners", other, one.at_us, told, partition)

    def _was_out(self, process: str, partition: int, at_us: int) -> bool:
        """Whether it was put out of the group, or left, between its assignment and that time."""
        times = self._out.get(process, [])
        last = bisect_right(times, at_us + LOG_SLACK_US) - 1
        return last >= 0 and times[last] >= self._assigned_us[process, partition] - LOG_SLACK_US

    def _release(self, one: Happening) -> None:
        if one.kind == "lost" or self._troubles.is_troubled(one.process, one.at_us, COMMIT_TROUBLE_US):
            self._books.may_double(one.partitions)
        self._let_go(one.process, one.partitions, one.at_us)
        self._books.release(one.process, one.partitions)

    def _is_gone(self, one: Happening) -> None:
        if one.kind == "killed" and one.process in self._closing:
            self._find("close", one.process, one.at_us, "close() did not end in time")
        if one.kind == "ended" and one.text:
            self._find("crash", one.process, one.at_us, one.text)
        owned = set(self._books.owned(one.process))
        self._books.may_double(owned)
        self._let_go(one.process, owned, one.at_us)
        self._books.forget(one.process)
        self._given.pop(one.process, None)

    def _expire(self, one: Happening) -> None:
        """A member whose session has expired had a reason to be silent, or has none.

        Not so an id that was given for a JoinGroup whose answer never came: its process joined by another one.
        """
        process = one.process
        what, _, member_id = one.text.partition(" ")
        if one.kind == "joined":
            self._member_id[process] = "" if what == "static_replaced" else member_id  # that line has the former id
        is_member = process in self._given and process not in self._closing and self._standing.get(process) == "joined"
        free_us = self._troubles.free_us(process, one.at_us - HEARD_WITHIN_US, one.at_us, 0)
        is_its_own = what == "session_expired" and bool(member_id) and member_id == self._member_id.get(process)
        if is_its_own and is_member and free_us > HEARD_WITHIN_US - NO_STALL_US:
            self._find("expired", process, one.at_us, "its session expired, and nothing kept it from its heartbeats")

    def _fenced(self, one: Happening) -> None:
        """Nobody else has its instance id; but a coordinator that is new may take a process before it for it."""
        if self._coordinator_began_us < self._started_us.get(one.process, 0):
            self._find("crash", one.process, one.at_us, f"fenced off, though the coordinator is no new one: {one.text}")

    def _let_go(self, process: str, partitions: Iterable[int], at_us: int) -> None:
        for partition in partitions:
            self._last[partition] = process
            stale_us = self._stale.pop((process, partition), at_us)
            if self._troubles.running_us(stale_us, at_us) > SAME_POLL_US:
                told = f"it was assigned {partition} after it had left the group"
                self._find("owners", process, at_us, told, partition)
            begin_us = self._overlaps.pop((process, partition), None)
            if begin_us is None:
                continue
            late_us = self._troubles.free_us(process, begin_us, at_us, 0)
            self._longest_overlap_us = max(self._longest_overlap_us, late_us)
            if late_us > LETS_GO_WITHIN_US:
                self._find(
                    "owners",
                    process,
                    at_us,
                    f"{process} has {partition} for {late_us / 1e6:.1f} s after it went to another, and could have "
                    "heard of it",
                    partition,
                )

    # Records ----------------------------------------------------------------------------------------------------------

    def _commit(self, one: Happening) -> None:
        [partition] = one.partitions
        members = [owner for owner in self._books.owners(partition) if not self._is_out(owner)]
        process = members[-1] if members else self._last.get(partition, "")
        self._commits.take(partition, Commit(one.at_us, one.last, process))

    def _is_out(self, process: str) -> bool:
        return self._standing.get(process) in ("expelled", "left")

    def _consume(self, one: Happening) -> None:
        [partition] = one.partitions
        client = client_of(one.process)
        key, mark = (one.process, partition), self._books.marks.get(partition, 0)
        if self._stale.pop(key, 0):
            told = f"it reads {partition}, assigned after it had left the group"
            self._find("owners", one.process, one.at_us, told, partition)
        filled = self._fill(partition, one.first, one.last)
        taken = self._books.take(one.process, partition, one.first, one.last)
        self._processed[client] += one.last + 1 - one.first
        if taken.missing:
            self._gaps.setdefault(partition, []).extend(self._left_out(one, mark))
        doubled = taken.doubled - filled
        if doubled > 0 and taken.excused and not self._begins_below(one):
            self._excused[client] += doubled
        elif doubled > 0:
            blame = self._again(one, mark)
            self._find(
                "doubled",
                blame.process,
                one.at_us,
                f"{one.process} processes {one.first} to {one.last} of {partition}, of which {doubled} were processed "
                f"before: {blame.evidence}",
                partition,
                doubled,
            )
        self._reads[key] = replace(self._reading(one), position=one.last + 1)
        if one.last >= mark:
            self._reader[partition] = one.process

    def _reading(self, one: Happening) -> _Reading:
        """What these records go on with, or begin."""
        [partition] = one.partitions
        before = self._reads.get((one.process, partition))
        if before is None or before.position == one.first:
            return before or _Reading(one.first, one.first)
        jump = f"{one.process} was at {before.position}, and read on from {one.first}"
        return _Reading(one.first, one.first, jump)

    def _begins_below(self, one: Happening) -> bool:
        """Whether it reads on from less than was committed, as a member for whom all was well."""
        [partition] = one.partitions
        reading = self._reading(one)
        is_below = not reading.jump and self._commits.begins_below(one.process, partition, reading.begin)
        is_well = not self._is_out(one.process) and (one.process, partition) not in self._overlaps
        return is_below and is_well and not self._troubles.is_troubled(one.process, one.at_us, COMMIT_TROUBLE_US)

    def _again(self, one: Happening, mark: int) -> Blame:
        [partition] = one.partitions
        reading = self._reading(one)
        if reading.jump:
            return Blame(one.process, reading.jump)
        return self._commits.of_again(one.process, partition, reading.begin, mark, self._reader[partition])

    def _left_out(self, one: Happening, mark: int) -> Iterator[Gap]:
        [partition] = one.partitions
        if jump := self._reading(one).jump:
            return iter([Gap(mark, one.first, Blame(one.process, jump), one.at_us)])
        return self._commits.of_left_out(one.process, partition, mark, one.first, one.at_us)

    def _fill(self, partition: int, first: int, last: int) -> int:
        """How many of these were missing, and are not any more."""
        filled, left = 0, list[Gap]()
        for gap in self._gaps.get(partition, []):
            if last < gap.begin or first >= gap.end:
                left.append(gap)
                continue
            filled += min(last + 1, gap.end) - max(first, gap.begin)
            parts = ((gap.begin, min(first, gap.end)), (max(last + 1, gap.begin), gap.end))
            left += [replace(gap, begin=low, end=high) for low, high in parts if low < high]
        if filled:
            self._gaps[partition] = left
        return filled

    def _never_processed(self, ends: Mapping[int, int]) -> Iterator[Finding]:
        last_us = self._happenings[-1].at_us if self._happenings else 0
        for partition, end in sorted(ends.items()):
            mark = self._books.marks.get(partition, 0)
            gaps = list(self._gaps.get(partition, []))
            if mark < end:
                gaps += self._commits.of_rest(self._last.get(partition, ""), partition, mark, end, last_us)
            for gap in gaps:
                text = f"{gap.begin} to {gap.end - 1} of {partition} were never processed: {gap.blame.evidence}"
                yield Finding("lost", gap.blame.process, gap.at_us, text, gap.end - gap.begin, partition)

    def _in_the_way(self, ends: Mapping[int, int], at_us: int) -> Iterator[Finding]:
        """Why the group is not stable: who was given nothing, by the leader; who has nothing; who does not read on."""
        behind = {partition for partition, end in ends.items() if self._books.marks.get(partition, 0) < end}
        is_told = False
        for process, given in self._given.items():
            owned = self._books.owned(process)
            text = ""
            if given == 0 and not owned:
                text = f"{process} is a member, polls, and was given no partition by {self._leader}, the leader"
                yield Finding("unstable", self._leader, at_us, text)
            elif not owned:
                text = f"{process} has no partition"
                yield Finding("unstable", process, at_us, text)
            elif unread := sorted(owned & behind):
                text = f"{process} has {unread}, and has not read them to their ends"
                yield Finding("unstable", process, at_us, text)
            is_told = is_told or bool(text)
        if not is_told:
            yield Finding(
                "unstable", "", at_us, f"owned are {sorted(set().union(*map(self._books.owned, self._given)))}"
            )

    # Silence ----------------------------------------------------------------------------------------------------------

    def _silence(self, one: Happening) -> None:
        free_us = self._troubles.free_us(one.process, one.first, one.at_us, COMMIT_TROUBLE_US)
        if free_us > HANG_US:
            self._find("hang", one.process, one.at_us, f"nothing was heard of it for {free_us / 1e6:.1f} s")

    def _find(
        self, promise: Promise, process: str, at_us: int, text: str, partition: int = -1, records: int = 0
    ) -> None:
        self._findings.append(Finding(promise, process, at_us, text, records, partition))

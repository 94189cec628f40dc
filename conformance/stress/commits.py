"""Whose fault it is that records are read again or left out, by what the group had committed when their reader began.

A reader that is assigned a partition goes on from the committed offset. So of records that are read again either that
offset was above them, and the reader is to blame; or it was not, and whoever had processed them has not committed them;
or it had been above them, and somebody has committed less since. Of records that nobody processes either the committed
offset was behind them, and whoever committed it is to blame; or it was not, and the reader has passed them over.

A record of `__consumer_offsets` does not say which member has sent it. It was the one that had the partition: a
coordinator takes commits from members of the generation alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Commit:
    """An offset of a partition, other than the one before; `process`: who had the partition then."""

    at_us: int
    offset: int
    process: str


@dataclass(frozen=True, slots=True)
class Blame:
    """Whose doing it is, and what shows it."""

    process: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Records of a partition that nobody has processed so far: the first, after the last, by whose doing, and when."""

    begin: int
    end: int
    blame: Blame
    at_us: int


class Commits:
    """All that was committed so far. `began_us`: from when the times in texts count."""

    def __init__(self, began_us: int) -> None:
        self._began_us = began_us
        self._of: dict[int, list[Commit]] = {}
        self._known: dict[tuple[str, int], int] = {}  # how many there were when it was assigned

    def take(self, partition: int, commit: Commit) -> None:
        """One more."""
        self._of.setdefault(partition, []).append(commit)

    def assigned(self, process: str, partition: int) -> None:
        """This process goes on from what is committed now."""
        self._known[process, partition] = len(self._of.get(partition, []))

    def begins_below(self, process: str, partition: int, first: int) -> bool:
        """Whether more than that was committed when it was assigned the partition."""
        return self._offset(self._before(process, partition)) > first

    def of_again(self, process: str, partition: int, first: int, mark: int, reader: str) -> Blame:
        """Who is to blame that a process begins at `first`, though `reader` has processed what is below `mark`."""
        before = self._before(process, partition)
        if self._offset(before) > first:
            return Blame(process, f"committed was {self._told(before)}, and {process} read on from {first}")
        for above, below in zip(reversed(before[:-1]), reversed(before), strict=False):
            if above.offset > max(first, below.offset):
                told = f"committed was {self._told([above])}, then {self._told([below])}, by {below.process}"
                return Blame(below.process, told)
        told = f"{reader} had processed up to {mark - 1}, and committed was {self._told(before)}"
        return Blame(reader, told)

    def of_left_out(self, process: str, partition: int, mark: int, first: int, at_us: int) -> Iterator[Gap]:
        """Who is to blame for what lies between `mark` and `first`, where a reader begins."""
        before = self._before(process, partition)
        passed_over = f"committed was {self._told(before)}, and {process} read on from {first}"
        yield from self._gaps(before, mark, first, Blame(process, passed_over), at_us)

    def of_rest(self, owner: str, partition: int, mark: int, end: int, at_us: int) -> Iterator[Gap]:
        """Who is to blame for what lies between `mark` and the end, to which `owner`, who had it last, has not read."""
        commits = self._of.get(partition, [])
        unread = f"committed was {self._told(commits)}, and {owner or 'nobody'} had the partition last"
        yield from self._gaps(commits, mark, end, Blame(owner, unread), at_us)

    def _gaps(self, before: list[Commit], mark: int, first: int, blame: Blame, at_us: int) -> Iterator[Gap]:
        """What was committed, and after that what was not."""
        committed = min(max(mark, self._offset(before)), first)
        if committed > mark:
            early = next(one for one in before if one.offset > mark)
            told = f"committed was {self._told([early])}, by {early.process}, and {mark - 1} the last one processed"
            yield Gap(mark, committed, Blame(early.process, told), at_us)
        if first > committed:
            yield Gap(committed, first, blame, at_us)

    def _before(self, process: str, partition: int) -> list[Commit]:
        return self._of.get(partition, [])[: self._known.get((process, partition), 0)]

    def _offset(self, commits: list[Commit]) -> int:
        return max(0, commits[-1].offset) if commits else 0

    def _told(self, commits: list[Commit]) -> str:
        if not commits or commits[-1].offset < 0:
            return NOTHING
        return f"{commits[-1].offset} at {(commits[-1].at_us - self._began_us) / 1e6:.1f} s"

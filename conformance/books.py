"""The books on a group's records: who owns which partition, and up to where each was processed, by whomever.

A record counts as processed when an application has worked on it. The offset up to which all records of a partition
were processed is the partition's mark. Nothing is lost as long as nobody begins above it. A record may be processed
twice only where the protocol can't help it: its reader was killed, stood still, lost the partition, or could not commit
before it gave the partition up. Whoever keeps the books says so (`may_double`); it is over when a partition's only
owner has processed a new record.

The simulation keeps them in virtual time, the stress run on a real broker (rules K1, O1, M8).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

Owner = TypeVar("Owner", bound=Hashable)
Partition = TypeVar("Partition", bound=Hashable)


class Taken(Struct, frozen=True):
    """What processing some consecutive records of a partition means.

    Attributes:
        missing: How many records before them nobody has processed.
        doubled: How many of them had been processed before.
        excused: Whether that may be.
    """

    missing: int
    doubled: int
    excused: bool


class Books(Generic[Owner, Partition]):
    """The books of one run.

    Attributes:
        marks: Partition -> the offset up to which everything was processed.
        processed_count, doubles: Records, and how many were processed before.
    """

    def __init__(self) -> None:
        self.marks: dict[Partition, int] = {}
        self.processed_count = self.doubles = 0
        self._owned: dict[Owner, set[Partition]] = {}
        self._may_double: set[Partition] = set()

    def owned(self, owner: Owner) -> set[Partition]:
        """What this application owns, by its callbacks."""
        return self._owned.setdefault(owner, set())

    def owners(self, partition: Partition) -> list[Owner]:
        """Who thinks that it is theirs."""
        return [owner for owner, owned in self._owned.items() if partition in owned]

    def assign(self, owner: Owner, partition: Partition) -> None:
        """It has this one from now on, maybe beside somebody whose session is over, and who does not know it yet."""
        if self.owners(partition):
            self._may_double.add(partition)
        self.owned(owner).add(partition)

    def release(self, owner: Owner, partitions: Iterable[Partition]) -> None:
        """It has these no more."""
        self.owned(owner).difference_update(partitions)

    def forget(self, owner: Owner) -> None:
        """It is no more."""
        self._owned.pop(owner, None)

    def may_double(self, partitions: Iterable[Partition]) -> None:
        """Others go on from what was committed of these, and that may be less than what was processed."""
        self._may_double.update(partitions)

    def take(self, owner: Owner, partition: Partition, first: int, last: int) -> Taken:
        """The application has processed these records, both ends included; what is missing before them is given up."""
        mark = self.marks.get(partition, 0)
        doubled = max(0, min(last + 1, mark) - first)
        taken = Taken(max(0, first - mark), doubled, partition in self._may_double)
        self.processed_count += last + 1 - first
        self.doubles += doubled
        if last >= mark:
            self.marks[partition] = last + 1
            if self.owners(partition) == [owner]:
                self._may_double.discard(partition)
        return taken

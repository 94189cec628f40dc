"""What is drawn of a run: a lane for the brokers, one for each member, and one for each partition.

Bars have a length: a process's life, a fault, an owner. Marks have none: expelled, fenced off, and each finding by its
number. A lane has as many rows as things in it happen at the same time: two owners of a partition stand one below the
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.stress.judging import Finding
from groupspec.conformance.stress.plan import Plan
from groupspec.conformance.stress.timeline import TROUBLE, Happening, place_of

SLOW_CALLBACK_US: Final = 500_000
MARKED: Final = {"expelled": "expelled", "fenced": "fenced off", "loaded": "new coordinator:", "grown": "now"}
"""What happens in a moment, and is worth a mark."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that lasts. `place`: whose, in the group; -1: nobody's."""

    begin_us: int
    end_us: int
    kind: str
    text: str
    place: int = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happens; `text` is short for a finding: its number."""

    at_us: int
    kind: str
    text: str


@dataclass(slots=True)
class Lane:
    """One line of the picture. `rows`: bars that do not overlap, each."""

    name: str
    rows: list[list[Bar]] = field(default_factory=lambda: [[]])
    marks: list[Mark] = field(default_factory=list)

    def add(self, bar: Bar) -> None:
        """In the first row with room for it."""
        for row in self.rows:
            if all(bar.begin_us >= other.end_us or bar.end_us <= other.begin_us for other in row):
                row.append(bar)
                return
        self.rows.append([bar])


def lanes(plan: Plan, happenings: Sequence[Happening], findings: Sequence[Finding]) -> list[Lane]:
    """All of them, from top to bottom."""
    brokers = Lane("brokers")
    members = [Lane(f"m{one.number} {one.client}") for one in plan.members]
    end_us = happenings[-1].at_us if happenings else 0
    for bar in [*_lives(happenings, end_us), *_troubles(happenings, end_us), *_slow_callbacks(happenings)]:
        (members[bar.place] if bar.place >= 0 else brokers).add(bar)
    for one in happenings:
        if one.kind in MARKED:
            lane = members[place_of(one.process)] if one.process else brokers
            lane.marks.append(Mark(one.at_us, one.kind, f"{MARKED[one.kind]} {one.text}"))
    partitions: dict[int, Lane] = {}
    for partition, bar in _owners(happenings, end_us):
        partitions.setdefault(partition, Lane(f"partition {partition}")).add(bar)
    for number, finding in enumerate(findings, 1):
        mark = Mark(finding.at_us, "finding", str(number))
        if finding.process:
            members[place_of(finding.process)].marks.append(mark)
        if finding.partition in partitions:
            partitions[finding.partition].marks.append(mark)
    return [brokers, *members, *(partitions[number] for number in sorted(partitions))]


def short(process: str) -> str:
    """Its place, and how many have filled that."""
    return f"m{place_of(process)}.{process.rsplit('-', 1)[1]}"


def _lives(happenings: Iterable[Happening], end_us: int) -> Iterator[Bar]:
    begun: dict[str, int] = {}
    for one in happenings:
        if one.kind == "started":
            begun[one.process] = one.at_us
        elif one.kind in ("killed", "ended") and one.process in begun:
            yield Bar(begun.pop(one.process), one.at_us, "life", f"{one.process}, {one.kind}", place_of(one.process))
    for process, at_us in begun.items():
        yield Bar(at_us, end_us, "life", process, place_of(process))


def _troubles(happenings: Iterable[Happening], end_us: int) -> Iterator[Bar]:
    begun: dict[tuple[str, str], Happening] = {}
    for one in happenings:
        if one.kind in TROUBLE:
            begun.setdefault((one.process, TROUBLE[one.kind]), one)
        elif begin := begun.pop((one.process, one.kind), None):
            yield _trouble(begin, one.at_us)
    for begin in begun.values():
        yield _trouble(begin, end_us)


def _trouble(begin: Happening, end_us: int) -> Bar:
    text = begin.text if begin.kind in ("disconnected", "broker down") else begin.kind
    if begin.kind == "coordinator moves":
        text = f"coordinator {begin.text}"
    place = place_of(begin.process) if begin.process else -1
    return Bar(begin.at_us, end_us, begin.kind, text, place)


def _slow_callbacks(happenings: Iterable[Happening]) -> Iterator[Bar]:
    begun: dict[str, Happening] = {}
    for one in happenings:
        if one.kind in ("assigned", "revoked", "lost"):
            begun[one.process] = one
        elif one.kind == "callback returned" and one.process in begun:
            begin_us = begun.pop(one.process).at_us
            if one.at_us - begin_us > SLOW_CALLBACK_US:
                yield Bar(begin_us, one.at_us, "callback", f"in {one.text}", place_of(one.process))


def _owners(happenings: Iterable[Happening], end_us: int) -> Iterator[tuple[int, Bar]]:
    since: dict[tuple[str, int], int] = {}
    for one in happenings:
        if one.kind == "assigned":
            since |= {(one.process, partition): one.at_us for partition in one.partitions}
        gone = one.kind in ("killed", "ended")
        if gone or one.kind in ("revoked", "lost"):
            for process, partition in list(since):
                if process == one.process and (gone or partition in one.partitions):
                    text = f"{process}, until {one.kind}"
                    yield partition, Bar(since.pop((process, partition)), one.at_us, "owner", text, place_of(process))
    for (process, partition), at_us in since.items():
        yield partition, Bar(at_us, end_us, "owner", process, place_of(process))

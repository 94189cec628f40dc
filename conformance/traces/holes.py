"""What the logs leave out of a group's history: generations without a line, and rebalances without a beginning.

The coordinator counts generations without gaps and writes at least two lines for each: "Preparing to rebalance" names
the old one, "Stabilized" or "is now empty" the new one. So a number that is missing is a part of the log that is
missing: a rotated file, another broker's log, lines that a collector dropped. Groups of the consumer protocol (KIP-848)
are left out: not every version of the coordinator logs each epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from groupspec.conformance.traces.dialects import LogEvent, LogLine


@dataclass(frozen=True, slots=True)
class Hole:
    """Generations of which the logs do not say how they came to be.

    first, last          those generations
    unbegun              whether the end of that rebalance is there (`before`), and only its beginning is missing
    after, before        the lines on both sides; `after` is None where the log begins
    after_ms, before_ms  their times
    """

    first: int
    last: int
    unbegun: bool
    after: LogLine | None
    after_ms: int
    before: LogLine
    before_ms: int


def find_holes(events: Iterable[LogEvent]) -> list[Hole]:
    """The holes in one group's events, which come in the order of time."""
    holes: list[Hole] = []
    known = -1  # the generation that the lines so far end with; -1: they say nothing of it
    open_since = False  # whether a rebalance is under way
    last: LogEvent | None = None
    for event in events:
        if event.kind == "epoch_bumped":
            known, open_since = -1, False
        elif event.kind == "rebalance":
            if 0 <= known < event.generation:
                holes.append(_hole(known + 1, event.generation, last, event))
            known, open_since = event.generation, True
        elif event.kind in {"formed", "empty", "assigned"} and event.generation != known:
            if 0 <= known < event.generation - 1:
                holes.append(_hole(known + 1, event.generation - 1, last, event))
            if not open_since:
                holes.append(_hole(event.generation, event.generation, last, event, unbegun=True))
            known, open_since = event.generation, False
        last = event if event.group else last
    return holes


def _hole(first: int, last: int, after: LogEvent | None, before: LogEvent, unbegun: bool = False) -> Hole:
    return Hole(
        first,
        last,
        unbegun,
        after.place if after is not None else None,
        after.at_ms if after is not None else before.at_ms,
        before.place,
        before.at_ms,
    )


def doubts(holes: Iterable[Hole]) -> list[str]:
    """The holes in words, for the account of what the logs could not tell."""
    missing = [hole for hole in holes if not hole.unbegun]
    unbegun = [hole for hole in holes if hole.unbegun]
    told = []
    if missing:
        told.append(
            f"{_listed(missing)} missing from these logs ({_where(missing[0])}): what happened there is not known, and "
            "a join behind it can be a rejoin; pass all logs of the time, those of every broker too"
        )
    if unbegun:
        told.append(
            f"of {_listed(unbegun).removesuffix(' is').removesuffix(' are')} these logs have the end and not the "
            f'beginning ("Preparing to rebalance"; {_where(unbegun[0])}): their cause is not known'
        )
    return told


def _listed(holes: list[Hole]) -> str:
    """`generation 17 is`, `generations 15-16, 20 are`; what follows on each other is one range."""
    ranges: list[tuple[int, int]] = []
    for hole in holes:
        if ranges and ranges[-1][1] + 1 == hole.first:
            ranges[-1] = ranges[-1][0], hole.last
        else:
            ranges.append((hole.first, hole.last))
    one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    listed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"generation {listed} is" if one else f"generations {listed} are"


def _where(hole: Hole) -> str:
    before = f"before {hole.before.file}:{hole.before.line}"
    return before if hole.after is None else f"after {hole.after.file}:{hole.after.line}, {before}"

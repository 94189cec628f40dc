"""Whether logs that were passed together are those of several clusters, which have a group of the same name.

A coordinator forms each generation of a group once. Where two logs form the same one, and the first goes on with its
own numbers as if the second were not there, two coordinators were at work at the same time. A group that moves between
brokers counts on; one that is created anew begins again, and the numbers from before do not go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from groupspec.conformance.traces.dialects import LogEvent, LogLine

_Log: TypeAlias = tuple[str, str]
"""A file, and the broker that wrote it."""


@dataclass(frozen=True, slots=True)
class Clash:
    """A generation that was formed twice, and the two lines that say so."""

    group: str
    generation: int
    first: LogLine
    second: LogLine

    def __str__(self) -> str:
        one, other = self.first, self.second
        return (
            f"these logs look like several clusters: generation {self.generation} of group {self.group} was formed in "
            f"{one.file}:{one.line} and in {other.file}:{other.line}, and both went on, so that what is told of this "
            "group mixes them; pass the logs of one cluster at a time: "
            f"groupspec trace why {self.group} {one.file}"
        )


def find_clash(events: Iterable[LogEvent]) -> Clash | None:
    """The first generation of one group that two clusters formed; `events` are the group's, in the order of time."""
    formed: dict[int, dict[_Log, LogLine]] = {}
    latest: dict[_Log, int] = {}
    doubled: dict[frozenset[_Log], int] = {}  # the first generation that both logs formed
    passed: set[tuple[_Log, _Log]] = set()  # (log, another): since the log's last line the other was not beyond it
    for event in events:
        if event.kind not in {"rebalance", "formed", "empty"} or event.generation < 0:
            continue
        log = event.place.file, event.source
        if event.kind == "formed":
            places = formed.setdefault(event.generation, {})
            for other in places.keys() - {log}:
                doubled.setdefault(frozenset({log, other}), event.generation)
            places.setdefault(log, event.place)
        for other in latest.keys() - {log}:
            pair = frozenset({log, other})
            if (log, other) in passed and latest[log] <= event.generation and pair in doubled:
                one, two = (place for each, place in formed[doubled[pair]].items() if each in pair)
                return Clash(event.group, doubled[pair], one, two)
            if event.generation <= latest[other]:
                passed.add((other, log))
        if event.generation < latest.get(log, -1):  # created anew
            passed -= {(log, other) for other in latest}
        latest[log] = event.generation
    return None

"""What a log dialect is: a recogniser, and a parser that turns lines into events and says what it could not read.

Logs are other people's text. A dialect therefore never guesses silently: each line that belongs to it and that it
does not understand is counted and kept as a sample, so that a reader can judge whether something important was
overlooked. Lines of other parts of the same program (a broker logs much more than its groups) are counted apart and
are no cause for concern.

Times: log frameworks print local time without saying which zone. `Clock` reads such a time in one given zone (UTC
unless told otherwise); a zone printed in the line wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Final, Protocol

SAMPLES: Final = 5
_TIME: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands: the file as the user named it, the line counted from 1, and the message itself."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One thing that a log says.

    kind         the dialect's name for it (each dialect documents its own closed list)
    at_ms        milliseconds since 1970, UTC
    group        the group's id; "" when the line is about the whole broker
    source       who wrote the line, for example the broker's id; "" when the line does not say
    member_ids   the members that the line names, as ids given by the broker
    instance_id  group.instance.id of a static member; "" for a dynamic one
    client_id    the client id, only where the line prints it
    generation   the generation that the line names; -1: none
    count        a number of members that the line names; -1: none
    reason       kind of reason, for events that give one ("" otherwise); the dialect documents the list
    said         the reason in the client's own words; "" when it gave none
    """

    kind: str
    at_ms: int
    place: Place
    group: str = ""
    source: str = ""
    member_ids: tuple[str, ...] = ()
    instance_id: str = ""
    client_id: str = ""
    generation: int = -1
    count: int = -1
    reason: str = ""
    said: str = ""


@dataclass(slots=True)
class ParsedLog:
    """What a dialect made of some lines: events in the order of the lines, and an account of every other line.

    understood       lines that became events
    harmless         lines of this dialect that are known and say nothing about a group's membership
    other            well-formed lines of other parts of the program
    continuation     lines without a time stamp (stack traces, wrapped messages)
    not_understood   lines that should have meant something; `samples` keeps the first few
    """

    dialect: str
    variant: str = ""
    events: list[LogEvent] = field(default_factory=list)
    lines: int = 0
    understood: int = 0
    harmless: int = 0
    other: int = 0
    continuation: int = 0
    not_understood: int = 0
    samples: list[Place] = field(default_factory=list)

    def puzzle(self, place: Place) -> None:
        """Count one line that was not understood, and keep it if it is among the first."""
        self.not_understood += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(place)


class Dialect(Protocol):
    """One kind of log. `parse` is None for a dialect that is only recognised so far."""

    @property
    def name(self) -> str:
        """How the dialect is called in messages and in --json."""

    def sniff(self, lines: Sequence[str]) -> float:
        """How much of a sample looks like this dialect: 0.0 (nothing) to 1.0 (every line)."""

    def parse(self, file: str, lines: Iterable[str], clock: Clock) -> ParsedLog | None:
        """Turn lines into events; None when the dialect is recognised and not supported yet."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Reads the time stamps of log lines; `zone` is meant where a line prints none."""

    zone: tzinfo = UTC

    def is_stamped(self, head: str) -> bool:
        """Whether there is a time stamp in `head`."""
        return _TIME.search(head) is not None

    def read(self, head: str) -> int | None:
        """Milliseconds since 1970 of the last time stamp in `head`; None when there is none, or no valid one.

        The last, because collectors put a time stamp of their own in front of the program's.
        """
        stamps = list(_TIME.finditer(head))
        if not stamps:
            return None
        found = stamps[-1]
        zone = (found["zone"] or "").replace("Z", "+00:00")
        fraction = (found["fraction"] or "0")[:6].ljust(6, "0")
        try:
            moment = datetime.fromisoformat(f"{found['day']}T{found['time']}.{fraction}{zone}")
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.zone)
        return round(moment.timestamp() * 1000)

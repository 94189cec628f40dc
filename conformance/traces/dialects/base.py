"""What a log dialect is: a recogniser, and a parser that turns lines into events and says what it could not read.

Logs are other people's text. A dialect therefore never guesses silently: each line that belongs to it and that it
does not understand is counted and kept as a sample, so that a reader can judge whether something important was
overlooked. Lines of other parts of the same program (a broker logs much more than its groups) are counted apart and
are no cause for concern.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.traces.dialects.times import Clock

SAMPLES: Final = 5
# So many lines that are not understood and end where no line goes on: something cuts, or folds, lines.
_SAME_LENGTH: Final = 3


@dataclass(frozen=True, slots=True)
class LogLine:
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
    place: LogLine
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
    other            well-formed lines of other parts of the program, or about groups that were not asked for
    continuation     lines without a time stamp (stack traces, wrapped messages)
    not_understood   lines that should have meant something; `samples` keeps the first few, of the group asked for first
    in_doubt         those of them that may concern the group asked for: the answer is not sure
    without_time     those of `in_doubt` in whose lines no date and time can be read
    untimed          the numbers of all lines that were not understood and in which no date and time can be read
    folded           lines without a time stamp directly behind a line that was not understood
    zoned            whether the lines print times with a zone of their own, or seconds since 1970
    longest          the length of the longest line
    lengths          the lengths of the lines that were not understood
    groups           every group that the log names, with its number of events; `events` holds only those asked for
    has_info         whether any line is of level INFO, at which the coordinator tells of its groups
    cut_off          why the log ended before its end ("" when it did not): a truncated archive
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
    in_doubt: int = 0
    without_time: int = 0
    untimed: set[int] = field(default_factory=set)
    zoned: bool = False
    folded: int = 0
    longest: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    groups: Counter[str] = field(default_factory=Counter)
    has_info: bool = False
    cut_off: str = ""
    samples: list[LogLine] = field(default_factory=list)

    def puzzle(self, place: LogLine, group: str | None, length: int, timed: bool) -> None:
        """Count one line that was not understood, and keep it if it is among the first; `group`: the one asked for."""
        concerns = group is None or group in place.text
        self.samples.insert(self.in_doubt if concerns else len(self.samples), place)
        del self.samples[SAMPLES:]
        self.not_understood += 1
        self.in_doubt += concerns
        self.lengths[length] += 1
        if not timed:
            self.without_time += concerns
            self.untimed.add(place.line)

    @property
    def is_folded(self) -> bool:
        """Whether most lines that were not understood go on in the next line."""
        return self.folded >= _SAME_LENGTH and 2 * self.folded >= self.not_understood

    @property
    def cut_at(self) -> int:
        """After how many characters lines were cut off on their way here; 0: they were not."""
        [(length, count)] = self.lengths.most_common(1) or [(0, 0)]
        return length if count >= _SAME_LENGTH and length == self.longest and not self.is_folded else 0


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of log: what it is called in messages, and a mark that its lines carry.

    Such a dialect is recognised and not read: the user gets "librdkafka log" instead of "unknown file". One that is
    read is a subclass with its own `parse`.
    """

    name: str
    mark: re.Pattern[str]

    def sniff(self, lines: Sequence[str]) -> float:
        """The share of the lines that carry the mark."""
        written = [line for line in lines if line.strip()]
        return sum(1 for line in written if self.mark.search(line)) / max(1, len(written))

    def parse(self, file: str, lines: Iterable[str], clock: Clock, group: str | None = None) -> ParsedLog | None:
        """Turn lines into events; None when the dialect is recognised and not used here.

        `group` keeps only events of that group, and those about the whole broker: a busy broker has thousands of
        groups.
        """
        del file, lines, clock, group
        return None

"""A line of a log: which program wrote it, what it tells, and the names that explain it (`log_lines.toml`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from groupspec.conformance.explain.explanation import Explanation
from groupspec.conformance.traces.dialects import DIALECTS
from groupspec.conformance.traces.dialects.times import is_stamped
from groupspec.spec.datafile import Record, read_entries

KIND: Final = "line of a log"
MOST_MESSAGES: Final = 4
"""A phrase that stands in more messages than these tells nothing: `group`."""
_LINE_WORDS: Final = 3
"""Fewer words than these are no line of a log."""
_LEVEL: Final = re.compile(r"\b(?:INFO|WARN|WARNING|ERROR|FATAL)\b")
_HEAD: Final = 80


class Message(Record, frozen=True):
    """What clients or brokers write on one occasion.

    Attributes:
        id: A name for it.
        said: Parts of messages, upper or lower case; `...` stands for anything between.
        tells: What has happened.
        means: Names that `explain` takes, what is meant most first.
    """

    id: str
    said: tuple[str, ...]
    tells: str
    means: tuple[str, ...]

    def places_in(self, line: str) -> list[tuple[int, int]]:
        """Where the line says so: begin and end of each part that stands in it."""
        patterns = (".*?".join(map(re.escape, part.split("..."))) for part in self.said)
        found = (re.search(rf"(?<!\w){pattern}", line, re.IGNORECASE) for pattern in patterns)
        return [match.span() for match in found if match]


MESSAGES: Final = read_entries(Path(__file__).with_suffix(".toml"), Message)


def read_line(line: str) -> tuple[list[Explanation], list[str]]:
    """What a line tells, as an explanation of the line itself if it is known; and the names that explain it."""
    found = _messages_in(line)
    if not found:
        return ([], []) if is_line(line) else _read_phrase(line)
    told = "; ".join(message.tells for message in found)
    writer = written_by(line) or "log of a client or broker"
    return [Explanation(KIND, line, told, sources=(writer,))], [name for each in found for name in each.means]


def written_by(line: str) -> str:
    """The dialect of a line, "" if it carries no mark of one."""
    return next((dialect.name for dialect in DIALECTS if dialect.sniff([line])), "")


def is_line(text: str) -> bool:
    """Whether a text of several words has what log layouts put around a message: a mark, a time, a level, a thread."""
    if len(text.split()) < _LINE_WORDS:
        return False
    stamped = text.lstrip().startswith("[") or is_stamped(text[:_HEAD]) or _LEVEL.search(text[:_HEAD]) is not None
    return stamped or "-thread [" in text[:_HEAD] or bool(written_by(text))


def _messages_in(line: str) -> list[Message]:
    """The messages that a line says; what stands only within a longer part of another one does not count."""
    places = {each.id: each.places_in(line) for each in MESSAGES.values()}
    every = [place for found in places.values() for place in found]
    return [MESSAGES[each] for each, found in places.items() if any(not _is_within(place, every) for place in found)]


def _is_within(place: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(other != place and other[0] <= place[0] and place[1] <= other[1] for other in others)


def _read_phrase(phrase: str) -> tuple[list[Explanation], list[str]]:
    """The same of words that a message says, such as `Stabilized` or `stabilizing`; each message by itself."""
    stem = re.sub("(ed|ing)$", "", phrase.strip(), flags=re.IGNORECASE)
    words = re.compile(rf"(?<!\w){re.escape(stem)}{'(?!' if stem == phrase.strip() else '(?:'}\w)", re.IGNORECASE)
    parts = {each.id: next(filter(words.search, each.said), "") for each in MESSAGES.values()}
    found = [(MESSAGES[message], part) for message, part in parts.items() if part]
    if not stem or len(found) > MOST_MESSAGES:
        return [], []
    told = [Explanation(KIND, phrase, each.tells, title=f'that says "{part}"') for each, part in found]
    return told, [name for each, _ in found for name in each.means]

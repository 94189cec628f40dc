"""A line of a log: which program wrote it, what it tells, and the names that explain it (`log_lines.toml`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from groupspec.conformance.explain.explanation import Explanation
from groupspec.conformance.traces.dialects import DIALECTS
from groupspec.spec.datafile import Record, read_entries

KIND: Final = "line of a log"
MOST_MESSAGES: Final = 4
"""A phrase that stands in more messages than these tells nothing: `group`."""


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

    def stands_in(self, line: str) -> bool:
        """Whether the line says so."""
        patterns = (".*".join(map(re.escape, part.split("..."))) for part in self.said)
        return any(re.search(rf"(?<!\w){pattern}", line, re.IGNORECASE) for pattern in patterns)


MESSAGES: Final = read_entries(Path(__file__).with_suffix(".toml"), Message)


def read_line(line: str) -> tuple[list[Explanation], list[str]]:
    """What a line tells, as an explanation of the line itself if it is known; and the names that explain it."""
    found = [message for message in MESSAGES.values() if message.stands_in(line)]
    if not found:
        return _read_phrase(line)
    written_by = next((dialect.name for dialect in DIALECTS if dialect.sniff([line])), "log of a client or broker")
    told = "; ".join(message.tells for message in found)
    return [Explanation(KIND, line, told, sources=(written_by,))], [name for each in found for name in each.means]


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

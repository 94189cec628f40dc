"""The normative rules: what a client of the classic consumer-group protocol must and should do.

A rule says who it binds and how strictly. `applies_to` is *any* (it follows from the protocol), *java_style* (the
contract of an API like Java's: a pull consumer with poll() and a rebalance listener), *internal* (visible only inside
the reference) or *broker* (the group coordinator's side). `level` is *must* (breaking it is FAIL) or *should*
(present-day behaviour that older clients legitimately lack: DEVIATION); the statement has the same word in capitals.
Rules of the broker say what it does, without one.

The rules themselves are in `data/rules.toml`. Whatever rests on a rule names it: rows, known bugs, properties, checks,
mutants; which of them belong to a rule is computed from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.known_bugs import KNOWN_BUGS

CHAPTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "D": "discovery",
        "J": "join",
        "S": "sync",
        "H": "heartbeat",
        "P": "poll interval",
        "C": "callbacks",
        "M": "commit",
        "O": "offsets and records",
        "L": "leave and close",
        "T": "threads",
        "X": "static membership",
        "K": "cooperative",
        "Q": "queues",
        "W": "the wire itself",
        "G": "the broker's group",
    }
)
"""What the letter of a rule's id stands for."""


APPLIES_TO: Final[Mapping[str, str]] = MappingProxyType(
    {
        "any": "any client: it follows from the protocol",
        "java_style": "clients with an API like Java's: a pull consumer with poll() and a rebalance listener",
        "internal": "parts that are visible only inside the reference",
        "broker": "the group coordinator, on the broker",
    }
)
"""Whom a rule binds."""
LEVELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "must": "breaking it is FAIL",
        "should": "present-day behaviour that older clients legitimately lack: breaking it is DEVIATION",
    }
)
"""How strictly."""


class Rule(Record, frozen=True):
    """One normative rule.

    Attributes:
        id: Chapter letter and number: `J3`.
        name: What it is about, in a few words: `member-id-required`.
        applies_to: `any` client, `java_style` ones, the reference's `internal` parts, or the `broker`.
        level: `must` (breaking it is FAIL) or `should` (breaking it is DEVIATION).
        statement: What has to hold, in the words of RFC 2119.
        sources: Where that is said: KIP and section, Kafka class, issue.
    """

    id: str
    name: str
    applies_to: Literal["any", "java_style", "internal", "broker"]
    level: Literal["must", "should"]
    statement: str
    sources: tuple[str, ...]

    @property
    def title(self) -> str:
        """Id and name: `J3 member-id-required`."""
        return f"{self.id} {self.name}"

    @property
    def chapter(self) -> str:
        """What its letter stands for: `join`."""
        return CHAPTERS[self.id[0]]

    @property
    def known_bugs(self) -> tuple[str, ...]:
        """Ids of the real bugs that broke it."""
        return tuple(bug.id for bug in KNOWN_BUGS.values() if self.id in bug.rules)


RULES: Final[Mapping[str, Rule]] = read_entries(Path(__file__).with_name("data") / "rules.toml", Rule)
"""Every rule by its id, in the order of the chapters."""

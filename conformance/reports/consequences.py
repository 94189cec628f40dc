"""What a broken rule means to the application: `consequences.toml`, by rule."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from groupspec.spec.datafile import Record, read_entries

HARMS: Final = {
    "records": "records lost or processed twice",
    "stuck": "the member stops consuming",
    "group": "the whole group waits or rebalances",
    "application": "the application is told wrongly or late",
    "load": "useless requests",
}
"""Kinds of harm in a few words, the worst first."""


class Consequence(Record, frozen=True):
    """One rule for people who have read none of them.

    Attributes:
        rule: Its id.
        harm: The kind of damage.
        expected: What the rule asks for: one sentence.
        why: What a client that breaks it does to its application: one sentence.
    """

    rule: str
    harm: Literal["records", "stuck", "group", "application", "load"]
    expected: str
    why: str

    @property
    def place(self) -> int:
        """Of its harm among all kinds, the worst being 0."""
        return list(HARMS).index(self.harm)


@cache
def consequences() -> Mapping[str, Consequence]:
    """For every rule that the wire kit judges."""
    return read_entries(Path(__file__).with_name("consequences.toml"), Consequence)

"""What a broken rule means to the application: `consequences.toml`, read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("consequences.toml")


@dataclass(frozen=True)
class Consequence:
    """One rule for people who have read none of them.

    Attributes:
        expected: What the rule asks for: one sentence.
        why: What a client that breaks it does to its application: one sentence.
        harm: The kind of damage, in a few words.
        place: Of that kind among all kinds, the worst being 0.
    """

    expected: str
    why: str
    harm: str
    place: int


@cache
def consequences() -> Mapping[str, Consequence]:
    """Rule to its consequence, for every rule that the wire kit judges."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    kinds = list(data["harms"])
    return {
        rule: Consequence(
            " ".join(entry["expected"].split()),
            " ".join(entry["why"].split()),
            data["harms"][entry["harm"]],
            kinds.index(entry["harm"]),
        )
        for rule, entry in data["rules"].items()
    }

"""What is said of frozen histories otherwise than before, and why: each with a witness outside this repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.checks.verdicts import BROKEN, Verdict
from groupspec.spec.datafile import Record, read_entries


class Change(Record, frozen=True):
    """An entry of `changes.toml`.

    Attributes:
        histories: Patterns of their names.
        said: Patterns of what is said otherwise: a rule of the wire kit, the line of another judge.
        because: Why what was said before is wrong.
        witness: Where that can be seen: Kafka's source, a real broker, another client.
    """

    id: str
    histories: list[str]
    said: list[str]
    because: str
    witness: str

    def explains(self, history: str, said: str) -> bool:
        """Whether it is about this."""
        about = any(fnmatchcase(history, pattern) for pattern in self.histories)
        return about and any(fnmatchcase(said, pattern) for pattern in self.said)


NOT_SAID: Final = "not said"
HARMLESS: Final = tuple(verdict.value for verdict in Verdict if verdict not in BROKEN)
"""What may be said besides of what no judge has looked at before."""
CHANGES: Final = read_entries(Path(__file__).with_name("changes.toml"), Change)


def unexplained(
    before: Mapping[str, dict[str, Any]],
    now: Mapping[str, dict[str, Any]],
    changes: Mapping[str, Change] = CHANGES,
) -> list[str]:
    """Each difference that no entry explains, in a line."""
    return [
        f"{history}: {judge}: {what}: {was} before, {is_now} now: tell why in changes.toml, with a witness outside "
        "this repository"
        for history, said in before.items()
        for judge, what, was, is_now in _differences(said, now[history])
        if not any(change.explains(history, what) for change in changes.values())
    ]


def _differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Judge, what it says, and whether, or how, before and now."""
    for judge in before:
        was, is_now = _in_lines(before[judge]), _in_lines(now.get(judge, []))
        for what in sorted(was.keys() | is_now.keys()):
            told = was.get(what, NOT_SAID), is_now.get(what, NOT_SAID)
            if told[0] != told[1] and not (told[0] == NOT_SAID and told[1] in HARMLESS):
                yield judge, what, *told


def _in_lines(said: dict[str, str] | list[str]) -> Mapping[str, str]:
    return said if isinstance(said, dict) else dict.fromkeys(filter(None, said), "said")

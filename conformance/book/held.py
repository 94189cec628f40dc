"""What holds a rule: the committed kill matrix, as its page and the list of rules show it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from groupspec.conformance.mutation.files import committed


@dataclass(frozen=True)
class Breaker:
    """A change that breaks a rule, and the checks that go red for it.

    Attributes:
        id: A known bug's id, or a name of its own.
        what: What is done then.
        checks: (file, test) of each check that notices.
    """

    id: str
    what: str
    checks: tuple[tuple[str, str], ...]


@cache
def _rules() -> dict[str, Any]:
    rules: dict[str, Any] = committed()["rules"]
    return rules


def held_by(rule: str) -> tuple[Breaker, ...]:
    """The breakers of a rule that some check notices."""
    entries = _rules().get(rule, {}).get("held", [])
    return tuple(Breaker(entry["breaker"], entry["what"], tuple(map(_check, entry["checks"]))) for entry in entries)


def _check(name: str) -> tuple[str, str]:
    file, _, test = name.partition("::")
    return file, test


def why_not(rule: str) -> str:
    """Why nothing holds a rule, where a list says so; else nothing."""
    entry = _rules().get(rule, {})
    later = entry.get("later")
    return f"Will be held by {later['by']}: {later['why']}" if later else str(entry.get("hygiene", ""))


def totals() -> tuple[int, int, int]:
    """Rules that are held, breakers that are noticed, and checks that notice one."""
    held = {rule: held_by(rule) for rule in _rules()}
    breakers = {breaker.id for each in held.values() for breaker in each}
    checks = {check for each in held.values() for breaker in each for check in breaker.checks}
    return sum(map(bool, held.values())), len(breakers), len(checks)

"""Which tests notice which mutant of which rule, as `generated/mutation.json` has it: for `explain` and for the book.

The file is computed by `groupspec verify --mutation` (`conformance/mutation`). A wheel has neither; then nothing is
known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FORMAT_VERSION: Final = 2
COMMITTED: Final = Path(__file__).resolve().parent / "generated" / "mutation.json"


@dataclass(frozen=True)
class Kill:
    """A mutant of a rule that is noticed.

    Attributes:
        mutant: A known bug's id, or the rule's and a word.
        what: What is done then.
        tests: Those that carry the rule and fail, by their ids as pytest has them.
    """

    mutant: str
    what: str
    tests: tuple[str, ...]


def committed() -> dict[str, Any]:
    """The committed matrix; without any rule if there is none, or none that can be read."""
    try:
        found: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return {"rules": {}}
    return found if found.get("format") == FORMAT_VERSION else {"rules": {}}


@cache
def _rules() -> dict[str, Any]:
    rules: dict[str, Any] = committed()["rules"]
    return rules


def kills(rule: str) -> tuple[Kill, ...]:
    """The mutants of a rule that some test notices."""
    found = _rules().get(rule, {}).get("kills", [])
    return tuple(Kill(one["mutant"], one["what"], tuple(one["tests"])) for one in found)


def why_none(rule: str) -> str:
    """Why no mutant of a rule is tried; empty if one is."""
    return str(_rules().get(rule, {}).get("why_none", ""))


def totals(matrix: Mapping[str, Any] | None = None) -> tuple[int, int, int]:
    """Rules of which a mutant is noticed, mutants that are noticed, tests that notice one."""
    found = [entry["kills"] for entry in (_rules() if matrix is None else matrix["rules"]).values()]
    mutants = {kill["mutant"] for each in found for kill in each}
    tests = {test for each in found for kill in each for test in kill["tests"]}
    return sum(map(bool, found)), len(mutants), len(tests)

"""Which tests are tried against mutants: those that carry a rule in their name.

`test_H1_heartbeats_begin_...` is a check of the rule H1. It uses virtual time, and does the same in each run: tests
that need a socket or more than some seconds, and those whose examples Hypothesis draws, are not tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("impl/core/tests", "impl/threads/tests", "impl/broker/tests", "impl/tests", "spec/tests")
"""Tests of the implementation, and of the machines of the specification."""

RULES_IN_NAME: Final = re.compile(r"test_((?:[A-Z][0-9]+_)+)")
NOT_HERE: Final = frozenset({"realtime", "real_broker", "spark", "exhaustive", "tools"})
"""Marks of tests that need more than this process, or too long."""


def checks() -> Iterator[tuple[str, str]]:
    """(file, name) of every test whose name carries a rule; nothing where no tests are installed."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).glob("test_*.py")):
            for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
                if RULES_IN_NAME.match(name):
                    yield f"{folder}/{file.name}", name


def rules_of(check: str) -> frozenset[str]:
    """The ids in the name of a test, given as pytest has it."""
    found = RULES_IN_NAME.match(check.rpartition("::")[2])
    return frozenset(found[1].strip("_").split("_")) if found else frozenset()

"""What the report says about traces and logs: what was found, by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from groupspec.conformance.reports.inputs import TraceCheck, TraceViolation
from groupspec.conformance.traces.trace_rules import RULES, levels

MAX_SHOWN: Final = 12
"""Violations of one rule that are shown one by one; the JSON has all of them."""


@dataclass(frozen=True)
class BrokenRule:
    """One trace rule, and where it was broken."""

    rule: str
    statement: str
    checks: str
    count: int
    by_client: tuple[tuple[str, int], ...]
    shown: tuple[TraceViolation, ...]


def by_kind(check: TraceCheck) -> dict[str, list[BrokenRule]]:
    """What was found, under the headings of the report."""
    return {
        "": _grouped(check.violations),
        "Faults of the recording: they say nothing about the client": _grouped(check.recording),
        "Notices: worth a look, and no rule forbids them": _grouped(check.notices),
    }


def _grouped(found_one_by_one: Sequence[TraceViolation]) -> list[BrokenRule]:
    """By rule, what was found most often first."""
    known = {rule.id: rule for rule in RULES}
    counts = Counter(violation.rule for violation in found_one_by_one)
    found = []
    for rule, count in counts.most_common():
        violations = [violation for violation in found_one_by_one if violation.rule == rule]
        clients = Counter(violation.run.partition("/")[0] for violation in violations)
        statement, checks = (known[rule].statement, levels(known[rule].spec_rules)) if rule in known else ("", "")
        shown = tuple(violations[:MAX_SHOWN])
        found.append(BrokenRule(rule, statement, checks, count, tuple(clients.most_common()), shown))
    return found


def time_of_day(at_ms: int) -> str:
    """The moment of a rebalance for people: `14:03:07.120`, in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]

"""A comparison of two results for people: `groupspec compare`, and `groupspec conform --baseline`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.reports.comparison import KINDS, Change, Comparison
from groupspec.spec.rules import RULES

_WORDS: Final = {"broke": "BROKE", "lost": "LOST", "flaps": "FLAPS", "fixed": "FIXED", "new": "NEW", "gone": "GONE"}
_MOST_CASES: Final = 4
_TOLD: Final = tuple(verdict.value for verdict in BROKEN)


def lines(found: Comparison) -> Iterator[str]:
    """Remarks, then each client's rules that changed, the worst first, then how many there are of each kind."""
    yield from (f"note: {remark}" for remark in found.remarks)
    for kind in KINDS:
        yield from _of_kind(kind, found.of_kind(kind))
    counts = [f"{len(found.of_kind(kind))} {kind}" for kind in KINDS if found.of_kind(kind)]
    yield ", ".join([f"{found.compared} verdicts have a counterpart", *(counts or ["none has changed"])])


def _of_kind(kind: str, changes: Sequence[Change]) -> Iterator[str]:
    """A line for each client and rule. Of what is new, only what is broken; of what is gone, only why."""
    if kind == "gone":
        for (client, reason), count in Counter((change.client, change.reason) for change in changes).items():
            yield f"GONE {client}: {count} verdict{'s' if count > 1 else ''}: {reason}"
        return
    told = [change for change in changes if kind != "new" or change.now in _TOLD]
    for client, rule in dict.fromkeys((change.client, change.rule) for change in told):
        of_rule = [change for change in told if (change.client, change.rule) == (client, rule)]
        title = RULES[rule].title if rule in RULES else rule
        yield f"{_WORDS[kind]} {client}: {title} in {_cases(of_rule)}"
        if kind in ("broke", "lost", "new"):
            yield f"  {of_rule[0].reason}"
            yield f"  replay: {of_rule[0].replay}"


def _cases(changes: Sequence[Change]) -> str:
    shown = ", ".join(f"{change.case} ({_became(change)})" for change in changes[:_MOST_CASES])
    more = len(changes) - _MOST_CASES
    return f"{shown}, and {more} more" if more > 0 else shown


def _became(change: Change) -> str:
    verdict = f"{change.before}, now {change.now}" if change.before else change.now
    return f"{verdict}, {change.how_sure}"

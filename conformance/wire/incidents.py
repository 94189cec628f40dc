"""One stall of the client is one finding: the rules that it broke, with the worst consequence at their head.

A member that stands still hands no assignment to its listener, sends no heartbeat and returns from no poll; each is a
rule of its own. What was awaited in vain in overlapping stretches of one run belongs together, and the reader is told
first what the application loses by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from groupspec.conformance.wire.verdicts import BROKEN, Judgement, Verdict

WORST_FIRST: Final = "J2 S3 O1 O2 P3 D1 D2 H4 J3 K2 L1 L2 P1 P4 H3 H2 H1"
"""Rules by what the application loses: no membership, no assignment, no records, ...; late heartbeats are what shows
first, and says least."""

FOLLOWS: Final = {"K1": "S3", "O2": "S3"}
"""What a client does that has thrown an assignment away: to it the partitions are not owned (K1), and new afterwards
(O2)."""


def symptoms(judgements: Mapping[str, Judgement]) -> dict[str, str]:
    """Each rule whose breach is only what follows from that of another one in the same run: that one.

    Of those that one stall broke, the one that weighs most; and what `FOLLOWS` says.
    """
    stretched = {
        rule: judgement
        for rule, judgement in judgements.items()
        if judgement.verdict in BROKEN and judgement.since_us is not None
    }
    of: dict[str, str] = {}
    for group in _overlapping(stretched):
        worst = min(group, key=lambda rule: (stretched[rule].verdict is not Verdict.FAIL, WORST_FIRST.find(rule)))
        of |= {rule: worst for rule in group if rule != worst}
    broken = {rule: each.at_us or 0 for rule, each in judgements.items() if each.verdict in BROKEN}
    caused = ((rule, cause) for rule, cause in FOLLOWS.items() if rule in broken and cause in broken)
    return of | {rule: cause for rule, cause in caused if broken[cause] <= broken[rule]}


def _overlapping(stretched: dict[str, Judgement]) -> Sequence[list[str]]:
    """Groups of rules whose stretches overlap, one with the next."""
    groups: list[list[str]] = []
    end = 0
    for rule, judgement in sorted(stretched.items(), key=lambda item: item[1].since_us or 0):
        if not groups or (judgement.since_us or 0) >= end:
            groups.append([])
            end = 0
        groups[-1].append(rule)
        end = max(end, judgement.at_us or 0)
    return groups

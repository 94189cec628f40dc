"""What the shared checks say of a member's life under a schedule: a breach ends the run as an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.conformance.checks import CHECKERS, judge
from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.history.life import Life
from groupspec.conformance.history.member_life import history_of
from groupspec.conformance.schedules.noted import MEMBER

UNREAD: Final[Mapping[str, str]] = {
    "C2": "background 20828",
    "C4": "background 876",
    "D1": "background 20419",
    "D4": "background 20268",
    "D6": "background 1000659",
    "H1": "background 1000589",
    "H2": "background 21024",
    "H3": "background 21024",
    "H4": "background 1000795",
    "H5": "background 20499",
    "J1": "background 20011",
    "J2": "background 1000315",
    "J3": "background 2312",
    "J4": "background 20232",
    "J5": "background 21189",
    "K1": "background 1003566",
    "K2": "background 1002275",
    "L1": "background 20149",
    "L5": "background 693",
    "M1": "heartbeat 962",
    "M3": "background 1531",
    "M5": "background 1329",
    "M7": "heartbeat 30493",
    "O1": "background 327",
    "O2": "background 1000241",
    "O3": "heartbeat 30349",
    "O5": "background 1000135",
    "O6": "background 1001410",
    "O7": "background 20410",
    "P2": "background 907",
    "P3": "background 20167",
    "P4": "heartbeat 1000925",
    "S3": "background 1000530",
    "T4": "background 858",
    "X2": "background 1000446",
}
"""Rules that are not judged here yet: each accuses the reference in at least one of fifteen thousand schedules, and it
is to be read whether check, reader or reference is wrong; with a schedule in which it does."""


def expect_kept(life: Life) -> None:
    """Raises AssertionError: a rule is broken in the life of this member."""
    history = history_of(life, MEMBER)
    judgements = {rule: judge(rule, history) for rule in CHECKERS if rule not in UNREAD}
    broken = [f"{one.reason} (rule {rule})" for rule, one in judgements.items() if one.verdict in BROKEN]
    assert not broken, "; ".join(broken)

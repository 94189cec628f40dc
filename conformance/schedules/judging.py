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
    "C2": "background 20232",
    "C4": "background 876",
    "C7": "background 1505",
    "D1": "background 20419",
    "D3": "heartbeat 1141",
    "D4": "background 20268",
    "D6": "heartbeat 32041",
    "H1": "heartbeat 30822",
    "H2": "background 21024",
    "H3": "background 21024",
    "H4": "heartbeat 31073",
    "H5": "background 20499",
    "J1": "background 20011",
    "J2": "background 1000315",
    "J3": "background 2312",
    "J4": "background 20232",
    "J5": "background 21189",
    "J8": "heartbeat 422",
    "K1": "background 1003566",
    "K2": "background 987",
    "L1": "background 20149",
    "L2": "heartbeat 31049",
    "L5": "background 693",
    "M1": "heartbeat 962",
    "M2": "heartbeat 30281",
    "M3": "background 1531",
    "M5": "background 1329",
    "M7": "heartbeat 30493",
    "O1": "background 327",
    "O2": "heartbeat 30565",
    "O3": "heartbeat 30349",
    "O5": "heartbeat 31425",
    "O6": "heartbeat 31453",
    "O7": "background 1004",
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

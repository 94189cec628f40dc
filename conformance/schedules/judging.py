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
    "C2": "background 7050",
    "C4": "background 2560",
    "C7": "background 7200",
    "D1": "background 2681",
    "D3": "heartbeat 2687",
    "D4": "background 2681",
    "D6": "background 2521",
    "H1": "heartbeat 7478",
    "H2": "background 5081",
    "H3": "background 5832",
    "H4": "background 2271",
    "H5": "background 2521",
    "J1": "background 2312",
    "J2": "background 2444",
    "J3": "background 2312",
    "J4": "background 2103",
    "J5": "background 2163",
    "J7": "background 757",
    "J8": "background 2056",
    "J9": "background 5011",
    "K1": "background 5219",
    "K2": "background 2328",
    "K4": "background 2435",
    "L1": "background 2700",
    "L2": "heartbeat 957",
    "L5": "background 2030",
    "M1": "heartbeat 962",
    "M2": "background 2119",
    "M3": "heartbeat 2029",
    "M4": "background 2641",
    "M5": "background 5628",
    "M6": "background 5836",
    "M7": "heartbeat 962",
    "O1": "background 5254",
    "O2": "background 2435",
    "O3": "background 2414",
    "O4": "background 2414",
    "O5": "background 5836",
    "O6": "background 2284",
    "O7": "background 2163",
    "P2": "background 2596",
    "P3": "background 2193",
    "P4": "background 5017",
    "S3": "background 2271",
    "T4": "background 2348",
    "X2": "background 2525",
}
"""Rules that are not judged here yet: each accuses the reference in some of a thousand schedules, and it is to be read
whether check, reader or reference is wrong; with a schedule in which it does."""


def expect_kept(life: Life) -> None:
    """Raises AssertionError: a rule is broken in the life of this member."""
    history = history_of(life, MEMBER)
    judgements = {rule: judge(rule, history) for rule in CHECKERS if rule not in UNREAD}
    broken = [f"{one.reason} (rule {rule})" for rule, one in judgements.items() if one.verdict in BROKEN]
    assert not broken, "; ".join(broken)

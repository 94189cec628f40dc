"""What the shared checks say of lives that worlds in virtual time bring about.

A rule that accuses the reference in some life is not judged there until somebody has read whether check, reader or
reference is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from groupspec.conformance.checks.checker import CHECKERS, judge
from groupspec.conformance.checks.verdicts import BROKEN
from groupspec.conformance.history.life import Life
from groupspec.conformance.history.member_life import history_of, members

UNREAD: Final[Mapping[str, Mapping[str, str]]] = {
    "schedules": {
        "C2": "background 20828",
        "C4": "background 876",
        "D1": "background 20419",
        "D4": "background 20268",
        "D6": "background 1000659",
        "H1": "heartbeat 1066",
        "H2": "background 21024",
        "H3": "background 21024",
        "H4": "background 1000795",
        "H5": "background 20499",
        "J1": "background 20011",
        "J3": "background 2312",
        "J4": "background 20232",
        "J5": "background 1826",
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
    },
    "simulation": {
        "C2": "core 0",
        "C4": "background 118",
        "D1": "core 370",
        "D3": "core 134",
        "D4": "core 58",
        "H4": "background 115",
        "H5": "core 305",
        "J1": "background 109",
        "J2": "core 24",
        "J4": "background 103",
        "J5": "background 109",
        "K1": "core 0",
        "K2": "core 0",
        "L1": "background 118",
        "L2": "background 102",
        "L5": "core 500",
        "M2": "core 321",
        "M3": "core 0",
        "M5": "background 1091",
        "M7": "core 193",
        "O1": "core 504",
        "O2": "core 504",
        "O5": "core 504",
        "O7": "core 142",
        "P2": "core 346",
        "P3": "core 0",
        "P4": "heartbeat 212",
        "T4": "background 108",
    },
}
"""Rules that are not judged yet, by world, each with a life in which it accuses the reference: its design and seed."""


def breaches(life: Life, rules: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Members that break a rule, with the rule and the reason.

    Args:
        life: One that is over.
        rules: Those by which it is judged; without any, all that are read for its world.
    """
    chosen = rules or [rule for rule in CHECKERS if rule not in UNREAD[life.header.world]]
    for member in members(life):
        if life.header.settings[member]:  # another never was one: it could not be configured
            history = history_of(life, member)
            found = ((rule, judge(rule, history)) for rule in chosen)
            yield from ((member, rule, one.reason) for rule, one in found if one.verdict in BROKEN)


def expect_kept(life: Life) -> None:
    """Raises AssertionError: a member breaks a rule."""
    broken = [f"{reason} (rule {rule})" for _, rule, reason in breaches(life)]
    assert not broken, "; ".join(broken)

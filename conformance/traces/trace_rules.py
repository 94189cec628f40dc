"""What a trace must keep: one entry a rule, each with the rules of the specification that it checks.

A trace rule looks at one member's events in order (those at the end at a whole group's). What a rule needs to know it
learns from the events before: after a gap in the numbers nothing is known until the next event tells it again, so that
one lost line is one finding and not fifty.

Three kinds are told apart. A *violation* is something that the client, or its coordinator, did, and a rule of the
specification forbids. A fault of the *recording* (lost, doubled or mixed-up lines, a clock that was set, a process that
stood still) says nothing about the client; it says what could not be judged. A *notice* is worth a look, and no rule
forbids it.

When an event breaks a rule of its own, `T-ILLEGAL-TRANSITION` says nothing about it: the more exact finding is the
better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.rules import RULES as SPEC_RULES


class TraceRule(Record, frozen=True):
    """A rule about traces.

    Attributes:
        id: Its name in findings.
        statement: What a trace must keep.
        text: How a finding is told; {a} and {b} are the two numbers that the columnar checker hands over, {p} the
            partition, {us} their difference, {other} another member; {bound_ms} and {ms} the two where they are
            microseconds.
        spec_rules: Ids of `groupspec.spec.rules`; only violations have any.
        kind: As told above.
    """

    id: str
    statement: str
    text: str
    spec_rules: tuple[str, ...] = ()
    kind: Literal["violation", "recording", "notice"] = "violation"


def levels(spec_rules: Sequence[str]) -> str:
    """Rules of the specification in a line; those that a client should keep are marked, the others it must."""
    return ", ".join(f"{rule} (should)" if SPEC_RULES[rule].level == "should" else rule for rule in spec_rules)


RULES: Final = tuple(read_entries(Path(__file__).with_suffix(".toml"), TraceRule).values())
"""Every trace rule; the columnar checker knows them by their places."""
CODES: Final[dict[str, int]] = {rule.id: code for code, rule in enumerate(RULES)}
KINDS: Final[dict[str, str]] = {rule.id: rule.kind for rule in RULES}


def detail(code: int, a: int, b: int, partition: str = "", other: str = "") -> str:
    """A violation in words."""
    told = {"ms": _more_than(b, a), "bound_ms": a // 1000}
    return RULES[code].text.format(a=a, b=b, us=a - b, p=partition, other=other, **told)


def _more_than(us: int, bound_us: int) -> str:
    """In milliseconds, with a tenth where without it no more would be seen than the bound."""
    return str(us // 1000) if us // 1000 > bound_us // 1000 else f"{-(-us // 100) / 10}"


class Violation(msgspec.Struct, frozen=True, order=True):
    """A rule that an event broke. Ordered by place, so that two lists of the same violations are equal."""

    run: str
    group: str
    member: str
    seq: int
    rule: str
    state: str
    event: str
    at_us: int
    detail: str
    process: str = ""

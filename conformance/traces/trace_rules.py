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

from typing import Final, Literal

import msgspec


class TraceRule(msgspec.Struct, frozen=True):
    """A rule about traces. `spec_rules` are ids of `groupspec.spec.rules`; only violations have any."""

    id: str
    statement: str
    spec_rules: tuple[str, ...]
    text: str
    """How a violation is told; {a} and {b} are the two numbers that the columnar checker hands over, {p} the partition.
    """
    kind: Literal["violation", "recording", "notice"] = "violation"


RULES: Final[tuple[TraceRule, ...]] = (
    TraceRule(
        "T-ILLEGAL-TRANSITION",
        "Every event is possible in the state that the events before it left the member in.",
        ("J2", "J7", "S1", "C3", "Q4", "L3"),
        "the rebalance table has no row for it here",
    ),
    TraceRule(
        "T-SEQUENCE-GAP",
        "The numbers of a member's events have no gaps, and begin with 0.",
        (),
        "expected number {a}, got {b}",
        kind="recording",
    ),
    TraceRule(
        "T-SEQUENCE-DUPLICATE",
        "No event of a member is there twice.",
        (),
        "number {b} occurs again",
        kind="recording",
    ),
    TraceRule(
        "T-TIME-BACKWARDS",
        "Within one process of a member, time does not go back.",
        (),
        "{us} us earlier than the event before",
        kind="recording",
    ),
    TraceRule(
        "T-GENERATION-BACKWARDS",
        "The generation of a member does not fall while it keeps its identity.",
        ("J9", "G2"),
        "generation {b} after generation {a}",
    ),
    TraceRule(
        "T-HEARTBEAT-GAP",
        "A member of a generation sends a heartbeat at least every session timeout, unless a JoinGroup is out, the "
        "coordinator is unknown or the poll interval has run out.",
        ("H1", "H2"),
        "{b} ms without a heartbeat, although the process ran; the session timeout is {a} ms",
    ),
    TraceRule(
        "T-POLL-GAP",
        "A member that has not polled for its poll interval leaves; it does not go on heartbeating.",
        ("P1", "P2"),
        "{b} ms after the last poll the member is still in the group; the poll interval is {a} ms",
    ),
    TraceRule(
        "T-ASSIGNED-OWNED",
        "A partition that is assigned was not owned already.",
        ("C1",),
        "{p} was owned already",
    ),
    TraceRule(
        "T-RELEASED-NOT-OWNED",
        "A partition that is revoked or lost was owned.",
        ("C1",),
        "{p} was not owned",
    ),
    TraceRule(
        "T-COMMIT-GENERATION",
        "A commit carries the member's current generation.",
        ("M1", "C6"),
        "committed with generation {b}; the current one is {a}",
    ),
    TraceRule(
        "T-TWO-OWNERS",
        "In one generation a partition has one owner.",
        ("C1", "K1", "K3"),
        "{p} belongs to {other} too in generation {b}",
    ),
    TraceRule(
        "T-HEARTBEAT-NO-MEMBER",
        "Who has left, or was told that it is no member, sends no heartbeat.",
        ("H3", "L3"),
        "a heartbeat of generation {b} by one who is not in the group",
    ),
    TraceRule(
        "T-HEARTBEAT-JOINING",
        "While a JoinGroup is out no heartbeat is sent.",
        ("H3",),
        "a heartbeat of generation {b} while a JoinGroup is out",
    ),
    TraceRule(
        "T-TWO-JOINS",
        "At most one of JoinGroup and SyncGroup is out.",
        ("J1",),
        "a JoinGroup while one is out already",
    ),
    TraceRule(
        "T-SYNC-GENERATION",
        "SyncGroup carries the generation that the answered JoinGroup gave.",
        ("J9", "S2"),
        "synced with generation {b}; JoinGroup gave {a}",
    ),
    TraceRule(
        "T-STATIC-LEAVE",
        "A static member sends no LeaveGroup that nobody asked for: when its poll interval runs out it falls silent.",
        ("P1",),
        "a static member left, although its application did not ask it to",
    ),
    TraceRule(
        "T-UNASKED-ANSWER",
        "Every answer belongs to a request: there are never more answers than requests.",
        ("J9",),
        "answer {b} of a kind of which {a} were asked",
    ),
    TraceRule(
        "T-MIXED-PROCESSES",
        "Two processes of one client id are told apart by their `process`, or number on.",
        (),
        "number {b} is there twice, with different content: two processes write under this name; nothing was "
        "judged from here on",
        kind="recording",
    ),
    TraceRule(
        "T-STANDSTILL",
        "While a member is in a generation its process and its clock run: something is recorded every session timeout.",
        (),
        "nothing at all was recorded for {b} ms: the process stood still, or its clock was set; no silence "
        "was judged in it",
        kind="recording",
    ),
    TraceRule(
        "T-MEMBER-ID",
        "Every request carries the member id that the coordinator gave last; none carries one that was given "
        "up or is unknown.",
        ("M1", "J4", "P3"),
        "sent with another member id than the one that the coordinator gave last",
    ),
    TraceRule(
        "T-GENERATION-JUMP",
        "While a dynamic member keeps its identity, its generation grows by at most one for each JoinGroup "
        "that it sent.",
        ("G2",),
        "generation {b} after generation {a}",
    ),
    TraceRule(
        "T-HEARTBEAT-RARE",
        "A member of a generation sends heartbeats about every heartbeat interval (within four intervals, at "
        "least 300 ms late).",
        ("H1", "H2"),
        "{b} ms without a heartbeat, although the process ran and none was out; with this interval {a} ms "
        "are the bound",
    ),
    TraceRule(
        "T-LOST-NOT-SAID",
        "Who lost the membership is told `lost`, not `revoked`, if the client has that callback.",
        ("C2", "P3"),
        "revoked, although the membership had been lost",
    ),
    TraceRule(
        "T-COMMIT-NO-MEMBER",
        "Who lost the membership commits nothing until it has joined again.",
        ("C2", "M1", "M7"),
        "committed with generation {b} after the membership had been lost",
    ),
    TraceRule(
        "T-STALE-ACCEPTED",
        "The coordinator accepts no request of a generation after it has begun the next.",
        ("G8",),
        "a request of generation {a} was accepted {b} ms after {other} had joined the next",
    ),
    TraceRule(
        "T-MANY-REBALANCES",
        "A member rebalances less than ten times in ten minutes.",
        (),
        "{a} rebalances within {b} ms: see `groupspec trace why`",
        kind="notice",
    ),
    TraceRule(
        "T-LONG-JOIN",
        "JoinGroup is answered within the member's own poll interval, which is the rebalance timeout it asked for.",
        (),
        "JoinGroup was answered after {b} ms; the poll interval is {a} ms: another member asked for more, or its like",
        kind="notice",
    ),
)

CODES: Final[dict[str, int]] = {rule.id: code for code, rule in enumerate(RULES)}


KINDS: Final[dict[str, str]] = {rule.id: rule.kind for rule in RULES}


def detail(code: int, a: int, b: int, partition: str = "", other: str = "") -> str:
    """A violation in words."""
    return RULES[code].text.format(a=a, b=b, us=a - b, p=partition, other=other)


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

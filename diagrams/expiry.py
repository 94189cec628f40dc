"""The theorems about time for people: a page with every condition, and a picture of every boundary case.

Both are computed from `groupspec.spec.expiry`: nothing is written here that the proofs do not show, but for the words
for the moves of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from groupspec.diagrams.sequence import Entry, EntryKind, sequence_svg
from groupspec.spec.expiry.linear import NON_STRICT, STRICT, parse, written
from groupspec.spec.expiry.proofs import Values, boundary, claims, prove
from groupspec.spec.expiry.theorems import THEOREMS, Theorem

APPLICATION, MEMBER, COORDINATOR = "application", "member", "coordinator"
LANES: Final = (APPLICATION, MEMBER, COORDINATOR)

MOVES: Final[Mapping[str, tuple[str, str, str, EntryKind]]] = {
    "beat_sent": (MEMBER, COORDINATOR, "Heartbeat is sent", "request"),
    "next_sent": (MEMBER, COORDINATOR, "the next Heartbeat is sent", "request"),
    "beat_arrives": (COORDINATOR, "", "the Heartbeat is there", "timer"),
    "next_arrives": (COORDINATOR, "", "the next Heartbeat is there", "timer"),
    "beat_answered": (COORDINATOR, MEMBER, "its answer is there", "response"),
    "swallowed": (MEMBER, "", "it is lost, and nobody knows", "note"),
    "beat_failed": (MEMBER, "", "the Heartbeat has failed", "error"),
    "found": (MEMBER, "", "the coordinator is found again", "connection"),
    "doubts": (MEMBER, "", "its own session clock has expired", "violation"),
    "session_expires": (COORDINATOR, "", "session expired: the member is out", "violation"),
    "polls": (APPLICATION, "", "poll()", "call"),
    "polls_and_beats": (APPLICATION, COORDINATOR, "poll(): a Heartbeat was due", "request"),
    "polls_and_reads": (APPLICATION, "", "poll() reads the answer", "call"),
    "returns": (APPLICATION, "", "poll() returns: processing", "call"),
    "waits_unread": (MEMBER, "", "the answer is there, and unread", "note"),
    "leaves": (MEMBER, COORDINATOR, "poll interval expired: LeaveGroup", "violation"),
    "leave_arrives": (COORDINATOR, "", "the member has left", "note"),
    "is_seen": (MEMBER, "", "still a member", "violation"),
    "another_joins": (COORDINATOR, "", "another member joins: a rebalance", "timer"),
    "beat_arrives_in_rebalance": (COORDINATOR, "", "the Heartbeat is there", "timer"),
    "announced": (COORDINATOR, MEMBER, "REBALANCE_IN_PROGRESS is there", "response"),
    "join_sent": (MEMBER, COORDINATOR, "JoinGroup is sent", "request"),
    "join_arrives": (COORDINATOR, "", "the JoinGroup is there", "note"),
    "round_expires": (COORDINATOR, "", "rebalance timeout: the member is out", "violation"),
    "join_answered": (COORDINATOR, MEMBER, "JoinGroup is answered", "response"),
    "sync_sent": (MEMBER, COORDINATOR, "SyncGroup is sent", "request"),
    "sync_arrives": (COORDINATOR, "", "the SyncGroup is there", "timer"),
    "sync_answered": (COORDINATOR, MEMBER, "SyncGroup is answered", "response"),
    "crashes": (MEMBER, "", "crashes", "error"),
    "last_beat_arrives": (COORDINATOR, "", "its last Heartbeat arrives", "timer"),
    "nothing_was_out": (MEMBER, "", "nothing is on its way", "note"),
    "is_waited_for": (COORDINATOR, "", "the rebalance still waits", "violation"),
}
"""The moves of a run: from which lane to which, in words, and what it is."""

VERSIONS: Final[Mapping[str, Mapping[str, int]]] = {
    "KIP-62 (10 s)": {"session": 10_000},
    "since 3.0 (45 s)": {"session": 45_000},
}
DEFAULTS: Final[Values] = {
    "interval": 3_000,
    "granularity": 100,
    "request": 30_000,
    "backoff": 100,
    "lookup": 100,
    "assignment": 0,
    "callback": 0,
    "max_poll": 300_000,
}
"""Kafka's defaults in milliseconds; a loop that sleeps for retry.backoff.ms, a fast lookup, and nothing to compute or
revoke."""

_ENOUGH_MS: Final = 1_000_000


def boundary_svg(theorem: Theorem) -> str:
    """The boundary case of a theorem in non-strict arithmetic, as a sequence diagram."""
    case = boundary(theorem, NON_STRICT)
    entries = []
    for moment in case.run:
        source, target, label, kind = MOVES[moment.action]
        entries.append(Entry(moment.at_ms, source, target, label, kind))
    values = ", ".join(f"{name} {value}" for name, value in case.values.items())
    return sequence_svg(LANES, entries, f"{theorem.id}: {values} ms")


def expiry_markdown() -> str:
    """Every theorem with its condition in both arithmetics, its boundary case, and what Kafka's defaults make of it."""
    return "\n".join([*_beginning(), *_overview(), *_defaults(), *_chapters()]) + "\n"


def conditions(theorem: Theorem, arithmetic: int) -> list[str]:
    """The cases of a theorem, readable; one line each."""
    lines = []
    for case in theorem.cases:
        rows = [row for text in case for row in parse(text, theorem.parameters, arithmetic)]
        lines.append(" and ".join(_without_one(written(row, theorem.parameters)) for row in rows))
    return lines


def _without_one(comparison: str) -> str:
    """`a + 1 <= b` reads better as `a < b`."""
    left, right = comparison.split(" <= ")
    return f"{left.removesuffix(' + 1')} < {right}" if left.endswith(" + 1") else comparison


def _beginning() -> list[str]:
    return [
        "# When a living member is put out",
        "",
        "Generated from `groupspec.spec.expiry` by `groupspec generate`: do not edit. Every condition is necessary and",
        "sufficient, for all whole numbers of milliseconds, under the assumptions that stand beside it; the "
        "proofs run in",
        "`spec/expiry/tests`. Clocks are *non-strict* in Kafka since 2.1 (`now >= deadline`) and *strict* in "
        "Kafka up to 2.0",
        "and in kafka-python (`now - last > timeout`). What the names mean: `spec/expiry/parts.py`.",
        "",
    ]


def _overview() -> Iterator[str]:
    yield "| question | possible iff (non-strict) | zones |"
    yield "|---|---|---|"
    for theorem in THEOREMS.values():
        cases = "<br>or ".join(f"`{case}`" for case in conditions(theorem, NON_STRICT))
        yield f"| [{theorem.id}](#{theorem.id}) | {cases} | {prove(theorem, NON_STRICT).zones} |"
    yield ""


def defaults() -> list[tuple[str, tuple[str, ...], list[tuple[str, tuple[str, ...]]]]]:
    """What Kafka's defaults bear: a heading, the columns, and for each theorem what stands in them."""
    latencies: list[tuple[str, tuple[str, ...]]] = []
    for theorem in THEOREMS.values():
        names = set(theorem.parameters) - {"latency"}
        if "session" in names and names <= {*DEFAULTS, "session"} and theorem.goal == "EXPELLED":
            found = [_most(theorem, {**DEFAULTS, **version}, "latency") for version in VERSIONS.values()]
            bound = DEFAULTS["interval"] if "latency <= interval" in theorem.assumptions else _ENOUGH_MS
            told = tuple(_milliseconds(most) if most < bound else "any up to the interval" for most in found)
            latencies.append((theorem.id, told))
    polls: list[tuple[str, tuple[str, ...]]] = [
        (name, (_milliseconds(_most(THEOREMS[name], {**DEFAULTS, "latency": 50}, "processing")),))
        for name in ("poll-limit", "rebalance-in-poll", "rebalance-read-late")
    ]
    settings = (
        "heartbeat.interval.ms 3000, retry.backoff.ms 100, request.timeout.ms 30000, max.poll.interval.ms "
        "300000; a loop that "
        "looks every 100 ms. The longest latency with which a member is safe, by session.timeout.ms:"
    )
    between_polls = "The longest time between two polls with which a member is safe, with a latency of 50 ms:"
    return [(settings, tuple(VERSIONS), latencies), (between_polls, ("processing",), polls)]


def _defaults() -> Iterator[str]:
    yield "## Kafka's defaults"
    for heading, columns, rows in defaults():
        yield from ("", heading, "", f"| theorem | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}")
        for name, cells in rows:
            yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def assumptions(theorem: Theorem) -> list[str]:
    """What a theorem takes for granted, readable."""
    rows = [row for text in theorem.assumptions for row in parse(text, theorem.parameters, NON_STRICT)]
    return [_without_one(written(row, theorem.parameters)) for row in rows]


def boundary_words(theorem: Theorem) -> str:
    """The boundary case of a theorem in non-strict arithmetic, in words."""
    values = boundary(theorem, NON_STRICT).values
    others = ", ".join(f"{name} {value}" for name, value in values.items() if name != theorem.limit)
    return f"{others}: possible with {theorem.limit} {values[theorem.limit]}, not with {values[theorem.limit] + 1}"


def _most(theorem: Theorem, values: Values, name: str) -> int:
    """The largest value of `name` with which the goal can't be reached, -1 if there is none.

    Assumes that more is worse.
    """
    least, most = -1, _ENOUGH_MS
    while least + 1 < most:
        middle = (least + most) // 2
        if claims(theorem, NON_STRICT, {**values, name: middle}):
            most = middle
        else:
            least = middle
    return least


def _milliseconds(value: int) -> str:
    return f"{value:,} ms".replace(",", " ") if value >= 0 else "none"


def _chapters() -> Iterator[str]:
    for theorem in THEOREMS.values():
        yield f"## {theorem.id}"
        yield ""
        yield f"**{theorem.question}**"
        yield ""
        yield "The system: " + "; ".join(part.name for part in theorem.parts) + "."
        yield ""
        if theorem.assumptions:
            yield "Assuming: " + ", ".join(f"`{line}`" for line in assumptions(theorem)) + "."
            yield ""
        for words, arithmetic in (("non-strict", NON_STRICT), ("strict", STRICT)):
            yield f"- {words}: iff " + ", or ".join(f"`{line}`" for line in conditions(theorem, arithmetic))
        picture = f"[picture](../../diagrams/generated/time/{theorem.id}.svg)"
        yield f"- boundary, non-strict ({picture}): {boundary_words(theorem)}"
        yield ""
        yield theorem.meaning
        yield ""
        yield f"Rules {', '.join(theorem.rules)}. Source: {theorem.sources}."
        yield ""

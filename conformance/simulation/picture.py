"""A run as a sequence diagram: the members, and the brokers."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.simulation.run import Outcome, Step
from groupspec.diagrams.sequence import Entry, EntryKind, sequence_svg

BROKERS: Final = "brokers"
MOST_ENTRIES: Final = 400
"""How much of a long run is shown: its end."""

_KINDS: Final[dict[str, EntryKind]] = {
    "assigned_started": "callback",
    "revoked_started": "callback",
    "lost_started": "callback",
    "poll_expired": "timer",
    "session_expired": "timer",
    "unsubscribed": "call",
    "subscribed": "call",
    "closed": "call",
}
"""What a core tells that is worth a line beside its requests."""


def sequence(outcome: Outcome, title: str) -> str:
    """The end of a run, as SVG; what it has broken stands last."""
    timed = [(step.at_ms, _entry(step)) for step in outcome.steps if not step.text.startswith("Fetch")]
    for process in outcome.processes:
        lane = f"m{process.plan.number}"
        for event in process.trace:
            if (kind := _KINDS.get(event.event)) is not None:
                at_ms = event.at_us // 1_000
                note = ", ".join(event.partitions) or f"generation {event.generation}"
                timed.append((at_ms, Entry(at_ms, lane, "", event.event, kind, note)))
    entries = [entry for _, entry in sorted(timed, key=lambda one: one[0])][-MOST_ENTRIES:]
    if outcome.promise:
        end_ms = entries[-1].at_ms if entries else 0
        entries.append(Entry(end_ms, BROKERS, "", outcome.promise, "violation", outcome.error.splitlines()[-1]))
    members = sorted({f"m{process.plan.number}" for process in outcome.processes})
    lanes = [*members, *sorted({entry.source for entry in entries} - {*members, BROKERS}), BROKERS]
    return sequence_svg(lanes, entries, title)


def _entry(step: Step) -> Entry:
    target = BROKERS if step.target.startswith("broker") else step.target
    kind: EntryKind = "connection"
    if target == BROKERS:
        kind = "request"
    elif target:
        kind = "response" if step.text.endswith(" ok") else "error"
    return Entry(step.at_ms, step.source, target, step.text, kind, step.note)

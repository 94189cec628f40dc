"""A run as a sequence diagram: the members, and the brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from groupspec.conformance.simulation.run import Outcome, Step
from groupspec.diagrams.sequence import Entry, EntryKind, sequence_svg

BROKERS: Final = "brokers"
MOST_ENTRIES: Final = 80
"""How much of a long run is shown: what came before its end, or before a promise was broken."""

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
    """The end of a run, as SVG, or what came before it broke a promise; that stands last."""
    timed = [(step.at_ms, _entry(step)) for step in _worth_showing(outcome.steps)]
    for process in outcome.processes:
        lane = f"m{process.plan.number}"
        for event in process.trace:
            if (kind := _KINDS.get(event.event)) is not None:
                at_ms = event.at_us // 1_000
                generation = f"generation {event.generation}" if event.generation >= 0 else ""
                note = ", ".join(event.partitions) or generation
                timed.append((at_ms, Entry(at_ms, lane, "", event.event, kind, note)))
    until_now = [entry for at_ms, entry in sorted(timed, key=lambda one: one[0]) if at_ms <= outcome.ended_ms]
    entries = until_now[-MOST_ENTRIES:]
    members = sorted({f"m{process.plan.number}" for process in outcome.processes})
    if outcome.promise:
        why = outcome.error.splitlines()[-1].removeprefix(f"{outcome.promise}: ")
        whose = next((member for member in members if why.startswith(f"{member}.")), BROKERS)
        entries.append(Entry(outcome.ended_ms, whose, "", outcome.promise, "violation", why))
    lanes = [*members, *sorted({entry.source for entry in entries} - {*members, BROKERS}), BROKERS]
    return sequence_svg(lanes, entries, title)


def _worth_showing(steps: Sequence[Step]) -> list[Step]:
    """All but fetches, and heartbeats that were answered well."""
    dull = set[int]()
    asked: dict[str, int] = {}  # member -> the heartbeat that waits for its answer
    for place, step in enumerate(steps):
        if step.text == "Heartbeat":
            asked[step.source] = place
        elif step.text == "Heartbeat ok":
            dull |= {place, asked.pop(step.target, place)}
    return [step for place, step in enumerate(steps) if place not in dull and not step.text.startswith("Fetch")]


def _entry(step: Step) -> Entry:
    target = BROKERS if step.target.startswith("broker") else step.target
    kind: EntryKind = "connection"
    if target == BROKERS:
        kind = "request"
    elif target:
        kind = "response" if step.text.endswith(" ok") else "error"
    return Entry(step.at_ms, step.source, target, step.text, kind, step.note)

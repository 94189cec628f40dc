"""Which states of the rebalance machine a recorded trace went through, round by round.

A round leads from STABLE or UNJOINED to the next STABLE or UNJOINED. The states are those of the specification; the
trace shows when they are entered: a request was sent, an answer came, a callback began or ended. (PREPARE_REVOCATION
leaves no event of its own: it is what comes before a revocation callback.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.traces.schema import TraceLine

_ENTERED: Final[dict[str, tuple[str, ...]]] = {
    "join_sent": ("PREPARING_REBALANCE",),
    "revoked_started": ("PREPARE_REVOCATION", "REVOKING_PARTITION"),
    "revoked": ("PARTITION_REVOKED",),
    "lost_started": ("REVOKING_PARTITION (lost)",),
    "lost": ("UNJOINED",),
    "assigned_started": ("ASSIGNING_PARTITIONS",),
    "assigned": ("STABLE",),
    "leave_sent": ("UNJOINED",),
}
_RESTING: Final = frozenset({"STABLE", "UNJOINED"})


@dataclass(slots=True)
class Round:
    """One way from rest to rest: its states, and the trace's events on the way."""

    states: list[str]
    events: list[TraceLine] = field(default_factory=list)

    def path(self) -> str:
        """The states, as in "STABLE > PREPARING_REBALANCE > …"."""
        return " > ".join(self.states)

    def names(self) -> list[str]:
        """The names of its events, with heartbeats and polls left out."""
        return [one.event for one in self.events if one.event != "poll" and not one.event.startswith("heartbeat")]


def read_trace(file: Path) -> list[TraceLine]:
    """The lines of a recorded trace."""
    return [msgspec.json.decode(line, type=TraceLine) for line in file.read_bytes().splitlines()]


def rounds(lines: Iterable[TraceLine]) -> list[Round]:
    """Every round of one member; the last one may be unfinished."""
    found = [Round(["UNJOINED"])]
    for line in lines:
        current = found[-1]
        current.events.append(line)
        for state in _states_entered(line):
            if state != current.states[-1]:
                current.states.append(state)
        if len(current.states) > 1 and current.states[-1] in _RESTING:
            found.append(Round([current.states[-1]]))
    return found if len(found[-1].states) > 1 else found[:-1]


def _states_entered(line: TraceLine) -> tuple[str, ...]:
    if line.event == "join_answered":
        return ("COMPLETING_REBALANCE",) if line.error in (None, "NONE") else ()
    return _ENTERED.get(line.event, ())

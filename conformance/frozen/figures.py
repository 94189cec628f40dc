"""What the checks find besides the histories, as the committed files say it: nothing of it may be lost.

Each list has entries in words: a mutant and a rule whose test notices it; a mutant that a case of the wire kit finds; a
known bug; a deviation of a client that the docket has; a situation that simulated groups must meet; a meeting of a
call, a state and an answer that schedules have brought about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from groupspec.conformance import kills
from groupspec.conformance.schedules.meanwhile import COUNTED
from groupspec.conformance.schedules.meetings import read
from groupspec.conformance.simulation.situations import SITUATIONS
from groupspec.conformance.wire import docket
from groupspec.conformance.wire_kills.matrix import NOTHING, committed
from groupspec.spec.known_bugs import KNOWN_BUGS

FROZEN: Final = Path(__file__).resolve().with_name("figures.json")


def freeze() -> None:
    """Writes what there is now."""
    FROZEN.write_text(json.dumps(now(), indent=1) + "\n", encoding="utf-8")


def frozen() -> Mapping[str, list[str]]:
    """What there was."""
    found: Mapping[str, list[str]] = json.loads(FROZEN.read_text(encoding="utf-8"))
    return found


def now() -> Mapping[str, list[str]]:
    """All of it, as it is."""
    met, met_where_rare = read(COUNTED.read_text(encoding="utf-8"))
    found: Mapping[str, Iterable[str]] = {
        "mutants noticed by a test": (
            f"{kill.mutant} {rule}" for rule in kills.committed()["rules"] for kill in kills.kills(rule)
        ),
        "mutants found on the wire": (committed() or NOTHING).killed(),
        "known bugs": KNOWN_BUGS,
        "deviations of clients": (
            f"{entry.client} {entry.version} {entry.rule} {scenario} {entry.verdict}"
            for entry in docket.entries()
            for scenario in entry.scenarios
        ),
        "situations": SITUATIONS,
        "meetings": (" / ".join(meeting) for meeting in (*met, *met_where_rare)),
    }
    return {name: sorted({*entries}) for name, entries in found.items()}

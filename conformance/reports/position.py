"""Where in the specification a run stood when a rule was broken.

The state, the last event, and what the table has for it.

A black box does not tell its state. The trace that the wire kit recorded does, as far as anybody outside can know: it
is followed through the projected table up to the moment in question, and what remains is the states that explain
everything seen until then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from groupspec.conformance import missing
from groupspec.conformance.traces.schema import ERROR_CODES, EVENT_CODES, Settings, TraceLine
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.vocabulary import RESPONSES

_NOT_SAID: Final = ("config", "poll", "heartbeat_sent")
_MAX_ROWS: Final = 6
MachineRow: TypeAlias = tuple[Table, Row]


@dataclass(frozen=True)
class Position:
    """Where a run stood.

    Attributes:
        states: Of the rebalance machine; several when the trace cannot tell them apart.
        event: The last thing that was seen, as the trace names it, with its error.
        allowed: The rows of the table for these states and that event; none if that is no answer.
        sends: For each of these states, what the machine can send or tell the application in it.
    """

    states: tuple[str, ...]
    event: str
    allowed: tuple[MachineRow, ...]
    sends: tuple[tuple[str, tuple[str, ...]], ...]


def position(trace: Path, seq: int) -> Position | None:
    """Where the run that `trace` recorded stood at one of its events.

    None when the trace does not tell, or when the libraries of the extra `traces` are not installed.

    Args:
        trace: `trace.ndjson` of one run of the wire kit.
        seq: The event's number. Not a time: a trace's clock stands still while the machine stalls.
    """
    if not missing.has("traces"):
        return None
    try:
        lines = [msgspec.json.decode(line, type=TraceLine) for line in trace.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError):
        return None
    if not lines or lines[0].event != "config" or lines[0].detail is msgspec.UNSET:
        return None
    rebalance = msgspec.json.decode(lines[0].detail, type=Settings).rebalance
    seen = [line for line in lines if line.seq <= seq]
    before = _states(seen[:-1], rebalance)
    last = next((line for line in reversed(seen) if line.event not in _NOT_SAID), seen[-1])
    states = before if last is seen[-1] else _states(seen, rebalance)
    allowed = tuple(_answers(rebalance, states, last))[:_MAX_ROWS]
    said = f"{last.event} {last.error}" if last.error and last.error != "NONE" else last.event
    return Position(states, said, allowed, tuple((state, _sends(rebalance, state)) for state in states))


def _states(lines: list[TraceLine], rebalance: str) -> tuple[str, ...]:
    """The states of the rebalance machine that explain these events; after an impossible one, anything may be."""
    from groupspec.conformance.traces.projection import Projection  # only here: it needs the extra `traces`
    from groupspec.conformance.traces.projection_cache import load

    projection = load()
    mode = Projection.mode("wire", rebalance == "eager")
    state = int(projection.start[mode])
    for line in lines:
        error = ERROR_CODES.get(line.error or "NONE", ERROR_CODES["OTHER"])
        symbol = int(projection.symbols[EVENT_CODES[line.event], error])
        if symbol >= 0:
            after = int(projection.next_state[state, symbol])
            state = after if after >= 0 else int(projection.unknown[mode])
    named = projection.names[state].replace("/", " ").replace("|", " ").replace(",", " ").split()
    known = set(_table(rebalance).states)
    return tuple(name for name in named if name in known)


def _sends(rebalance: str, state: str) -> tuple[str, ...]:
    """The requests and consumer events that rows of this state emit; both begin with a capital."""
    table = _table(rebalance)
    emitted = (word for row in table.rows if row.source == state for word in table.emitted(row))
    return tuple(dict.fromkeys(word for word in emitted if word[0].isupper()))


def _table(rebalance: str) -> Table:
    return tables()["rebalance", rebalance, "deployed"]


def _answers(rebalance: str, states: tuple[str, ...], line: TraceLine) -> Iterator[MachineRow]:
    """What the table has for an answer in these states; other events of a trace have no one event of the machine."""
    from groupspec.conformance.traces.projection import ANSWER_EVENTS  # only here: it needs the extra `traces`

    if api := ANSWER_EVENTS.get(line.event):
        event = RESPONSES.get((api, line.error or "NONE")) or RESPONSES.get((api, "other"), "")
        table = _table(rebalance)
        yield from ((table, row) for state in states for row in table.cell(state, event) if row.kind == "transition")


def rows_of(rule: str, rebalance: str) -> list[MachineRow]:
    """The rows that a rule stands behind, in every machine, for one protocol."""
    of_protocol = [table for key, table in tables().items() if key[1:] == (rebalance, "deployed")]
    return [(table, row) for table in of_protocol for row in table.rows if rule in row.rules]


def outcome(table: Table, row: Row) -> str:
    """What a row allows, in words: `→ STABLE, sends JoinGroup`."""
    if row.kind != "transition":
        return f"ignored ({row.reason})" if row.kind == "ignored" else "an error"
    sent = ", ".join(word for word in table.emitted(row) if word[0].isupper())
    return ("stays" if row.target == row.source else f"→ {row.target}") + (f", sends {sent}" if sent else "")

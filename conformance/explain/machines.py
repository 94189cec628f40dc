"""Machines, their states, cells and rows."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Final

from groupspec.conformance.explain import code
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, SourcePlace, sections, themselves
from groupspec.conformance.missing import in_checkout
from groupspec.diagrams.matrix import row_text
from groupspec.spec import vocabulary
from groupspec.spec.compiler import Row, Table
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES
from groupspec.spec.compiler.tables import MACHINES, OF_NO_PROTOCOL, whole_tables
from groupspec.spec.differences import DIFFERENCES, Difference

STATES: Final[Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_name("state_meanings.toml").read_text(encoding="utf-8")
)
"""Machine, state, and what is going on then, in words that need no table."""


def means(machine: str, state: str) -> str:
    """What is going on then; empty for a state that nobody has put into words yet."""
    return STATES.get(machine, {}).get(state, "")


def gist(machine: str) -> str:
    """One line about a machine."""
    docs = {cls.machine_name: (cls.__doc__ or "").strip() for cls in MACHINES}
    return docs[machine].partition("\n")[0]


def module_of(machine: str) -> ModuleType:
    """The module that a machine stands in."""
    return import_module(f"groupspec.spec.{machine}")


def rows_where(wanted: Callable[[Table, Row], bool]) -> tuple[tuple[str, Row], ...]:
    """The rows of the whole tables for which this holds, each with its machine."""
    return tuple((table.name, row) for table in whole_tables().values() for row in table.rows if wanted(table, row))


def differences_of(touches: Callable[[str], bool]) -> tuple[Difference, ...]:
    """The differences of which a cell (`rebalance:STABLE.rejoin_requested`) fits."""
    return tuple(entry for entry in DIFFERENCES.values() if any(map(touches, entry.rows)))


def _machine_names() -> dict[str, str]:
    """Machines by name, and by the labels of their tables: `rebalance.eager.deployed`."""
    of_a_protocol = [name for name in whole_tables() if name not in OF_NO_PROTOCOL]
    specialised = product(of_a_protocol, REBALANCES, PROFILES)
    return {".".join(label): label[0] for label in specialised} | themselves(whole_tables())


def _machine(name: str) -> Explanation:
    table = whole_tables()[name]
    text = inspect.getdoc(module_of(name)) or ""
    told = {
        "what it models": text.partition("\n\n")[0].split("\n"),
        "states": [f"{state}: {means(name, state)}" for state in table.states],
        "events": ", ".join(event.name for event in table.events),
        "its rows, state by event": f"groupspec table {name}",
    }
    place = address("machine", name)
    return Explanation("machine", name, gist(name), place, sources=(f"spec/{name}.py",), sections=sections(told))


def _state_names() -> dict[str, str]:
    qualified = {f"{table.name}.{state}" for table in whole_tables().values() for state in table.states}
    return {name: name for full in sorted(qualified) for name in (full, full.partition(".")[2])}


def _state(name: str) -> Explanation:
    """A state; without its machine's name, every state of that name."""
    machine, _, state = name.rpartition(".")
    found = [t for t in whole_tables().values() if state in t.states and machine in ("", t.name)]
    cells = tuple(f"{table.name}:{state}." for table in found)
    return Explanation(
        "state",
        name,
        "; ".join(f"a state of {t.name} ({gist(t.name).rstrip('.')}): {means(t.name, state)}" for t in found),
        address("state", found[0].name, state),
        sources=tuple(f"spec/{table.name}.py" for table in found),
        rows=rows_where(lambda t, row: t in found and state in (row.source, row.target) and row.kind == "transition"),
        matches=tuple(table.name for table in found),
        differences=differences_of(lambda cell: cell.startswith(cells)),
    )


def _row_names() -> dict[str, str]:
    """Rows by machine and id, and cells: a cell is explained by its rows."""
    names: dict[str, str] = {}
    for table in whole_tables().values():
        for row in table.rows:
            cell = f"{table.name}.{row.source}.{row.event}"
            full = f"{table.name}.{row.id}"
            names |= {full: full, row.id: full}
            names |= {cell: cell, f"{row.source}.{row.event}": cell}
    return names


def _row(name: str) -> Explanation:
    """A row, or all rows of a cell."""
    machine, state, event = name.split(".")[:3]
    table = whole_tables()[machine]
    rows = [table.by_id[name.partition(".")[2]]] if name.count(".") > 2 else table.cell(state, event)
    return Explanation(
        "row" if name.count(".") > 2 else "cell",
        name,
        f"in {state}, {event} ({table.event(event).doc}): {'; '.join(row_text(row, table) for row in rows)}",
        address("state", machine, state),
        rows=tuple((machine, row) for row in rows),
        code=functions_for(event),
        rules=tuple(dict.fromkeys(rule for row in rows for rule in row.rules)),
        differences=differences_of(lambda cell: cell == f"{machine}:{state}.{event}"),
    )


def functions_for(event: str) -> tuple[SourcePlace, ...]:
    """The functions of the reference that take what the specification calls by this name."""
    keys = [answer for answer, meant in vocabulary.RESPONSES.items() if meant == event]
    if in_checkout():
        translation = import_module("groupspec.conformance.stateful.translation")
        keys += [("TimerExpired", timer) for timer, meant in translation.TIMERS.items() if meant == event]
        keys += [(command.__name__, "") for command, meant in translation.COMMANDS.items() if meant == event]
    return tuple(dict.fromkeys(place for key in keys for place in code.handling(*key)))


KINDS = (
    Kind("machine", _machine_names, _machine),
    Kind("state", _state_names, _state),
    Kind("row", _row_names, _row),
)

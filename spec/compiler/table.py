"""The table: what a machine says, as plain data. Everything else is made from it.

Two kinds of table have one shape. The table of a whole class still mentions `eager`, `deployed` and the rest in its
guards (`rebalance` and `profile` are None). A specialised table has them evaluated away. Row ids are those of the whole
class in both, so that a row keeps its name in every view of it.

The JSON form is canonical: sorted keys, no spaces. Its sha256 is the table's hash, which every generated file carries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from types import MappingProxyType

from groupspec.spec.machine import RowKind
from groupspec.spec.terms import Effect, Event, Variable

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        id: `STATE.event.n`, n counting the rows of that state and event in the whole class, from 1.
        guard: When; empty for always. Guards of one state and event exclude each other and leave nothing out.
        effects: What it does, in order, by name.
        kind: `transition`, `ignored` or `error`.
        reason: Why it is ignored, as an id of `vocabulary.IGNORED_REASONS`; empty for other kinds.
    """

    id: str
    source: str
    event: str
    target: str
    guard: str
    effects: tuple[str, ...]
    kind: RowKind
    reason: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A machine as data.

    Attributes:
        rebalance: `eager`, `cooperative`, or None for a table that has both.
        profile: `published`, `deployed`, or None for a table that has both.
        states: In the order of the file.
        events: Everything that the machine reacts to, in the order of the vocabulary.
        variables: Its own, and every other that its guards or effects read.
        rows: By state and event; those of one state and event in the order of the file, the published profile's last.
        places: Row id to the file and line in which it stands; "" to the file of the class. No part of what the table
            says.
    """

    name: str
    rebalance: str | None
    profile: str | None
    states: tuple[str, ...]
    initial: str
    events: tuple[Event, ...]
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    effects: tuple[Effect, ...]
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """(machine, rebalance, profile)."""
        return self.name, self.rebalance, self.profile

    @property
    def label(self) -> str:
        """`rebalance.eager.deployed`; the machine's name alone for a table that is not specialised."""
        return ".".join(part for part in self.key if part)

    @cached_property
    def hash(self) -> str:
        """The sha256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(table_json(self).encode()).hexdigest()

    @cached_property
    def own(self) -> tuple[Variable, ...]:
        """The variables that this machine sets."""
        return tuple(v for v in self.variables if v.kind == "state" and v.owner == self.name)

    @cached_property
    def config(self) -> tuple[Variable, ...]:
        """The variables that are fixed for a whole run."""
        return tuple(v for v in self.variables if v.kind == "config")

    @cached_property
    def foreign(self) -> tuple[Variable, ...]:
        """The variables of other machines that this one reads."""
        return tuple(v for v in self.variables if v.kind == "state" and v.owner != self.name)

    @cached_property
    def _cells(self) -> Mapping[tuple[str, str], tuple[Row, ...]]:
        cells: dict[tuple[str, str], tuple[Row, ...]] = {}
        for row in self.rows:
            cells[row.source, row.event] = (*cells.get((row.source, row.event), ()), row)
        return MappingProxyType(cells)

    def cell(self, state: str, event: str) -> tuple[Row, ...]:
        """The rows of one state and event, in order; none if the machine says nothing about them."""
        return self._cells.get((state, event), ())

    def cells(self) -> Iterator[tuple[str, Event, tuple[Row, ...]]]:
        """Every state with every event, and the rows for it."""
        for state in self.states:
            for event in self.events:
                yield state, event, self.cell(state, event.name)

    @cached_property
    def by_id(self) -> Mapping[str, Row]:
        """The rows by their ids."""
        return MappingProxyType({row.id: row for row in self.rows})

    def variable(self, name: str) -> Variable:
        """One of the variables, by its name."""
        return next(variable for variable in self.variables if variable.name == name)

    def event(self, name: str) -> Event:
        """One of the events, by its name."""
        return next(event for event in self.events if event.name == name)

    @cached_property
    def effect_by_name(self) -> Mapping[str, Effect]:
        """The effects by their names."""
        return MappingProxyType({effect.name: effect for effect in self.effects})

    def emitted(self, row: Row) -> tuple[str, ...]:
        """What a row emits, in order."""
        return tuple(word for name in row.effects for word in self.effect_by_name[name].emit)


def table_data(table: Table) -> dict[str, object]:
    """The table as JSON-ready values, in the shape that `TABLE_SCHEMA` describes, without its hash."""
    return {
        "format": FORMAT_VERSION,
        "machine": table.name,
        "rebalance": table.rebalance,
        "profile": table.profile,
        "states": list(table.states),
        "initial": table.initial,
        "events": [{"name": e.name, "kind": e.kind, "inputs": list(e.inputs), "doc": e.doc} for e in table.events],
        "variables": [{**asdict(v), "domain": list(v.domain)} for v in table.variables],
        "effects": [{"name": e.name, "set": dict(e.set), "emit": list(e.emit), "doc": e.doc} for e in table.effects],
        "rows": [{**asdict(r), "effects": list(r.effects), "rules": list(r.rules)} for r in table.rows],
    }


def table_json(table: Table) -> str:
    """The canonical JSON: equal tables give equal text, byte for byte."""
    return json.dumps(table_data(table), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


_TEXT = {"type": "string"}
_NAMES = {"type": "array", "items": _TEXT}
_VALUE = {"type": ["boolean", "integer", "string"]}


def _record(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TABLE_SCHEMA: Mapping[str, object] = MappingProxyType(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One machine of the specification as a table",
        **_record(
            format={"const": FORMAT_VERSION},
            machine=_TEXT,
            rebalance={"enum": ["eager", "cooperative", None]},
            profile={"enum": ["published", "deployed", None]},
            states=_NAMES,
            initial=_TEXT,
            events={
                "type": "array",
                "items": _record(
                    name=_TEXT,
                    kind={"enum": ["application", "message", "timer", "internal"]},
                    inputs=_NAMES,
                    doc=_TEXT,
                ),
            },
            variables={
                "type": "array",
                "items": _record(
                    name=_TEXT,
                    domain={"type": "array", "items": _VALUE, "minItems": 1},
                    initial=_VALUE,
                    kind={"enum": ["state", "input", "config"]},
                    owner=_TEXT,
                    doc=_TEXT,
                ),
            },
            effects={
                "type": "array",
                "items": _record(
                    name=_TEXT, set={"type": "object", "additionalProperties": _TEXT}, emit=_NAMES, doc=_TEXT
                ),
            },
            rows={
                "type": "array",
                "items": _record(
                    id=_TEXT,
                    source=_TEXT,
                    event=_TEXT,
                    target=_TEXT,
                    guard=_TEXT,
                    effects=_NAMES,
                    kind={"enum": ["transition", "ignored", "error"]},
                    reason=_TEXT,
                    rules=_NAMES,
                ),
            },
        ),
    }
)
"""The JSON Schema of a table (generated files add the key `sha256`)."""

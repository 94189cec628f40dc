"""What is known of one name: its meaning, its places in the specification and the reference, and what checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

import msgspec

from groupspec.conformance.kills import Kill
from groupspec.conformance.wire.docket import Entry
from groupspec.spec.compiler import Row
from groupspec.spec.compiler.tables import each_table, whole_tables
from groupspec.spec.datafile import Record
from groupspec.spec.differences import Difference
from groupspec.spec.known_bugs import KNOWN_BUGS


@dataclass(frozen=True, order=True)
class SourcePlace:
    """A place in a source: file from the top of the repository, line, and the function or class that begins there."""

    file: str
    line: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" {self.name}" if self.name else "")


def sections(told: Mapping[str, str | Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """What only one kind of name has: heading to lines. A heading with nothing below it is left out."""
    lines = {heading: (each,) if isinstance(each, str) else tuple(each) for heading, each in told.items()}
    return {heading: each for heading, each in lines.items() if any(each)}


@dataclass(frozen=True)
class Explanation:
    """One name, and everything that mentions it.

    Attributes:
        kind: What it is: rule, state, Kafka error, scenario, ...
        name: Its id or name; a state with its machine where only one was asked for.
        statement: What it says or means.
        page: Its place in the book that `groupspec book` writes; empty if it has none.
        title: The name with what a reader knows it by: `H2 heartbeat-interval`; the name if that says it.
        sources: Where that is said first.
        rows: (machine, row): rows of the whole tables, for both protocols and both profiles.
        code: Functions of the reference that do it.
        rules: Ids of the rules that it checks, breaks or rests on.
        applies_to: Of a rule; else empty.
        level: Of a rule; else empty.
        matches: Of a state: the machines that have one of that name.
        scenarios: Scenarios of the wire kit that judge it.
        checks: Of a rule: the functions that judge histories by it.
        trace_checks: Trace rules that check it.
        properties: Properties of the models that are about it.
        mutants: Mutants of the reference that break it, and that scenarios must find.
        tests: Tests that carry its id in their names.
        known_bugs: Ids of known bugs that broke it.
        deviations: Of a rule: the docket's entries, what built-in clients are known to do against it.
        kills: Of a rule: its mutants, and the tests that fail, as the committed kill matrix has them.
        why_no_kills: Of a rule without: the reason.
        formula: Of a property: what is claimed, as expressions, and where it is stated.
        sections: What else there is to say: heading to lines.
    """

    kind: str
    name: str
    statement: str
    page: str = ""
    title: str = ""
    sources: tuple[str, ...] = ()
    rows: tuple[tuple[str, Row], ...] = ()
    code: tuple[SourcePlace, ...] = ()
    rules: tuple[str, ...] = ()
    applies_to: str = ""
    level: str = ""
    matches: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    checks: tuple[SourcePlace, ...] = ()
    trace_checks: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    mutants: tuple[str, ...] = ()
    tests: tuple[SourcePlace, ...] = ()
    known_bugs: tuple[str, ...] = ()
    deviations: tuple[Entry, ...] = ()
    differences: tuple[Difference, ...] = ()
    kills: tuple[Kill, ...] = ()
    why_no_kills: str = ""
    formula: tuple[str, ...] = ()
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def pictures(self) -> list[str]:
        """Committed pictures that show one of the rows; the matrix where all that a machine has of it is not drawn."""
        found = []
        for table in each_table():
            ids = [row.id for machine, row in self.rows if machine == table.name and row.id in table.by_id]
            if kinds := {table.by_id[row].kind for row in ids}:
                found.append(f"diagrams/generated/{table.label}.{'svg' if 'transition' in kinds else 'md'}")
        return found

    def data(self) -> dict[str, object]:
        """JSON-ready, in the shape of the schema."""
        return {
            **msgspec.to_builtins(replace(self, rows=(), differences=(), known_bugs=())),
            "rows": [_row_data(machine, row) for machine, row in self.rows],
            "differences": [_only(each, "id title reason choice statements") for each in self.differences],
            "known_bugs": [_only(KNOWN_BUGS[bug], "id source client symptom") for bug in self.known_bugs],
            "sections": [{"heading": heading, "lines": list(lines)} for heading, lines in self.sections.items()],
            "pictures": self.pictures(),
        }


def place_of(machine: str, row: Row) -> str:
    """File and line of a row: `spec/timeouts.py:87`."""
    places = whole_tables()[machine].places
    return places.get(row.id, places[""])


def _row_data(machine: str, row: Row) -> dict[str, object]:
    emits = list(whole_tables()[machine].emitted(row))
    return {"table": machine, **asdict(row), "emits": emits, "place": place_of(machine, row)}


def _only(record: Record, names: str) -> dict[str, object]:
    told = msgspec.to_builtins(record)
    return {name: told[name] for name in names.split()}


@dataclass(frozen=True)
class Kind:
    """One kind of name.

    Attributes:
        name: As it is shown: `rule`.
        names: Makes the map of every name by which one of them is known, to the one that `explain` takes.
        explain: Explains one.
    """

    name: str
    names: Callable[[], Mapping[str, str]]
    explain: Callable[[str], Explanation]


def themselves(names: Iterable[str]) -> dict[str, str]:
    """For things that are known by one name each."""
    return {name: name for name in names}

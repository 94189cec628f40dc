"""Everything the project knows about one rule, state or event, gathered from the places where it is said once.

A failing verdict names a rule. From there a reader wants the statement and its source, the rows of the machines that
rest on it, what else judges it, who broke it before, and a picture: all of it, in one look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

import msgspec

from groupspec.conformance.explain import addresses
from groupspec.conformance.kills import Kill, kills, why_none
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire import scenarios  # noqa: F401 - registers the scenarios
from groupspec.conformance.wire.scenario import SCENARIOS
from groupspec.spec import vocabulary
from groupspec.spec.compiler import Row, Table
from groupspec.spec.compiler.tables import MACHINES, each_table, whole_tables
from groupspec.spec.differences import DIFFERENCES, Difference
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

Kind: TypeAlias = Literal["rule", "state", "event"]


@dataclass(frozen=True)
class Explanation:
    """One rule, state or event, and everything that mentions it.

    Attributes:
        kind: What it is.
        name: Its id or name; a state with its machine where only one was asked for.
        statement: What it says or means.
        sources: Where that is said first.
        rows: (machine, row): rows of the whole tables, for both protocols and both profiles.
        applies_to: Of a rule; else empty.
        level: Of a rule; else empty.
        matches: Of a state: the machines that have one of that name.
        scenarios: Scenarios of the wire kit that judge the rule.
        trace_checks: Trace rules that check it.
        known_bugs: Ids of known bugs that broke it.
        kills: Of a rule: its mutants, and the tests that fail, as the committed kill matrix has them.
        why_no_kills: Of a rule without: the reason.
    """

    kind: Kind
    name: str
    statement: str
    sources: tuple[str, ...]
    rows: tuple[tuple[str, Row], ...]
    applies_to: str = ""
    level: str = ""
    matches: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    trace_checks: tuple[str, ...] = ()
    known_bugs: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = field(default=())
    kills: tuple[Kill, ...] = ()
    why_no_kills: str = ""

    def pictures(self) -> list[str]:
        """Committed pictures that show one of the rows; the matrix where all that a machine has of it is not drawn."""
        found = []
        for table in each_table():
            kinds = {
                table.by_id[row.id].kind for name, row in self.rows if name == table.name and row.id in table.by_id
            }
            if kinds:
                suffix = "svg" if "transition" in kinds else "md"
                found.append(f"diagrams/generated/{table.label}.{suffix}")
        return found

    def page(self) -> str:
        """Its place in the book that `groupspec book` writes."""
        match self.kind:
            case "rule":
                return addresses.rule(self.name)
            case "state":
                return addresses.state(self.matches[0], self.name.rpartition(".")[2])
            case "event":
                return addresses.word(self.name)

    def data(self) -> dict[str, object]:
        """JSON-ready, in the shape of the schema."""
        return {
            "kind": self.kind,
            "name": self.name,
            "statement": self.statement,
            "applies_to": self.applies_to,
            "level": self.level,
            "sources": list(self.sources),
            "rows": [
                {"table": name, **asdict(row), "emits": list(whole_tables()[name].emitted(row))}
                for name, row in self.rows
            ],
            "differences": [
                {
                    "id": difference.id,
                    "title": difference.title,
                    "reason": difference.reason,
                    "choice": difference.choice,
                    "statements": [msgspec.structs.asdict(statement) for statement in difference.statements],
                }
                for difference in self.differences
            ],
            "known_bugs": [
                {"id": bug.id, "source": bug.source, "client": bug.client, "symptom": bug.symptom}
                for bug in (KNOWN_BUGS[bug_id] for bug_id in self.known_bugs)
            ],
            "kills": [asdict(kill) for kill in self.kills],
            "why_no_kills": self.why_no_kills,
            "scenarios": list(self.scenarios),
            "trace_checks": list(self.trace_checks),
            "pictures": self.pictures(),
            "page": self.page(),
            "matches": list(self.matches),
        }


def explainable() -> dict[str, Kind]:
    """Every name that can be explained."""
    known: dict[str, Kind] = {}
    known.update((name, "rule") for rule in RULES.values() for name in (rule.id, rule.name))
    for table in whole_tables().values():
        known.update((state, "state") for state in table.states)
        known.update((f"{table.name}.{state}", "state") for state in table.states)
    known.update((event, "event") for event in vocabulary.EVENTS)
    return known


def explain(name: str) -> Explanation:
    """What is known about `name`, one of `explainable()`.

    Raises:
        KeyError: it is not one of them.
    """
    match explainable()[name]:
        case "rule":
            return _rule(name)
        case "state":
            return _state(name)
        case "event":
            return _event(name)


def _rule(name: str) -> Explanation:
    rule = next(rule for rule in RULES.values() if name in (rule.id, rule.name))
    name = rule.id
    return Explanation(
        "rule",
        name,
        rule.statement,
        rule.sources,
        tuple(_rows(lambda _, row: name in row.rules)),
        applies_to=rule.applies_to,
        level=rule.level,
        scenarios=tuple(scenario.id for scenario in SCENARIOS.values() if name in scenario.rules),
        trace_checks=tuple(rule.id for rule in trace_rules.RULES if name in rule.spec_rules),
        known_bugs=rule.known_bugs,
        differences=tuple(entry for entry in DIFFERENCES.values() if name in entry.rules),
        kills=kills(name),
        why_no_kills=why_none(name),
    )


def _state(name: str) -> Explanation:
    machine, _, state = name.rpartition(".")
    found = [t for t in whole_tables().values() if state in t.states and machine in ("", t.name)]
    docs = {cls.machine_name: (cls.__doc__ or "").strip().partition("\n")[0] for cls in MACHINES}
    rows = tuple(_rows(lambda t, row: t in found and state in (row.source, row.target) and row.kind == "transition"))
    cells = [f"{table.name}:{state}." for table in found]
    return Explanation(
        "state",
        name,
        "; ".join(f"a state of {table.name}: {docs[table.name]}" for table in found),
        tuple(f"spec/{table.name}.py" for table in found),
        rows,
        matches=tuple(table.name for table in found),
        differences=_differences(lambda cell: any(cell.startswith(prefix) for prefix in cells)),
    )


def _event(name: str) -> Explanation:
    event = vocabulary.EVENTS[name]
    answers = [f"{api} {error}" for (api, error), meant in vocabulary.RESPONSES.items() if meant == name]
    calls = [server_event for server_event, (meant, _) in vocabulary.SERVER_EVENTS.items() if meant == name]
    rows = tuple(_rows(lambda _, row: row.event == name))
    return Explanation(
        "event",
        name,
        f"{event.doc} ({event.kind})",
        tuple([f"answer {answer}" for answer in answers] + [f"server event {call}" for call in calls]),
        rows,
        differences=_differences(lambda cell: cell.rpartition(".")[2] == name),
    )


def _rows(wanted: Callable[[Table, Row], bool]) -> Iterator[tuple[str, Row]]:
    for table in whole_tables().values():
        for row in table.rows:
            if wanted(table, row):
                yield table.name, row


def _differences(touches: Callable[[str], bool]) -> tuple[Difference, ...]:
    return tuple(entry for entry in DIFFERENCES.values() if any(map(touches, entry.rows)))

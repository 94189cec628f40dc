"""The verdicts as the report shows them: a matrix of rules and clients, and a finding for each cell that is not clean.

A rule is judged in several scenarios. Its cell shows the worst verdict and how often it was given; its finding tells
every run of that verdict, with what the specification allows there and what was seen on the wire. What is only a
symptom of another rule's breach (one stall of a client breaks several) stands in that rule's finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from groupspec.conformance.checks import verdicts
from groupspec.conformance.checks.verdicts import VERDICTS
from groupspec.conformance.reports.consequences import Consequence, consequences
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, VerdictRow
from groupspec.spec.rules import RULES, Rule

WORST_FIRST: Final = tuple(verdict.value for verdict in verdicts.WORST_FIRST)
"""What a cell shows. A rule that was kept wherever it could be judged is a PASS."""

_COUNTED: Final = frozenset(verdict.value for verdict in (*verdicts.JUDGED, verdicts.Verdict.INCONCLUSIVE))

TOLD: Final = ("FAIL", "DEVIATION", "INCONCLUSIVE")
"""Verdicts that open to a finding with evidence."""

SYMBOLS: Final[Mapping[str, str]] = {
    "PASS": "✓",
    "DEVIATION": "△",
    "FAIL": "✕",
    "UNSUPPORTED": "\u2013",
    "UNTESTABLE": "○",
    "INCONCLUSIVE": "?",
}


SHOWN_CASES: Final = 3
"""Of a finding: as many of its cases have their picture and log in the page, the others links to the files."""


@dataclass(frozen=True)
class Cell:
    """One rule and one client: the worst verdict, in `count` of the `total` cases that it was judged in.

    A case in which the machine or the kit failed counts as judged: it could have been. Of a rule that was judged in
    none, all cases count.
    """

    client: str
    rule: str
    verdict: str
    count: int
    total: int
    rows: tuple[VerdictRow, ...]

    @property
    def anchor(self) -> str:
        """The id of its finding on the page."""
        return slug(f"{self.client}-{self.rule}")

    @property
    def told(self) -> tuple[VerdictRow, ...]:
        """The rows that have the cell's verdict."""
        return tuple(row for row in self.rows if row.verdict == self.verdict)

    @property
    def surest_first(self) -> tuple[VerdictRow, ...]:
        """The same, those first that are no symptom of another finding's, and of them the surest."""
        return tuple(sorted(self.told, key=lambda row: (bool(row.symptom_of), row.flaps)))

    @property
    def others(self) -> dict[str, list[VerdictRow]]:
        """The rest, by verdict: where the rule was kept, and where it was not judged, with the reason."""
        return {
            verdict: rows
            for verdict in WORST_FIRST
            if verdict != self.verdict and (rows := [row for row in self.rows if row.verdict == verdict])
        }

    @property
    def flaps(self) -> bool:
        """Whether the rule was broken in one run of a case and kept in another."""
        return any(row.flaps for row in self.rows)

    @property
    def opens(self) -> bool:
        """Whether there is a finding to go to."""
        return self.verdict in TOLD

    @property
    def weight(self) -> tuple[int, int, int]:
        """For sorting: the worst verdict first, then the worst consequence, then what was seen most often."""
        known = consequences().get(self.rule)
        return WORST_FIRST.index(self.verdict), known.place if known else 99, -self.count


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a client.

    Attributes:
        cell: Of the rule that was broken; of several that one stall broke, the one that weighs most.
        symptoms: Cells of rules that were broken only because that one was, with the rows that say so.
    """

    cell: Cell
    symptoms: tuple[tuple[Cell, tuple[VerdictRow, ...]], ...]

    @property
    def rule(self) -> Rule:
        """What was broken."""
        return RULES[self.cell.rule]

    @property
    def consequence(self) -> Consequence | None:
        """What that means; None for a rule of a later version."""
        return consequences().get(self.cell.rule)

    @property
    def own(self) -> tuple[VerdictRow, ...]:
        """The rows to tell."""
        return self.cell.surest_first

    @property
    def read(self) -> tuple[str, ...]:
        """What the docket says about it, each text once."""
        return tuple(dict.fromkeys(row.docket for row in self.own if row.docket))


@dataclass(frozen=True)
class MatrixLine:
    """One rule, and its cell for each client; None where no case of that client judged it."""

    rule: Rule
    cells: tuple[Cell | None, ...]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Those that occur in the line, for the filter."""
        return tuple(
            verdict for verdict in WORST_FIRST if any(c is not None and c.verdict == verdict for c in self.cells)
        )


@dataclass(frozen=True)
class JudgedRun:
    """What one run left behind: its picture and its log, both whole."""

    folder: str
    client: str
    case: str
    sequence: str
    wire: str

    @property
    def anchor(self) -> str:
        """The id of its evidence on the page."""
        return slug(f"run-{self.folder}")


def matrix(conform: Conform) -> list[MatrixLine]:
    """A line for each rule that was judged: what was broken worst comes first, and then the order of the rules."""
    judged = {row.rule for client in conform.clients for row in client.results}
    lines = [
        MatrixLine(RULES[rule], tuple(cell(client, rule) for client in conform.clients))
        for rule in RULES
        if rule in judged
    ]
    return sorted(
        lines, key=lambda line: min((cell.weight[:2] for cell in line.cells if cell and cell.opens), default=(9, 9))
    )


def findings(lines: Sequence[MatrixLine]) -> dict[str, list[Finding]]:
    """What is wrong with each client that has anything wrong, the worst first."""
    found: dict[str, dict[str, Cell]] = {}
    for cell in (cell for line in lines for cell in line.cells if cell is not None):
        found.setdefault(cell.client, {})
        if cell.opens:
            found[cell.client][cell.rule] = cell
    return {client: _of_client(cells) for client, cells in found.items() if cells}


def _of_client(cells: Mapping[str, Cell]) -> list[Finding]:
    """The cells of one client, those of symptoms below what caused them."""
    causes = {(row.rule, row.case): row.symptom_of for cell in cells.values() for row in cell.told}
    below: dict[str, dict[str, list[VerdictRow]]] = {}
    heads = []
    for cell in sorted(cells.values(), key=lambda cell: cell.weight):
        roots = [(_root(row, causes), row) for row in cell.told]
        for root, row in roots:
            if root != cell.rule:
                below.setdefault(root, {}).setdefault(cell.rule, []).append(row)
        if any(root == cell.rule for root, _ in roots):
            heads.append(cell)
    return [
        Finding(head, tuple((cells[rule], tuple(rows)) for rule, rows in below.get(head.rule, {}).items()))
        for head in heads
    ]


def _root(row: VerdictRow, causes: Mapping[tuple[str, str], str]) -> str:
    """The rule whose breach explains this one; itself if that one is told nowhere."""
    rule = row.rule
    for _ in causes:
        cause = causes.get((rule, row.case), "")
        if not cause or (cause, row.case) not in causes:
            break
        rule = cause
    return rule


def cell(client: ClientVerdicts, rule: str) -> Cell | None:
    """The cell of one rule and client."""
    rows = tuple(row for row in client.results if row.rule == rule)
    if not rows:
        return None
    worst = min((row.verdict for row in rows), key=WORST_FIRST.index)
    total = sum(row.verdict in _COUNTED for row in rows) or len(rows)
    return Cell(client.name, rule, worst, sum(row.verdict == worst for row in rows), total, rows)


def by_own_names(conform: Conform) -> Conform:
    """Clients that a command line started by the names that their harnesses give, unless two have the same."""
    own = Counter(client.client for client in conform.clients)
    return msgspec.structs.replace(
        conform,
        clients=tuple(
            msgspec.structs.replace(client, name=client.client)
            if client.name.startswith("cmd:") and own[client.client] == 1 and client.client
            else client
            for client in conform.clients
        ),
    )


def totals(conform: Conform) -> dict[str, int]:
    """How many verdicts of each kind, over all clients."""
    seen = [row.verdict for client in conform.clients for row in client.results]
    return {verdict: seen.count(verdict) for verdict in VERDICTS}


def client_totals(client: ClientVerdicts) -> dict[str, int]:
    """The same for one client, without those that do not occur."""
    seen = [row.verdict for row in client.results]
    return {verdict: seen.count(verdict) for verdict in WORST_FIRST if verdict in seen}


def runs(lines: Sequence[MatrixLine], load: Callable[[VerdictRow], tuple[str, str] | None]) -> dict[str, JudgedRun]:
    """The evidence behind all findings, by folder: of each cell the first cases; rules broken in one run share it.

    Args:
        lines: The matrix.
        load: Gives a row's sequence diagram and log, or None when the run left nothing behind.
    """
    found: dict[str, JudgedRun] = {}
    cells = [each for line in lines for each in line.cells if each and each.opens]
    told = [(each, row) for each in cells for row in each.surest_first[:SHOWN_CASES]]
    for each, row in told:
        if row.folder and row.folder not in found and (evidence := load(row)):
            found[row.folder] = JudgedRun(row.folder, each.client, row.case, *evidence)
    return found


def slug(text: str) -> str:
    """An id that HTML accepts everywhere."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()

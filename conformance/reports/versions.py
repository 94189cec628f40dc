"""Many results put together: a column for each client and version, clients side by side, versions from old to new.

A verdict that several results have counts as the last of them says. What became of a rule from version to version is
told by the cases that judged it in both: a version that was judged by fewer cases, or gave no occasion, neither breaks
nor fixes anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.checks.verdicts import BROKEN, JUDGED
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, VerdictRow, read
from groupspec.conformance.reports.verdicts import Cell, MatrixLine, matrix

_BROKEN: Final = frozenset(verdict.value for verdict in BROKEN)
_JUDGED: Final = frozenset(verdict.value for verdict in JUDGED)


@dataclass
class Column:
    """One version of one client."""

    client: str
    version: str
    rows: dict[tuple[str, str], VerdictRow] = field(default_factory=dict)
    replaced: int = 0
    """How many verdicts of an earlier result have been replaced by a later one's."""

    def add(self, rows: dict[tuple[str, str], VerdictRow]) -> None:
        """One result more."""
        self.replaced += len(self.rows.keys() & rows.keys())
        self.rows |= rows

    @property
    def name(self) -> str:
        """Both."""
        return f"{self.client} {self.version}".strip()


@dataclass(frozen=True)
class Turn:
    """A rule that one version breaks and the version before does not, or the other way round."""

    client: str
    rule: str
    version: str
    became: str

    def __str__(self) -> str:
        return f"{'broken since' if self.became == 'broken' else 'fixed in'} {self.version}"


@dataclass(frozen=True)
class Versions:
    """The whole table.

    Attributes:
        groups: Each client with its columns, in the order of the lines' cells.
        lines: A rule each.
        turns: What became of it, by client and rule, from old to new.
    """

    groups: dict[str, list[Column]]
    lines: Sequence[MatrixLine]
    turns: dict[tuple[str, str], list[Turn]]

    @property
    def columns(self) -> list[Column]:
        """All of them, in order."""
        return [column for columns in self.groups.values() for column in columns]

    def told(self, column: Column) -> list[Cell]:
        """Its cells that are not clean, the worst first."""
        cells = (cell for line in self.lines for cell in line.cells if cell is not None)
        return sorted(
            (cell for cell in cells if cell.client == column.name and cell.opens), key=lambda cell: cell.weight
        )


def together(files: Sequence[Path], out: Path) -> Versions:
    """The table of these results. `out`: the folder of the page, from which it leads to their logs.

    Raises:
        UsageProblem: one of them is something else.
    """
    groups: dict[str, dict[str, Column]] = {}
    for file in files:
        for client in read(file, Conform).clients:
            of_client = groups.setdefault(_name(client), {})
            column = of_client.setdefault(client.version, Column(_name(client), client.version))
            column.add({(row.case, row.rule): _at_home(row, file.parent, out) for row in client.results})
    ordered = {name: sorted(groups[name].values(), key=lambda each: _in_order(each.version)) for name in sorted(groups)}
    judged = [
        ClientVerdicts(column.name, column.version, tuple(column.rows.values()))
        for columns in ordered.values()
        for column in columns
    ]
    lines = matrix(Conform(tuple(judged), 0.0))
    return Versions(ordered, lines, {key: turns for key, turns in _all_turns(ordered, lines) if turns})


def _name(client: ClientVerdicts) -> str:
    """Without the version that a built-in client's name may have."""
    return (client.client or client.name).partition("@")[0]


def _at_home(row: VerdictRow, home: Path, out: Path) -> VerdictRow:
    """Its folder as the page reaches it; none where the log is not there."""
    there = bool(row.folder) and os.path.isfile(home / row.folder / "wire.txt")  # noqa: PTH113  # whatever it is called
    return msgspec.structs.replace(row, folder=os.path.relpath(home / row.folder, out) if there else "")


def _in_order(version: str) -> list[tuple[int, str]]:
    """Numbers by their value: 3.9 comes before 3.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d+|[^\d.]+", version)]


def _all_turns(
    groups: dict[str, list[Column]], lines: Sequence[MatrixLine]
) -> Iterator[tuple[tuple[str, str], list[Turn]]]:
    for line in lines:
        cells = iter(line.cells)
        for client, columns in groups.items():
            yield (client, line.rule.id), list(_turns(client, [(each, next(cells)) for each in columns]))


def _turns(client: str, cells: Sequence[tuple[Column, Cell | None]]) -> Iterator[Turn]:
    """Held against each other are versions that follow each other, and only in the cases that judged both."""
    judged = [(column, cell) for column, cell in cells if cell is not None and cell.verdict in _JUDGED]
    for (_, before), (column, cell) in pairwise(judged):
        was, now = _broken_by_case(before), _broken_by_case(cell)
        common = was.keys() & now.keys()
        if common and any(was[case] for case in common) != any(now[case] for case in common):
            became = "broken" if any(now[case] for case in common) else "fixed"
            yield Turn(client, cell.rule, column.version, became)


def _broken_by_case(cell: Cell) -> dict[str, bool]:
    return {row.case: row.verdict in _BROKEN for row in cell.rows if row.verdict in _JUDGED}

"""The committed scores, to be read: by machine, model and operator, what each property notices, and what none does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from groupspec.conformance.scores.files import FATES, MACHINES, share_equivalent, share_killed
from groupspec.conformance.scores.mutants import OPERATORS

_LISTED: Final = (
    ("survived", "Survivors"),
    ("equivalent", "Equivalent"),
    ("undecided", "Not compared to the end"),
    ("untried", "Untried"),
)


def scores_markdown(data: Mapping[str, Any]) -> str:
    """The scores as a page."""
    rows = data["mutants"]
    lines = [
        "# Which property notices which slip",
        "",
        "Each row of the specification is changed in one respect; a property must notice in one of the models.",
        "Computed by `groupspec verify --scores`; not to be edited.",
        "",
        f"{len(rows)} mutants"
        + ("." if data["every"] == 1 else f", a sample: one of {data['every']}.")
        + f" Of those that are not equivalent {share_killed(rows):.1%} are killed.",
        "",
        "*idle*: in no state that can be reached does it make a difference, not even to a variable that nobody sees.",
        "*equivalent*: it does, but neither what is said nor any property tells. Both are shown by "
        "exhausting mutant and",
        "specification side by side; neither counts against the properties. *untried*: what the row needs is "
        "in no model.",
        "",
        *_table("machine", MACHINES, rows),
        "",
        *_table("model", data["models"], rows),
        "",
        *_table("operator", OPERATORS, rows),
        "",
        "## Properties",
        "",
        "| property | mutants that it notices | that only it notices |",
        "|---|---:|---:|",
    ]
    noticed = Counter(name for row in rows for name in row["by"])
    alone = Counter(row["by"][0] for row in rows if len(row["by"]) == 1)
    lines += [
        f"| {name} | {count} | {alone[name]} |" for name, count in sorted(noticed.items(), key=lambda x: (-x[1], x[0]))
    ]
    for fate, heading in _LISTED:
        lines += ["", f"## {heading}", ""]
        lines += [f"- {row['model']}: `{row['id']}`" for row in rows if row["fate"] == fate] or ["None."]
    return "\n".join(lines) + "\n"


def _table(column: str, values: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield (
        f"| {column} | mutants | {' | '.join(FATES)} | killed of those not equivalent | equivalent of those not idle |"
    )
    yield "|---" + "|---:" * (len(FATES) + 3) + "|"
    for value in values:
        own = [row for row in rows if row[column] == value]
        fates = Counter(row["fate"] for row in own)
        counts = " | ".join(str(fates[fate]) for fate in FATES)
        yield f"| {value} | {len(own)} | {counts} | {share_killed(own):.1%} | {share_equivalent(own):.1%} |"

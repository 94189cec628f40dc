"""The committed scores: `generated/scores.json`, and the same to be read, `scores.md`.

Computing them takes minutes, so freshness is judged by a hash: of every table, of every property, and of the models in which
the mutants are tried. What the hash does not see, a change of the explorer or of the operators, the long tests see: they try
a sample anew.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.scores.killing import Score, scores
from groupspec.conformance.scores.mutants import OPERATORS, SpecMutant, mutants
from groupspec.conformance.scores.subjects import PROFILE, Subject, subjects
from groupspec.spec.compiler.tables import each_table, tables

FORMAT_VERSION: Final = 1
COMMITTED: Final = Path(__file__).resolve().parent.parent / "generated" / "scores.json"
MACHINES: Final = ("timeouts", "rebalance", "connection", "subscription", "commit", "broker_group")
_TOGETHER: Final = (("subscription",), ("commit",), ("timeouts", "rebalance", "connection"), ("broker_group",))
"""Machines whose mutants are tried in the same models."""
FATES: Final = ("killed", "survived", "equivalent", "idle", "undecided", "untried")
WANTED: Final = 0.95
"""So many of those that are not equivalent must be killed."""
MOST_EQUIVALENT: Final = 0.05
"""No more may be equivalent, of those that make a difference."""


def spec_hash() -> str:
    """Of every table, and of every model in which mutants are tried, its properties included."""
    digest = hashlib.sha256()
    for table in sorted(each_table(), key=lambda table: table.label):
        digest.update(f"{table.label} {table.hash}\n".encode())
    for subject in subjects():
        digest.update(f"{subject.name} {subject.model.hash}\n".encode())
    return digest.hexdigest()


def sampled(every: int = 1) -> Iterator[tuple[list[SpecMutant], list[Subject]]]:
    """Mutants with the models to try them in; `every`: the first of so many only, in the order of the tables."""
    tried = list(subjects())
    for machines in _TOGETHER:
        for rebalance in dict.fromkeys(s.rebalance for s in tried if set(machines) <= set(s.machines)):
            chosen = [s for s in tried if s.rebalance == rebalance and set(machines) <= set(s.machines)]
            known = [m for name in machines for m in mutants(tables()[name, rebalance or "eager", PROFILE])]
            yield known[::every], chosen


def computed(every: int = 1, said: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """The committed form, computed anew."""
    rows = [
        {"rebalance": chosen[0].rebalance, **score_row(score)}
        for known, chosen in sampled(every)
        for score in scores(known, chosen, said)
    ]
    return {"format": FORMAT_VERSION, "spec": spec_hash(), "every": every, "mutants": rows}


def score_row(score: Score) -> dict[str, Any]:
    """One mutant, as it is committed."""
    mutant = score.mutant
    return {
        "id": mutant.id,
        "machine": mutant.machine,
        "operator": mutant.operator,
        "fate": score.fate,
        "by": list(score.by),
        "model": score.model,
    }


def scores_text(data: Mapping[str, Any]) -> str:
    """As it is committed: one mutant a line."""
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in data["mutants"])
    head = ",\n".join(f" {json.dumps(name)}: {json.dumps(data[name])}" for name in ("format", "spec", "every"))
    return f'{{\n{head},\n "mutants": [\n{lines}\n ]\n}}\n'


def problems(text: str) -> list[str]:
    """Why committed scores are not what they should be; nothing if they are."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as problem:
        return [f"scores.json can't be read: {problem}"]
    if not isinstance(data, dict) or data.get("format") != FORMAT_VERSION:
        return ["scores.json has another format"]
    if data.get("spec") != spec_hash():
        return ["tables, models or properties have changed since the scores were computed: groupspec verify --scores"]
    return []


def is_current(text: str) -> bool:
    """Whether committed scores are what they should be, as far as the hash tells."""
    return not problems(text)


def share_killed(rows: Iterable[Mapping[str, Any]]) -> float:
    """Of the mutants that are tried and somebody can tell from the specification: the share that a property kills. None: 1."""
    fates = Counter(row["fate"] for row in rows)
    others = fates["survived"] + fates["undecided"]
    return fates["killed"] / (fates["killed"] + others) if fates["killed"] + others else 1.0


def share_equivalent(rows: Iterable[Mapping[str, Any]]) -> float:
    """Of the mutants that make a difference in some reachable state: the share that nobody can tell. None: 0."""
    fates = Counter(row["fate"] for row in rows)
    different = sum(fates[fate] for fate in ("killed", "survived", "equivalent", "undecided"))
    return fates["equivalent"] / different if different else 0.0


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
        + f" Of those that are not equivalent {share_killed(rows):.1%} are killed. Specification {data['spec'][:12]}.",
        "",
        "*idle*: in no state that can be reached does it make a difference, not even to a variable that nobody sees.",
        "*equivalent*: it does, but neither what is said nor any property tells. Both are shown by exhausting mutant and",
        "specification side by side; neither counts against the properties. *untried*: what the row needs is in no model.",
        "",
        *_table("machine", MACHINES, rows),
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
        lines += [f"- `{row['id']}` {row['rebalance']}".rstrip() for row in rows if row["fate"] == fate] or ["None."]
    return "\n".join(lines) + "\n"


_LISTED: Final = (
    ("survived", "Survivors"),
    ("equivalent", "Equivalent"),
    ("undecided", "Not compared to the end"),
    ("untried", "Untried"),
)


def _table(column: str, values: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield f"| {column} | mutants | {' | '.join(FATES)} | killed of those not equivalent | equivalent of those not idle |"
    yield "|---" + "|---:" * (len(FATES) + 3) + "|"
    for value in values:
        own = [row for row in rows if row[column] == value]
        fates = Counter(row["fate"] for row in own)
        counts = " | ".join(str(fates[fate]) for fate in FATES)
        yield f"| {value} | {len(own)} | {counts} | {share_killed(own):.1%} | {share_equivalent(own):.1%} |"

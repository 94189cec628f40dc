"""The committed scores: `generated/scores.json`, and the same to be read, `scores.md`.

Computing them takes many minutes, so freshness is judged by hashes, one for each model in which mutants are tried: of
the tables of its machines, of the names of their mutants, and of the model, its properties included, as it is explored
and as it is compared. Only what belongs to a model that has changed is computed anew. What a hash does not see, a
change of the explorer or of what an operator does, the long tests see: they try a sample anew.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from groupspec.conformance.scores.mutants import OPERATORS
from groupspec.conformance.scores.subjects import NOTICES_NOTHING, subjects
from groupspec.conformance.scores.trials import tried
from groupspec.spec import composition

FORMAT_VERSION: Final = 1
"""Of the data, as `verify --scores --json` writes them."""
FILE_FORMAT: Final = 2
"""Of the committed file, which names each property once."""
COMMITTED: Final = Path(__file__).resolve().parent.parent / "generated" / "scores.json"
MACHINES: Final = ("timeouts", "rebalance", "connection", "subscription", "commit", "broker_group")
FATES: Final = ("killed", "survived", "equivalent", "idle", "undecided", "untried")
WANTED: Final = 0.95
"""So many of those that make a difference that anybody can tell must be killed."""
NO_SUCH: Final = "none of the changes breaks it"

_ABOUT: Final = (
    "Computed by `groupspec verify --scores`; not to be edited. Each row of the tables is changed by each operator "
    "that applies to it, one at a time: a mutant. A property must notice it in the model that has the row.",
    "{mutants}. Of those that make a difference that anybody can tell, neither *idle* nor *equivalent*, {killed} are "
    "killed.",
    "What was not tried: the published profile; models other than {models}; liveness; changes that add something (an "
    "effect, a word, a condition); other targets than the next state; rows that say what changes nothing, or what a "
    "correct peer never does. A row of a member is tried, and counted, once for eager and once for cooperative.",
    "*idle*: in no state that can be reached does it make a difference, not even to a variable that nobody sees. "
    "*equivalent*: it does, but neither what is said nor any property tells. Both are shown by exhausting mutant and "
    "specification side by side; neither counts against the properties. *untried*: what the row needs is in no model.",
)
"""The head of the page."""

_LISTED: Final = (
    ("survived", "Survivors"),
    ("equivalent", "Equivalent"),
    ("undecided", "Not compared to the end"),
    ("untried", "Untried"),
)


def computed(
    every: int = 1, said: Callable[[str], None] = lambda _: None, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The committed form.

    Args:
        every: One of so many mutants only.
        said: Told how far it is.
        known: What was computed before: models that have not changed since are taken from there.
    """
    before = known if known is not None and known["every"] == every else {"models": {}, "mutants": []}
    models = {subject.name: subject.hash for subject in subjects()}
    anew = tried([name for name, found in models.items() if before["models"].get(name) != found], every, said)
    rows = {
        name: anew[name] if name in anew else [row for row in before["mutants"] if row["model"] == name]
        for name in models
    }
    return {
        "format": FORMAT_VERSION,
        "every": every,
        "models": models,
        "mutants": [r for name in models for r in rows[name]],
    }


def scores_text(data: Mapping[str, Any]) -> str:
    """As it is committed: one mutant a line, with its model, its fate and the properties by their numbers."""
    models, properties = list(data["models"]), sorted({name for row in data["mutants"] for name in row["by"]})
    number = {name: index for index, name in enumerate(properties)}
    rows = [
        [models.index(row["model"]), row["id"], row["fate"], [number[name] for name in row["by"]]]
        for row in data["mutants"]
    ]
    head = {"format": FILE_FORMAT, "every": data["every"], "models": data["models"], "properties": properties}
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return f'{json.dumps(head, indent=1)[:-2]},\n "mutants": [\n{lines}\n ]\n}}\n'


def read_scores(text: str) -> dict[str, Any]:
    """Committed scores: for each mutant its model, id, machine, operator, fate, and the properties that notice it.

    Raises:
        ValueError: it is no JSON, or of another format.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != FILE_FORMAT:
        raise ValueError("it has another format")
    models, properties = list(data["models"]), data["properties"]
    return {
        "format": FORMAT_VERSION,
        "every": data["every"],
        "models": data["models"],
        "mutants": [
            {
                "model": models[model],
                "id": name,
                "machine": name.split("/")[0],
                "operator": name.split("/")[2],
                "fate": fate,
                "by": [properties[number] for number in by],
            }
            for model, name, fate, by in data["mutants"]
        ],
    }


def committed() -> dict[str, Any] | None:
    """What is committed; None if nothing is, or nothing that can be read."""
    try:
        return read_scores(COMMITTED.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def problems(text: str) -> list[str]:
    """Why committed scores are not what they should be; nothing if they are."""
    try:
        data = read_scores(text)
    except ValueError as problem:
        return [f"scores.json can't be read: {problem}: groupspec verify --scores"]
    expected = {subject.name: subject.hash for subject in subjects()}
    return [
        f"{name}: its tables, mutants or properties have changed since its scores were computed: groupspec "
        "verify --scores"
        for name in dict.fromkeys((*expected, *data["models"]))
        if expected.get(name) != data["models"].get(name)
    ]


def share_killed(rows: Iterable[Mapping[str, Any]]) -> float:
    """Of the mutants that are tried and somebody can tell from the specification: the share that a property kills.

    None: 1.
    """
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
    rows, models = data["mutants"], list(data["models"])
    said = {
        "mutants": f"{len(rows)} mutants" + ("" if data["every"] == 1 else f", a sample: one of {data['every']}"),
        "killed": f"{share_killed(rows):.1%}",
        "models": ", ".join(models),
    }
    lines = [
        "# Which property notices which slip",
        "",
        *(line for each in _ABOUT for line in (fill(each.format(**said), 120), "")),
        *_table("machine", MACHINES, rows),
        "",
        *_table("model", models, rows),
        "",
        *_table("operator", OPERATORS, rows),
        "",
        *(f"- *{name}*: {meaning}." for name, meaning in OPERATORS.items()),
        "",
        "## Properties",
        "",
        *_properties(models, rows),
    ]
    for fate, heading in _LISTED:
        lines += ["", f"## {heading}", ""]
        lines += [f"- {row['model']}: `{row['id']}`" for row in rows if row["fate"] == fate] or ["None."]
    return "\n".join(lines) + "\n"


def _properties(models: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Every property that was tried, with what it notices; those that notice nothing are there too."""
    claims = [claim for name in models for claim in composition.models()[name].properties]
    noticed = Counter({claim.id: 0 for claim in claims if claim.kind != "leads_to"})
    noticed.update(name for row in rows for name in row["by"])
    alone = Counter(row["by"][0] for row in rows if len(row["by"]) == 1)
    yield "| property | mutants that it notices | that only it notices | why none |"
    yield "|---|---:|---:|---|"
    for name, count in sorted(noticed.items(), key=lambda each: (-each[1], each[0])):
        yield f"| {name} | {count} | {alone[name]} | {'' if count else NOTICES_NOTHING.get(name, NO_SUCH)} |"
    lively = dict.fromkeys(claim.id for claim in claims if claim.kind == "leads_to")
    if lively:
        yield ""
        yield f"Not tried, being liveness: {', '.join(lively)}."


def _table(column: str, values: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield f"| {column} | mutants | {' | '.join(FATES)} | equivalent of those not idle |"
    yield "|---" + "|---:" * (len(FATES) + 2) + "|"
    for value in values:
        own = [row for row in rows if row[column] == value]
        fates = Counter(row["fate"] for row in own)
        counts = " | ".join(str(fates[fate]) for fate in FATES)
        yield f"| {value} | {len(own)} | {counts} | {share_equivalent(own):.1%} |"

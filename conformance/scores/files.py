"""The committed scores: `generated/scores.json`, and the same to be read, `scores.md` (see `page.py`).

Computing them takes many minutes, so freshness is judged by hashes, one for each model in which mutants are tried: of
the tables of its machines, of the names of their mutants, and of the model, its properties included, as it is explored
and as it is compared. Only what belongs to a model that has changed is computed anew. What a hash does not see, a
change of the explorer or of what an operator does, the long tests see: they try a sample anew.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.scores.subjects import subjects
from groupspec.conformance.scores.trials import tried

FORMAT_VERSION: Final = 1
"""Of the data, as `verify --scores --json` writes them."""
FILE_FORMAT: Final = 2
"""Of the committed file, which names each property once."""
COMMITTED: Final = Path(__file__).resolve().parent.parent / "generated" / "scores.json"
MACHINES: Final = ("timeouts", "rebalance", "connection", "subscription", "commit", "broker_group")
FATES: Final = ("killed", "survived", "equivalent", "idle", "undecided", "untried")
WANTED: Final = 0.95
"""So many of those that are not equivalent must be killed."""
MAX_EQUIVALENT: Final = 0.05
"""No more may be equivalent, of those that make a difference."""


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

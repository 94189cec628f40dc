"""The committed table of all models: what each is made of, and how many states it has.

A model that loses a variable, or a variable that is frozen where it was not, changes this table, and so is seen by
whoever reads the change. Models of two members are counted whenever the table is made and their hash has changed; the
large ones take minutes (`groupspec verify --record`), and keep the count that was measured last, which says so if the
model has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from groupspec.conformance.engines.result import EngineRun
from groupspec.spec import composition
from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer.exploration import Exploration, Limits
from groupspec.spec.explorer.explore import explore

MAX_STATES = 2_000_000
MAX_SECONDS = 120.0


@dataclass(frozen=True)
class Count:
    """One model: its hash, its variables, and what the explorer counted when the model had the hash `counted`.

    `complete` is False where the explorer stopped at a limit; the numbers are then what it had visited.
    """

    model: str
    hash: str
    members: int
    features: tuple[str, ...]
    variables: tuple[str, ...]
    actions: int
    counted: str = ""
    states: int = 0
    edges: int = 0
    depth: int = 0
    complete: bool = False
    folded: bool = False


def is_large(model: Model) -> bool:
    """Whether counting it takes too long for every change: it is counted by `groupspec verify --record`."""
    return model.scope.family == "base" and (model.sizes["members"] > 2 or "log" in model.scope.features)


def recorded(file: Path) -> dict[str, Count]:
    """What the committed table says, by model; nothing if there is none yet."""
    try:
        entries: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["models"]
    except (OSError, ValueError, KeyError):
        return {}
    return {
        e["model"]: Count(**{**e, "features": tuple(e["features"]), "variables": tuple(e["variables"])})
        for e in entries
    }


def counts(known: Mapping[str, Count]) -> list[Count]:
    """Every model of the catalogue: counted if it is small and has changed, else as it was counted last."""
    return [_count(make(), known.get(name)) for name, make in composition.models().items()]


def as_counted(model: Model, found: Exploration | EngineRun, folded: bool = False) -> Count:
    """What an exploration of the model says."""
    complete = (found.verdict if isinstance(found, Exploration) else found.outcome) == "complete"
    numbers = (found.states, found.edges or 0, found.depth or 0, complete, folded)
    return Count(*_described(model), model.hash, *numbers)


def _described(model: Model) -> tuple[str, str, int, tuple[str, ...], tuple[str, ...], int]:
    """The first fields of a count."""
    variables = tuple(variable.name for variable in model.variables)
    features = tuple(sorted(model.scope.features))
    return model.name, model.hash, model.sizes["members"], features, variables, len(model.actions)


def _count(model: Model, last: Count | None) -> Count:
    if not is_large(model) and (last is None or last.counted != model.hash):
        return as_counted(model, explore(model, limits=Limits(max_states=MAX_STATES, max_seconds=MAX_SECONDS)))
    if last is None:
        return Count(*_described(model))
    return Count(*_described(model), last.counted, last.states, last.edges, last.depth, last.complete, last.folded)


def record(file: Path, model: Model, run: EngineRun, folded: bool) -> None:
    """Puts what the explorer counted into the committed table, and onto the page beside it."""
    entries = list((recorded(file) | {model.name: as_counted(model, run, folded)}).values())
    file.write_text(text(entries), encoding="utf-8")
    file.with_suffix(".md").write_text(page(entries), encoding="utf-8")


def text(entries: list[Count]) -> str:
    """The table as JSON."""
    return json.dumps({"version": 1, "models": [asdict(entry) for entry in entries]}, indent=1) + "\n"


def is_current(content: str) -> bool:
    """Whether the table names the models that there are, each with the hash it has now."""
    try:
        said = {entry["model"]: entry["hash"] for entry in json.loads(content)["models"]}
    except (ValueError, KeyError):
        return False
    return said == {name: make().hash for name, make in composition.models().items()}


def page(entries: list[Count]) -> str:
    """The table for readers, in Markdown."""
    lines = [
        "# Models, and how many states they have",
        "",
        "Made by `groupspec generate`. *base* is described in `spec/composition/base.py`; a feature adds "
        "what its line says.",
        "",
        "| feature | variables | what it adds |",
        "|---|---|---|",
        *(f"| {name} | {variables} | {meaning} |" for name, (variables, meaning) in composition.features().items()),
        "",
        "| model | variables | actions | states | edges | depth | |",
        "|---|---|---|---|---|---|---|",
        *map(_line, entries),
        "",
        LEFT_OUT,
    ]
    return "\n".join(lines)


def _line(entry: Count) -> str:
    if not entry.counted:
        return f"| {entry.model} | {len(entry.variables)} | {entry.actions} | | | | not counted yet |"
    remarks = [] if entry.complete else ["stopped at a limit: there are more"]
    if entry.folded:
        remarks.append("members folded")
    if entry.counted != entry.hash:
        remarks.append("counted before the model changed last")
    numbers = f"{entry.states:,} | {entry.edges:,} | {entry.depth}"
    return f"| {entry.model} | {len(entry.variables)} | {entry.actions} | {numbers} | {'; '.join(remarks)} |"


LEFT_OUT = """\
Left out: two features at once, save those above (each pair multiplies the states, and no feature changes what another
reads); features with three members; published with features; commits and the lookup of the coordinator among several
members (explored for one member in any environment: open-member-*, open-commit, commits-2).
"""

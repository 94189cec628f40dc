"""The words of models and of their scores: variables, families of models, operators, and mutants of rows.

Making every model takes seconds, so the names of variables are read from the committed table of models, and one model
of a family is made when one of its variables is explained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, sections, themselves
from groupspec.conformance.explain.machines import rows_where
from groupspec.conformance.scores.files import COMMITTED, committed
from groupspec.conformance.scores.mutants import OPERATORS
from groupspec.spec import vocabulary
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.composition import models

_TABLE: Final = COMMITTED.with_name("models.json")
SHOWN: Final = 8
"""Values of a variable; all stand on the model's page of the book."""


@cache
def _with_variable() -> Mapping[str, tuple[str, ...]]:
    """Variable to the models that have it; without those of the tables, which are explained as such."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in json.loads(_TABLE.read_text(encoding="utf-8"))["models"] if _TABLE.is_file() else ():
        for name in entry["variables"]:
            if name not in vocabulary.VARIABLES and name not in whole_tables() and entry["model"] in models():
                found[name] = (*found.get(name, ()), entry["model"])
    return found


@cache
def _made(name: str) -> Model:
    return models()[name]()


def _variable(name: str) -> Explanation:
    """What it means, in one model of each family that has it."""
    with_it = _with_variable()[name]
    of_family = {models()[model].scope.family: model for model in reversed(with_it)}
    told: dict[str, list[str]] = {}
    values = []
    for family, model in of_family.items():
        for each in (variable for variable in _made(model).variables if variable.name == name):
            told.setdefault(each.doc, []).append(family)
            index = f", of each of the {' and '.join(each.over)}" if each.over else ""
            more = f", ... ({len(each.domain)} in all)" if each.domain[SHOWN:] else ""
            shown = ", ".join(map(str, each.domain[:SHOWN]))
            values.append(f"{model}: {shown}{more}; first {each.initial}{index}")
    means = "; ".join(f"{doc} ({', '.join(families)})" for doc, families in told.items())
    place = f"{address('model', next(iter(of_family.values())))}#variables"
    listed = sections({"values": values, f"in {len(with_it)} models" if with_it[1:] else "in the model": with_it})
    return Explanation("variable of models", name, means, place, sections=listed)


@cache
def _families() -> Mapping[str, tuple[str, ...]]:
    """What the names of several models begin with, to those models: `open`, `base-eager`."""
    found: dict[str, tuple[str, ...]] = {}
    for name in models():
        parts = name.split("-")
        for length in range(1, len(parts)):
            prefix = "-".join(parts[:length])
            found[prefix] = (*found.get(prefix, ()), name)
    return {prefix: names for prefix, names in found.items() if names[1:]}


def _family_names() -> dict[str, str]:
    return {name: prefix for prefix in _families() for name in (f"{prefix}-*", prefix)}


def _family(name: str) -> Explanation:
    named = _families()[name]
    about = dict.fromkeys(" ".join(models()[model].doc.split()).partition(". ")[0].rstrip(".") for model in named)
    told = {f"{len(named)} models": named, "explore them": f"groupspec verify --model '{name}-*'"}
    return Explanation("family of models", f"{name}-*", f"{'. '.join(about)}.", sections=sections(told))


def _operator(name: str) -> Explanation:
    rows = [row for row in _scored() if row["operator"] == name]
    fates = {fate: sum(row["fate"] == fate for row in rows) for fate in dict.fromkeys(row["fate"] for row in rows)}
    told = {
        "mutants by it": ", ".join(f"{count} {fate}" for fate, count in fates.items()),
        "all of them": "conformance/generated/scores.md",
    }
    says = f"how a row is changed by `groupspec verify --scores`: {OPERATORS[name]}"
    return Explanation("operator of mutants", name, says, sections=sections(told))


@cache
def _scored() -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = (committed() or {"mutants": []})["mutants"]
    return rows


def changed_row(name: str) -> list[Explanation]:
    """A mutant of a row or an effect as `scores.md` has it: `machine/row/operator/what`; nothing if it has none."""
    if not (tried := [row for row in _scored() if row["id"] == name]):
        return []
    machine, changed, operator, what = name.split("/", 3)
    fates = [
        f"{row['model']}: {row['fate']}{' by ' if row['by'] else ''}{', '.join(row['by'])}" for row in tried
    ]  # fmt: skip
    rows = rows_where(lambda table, row: table.name == machine and (row.id == changed or changed in row.effects))
    says = f"{machine}, {changed}: {OPERATORS[operator]} ({what})"
    return [Explanation("mutant of a row", name, says, rows=rows, sections=sections({"in": fates}))]


KINDS = (
    Kind("family of models", _family_names, _family),
    Kind("operator of mutants", lambda: themselves(OPERATORS), _operator),
    Kind("variable of models", lambda: themselves(_with_variable()), _variable),
)

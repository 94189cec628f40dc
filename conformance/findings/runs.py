"""The runs that are shown: explored, kept as committed files, and drawn from those.

A run's file holds what a page needs: the actions, the steps in words, the picture's entries, and from which model it
comes. It is current as long as model and property have the hash that it was made from, the deployed tables too, and
nobody has changed it; so `generate --check` makes the models and explores nothing. Pictures are drawn from it, and it
has the vectors' hash.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.findings.vectors import SUBJECT, vector_text
from groupspec.conformance.vectors.making import spec_hash
from groupspec.diagrams.sequence import Entry
from groupspec.diagrams.trace import RunPicture, run_picture, run_svg, step_texts
from groupspec.spec.compiler.model import Model
from groupspec.spec.composition import expected_violations, models
from groupspec.spec.datafile import Record
from groupspec.spec.explorer import Exploration, Trace, explore

VERSION: Final = 1
"""Of the files. Another way to draw or to tell a run is another version."""


class ModelRun(Record, frozen=True):
    """A shortest run of a model: to the violation of a property, or to what a reachable one wants."""

    model: str
    property_id: str

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.model}.{self.property_id}"

    @property
    def is_violation(self) -> bool:
        """Whether the property fails in it."""
        return self.property_id in expected_violations(self.model)


REACHED: Final = (ModelRun("base-cooperative-deployed-2", "reaches-zombie"),)
"""Runs to what is no violation, and worth a page all the same."""


def runs() -> tuple[ModelRun, ...]:
    """Every violation that is expected, and `REACHED`."""
    violated = (ModelRun(name, each) for name in models() for each in sorted(expected_violations(name)))
    return (*violated, *REACHED)


@cache
def model_of(name: str) -> Model:
    """The model with this name, made once."""
    return models()[name]()


@cache
def explored(name: str) -> Exploration:
    """Every state of the model with this name, in a few seconds."""
    return explore(model_of(name))


def trace_of(run: ModelRun) -> Trace:
    """The shortest such run.

    Raises:
        UsageProblem: there is none: the property holds, or is not met.
    """
    found = explored(run.model)
    trace = {**found.violations, **found.reached}.get(run.property_id)
    if trace is None:
        raise UsageProblem(
            f"{run.model} has no run to {run.property_id}: it is expected, and does not happen any more",
            "spec/composition/__init__.py, _EXPECTED" if run.is_violation else "conformance/findings/runs.py, REACHED",
            sorted({*found.violations, *found.reached}),
            "take it off that list, and its finding off conformance/findings/findings.toml",
        )
    return trace


def run_text(run: ModelRun) -> str:
    """The committed file of a run, as JSON."""
    trace = trace_of(run)
    found = explored(run.model)
    stated = next(p for p in trace.model.properties if p.id == run.property_id)
    ends = f"breaks {run.property_id}" if run.is_violation else stated.statement
    picture = run_picture(trace, f"{run.model}: {run.property_id}", ends, run.is_violation)
    data = {
        **_made_from(run),
        "statement": stated.statement,
        "states": found.states,
        "dead_ends": found.dead_ends,
        "actions": [[step.action, dict(step.arguments)] for step in trace.steps],
        "steps": step_texts(picture),
        "picture": asdict(picture),
        "vectors": _digest(vector_text(trace)),
    }
    return json.dumps({**data, "digest": _digest(json.dumps(data))}, indent=1, ensure_ascii=False) + "\n"


def run_is_current(run: ModelRun, text: str) -> bool:
    """Whether a run's file was made from this model and these tables, and not changed since. Explores nothing."""
    try:
        data = json.loads(text)
        digest = data.pop("digest")
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    made_from = _made_from(run)
    return bool(digest == _digest(json.dumps(data)) and {name: data.get(name) for name in made_from} == made_from)


def run_vectors(run: ModelRun) -> str:
    """The run as a vector file, member 1's view."""
    return vector_text(trace_of(run))


def vectors_are_current(run: ModelRun, text: str) -> bool:
    """Whether they are those of the committed run."""
    return run_file(run).is_file() and committed(run).get("vectors") == _digest(text)


def run_file(run: ModelRun) -> Path:
    """Where a run is committed."""
    return Path(__file__).resolve().parents[1] / "generated" / "findings" / f"{run.name}.json"


def committed(run: ModelRun) -> dict[str, Any]:
    """What is committed of a run.

    Raises:
        UsageProblem: nothing that can be read.
    """
    try:
        data: dict[str, Any] = json.loads(run_file(run).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise UsageProblem(
            f"cannot read a run that exploration found: {problem}",
            str(run_file(run)),
            "the file that `groupspec generate` writes",
            "write it anew: groupspec generate",
        ) from problem
    return data


def committed_picture(run: ModelRun) -> RunPicture:
    """The picture of a committed run."""
    told = committed(run)["picture"]
    return RunPicture(told["title"], tuple(told["lanes"]), tuple(Entry(**entry) for entry in told["entries"]))


def run_svg_text(run: ModelRun) -> str:
    """The picture, drawn from the committed run."""
    return run_svg(committed_picture(run)) if run_file(run).is_file() else ""


def _made_from(run: ModelRun) -> dict[str, object]:
    rebalance = next(word for word in run.model.split("-") if word in ("eager", "cooperative"))
    return {
        "version": VERSION,
        "model": run.model,
        "property": run.property_id,
        "sha256": _hash(run),
        "deployed": spec_hash(SUBJECT, rebalance),
    }


def _hash(run: ModelRun) -> str:
    """Of the model with this one property: what else is claimed of it does not change the run."""
    model = model_of(run.model)
    return replace(model, properties=tuple(p for p in model.properties if p.id == run.property_id)).hash


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

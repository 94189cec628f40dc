"""The explorer of this project, as one engine among three."""

from __future__ import annotations

import re
from collections.abc import Callable

from groupspec.conformance.engines.result import Answer, EngineRun, model_problem
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model, ModelProperty
from groupspec.spec.compiler.model_check import ModelError
from groupspec.spec.explorer import Exploration, ExplorerProblem, Limits, Progress, explore
from groupspec.spec.explorer.liveness import Graph, Stays

ENGINE = "explorer"
_LIMIT = re.compile(r"\bmax_(states|seconds|memory) = ([\d.,]+)")
"""What `Exploration.reason` says of a limit: here it is told as the option of `groupspec verify`."""
MAX_LIVELY_STATES = 500_000
"""Liveness needs the whole graph in memory, and a look at each step of it."""


def run_explorer(
    model: Model,
    limits: Limits,
    fold: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[EngineRun, Exploration]:
    """Every state of a model, and all properties; with what the explorer itself gives.

    Raises:
        UsageProblem: it cannot be done as asked: a model that is none.
    """
    try:
        found = explore(model, limits=limits, fold=fold, progress=progress)
    except ExplorerProblem as problem:
        raise UsageProblem(problem.what, problem.where, problem.allowed, problem.next_step) from problem
    except ModelError as problem:
        raise model_problem(problem) from problem
    told = {claim: tuple(map(str, trace.steps)) for claim, trace in {**found.violations, **found.reached}.items()}
    without = _without_liveness(found, fold)
    stays = None if without else _stays(model)
    told |= {
        claim: (f"for ever: {', '.join(way.actions) or 'nothing happens'}",) for claim, way in (stays or {}).items()
    }
    return EngineRun(
        ENGINE,
        "native",
        model.name,
        found.verdict,
        found.states,
        found.edges,
        found.depth,
        found.seconds,
        {claim.id: _answer(claim, found, stays) for claim in model.properties},
        told,
        _LIMIT.sub(lambda limit: f"--max-{limit[1]} {limit[2].replace(',', '')}", found.reason),
        found.never_fired,
        left_out={"leads_to": without},
    ), found


def _without_liveness(found: Exploration, fold: bool) -> str:
    """Why liveness is not checked; empty if it is."""
    if fold:
        return "--fold leaves liveness out"
    if found.verdict != "complete":
        return "liveness needs every state"
    if found.states > MAX_LIVELY_STATES:
        return f"liveness is checked of at most {MAX_LIVELY_STATES:,} states"
    return ""


def _stays(model: Model) -> dict[str, Stays]:
    """The liveness properties that fail."""
    return Graph(model).broken() if any(claim.kind == "leads_to" for claim in model.properties) else {}


def _answer(claim: ModelProperty, found: Exploration, stays: dict[str, Stays] | None) -> Answer:
    if claim.kind == "leads_to":
        if stays is None:
            return "not decided"
        return "violated" if claim.id in stays else "holds"
    if claim.id in found.violations or claim.id in found.missing:
        return "violated"
    return "not decided" if claim.id in found.unchecked else "holds"

"""The explorer of this project, as one engine among three."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from groupspec.conformance.engines.result import Answer, EngineLimits, EngineRun
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model, ModelProperty
from groupspec.spec.compiler.model_check import ModelError
from groupspec.spec.explorer import Exploration, ExplorerProblem, Limits, Progress, explore

ENGINE = "python"


def run_explorer(
    model: Model,
    limits: EngineLimits,
    fold: bool = False,
    checkpoint: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[EngineRun, Exploration]:
    """Every state of a model, and all properties but liveness; with what the explorer itself gives.

    Raises:
        UsageProblem: it cannot be done as asked: a model that is none, a checkpoint of another one.
    """
    allowed = Limits(limits.max_states, limits.max_seconds, limits.max_memory)
    try:
        found = explore(model, limits=allowed, fold=fold, checkpoint=checkpoint, progress=progress)
    except ExplorerProblem as problem:
        raise UsageProblem(problem.what, problem.where, problem.allowed, problem.next_step) from problem
    except ModelError as problem:
        raise UsageProblem(str(problem), model.name, next_step="correct the model") from problem
    told = {**found.violations, **found.reached}
    return EngineRun(
        ENGINE,
        found.engine if found.engine != ENGINE else "",
        model.name,
        found.verdict,
        found.states,
        found.edges,
        found.depth,
        found.seconds,
        {claim.id: _answer(claim, found) for claim in model.properties},
        {claim: tuple(map(str, trace.steps)) for claim, trace in told.items()},
        found.reason,
        found.never_fired,
    ), found


def _answer(claim: ModelProperty, found: Exploration) -> Answer:
    if claim.kind == "leads_to":
        return "not expressed"
    if claim.id in found.violations or claim.id in found.missing:
        return "violated"
    return "not decided" if claim.id in found.unchecked else "holds"

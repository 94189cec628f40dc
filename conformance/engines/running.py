"""One engine, by its name; an engine that is not there is a result too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from groupspec.conformance.engines import explorer, spin, tlc
from groupspec.conformance.engines.result import EngineRun, model_problem
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.model_check import ModelError
from groupspec.spec.explorer import Limits

_GO_ON = "that says nothing about the model: try another build of this engine, or do without it: --engine explorer"

ENGINES = (explorer.ENGINE, tlc.ENGINE, spin.ENGINE)


def run_engine(
    engine: str,
    model: Model,
    limits: Limits | None = None,
    liveness: bool = True,
    now: Callable[[str], None] | None = None,
) -> EngineRun:
    """One engine of `ENGINES` on one model.

    Args:
        engine: Its name.
        model: What is explored.
        limits: Of each run of the engine; ten minutes when None.
        liveness: With leads-to properties, if the engine can check them.
        now: Is told how far TLC is; it takes longest.

    Raises:
        UsageProblem: the model is none.
    """
    limits = limits or Limits(max_seconds=600)
    if engine == explorer.ENGINE:
        return explorer.run_explorer(model, limits)[0]
    try:
        run = (
            tlc.run_tlc(model, limits, liveness=liveness, now=now)
            if engine == tlc.ENGINE
            else spin.run_spin(model, limits)
        )
        return replace(run, problem=f"{run.problem}; {_GO_ON}") if run.outcome == "failed" else run
    except ModelError as problem:
        raise model_problem(problem) from problem
    except UsageProblem as problem:
        return EngineRun(engine, "", model.name, "absent", problem=absence(problem))


def absence(problem: UsageProblem) -> str:
    """Why an engine is not there, in one line."""
    needed = f"needed: {problem.allowed}" if problem.allowed else ""
    parts = (problem.what, problem.where, needed, problem.next_step)
    return "; ".join(part for part in parts if part)

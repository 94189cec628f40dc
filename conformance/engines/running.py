"""One engine, by its name; an engine that is not there is a result too."""

from __future__ import annotations

from collections.abc import Callable

from groupspec.conformance.engines import explorer, spin, tlc
from groupspec.conformance.engines.result import EngineLimits, EngineRun
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model

ENGINES = (explorer.ENGINE, tlc.ENGINE, spin.ENGINE)


def run_engine(
    engine: str,
    model: Model,
    limits: EngineLimits | None = None,
    liveness: bool = True,
    now: Callable[[str], None] | None = None,
) -> EngineRun:
    """One engine of `ENGINES` on one model.

    Args:
        engine: Its name.
        model: What is explored.
        limits: Of each run of the engine.
        liveness: With leads-to properties, if the engine can check them.
        now: Is told how far TLC is; it takes longest.
    """
    limits = limits or EngineLimits()
    if engine == explorer.ENGINE:
        return explorer.run_explorer(model, limits)[0]
    try:
        if engine == tlc.ENGINE:
            return tlc.run_tlc(model, limits, liveness=liveness, now=now)
        return spin.run_spin(model, limits)
    except UsageProblem as problem:
        return EngineRun(engine, "", model.name, "absent", problem=absence(problem))


def absence(problem: UsageProblem) -> str:
    """Why an engine is not there, in one line."""
    parts = (problem.what, problem.where, problem.next_step)
    return "; ".join(part for part in parts if part)

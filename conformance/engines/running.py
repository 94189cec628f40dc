"""One engine, by its name; an engine that is not there is a result too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groupspec.conformance.engines import explorer, spin, tlc
from groupspec.conformance.engines.result import EngineLimits, EngineRun
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model

ENGINES = (explorer.ENGINE, tlc.ENGINE, spin.ENGINE)

_OTHERS: Mapping[str, tuple[Callable[[], object], Callable[[Model, EngineLimits], EngineRun]]] = {
    tlc.ENGINE: (tlc.find_tlc, tlc.run_tlc),
    spin.ENGINE: (spin.find_spin, spin.run_spin),
}


def run_engine(engine: str, model: Model, limits: EngineLimits | None = None) -> EngineRun:
    """One engine of `ENGINES` on one model; with what the engine is by default."""
    limits = limits or EngineLimits()
    if engine == explorer.ENGINE:
        return explorer.run_explorer(model, limits)[0]
    _, run = _OTHERS[engine]
    try:
        return run(model, limits)
    except UsageProblem as problem:
        return EngineRun(engine, "", model.name, "absent", problem=absence(problem))


def absence(problem: UsageProblem) -> str:
    """Why an engine is not there, in one line."""
    parts = (problem.what, problem.where, problem.next_step)
    return "; ".join(part for part in parts if part)

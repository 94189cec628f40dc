"""The explorer against TLC and against SPIN: the same model, in the same run, all on one and the same core.

What is counted is the search. Translating and compiling is left out (the explorer's C and SPIN's take a second or two
each), and so is liveness. TLC's start cannot be told apart: two seconds, and some more until the JVM has compiled what
is used most. The model, two cooperative members with everything that may happen to them, takes TLC half a minute, so
that this matters little; it is the largest that is not a burden. The explorer keeps shortest ways, which SPIN does not.
On more cores the explorer uses up to four, and TLC one: it is asked which properties are violated, and for that needs a
single worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from groupspec.conformance.benchmarks.figures import Figure
from groupspec.conformance.engines import ENGINES, EngineRun, run_engine
from groupspec.conformance.errors import InternalProblem
from groupspec.spec import composition
from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer import Limits

MODEL: Final = "base-cooperative-deployed-2"
RUNS: Final = 3
GOAL: Final = 8.0


def measure(now: Callable[[str], None]) -> list[Figure]:
    """Distinct states a second of the three, in turn."""
    model = composition.models()[MODEL]()
    found: dict[str, list[EngineRun]] = {engine: [] for engine in ENGINES}
    for number in range(RUNS):
        for engine, runs in found.items():
            now(f"explorer: {engine}, run {number + 1} of {RUNS}")
            runs.append(_one(engine, model))
    missing = [engine for engine, runs in found.items() if runs[0].outcome == "absent"]
    counts = {run.states for runs in found.values() for run in runs if run.outcome == "complete"}
    if len(counts) != 1:
        raise InternalProblem(f"the engines found different numbers of states in {MODEL}: {sorted(counts)}")
    ours = _rates(found["explorer"])
    about = f"{MODEL}: {counts.pop():,} states, {found['explorer'][0].edges:,} edges"
    figures = []
    for engine, version in (("tlc", "TLC"), ("spin", "SPIN")):
        if engine in missing:
            note = f"{version} is not on this machine: {found[engine][0].problem}"
            figures.append(Figure("explorer", "states/s", ours, note=note))
            continue
        theirs = _rates(found[engine])
        against = f"{version} {found[engine][0].version}, one core"
        goal = GOAL if engine == "tlc" else ""
        figures.append(Figure("explorer", "states/s", ours, against, theirs, goal, note=about))
    return figures


@contextmanager
def _on_one_core() -> Iterator[None]:
    """This process, and what it starts, has a single core meanwhile, where the system lets it choose."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _one(engine: str, model: Model) -> EngineRun:
    safety = replace(model, properties=tuple(claim for claim in model.properties if claim.kind != "leads_to"))
    with _on_one_core():
        run = run_engine(engine, safety, Limits(max_seconds=300))
    if run.outcome in ("failed", "inconclusive"):
        raise InternalProblem(f"{engine} did not explore {MODEL}: {run.problem}")
    return run


def _rates(runs: list[EngineRun]) -> list[float]:
    return [run.states_per_second for run in runs]

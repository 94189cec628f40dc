"""TLC, the model checker of TLA+, on one model: run, and understood."""

from __future__ import annotations

import re
from dataclasses import replace

from groupspec.conformance.engines.process import Ended
from groupspec.conformance.engines.result import EngineLimits, EngineRun, watched
from groupspec.conformance.engines.tlc_liveness import check_liveness
from groupspec.conformance.engines.tlc_program import (
    Now,
    Tlc,
    completed,
    errors,
    find_tlc,
    out_of_memory,
    start_tlc,
)
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tla import tla, tla_config
from groupspec.spec.compiler.tla_text import module_name

ENGINE = "tlc"

_END = re.compile(r"^([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue", re.M)
_PROGRESS = re.compile(r"^Progress\(\d+\).*?: ([\d,]+) states generated.*?, ([\d,]+) distinct states found", re.M)
_DEPTH = re.compile(r"depth of the complete state graph search is (\d+)")
_WATCHED = re.compile(r'^<<"(violated|reached)", "([^"]+)">>', re.M)


def run_tlc(
    model: Model,
    limits: EngineLimits,
    tlc: Tlc | None = None,
    liveness: bool = True,
    now: Now | None = None,
) -> EngineRun:
    """Every state of a model, its invariants and what must be reachable; then, if asked for, its leads-to properties.

    Args:
        model: What is checked.
        limits: For each of the two runs.
        tlc: Which TLC; else it is found.
        liveness: Whether the second run is made.
        now: Is told of its progress.

    Raises:
        UsageProblem: TLC is not there.
    """
    tlc = tlc or find_tlc()
    module = module_name(model)
    texts = {f"{module}.tla": tla(model), f"{module}.cfg": tla_config(model, watch=True)}
    # One worker: the registers of Watch belong to it.
    run = _understand(model, tlc, start_tlc(tlc, texts, module, ("-workers", "1"), limits, now))
    if run.outcome != "complete" or not liveness or all(claim.kind != "leads_to" for claim in model.properties):
        return run
    return check_liveness(model, tlc, limits, run, now)


def _understand(model: Model, tlc: Tlc, ended: Ended) -> EngineRun:
    run = EngineRun(ENGINE, tlc.version, model.name, "failed", seconds=ended.seconds)
    seen = set(_WATCHED.findall(ended.output))
    progress = _PROGRESS.findall(ended.output)
    if progress:
        run = replace(run, edges=_number(progress[-1][0]), states=_number(progress[-1][1]))
    end = _END.search(ended.output)
    complete = completed(ended) and end is not None
    answers = {claim.id: watched(claim, seen, complete) for claim in model.properties}
    run = replace(run, properties=answers)
    if ended.code is None:
        said = f"its time was up after {ended.seconds:.0f} s; {run.states:,} states were found"
        return replace(run, outcome="inconclusive", problem=f"{said}: allow more with --max-seconds")
    if out_of_memory(ended):
        said = f"out of memory; {run.states:,} states were found: allow more with --max-memory"
        return replace(run, outcome="inconclusive", problem=said)
    if not complete or end is None:
        return replace(run, problem=f"TLC failed (exit code {ended.code}): {errors(ended)}")
    depth = _DEPTH.search(ended.output)
    return replace(
        run,
        outcome="complete",
        states=_number(end[2]),
        edges=_number(end[1]) - 1,
        depth=int(depth[1]) - 1 if depth else None,
    )


def _number(text: str) -> int:
    return int(text.replace(",", ""))

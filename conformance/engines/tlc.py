"""TLC, the model checker of TLA+, on one model: run, and understood.

Leads-to properties, under the fairness that the model states, need a second run: `spec/compiler/tla_liveness.py` tells
how fairness is said to TLC. There no registers are needed, so TLC may have a worker for each core; and it looks for
circles once, in the whole graph, not again and again while the graph grows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from groupspec.conformance.engines.process import Ended
from groupspec.conformance.engines.result import RECOVERABILITY, Answer, EngineRun, at_a_limit, watched
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
from groupspec.spec.compiler.tla_liveness import tla_liveness, tla_liveness_config
from groupspec.spec.compiler.tla_text import live_module_name, module_name, operator_names
from groupspec.spec.explorer import Limits

ENGINE = "tlc"
WITH_SAFETY = {"leads_to": "--safety leaves liveness out"}

_END = re.compile(r"^([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue", re.M)
_PROGRESS = re.compile(r"^Progress\(\d+\).*?: ([\d,]+) states generated.*?, ([\d,]+) distinct states found", re.M)
_DEPTH = re.compile(r"depth of the complete state graph search is (\d+)")
_STEP = re.compile(r"^State (\d+): <?(\w+)|^Back to state (\d+)(?:: <?(\w+))?", re.M)
_WATCHED = re.compile(r'^<<"(violated|reached)", "([^"]+)">>', re.M)


def run_tlc(
    model: Model,
    limits: Limits,
    tlc: Tlc | None = None,
    liveness: bool = True,
    now: Now | None = None,
) -> EngineRun:
    """Every state of a model, its invariants and what must be reachable; then, if asked for, its leads-to properties.

    `limits` are for each of the two runs; `liveness`: whether the second one is made; `now` is told of progress.

    Raises:
        UsageProblem: TLC is not there.
    """
    tlc = tlc or find_tlc()
    module = module_name(model)
    texts = {f"{module}.tla": tla(model), f"{module}.cfg": tla_config(model, watch=True)}
    # One worker: the registers of Watch belong to it.
    run = _understand(model, tlc, start_tlc(tlc, texts, module, ("-workers", "1"), limits, now))
    run = replace(run, left_out=RECOVERABILITY if liveness else RECOVERABILITY | WITH_SAFETY)
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
    if stopped := at_a_limit(run, ended, out_of_memory(ended)):
        return stopped
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


def check_liveness(model: Model, tlc: Tlc, limits: Limits, run: EngineRun, now: Now | None = None) -> EngineRun:
    """Adds what TLC says of the leads-to properties to a run that has visited every state."""
    claims = [claim.id for claim in model.properties if claim.kind == "leads_to"]
    # All at once first, because that is what mostly suffices; TLC does not say which one is violated if one is.
    together = _check(model, tlc, claims, limits, run, now)
    if len(claims) == 1 or not together.violated - run.violated:
        return together
    run = replace(run, liveness_seconds=together.liveness_seconds)
    for claim in claims:
        run = _check(model, tlc, [claim], limits, run, now)
    return run


def _check(model: Model, tlc: Tlc, claims: Sequence[str], limits: Limits, run: EngineRun, now: Now | None) -> EngineRun:
    """Leads-to properties in one run of TLC; if one is violated, all of them are told to be."""
    module = live_module_name(model)
    texts = {
        f"{module_name(model)}.tla": tla(model),
        f"{module}.tla": tla_liveness(model),
        f"{module}.cfg": tla_liveness_config(model, claims),
    }
    ended = start_tlc(tlc, texts, module, ("-workers", str(os.cpu_count() or 1), "-lncheck", "final"), limits, now)
    run = replace(run, liveness_seconds=run.liveness_seconds + ended.seconds)
    if "Temporal properties were violated" in ended.output:
        answers: dict[str, Answer] = dict.fromkeys(claims, "violated")
        traces = dict.fromkeys(claims, _told(model, ended.output))
        return replace(run, properties={**run.properties, **answers}, traces={**run.traces, **traces})
    if completed(ended):
        answers = dict.fromkeys(claims, "holds")
        return replace(run, properties={**run.properties, **answers})
    return _not_decided(claims, ended, run)


def _not_decided(claims: Sequence[str], ended: Ended, run: EngineRun) -> EngineRun:
    named = ", ".join(claims)
    answers: dict[str, Answer] = dict.fromkeys(claims, "not decided")
    run = replace(run, properties={**run.properties, **answers})
    if ended.code is None or out_of_memory(ended):
        what = "its time was up" if ended.code is None else "out of memory"
        said = f"{named}: not decided, {what}; allow more with --max-seconds or --max-memory, or ask for --safety"
        return replace(run, outcome="inconclusive", problem=said)
    return replace(run, outcome="failed", problem=f"TLC failed on {named} (exit code {ended.code}): {errors(ended)}")


def _told(model: Model, output: str) -> tuple[str, ...]:
    """The actions of the counterexample TLC prints, and what happens at its end again and again; without `Settle`."""
    actions = {written: name for (kind, name), written in operator_names(model).items() if kind == "live"}
    steps: list[tuple[int, str]] = []
    circle: int | None = None
    for state, step, back, closing in _STEP.findall(output):
        if back:
            circle = int(back)
            steps.append((len(steps) + 2, closing))
        elif step not in ("Initial", "Stuttering"):
            steps.append((int(state), step))
    told = [(state, actions[step]) for state, step in steps if step in actions]
    before = tuple(name for state, name in told if circle is None or state <= circle)
    again = ", ".join(name for state, name in told if circle is not None and state > circle)
    return (*before, f"for ever: {again or 'nothing happens'}")

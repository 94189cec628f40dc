"""TLC on a model's leads-to properties, under the fairness that the model states.

How fairness is said to TLC is told in `spec/compiler/tla_liveness.py`. Here no registers are needed, so TLC may have a
worker for each core; and it looks for circles once, in the whole graph, not again and again while the graph grows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from groupspec.conformance.engines.process import Ended
from groupspec.conformance.engines.result import Answer, EngineLimits, EngineRun
from groupspec.conformance.engines.tlc_program import Now, Tlc, completed, errors, out_of_memory, start_tlc
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tla import tla
from groupspec.spec.compiler.tla_liveness import tla_liveness, tla_liveness_config
from groupspec.spec.compiler.tla_text import live_module_name, module_name, operator_names

_STEP = re.compile(r"^State (\d+): <?(\w+)|^Back to state (\d+)(?:: <?(\w+))?", re.M)


def check_liveness(model: Model, tlc: Tlc, limits: EngineLimits, run: EngineRun, now: Now | None = None) -> EngineRun:
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


def _check(
    model: Model, tlc: Tlc, claims: Sequence[str], limits: EngineLimits, run: EngineRun, now: Now | None
) -> EngineRun:
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

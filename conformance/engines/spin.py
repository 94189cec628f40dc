"""SPIN: found, run, and understood. It turns a model into C, which a compiler turns into a program that searches."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from groupspec.conformance.engines.process import Ended, require_version, run_bounded, said_at_start
from groupspec.conformance.engines.result import RECOVERABILITY, EngineRun, at_a_limit, watched
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.promela import promela
from groupspec.spec.explorer import Limits
from groupspec.spec.explorer.native import Compiler, compiler

ENGINE = "spin"
TRANSLATE_LIMIT_S = 120.0
COMPILE_LIMIT_S = 600.0
MINIMUM = (6, 4)
INSTALL = "install SPIN (Debian: apt install spin)"
FIRST_DEPTH = 1_000_000
"""Steps of the first search. It is depth first, and how long a path without a repetition can be is not known before."""
BYTES_A_STEP = 64
"""What SPIN sets aside for each step that a path may have."""
LEFT_OUT = RECOVERABILITY | {"leads_to": "liveness is for the explorer and TLC"}
"""SPIN is given the safety of a model: its weak fairness is of processes, and a model here is one process."""

_STORED = re.compile(r"^\s*([\d.e+]+) states, stored", re.M)
_TRANSITIONS = re.compile(r"^\s*([\d.e+]+) transitions", re.M)
_PROGRESS = re.compile(r"^Depth=\s*\d+ States=\s*([\d.e+]+)", re.M)
_WATCHED = re.compile(r"^groupspec: (violated|reached) (\S+)", re.M)


@dataclass(frozen=True)
class Spin:
    """A SPIN that can be started, and the compiler that it needs."""

    program: Path
    compiler: Compiler
    version: str


def find_spin() -> Spin:
    """Finds and starts SPIN.

    Raises:
        UsageProblem: it is missing, old, or does not start; or there is no C compiler.
    """
    program = shutil.which("spin")
    if program is None:
        raise UsageProblem("SPIN is not installed", "no `spin` on the PATH", next_step=INSTALL)
    ended = said_at_start("SPIN", [program, "-V"], program, INSTALL)
    version = re.search(r"Spin Version ([\d.]+)", ended.output)
    if not version:
        where = f"{program} -V: {ended.last_lines or 'says nothing'}"
        raise UsageProblem("this `spin` is not the model checker, or does not start", where, next_step=INSTALL)
    require_version("SPIN", version[1], MINIMUM, program, INSTALL)
    cc = compiler()
    if cc is None or cc.environment:  # SPIN calls gcc itself, too: the wheel's compiler does not help
        install = "install a C compiler (Debian: apt install gcc)"
        raise UsageProblem("SPIN needs a C compiler", "no cc, gcc or clang on the PATH", next_step=install)
    return Spin(Path(program), cc, version[1])


def run_spin(model: Model, limits: Limits, spin: Spin | None = None) -> EngineRun:
    """Every state of a model, its invariants and what must be reachable.

    Raises:
        UsageProblem: SPIN is not there.
    """
    spin = spin or find_spin()
    failed = EngineRun(ENGINE, spin.version, model.name, "failed", left_out=LEFT_OUT)
    with tempfile.TemporaryDirectory(prefix="groupspec-spin-") as name:
        folder = Path(name)
        (folder / "model.pml").write_text(promela(model), encoding="utf-8")
        flags = ["-O2", "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={max(limits.max_memory >> 20, 64)}"]
        for command, limit in (
            ([str(spin.program), "-a", "-o2", "model.pml"], TRANSLATE_LIMIT_S),
            ([*spin.compiler.command, *flags, "-o", "pan", "pan.c"], COMPILE_LIMIT_S),
        ):
            try:
                ended = run_bounded(command, folder, limit, spin.compiler.environment)
            except OSError as problem:
                return replace(failed, problem=f"{command[0]} cannot be started: {problem}")
            if ended.code is None:
                said = f"{command[0]} needed more than {limit:.0f} s"
                return replace(failed, outcome="inconclusive", problem=said)
            if ended.code != 0:
                said = (
                    f"{Path(command[0]).name} failed (exit code {ended.code}): {ended.last_lines or 'it said nothing'}"
                )
                return replace(failed, problem=said)
        return _search(model, folder, limits, failed)


def _search(model: Model, folder: Path, limits: Limits, run: EngineRun) -> EngineRun:
    depth, spent = FIRST_DEPTH, 0.0
    while True:
        left = None if limits.max_seconds is None else max(limits.max_seconds - spent, 1.0)
        # -b: give up at once if a path is longer than allowed, instead of leaving out what is behind it.
        ended = run_bounded(["./pan", "-E", "-b", f"-m{depth}", "-w20"], folder, left)
        spent += ended.seconds
        run = replace(run, seconds=ended.seconds)
        if "max search depth too small" not in ended.output and "depth limit" not in ended.output:
            return _understand(model, ended, run)
        depth *= 10
        if depth * BYTES_A_STEP > limits.max_memory:
            said = f"a path of {depth:,} steps needs more memory than is allowed: allow more with --max-memory"
            return replace(_understand(model, ended, run), outcome="inconclusive", problem=said)


def _understand(model: Model, ended: Ended, run: EngineRun) -> EngineRun:
    seen = set(_WATCHED.findall(ended.output))
    stored, transitions = _STORED.search(ended.output), _TRANSITIONS.search(ended.output)
    limited = "memory limit" in ended.output or "out of memory" in ended.output
    complete = ended.code == 0 and stored is not None and not limited
    answers = {claim.id: watched(claim, seen, complete) for claim in model.properties}
    progress = _PROGRESS.findall(ended.output)
    states = int(float(stored[1] if stored else progress[-1] if progress else 0))
    run = replace(run, properties=answers, states=states)
    if stopped := at_a_limit(run, ended, limited, "about "):
        return stopped
    if not complete:
        return replace(run, problem=f"SPIN's program failed (exit code {ended.code}): {ended.last_lines}")
    # The step into the initial state is counted as a transition; in a dead end so is the one that changes nothing.
    return replace(run, outcome="complete", edges=int(float(transitions[1])) - 1 if transitions else None)

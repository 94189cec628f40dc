"""Three engines, one number, on the toy; and what is said of an engine that is missing, old, or ends badly."""

from __future__ import annotations

import dataclasses
import os
import select
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from groupspec.conformance.engines import ENGINES, EngineLimits, EngineRun, run_engine, spin, tlc
from groupspec.conformance.engines.explorer import run_explorer
from groupspec.conformance.engines.process import run_bounded
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Model, ModelProperty
from groupspec.spec.compiler.tests.toy_model import toy_model

LIMITS = EngineLimits(max_seconds=120, max_memory=1 << 30)
WORKS = EngineLimits(max_seconds=60, max_memory=1 << 30)


def everything(model: Model) -> dict[str, EngineRun]:
    runs = {engine: run_engine(engine, model, LIMITS) for engine in ENGINES}
    assert {run.outcome for run in runs.values()} == {"complete"}, [run.problem for run in runs.values()]
    return runs


# what they agree on


def test_spin_and_the_explorer_find_the_same_states() -> None:
    model = toy_model(3)
    found, confirmed = run_explorer(model, LIMITS)[0], run_engine("spin", model, LIMITS)
    assert (confirmed.outcome, confirmed.problem) == ("complete", "")
    assert found.states == confirmed.states == 80
    assert found.edges == confirmed.edges == 216
    assert confirmed.properties == {
        "one-holder": "holds",
        "no-fault": "holds",
        "held": "holds",
        "all-idle-again": "not expressed",
        "waiting-ends": "not expressed",
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("broken", [False, True])
def test_three_engines_one_number(members: int, broken: bool) -> None:
    runs = everything(toy_model(members, broken))
    assert len({run.states for run in runs.values()}) == 1
    assert len({run.edges for run in runs.values()}) == 1
    assert runs["tlc"].depth == runs["python"].depth
    for claim in ("one-holder", "no-fault", "held"):
        assert len({run.properties[claim] for run in runs.values()}) == 1, claim
    assert ("one-holder" in runs["tlc"].violated) == (broken and members > 1)


@pytest.mark.exhaustive
def test_tlc_checks_liveness_under_the_stated_fairness() -> None:
    assert run_engine("tlc", toy_model(), LIMITS).properties["waiting-ends"] == "holds"
    fair = toy_model()
    unfair = dataclasses.replace(fair, actions=tuple(dataclasses.replace(a, fair="") for a in fair.actions))
    run = run_engine("tlc", unfair, LIMITS)
    assert run.properties["waiting-ends"] == "violated"
    assert run.traces["waiting-ends"][0] == "ask", "the counterexample is told in the model's own words"


@pytest.mark.exhaustive
def test_of_several_liveness_properties_the_violated_one_is_named() -> None:
    fair = toy_model()
    never = ModelProperty("both-hold", "leads_to", "client[1] == 'HOLDING' and client[2] == 'HOLDING'", "True")
    run = run_engine("tlc", dataclasses.replace(fair, properties=(*fair.properties, never)), LIMITS)
    assert (run.properties["waiting-ends"], run.properties["both-hold"]) == ("holds", "violated")
    assert run_engine("tlc", fair, LIMITS, liveness=False).properties["waiting-ends"] == "not expressed"


# what is missing


def test_an_engine_that_is_not_there_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = run_engine("spin", toy_model(), WORKS)
    assert run.outcome == "absent"
    assert run.problem == "SPIN is not installed; no `spin` on the PATH; install SPIN (Debian: apt install spin)"
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path / "none.jar"))
    run = run_engine("tlc", toy_model(), WORKS)
    assert run.outcome == "absent"
    assert f"there is no file {tmp_path}/none.jar; TLA2TOOLS_JAR" in run.problem
    assert "groupspec[engines]" in run.problem


def program(folder: Path, name: str, does: str) -> Path:
    """A program of that name, which does what a shell is told."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{does}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo 'Spin Version 5.1.0 -- 2008'", "SPIN 5.1.0 is too old"),
        ("echo 'spin: a Fermyon tool'", "this `spin` is not the model checker"),
        ("exit 3", "this `spin` is not the model checker, or does not start"),
    ],
)
def test_a_spin_that_is_none_is_refused(does: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "spin", does)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UsageProblem, match=said):
        spin.find_spin()


def test_spin_without_a_compiler_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to(str(shutil.which("sh")))
    program(tmp_path, "spin", "echo 'Spin Version 6.5.2'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageProblem, match="SPIN needs a C compiler"):
        spin.find_spin()


# what ends badly


@pytest.mark.parametrize(
    ("translates", "compiles", "outcome", "said"),
    [
        ("echo 'spin: model.pml:3, Error: syntax'; exit 1", "", "failed", "Error: syntax"),
        ("kill -SEGV $$", "", "failed", "exit code -11"),
        ("exit 0", "echo 'cannot find -lc'; exit 1", "failed", "cannot find -lc"),
        ("exit 0", "printf '#!/bin/sh\\necho boom; exit 9\\n' > pan; chmod +x pan", "failed", "boom"),
        (
            "exit 0",
            'printf \'#!/bin/sh\\necho "Depth= 3 States= 2e+06 Transitions= 1"; echo "pan: out of memory"; exit 1\\n\''
            " > pan; chmod +x pan",
            "inconclusive",
            "about 2,000,000 states were found: allow more with --max-memory",
        ),
    ],
)
def test_a_spin_that_ends_badly_is_no_verdict(
    translates: str, compiles: str, outcome: str, said: str, tmp_path: Path
) -> None:
    fake = spin.Spin(program(tmp_path, "spin", translates), program(tmp_path, "cc", compiles), "6.5.2")
    run = spin.run_spin(toy_model(), WORKS, fake)
    assert run.outcome == outcome
    assert said in run.problem
    assert "holds" not in run.properties.values()


@pytest.mark.parametrize(
    ("does", "outcome", "said"),
    [
        ("echo 'Error: Parse error'; exit 150", "failed", "Parse error"),
        ("kill -KILL $$", "failed", "exit code -9"),
        (
            "echo 'Progress(3) at x: 1,000 states generated (1 s/min), 600 distinct states found (1 ds/min), 9 left'\n"
            "echo 'java.lang.OutOfMemoryError: Java heap space'; exit 1",
            "inconclusive",
            "out of memory; 600 states were found: allow more with --max-memory",
        ),
    ],
)
def test_a_tlc_that_ends_badly_is_no_verdict(does: str, outcome: str, said: str, tmp_path: Path) -> None:
    fake = tlc.Tlc(program(tmp_path, "java", does), tmp_path / "tla2tools.jar", "2.15")
    run = tlc.run_tlc(toy_model(), WORKS, fake)
    assert run.outcome == outcome
    assert said in run.problem
    assert "holds" not in run.properties.values()


def is_ended(run: Callable[[EngineLimits], EngineRun]) -> None:
    found = run(EngineLimits(max_seconds=0.2, max_memory=1 << 30))
    assert found.outcome == "inconclusive"
    assert "its time was up" in found.problem
    assert "--max-seconds" in found.problem


def test_an_engine_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    java = program(tmp_path, "java", "sleep 3600")
    is_ended(lambda limits: tlc.run_tlc(toy_model(), limits, tlc.Tlc(java, tmp_path / "none.jar", "2.15")))
    compiler = program(tmp_path, "cc", "printf '#!/bin/sh\\nsleep 3600\\n' > pan; chmod +x pan")
    fake = spin.Spin(program(tmp_path, "spin", "exit 0"), compiler, "6.5.2")
    is_ended(lambda limits: spin.run_spin(toy_model(), limits, fake))


def test_children_of_an_engine_end_with_it(tmp_path: Path) -> None:
    ended = run_bounded(["sh", "-c", "sleep 3600 & echo $!; exit 4"], tmp_path, 30)
    assert ended.code == 4
    try:
        child = os.pidfd_open(int(ended.output))
    except ProcessLookupError:
        return
    try:
        assert select.select([child], [], [], 60)[0], "the child goes on"
    finally:
        os.close(child)

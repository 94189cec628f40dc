"""Three engines, one number, on the toy; and what is said of an engine that is missing, old, or ends badly."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from groupspec.conformance.engines import ENGINES, EngineRun, run_engine, spin, tlc, tlc_program
from groupspec.conformance.engines.explorer import run_explorer
from groupspec.conformance.engines.judge import Judgement
from groupspec.conformance.errors import UsageProblem
from groupspec.spec.compiler.model import Fairness, Model, ModelProperty
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.compiler.tla import tla
from groupspec.spec.compiler.tla_text import module_name
from groupspec.spec.explorer import Limits
from groupspec.spec.explorer.native import Compiler

LIMITS = Limits(max_seconds=120, max_memory=1 << 30)
WORKS = Limits(max_seconds=60, max_memory=1 << 30)


def everything(model: Model) -> dict[str, EngineRun]:
    runs = {engine: run_engine(engine, model, LIMITS) for engine in ENGINES}
    assert {run.outcome for run in runs.values()} == {"complete"}, [run.problem for run in runs.values()]
    return runs


# what they agree on


@pytest.mark.tools
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
    assert runs["tlc"].depth == runs["explorer"].depth
    for claim in ("one-holder", "no-fault", "held"):
        assert len({run.properties[claim] for run in runs.values()}) == 1, claim
    assert ("one-holder" in runs["tlc"].violated) == (broken and members > 1)


def with_fairness(model: Model, action: str, fair: Fairness) -> Model:
    return replace(model, actions=tuple(replace(a, fair=fair) if a.name == action else a for a in model.actions))


@pytest.mark.exhaustive
def test_tlc_and_the_explorer_agree_that_who_waits_gets_the_lock() -> None:
    runs = [run_engine(engine, toy_model(), LIMITS) for engine in ("explorer", "tlc")]
    assert [run.properties["waiting-ends"] for run in runs] == ["holds", "holds"]
    assert Judgement(toy_model(), runs, frozenset()).verdict == "ok"


@pytest.mark.exhaustive
def test_what_is_not_fair_may_be_put_off_for_ever_for_tlc_too() -> None:
    model = with_fairness(toy_model(), "receive", "")
    runs = [run_engine(engine, model, LIMITS) for engine in ("explorer", "tlc")]
    assert [run.properties["waiting-ends"] for run in runs] == ["violated", "violated"]
    ways = [run.traces["waiting-ends"] for run in runs]
    assert ways == [("for ever: nothing happens",), ("ask", "ask", "lend", "for ever: nothing happens")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("action", ["lend", "receive", "give_back", "take_back"])
@pytest.mark.parametrize("fair", ["weak", ""])
def test_tlc_and_the_explorer_agree_whatever_is_less_fair(action: str, fair: Fairness) -> None:
    model = with_fairness(toy_model(), action, fair)
    runs = [run_engine(engine, model, LIMITS) for engine in ("explorer", "tlc")]
    answers = {run.properties["waiting-ends"] for run in runs}
    assert len(answers) == 1
    assert ("holds" in answers) == (fair == "weak" and action != "lend")


@pytest.mark.exhaustive
@pytest.mark.parametrize("action", ["", "lend", "receive"])
def test_fairness_said_of_states_means_what_tla_means_by_it(action: str, tmp_path: Path) -> None:
    """WF and SF, as the model's own module says them, give the answer that TLC gives to the module beside it."""
    model = with_fairness(toy_model(), action, "")
    module = module_name(model)
    texts = {f"{module}.tla": tla(model), f"{module}.cfg": "SPECIFICATION FairSpec\nPROPERTY WaitingEnds\n"}
    stated = tlc_program.start_tlc(tlc_program.find_tlc(), texts, module, ("-workers", "1"), LIMITS)
    answer = run_engine("tlc", model, LIMITS).properties["waiting-ends"]
    assert (answer == "holds") == tlc_program.completed(stated)
    assert (answer == "violated") == ("Temporal properties were violated" in stated.output)


@pytest.mark.exhaustive
def test_of_several_liveness_properties_the_violated_one_is_named() -> None:
    fair = toy_model()
    never = ModelProperty("both-hold", "leads_to", "client[1] == 'HOLDING' and client[2] == 'HOLDING'", "True")
    run = run_engine("tlc", replace(fair, properties=(*fair.properties, never)), LIMITS)
    assert (run.properties["waiting-ends"], run.properties["both-hold"]) == ("holds", "violated")
    assert run_engine("tlc", fair, LIMITS, liveness=False).properties["waiting-ends"] == "not expressed"


def test_engines_that_answer_differently_about_liveness_are_not_agreed() -> None:
    found = EngineRun("explorer", "", "toy-2", "complete", 20, properties={"waiting-ends": "holds"})
    other = replace(found, engine="tlc", properties={"waiting-ends": "violated"}, traces={"waiting-ends": ("ask",)})
    judgement = Judgement(toy_model(), [found, other], frozenset())
    assert (judgement.verdict, judgement.disputed) == ("failed", ("waiting-ends",))


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
    assert ".[verify]" in run.problem


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


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo 'TLC2 Version 2.05 of 23 July 2013'", "TLC 2.05 is too old; {jar}; needed: 2.15 or later; pip install"),
        ("echo boo; exit 9", "TLC does not start, or it is none"),
    ],
)
def test_a_tlc_that_is_old_or_none_is_named_and_absent(
    does: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "java", does)
    jar = tmp_path / "tla2tools.jar"
    jar.write_text("")
    monkeypatch.setenv("TLA2TOOLS_JAR", str(jar))
    monkeypatch.setattr(tlc_program, "java_home", lambda: SimpleNamespace(home=tmp_path))
    run = run_engine("tlc", toy_model(), WORKS)
    assert run.outcome == "absent"
    assert said.format(jar=jar) in run.problem


def test_after_a_crash_it_is_said_what_can_be_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "spin", "[ \"$1\" = -V ] && echo 'Spin Version 6.5.2' || kill -SEGV $$")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    run = run_engine("spin", toy_model(), WORKS)
    assert run.outcome == "failed"
    assert "spin failed (exit code -11): it said nothing; that says nothing about the model" in run.problem
    assert "--engine explorer" in run.problem


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
    cc = Compiler((str(program(tmp_path, "cc", compiles)),))
    fake = spin.Spin(program(tmp_path, "spin", translates), cc, "6.5.2")
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
    fake = tlc_program.Tlc(program(tmp_path, "java", does), tmp_path / "tla2tools.jar", "2.15")
    run = tlc.run_tlc(toy_model(), WORKS, fake)
    assert run.outcome == outcome
    assert said in run.problem
    assert "holds" not in run.properties.values()


def is_ended(run: Callable[[Limits], EngineRun]) -> None:
    found = run(Limits(max_seconds=0.2, max_memory=1 << 30))
    assert found.outcome == "inconclusive"
    assert "its time was up" in found.problem
    assert "--max-seconds" in found.problem


def test_an_engine_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    java = program(tmp_path, "java", "sleep 3600")
    is_ended(lambda limits: tlc.run_tlc(toy_model(), limits, tlc_program.Tlc(java, tmp_path / "none.jar", "2.15")))
    compiles = program(tmp_path, "cc", "printf '#!/bin/sh\\nsleep 3600\\n' > pan; chmod +x pan")
    fake = spin.Spin(program(tmp_path, "spin", "exit 0"), Compiler((str(compiles),)), "6.5.2")
    is_ended(lambda limits: spin.run_spin(toy_model(), limits, fake))

"""`groupspec verify`, as a user types it: what it prints and writes, when it fails, and what it refuses.

The models are toys that are put in the catalogue's place; the specification's own are verified where they are made.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from groupspec.conformance import cli, kills
from groupspec.conformance.commands import _verify_mutants, verify
from groupspec.conformance.commands._common import SCHEMAS
from groupspec.conformance.commands._verify_text import lines
from groupspec.conformance.engines import EngineRun, explorer
from groupspec.conformance.engines.judge import Judgement
from groupspec.conformance.engines.result import Answer
from groupspec.conformance.engines.spin import LEFT_OUT
from groupspec.conformance.scores import files as scores
from groupspec.spec import composition
from groupspec.spec.compiler.model import Model, ModelMaker, Scope
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.explorer import Limits

Captured = pytest.CaptureFixture[str]
TOY = ModelMaker("toy-2", Scope("toy"), 2, toy_model, size="2 clients", doc="A toy: used to test the engines. Small.")
MODELS = {
    "toy-2": TOY,
    "toy-3": ModelMaker("toy-3", Scope("toy"), 3, lambda: toy_model(3)),
    "toy-2-broken": ModelMaker("toy-2-broken", Scope("toy"), 2, lambda: toy_model(2, broken=True), size="2 clients"),
}


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch) -> dict[str, frozenset[str]]:
    """The toys as the catalogue; a test writes here what is expected of them."""
    known: dict[str, frozenset[str]] = {}
    monkeypatch.setattr(composition, "models", lambda: MODELS)
    monkeypatch.setattr(composition, "expected_violations", lambda name: known.get(name, frozenset()))
    return known


def told(file: Path) -> dict[str, list[dict[str, object]]]:
    data = json.loads(file.read_text())
    jsonschema.validate(data, json.loads((SCHEMAS / "verify.json").read_text()))
    assert isinstance(data, dict)
    return data


@pytest.mark.usefixtures("expected")
def test_a_model_that_keeps_its_promises(tmp_path: Path, capsys: Captured) -> None:
    assert cli.main(["verify", "--model", "toy-2", "--json", str(tmp_path / "v.json")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("toy-2: OK\n")
    assert "5 hold" in out
    data = told(tmp_path / "v.json")
    (run,) = data["runs"]
    assert (run["engine"], run["states"], run["edges"], run["outcome"]) == ("explorer", 28, 60, "complete")
    assert data["models"][0]["verdict"] == "ok"


@pytest.mark.usefixtures("expected")
def test_a_violation_fails_with_the_shortest_way_to_it(tmp_path: Path, capsys: Captured) -> None:
    assert cli.main(["verify", "--model", "toy-2-broken", "--json", str(tmp_path / "v.json")]) == 1
    out = capsys.readouterr().out
    assert "toy-2-broken: FAILED" in out
    assert "one-holder is violated: at most one client holds the lock" in out
    assert "1. ask(i=1): " in out
    assert told(tmp_path / "v.json")["models"][0]["new_violations"] == ["one-holder"]


def test_each_step_of_a_violation_names_the_rows_that_fired_with_their_places(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Those of the overlay too: the published profile violates what the deployed one keeps."""
    monkeypatch.setattr(composition, "expected_violations", lambda name: frozenset())
    assert cli.main(["verify", "--model", "base-eager-published-2"]) == 1
    out = capsys.readouterr().out
    first = out[out.index("  1. subscribes(i=1)") : out.index("  2. ")].rstrip().splitlines()[1:]
    assert [line.split()[0] for line in first] == [
        "rebalance.UNJOINED.subscribed_to_topics.1",
        "rebalance.UNJOINED.application_polled.1",
        "rebalance.UNJOINED.join_needed.1",
    ]
    assert all(re.search(r"  spec/rebalance\.py:\d+$", line) for line in first)
    assert re.search(r"join_accepted\.\d+ \[.*\]  spec/published/rebalance\.py:\d+\n", out)


def test_a_violation_that_is_expected_passes_and_must_be_found(
    expected: dict[str, frozenset[str]], capsys: Captured
) -> None:
    expected["toy-2-broken"] = frozenset({"one-holder"})
    assert cli.main(["verify", "--model", "toy-2-broken"]) == 0
    out = capsys.readouterr().out
    assert "1 violated as expected" in out
    assert "one-holder is violated as expected; why, and where its run is shown: groupspec explain one-holder" in out
    expected["toy-2"] = frozenset({"one-holder", "no-such-property"})
    assert cli.main(["verify", "--model", "toy-2"]) == 1
    out = capsys.readouterr().out
    assert "  one-holder: expected to be violated, and is not" in out
    assert "  no-such-property: expected to be violated, and is not; or there is no such property" in out


@pytest.mark.usefixtures("expected")
def test_a_limit_leaves_it_inconclusive(tmp_path: Path, capsys: Captured) -> None:
    options = ["--max-states", "20", "--json", str(tmp_path / "v.json")]
    assert cli.main(["verify", "--model", "toy-3", *options]) == 4
    out = capsys.readouterr().out
    assert "toy-3: INCONCLUSIVE" in out
    assert "--max-states 20 was reached" in out
    assert told(tmp_path / "v.json")["runs"][0]["outcome"] == "inconclusive"


@pytest.mark.usefixtures("expected")
def test_a_missing_engine_is_named_and_proves_nothing(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(engine: str, model: Model, limits: Limits, liveness: bool, now: object) -> EngineRun:
        return EngineRun(engine, "", model.name, "absent", problem="not installed; apt install it")

    monkeypatch.setattr(verify, "run_engine", absent)
    assert cli.main(["verify", "--model", "toy-2", "--engine", "all", "--json", str(tmp_path / "v.json")]) == 4
    out = capsys.readouterr().out
    assert "  tlc: absent: not installed; apt install it" in out
    assert "  spin: absent: not installed; apt install it" in out
    assert told(tmp_path / "v.json")["models"][0]["absent_engines"] == ["tlc", "spin"]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("expected")
def test_three_engines_one_number_in_one_command(tmp_path: Path, capsys: Captured) -> None:
    assert cli.main(["verify", "--model", "toy-3", "--engine", "all", "--json", str(tmp_path / "v.json")]) == 0
    assert [run["states"] for run in told(tmp_path / "v.json")["runs"]] == [80, 80, 80]
    assert "toy-3: OK" in capsys.readouterr().out


def run(engine: str, states: int, **properties: str) -> EngineRun:
    """A run that got through; `one_holder="holds"` says what it says of one-holder."""
    answers = {name.replace("_", "-"): answer for name, answer in properties.items()}
    return EngineRun(engine, "1", "toy-2", "complete", states, properties=answers)  # type: ignore[arg-type]


def test_engines_that_differ_fail_the_model() -> None:
    differ = Judgement(toy_model(), (run("explorer", 28), run("spin", 27)), frozenset())
    assert differ.counts_differ
    assert differ.verdict == "failed"
    disputed = Judgement(
        toy_model(), (run("explorer", 28, held="holds"), run("tlc", 28, held="violated")), frozenset({"held"})
    )
    assert not disputed.counts_differ
    assert disputed.disputed == ("held",)
    assert disputed.verdict == "failed"


@pytest.mark.usefixtures("expected")
def test_models_are_chosen_by_what_they_are(capsys: Captured) -> None:
    assert cli.main(["verify", "--members", "3"]) == 0
    assert "1 models, 80 states" in capsys.readouterr().out
    assert cli.main(["verify", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "model         size       states  what it is",
        "toy-2         2 clients       ?  A toy: used to test the engines",
    ]
    assert cli.main(["verify", "--list", "--members", "3"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["model", "toy-3"]
    assert cli.main(["verify", "--list", "--model", "*-broken"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["model", "toy-2-broken"]
    assert cli.main(["verify", "--list", "--members", "7"]) == 2
    assert "no model is all of that" in capsys.readouterr().err


def test_what_an_engine_leaves_out_is_said_with_the_reason_and_ok_does_not_cover_it() -> None:
    model = toy_model()
    answers: dict[str, Answer] = {
        claim.id: "holds" if claim.kind in ("invariant", "reachable") else "not expressed" for claim in model.properties
    }
    spin = EngineRun("spin", "6.5", model.name, "complete", properties=answers, left_out=LEFT_OUT)
    every = replace(spin, engine="explorer", properties=dict.fromkeys(answers, "holds"), left_out={})
    alone = Judgement(model, [spin], frozenset())
    first, _, said = lines(alone, {})
    assert first == "toy-2: OK for 3 of 5 properties"
    assert "3 hold; without " in said
    assert "; without all-idle-again: recoverability is the explorer's alone" in said
    assert "; without waiting-ends: liveness is for the explorer and TLC" in said
    assert set(alone.unchecked) == {"all-idle-again", "waiting-ends"}
    together = Judgement(model, [spin, every], frozenset())
    first, _, _, explorer = lines(together, {})
    assert (first, together.unchecked) == ("toy-2: OK", ())
    assert explorer.split("  ")[1] == "explorer (C)" and explorer.endswith("5 hold")


@pytest.mark.usefixtures("expected")
def test_liveness_that_was_not_checked_is_named_where_the_verdict_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(explorer, "MAX_LIVELY_STATES", 27)
    assert cli.main(["verify", "--model", "toy-2", "--json", str(tmp_path / "v.json")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("toy-2: OK for 4 of 5 properties\n")
    assert "4 hold; without waiting-ends: liveness is checked of at most 27 states" in out
    assert out.endswith("1 OK; properties left out: 1 (OK does not cover them)\n")
    assert told(tmp_path / "v.json")["models"][0]["unchecked"] == ["waiting-ends"]


def test_folding_leaves_liveness_out_and_says_so(capsys: Captured) -> None:
    assert cli.main(["verify", "--model", "base-faults-stop-eager-deployed-2", "--fold"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("base-faults-stop-eager-deployed-2: OK for 17 of 23 properties\n")
    assert "callbacks-end: --fold leaves liveness out" in out


def test_the_list_says_what_each_model_adds_and_how_large_it_is(capsys: Captured) -> None:
    assert cli.main(["verify", "--list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "JoinGroup v4: a member id is handed out first" in lines["base-ids-eager-deployed-2"]
    assert "a rolling upgrade from eager to cooperative" in lines["base-mixed-deployed-2"]
    assert "the proposal to the letter" in lines["base-eager-published-2"]
    assert len(set(lines.values())) == len(lines)


@pytest.mark.usefixtures("expected")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "toy2"], "there is no model 'toy2'"),
        (["--engine", "tlc2"], "there is no engine 'tlc2'"),
        (["--rebalance", "lazy"], "there is no rebalance protocol 'lazy'"),
        (["--model", "toy2"], "allowed: toy-2, toy-3\n"),
        (["--members", "7"], "no model is all of that\n  where:   --members 7\n  allowed: --members 2 or 3"),
        (["--model", "toy-2", "--members", "3"], "allowed: --model toy-3, or --members 2, with the rest as it is"),
        (["--scores", "--mutation"], "--mutation does not look at --scores\n  where:   --mutation --scores"),
        (["--scores", "--engine", "tlc"], "next:    leave --engine out"),
        (["--mutation", "--fold", "--model", "toy-2"], "leave --model and --fold out"),
        (
            ["--held", "--safety"],
            "--held does not look at --safety\n  where:   --held --safety\n  allowed: --held with --json",
        ),
        (["--list", "--engine", "tlc", "--json", "-"], "next:    leave --engine and --json out"),
        (["--record", "--engine", "tlc"], "--record is the explorer's only"),
        (["--max-memory", "much"], "this is no size"),
        (["--max-memory", "much"], "or of KiB, MiB, GiB or TiB (K and KB mean KiB, and so on)"),
        (["--max-memory", "1KB"], "no engine can keep to so little\n  where:   --max-memory 1KB\n  allowed: 64MiB or"),
        (["--max-memory", "0"], "no engine can keep to so little"),
        (["--model", "toyx*"], "no model matches 'toyx*'\n  where:   --model\n  allowed: toy-"),
        (["--model", "quite-another"], "allowed: a name, or a pattern that a name matches"),
        (["--engine", "all", "--fold"], "--fold is the explorer's only"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_can(arguments: list[str], said: str, capsys: Captured) -> None:
    assert cli.main(["verify", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_property_over_an_unknown_name_is_told_with_where_to_correct_it(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def mistaken() -> Model:
        made = toy_model()
        return replace(made, properties=(*made.properties, replace(made.properties[0], id="mine", holds="ownr == 0")))

    monkeypatch.setattr(composition, "models", lambda: {"toy-2": replace(TOY, make=mistaken)})
    assert cli.main(["verify", "--model", "toy-2"]) == 2
    said = capsys.readouterr().err
    assert "toy-2: property mine: unknown name 'ownr' in `ownr == 0`" in said
    assert "did you mean 'owner'?" in said
    assert "where:   spec/data/properties" in said


@pytest.mark.parametrize(
    "result", [{"scores": scores.committed()}, {"mutation": kills.committed()}], ids=lambda result: next(iter(result))
)
def test_what_is_committed_is_what_json_may_say(result: dict[str, object]) -> None:
    """`--scores` and `--mutation` take minutes, and write to --json what they commit."""
    schema = json.loads((SCHEMAS / "verify.json").read_text())
    jsonschema.validate({"runs": [], "models": [], **result}, schema)


def test_scores_of_tables_that_are_unchanged_are_reused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(_verify_mutants, "ROOT", tmp_path)
    monkeypatch.setattr(scores, "tried", lambda names, *_: {} if not names else pytest.fail(f"tried anew: {names}"))
    known = scores.committed()
    assert known is not None
    assert cli.main(["verify", "--scores"]) == 0
    out = capsys.readouterr().out
    assert f"reused: {len(known['models'])} of {len(known['models'])} models; their tables are unchanged" in out
    assert "unchanged: conformance/generated/scores.json" in out
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("expected")
def test_the_explorer_has_one_name_and_keeps_its_old_one_as_an_alias(tmp_path: Path, capsys: Captured) -> None:
    for name in ("explorer", "python"):
        options = ["--engine", name, "--safety", "--json", str(tmp_path / "v.json")]
        assert cli.main(["verify", "--model", "toy-2", *options]) == 0
        assert told(tmp_path / "v.json")["runs"][0]["engine"] == "explorer"
        assert "--safety has no effect without --engine tlc or all" in capsys.readouterr().err


def test_edges_that_differ_are_explained_and_no_disagreement() -> None:
    runs = [replace(run("explorer", 28), edges=60), replace(run("tlc", 28), edges=70)]
    judgement = Judgement(toy_model(), runs, frozenset())
    assert judgement.verdict == "ok"
    assert any("states are compared, edges are not" in line for line in lines(judgement, {}))
    same = Judgement(toy_model(), [runs[0], replace(runs[1], edges=60)], frozenset())
    assert not any("edges are not" in line for line in lines(same, {}))

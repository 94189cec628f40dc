"""render, table and generate, as a user types them: what they print and write, and what they refuse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from groupspec.conformance import cli, generate
from groupspec.conformance.commands import generate as generate_command
from groupspec.conformance.commands import table as table_command
from groupspec.conformance.commands._common import SCHEMAS
from groupspec.conformance.tests.repository import ROOT
from groupspec.diagrams import layout
from groupspec.spec.compiler import Table, table_data
from groupspec.spec.compiler.tables import each_table, tables

Captured = pytest.CaptureFixture[str]


def _json(file: Path, command: str) -> dict[str, object]:
    data = json.loads(file.read_text())
    jsonschema.validate(data, json.loads((SCHEMAS / f"{command}.json").read_text()))
    assert isinstance(data, dict)
    return data


# render


@pytest.mark.parametrize(
    ("picture_format", "suffix"), [("svg", "svg"), ("png", "png"), ("dot", "dot"), ("mermaid", "mmd")]
)
def test_render_writes_a_picture_and_a_matrix(tmp_path: Path, picture_format: str, suffix: str) -> None:
    told = tmp_path / "told.json"
    chosen = ["timeouts", "--rebalance", "eager", "--profile", "deployed", "--format", picture_format]
    assert cli.main(["render", *chosen, "--out", str(tmp_path / "new"), "--json", str(told)]) == 0
    names = _json(told, "render")["files"]
    assert isinstance(names, list)
    files = [Path(name) for name in names]
    assert files[0].name == f"timeouts.eager.deployed.{suffix}"
    assert all(file.stat().st_size > 100 for file in files)
    assert len(files) == 2


def test_render_draws_every_machine_when_none_is_named(tmp_path: Path) -> None:
    assert cli.main(["render", "--format", "dot", "--out", str(tmp_path)]) == 0
    assert {file.name.removesuffix(".dot") for file in tmp_path.glob("*.dot")} == {t.label for t in each_table()}


def test_render_draws_coverage(tmp_path: Path) -> None:
    hits = tmp_path / "hits.json"
    hits.write_text(json.dumps({"connection.eager.deployed": {"DOWN.started.1": 7}}))
    chosen = ["connection", "--rebalance", "eager", "--profile", "deployed", "--format", "dot"]
    assert cli.main(["render", *chosen, "--out", str(tmp_path), "--coverage", str(hits)]) == 0
    assert "7 times" in (tmp_path / "connection.eager.deployed.dot").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rebalence"], "did you mean 'rebalance'?"),
        (["--format", "gif"], "svg, png, dot, mermaid"),
        (["--rebalance", "lazy"], "eager, cooperative"),
        (["--profile", "deploid"], "did you mean 'deployed'?"),
        (["--coverage", "no/such/file.json"], "no/such/file.json"),
    ],
)
def test_render_refuses_what_there_is_not(arguments: list[str], said: str, tmp_path: Path, capsys: Captured) -> None:
    assert cli.main(["render", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ('{"rebalance": {}}', "there is no table 'rebalance'"),
        ('{"rebalance.eager.deployed": {"STABLE.thunder.1": 1}}', "another version"),
    ],
)
def test_render_refuses_a_coverage_file_that_does_not_fit(
    text: str, said: str, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "hits.json"
    file.write_text(text)
    assert cli.main(["render", "--coverage", str(file), "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


def test_render_says_when_a_folder_cannot_be_made(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["render", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_render_without_a_layout_engine_says_what_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(layout, "engine", lambda: "none")
    assert cli.main(["render", "timeouts", "--out", str(tmp_path)]) == 2
    assert "--format dot" in capsys.readouterr().err
    assert cli.main(["render", "timeouts", "--out", str(tmp_path), "--format", "mermaid"]) == 0


# table


def test_table_check_finds_no_blank_cell(tmp_path: Path, capsys: Captured) -> None:
    told = tmp_path / "told.json"
    assert cli.main(["table", "--check", "--json", str(told)]) == 0
    assert " 0 blank" in capsys.readouterr().out
    machines = _json(told, "table")["machines"]
    assert isinstance(machines, list)
    assert len(machines) == len(each_table()) == 4 * 4 + 2
    assert all(machine["blank"] == [] and machine["cells"] > 0 for machine in machines)


def test_table_check_names_a_blank_cell_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(table_command, "blank_cells", lambda table: [("STABLE", "thunder")])
    assert cli.main(["table", "connection", "--check"]) == 1
    assert "connection.eager.published: STABLE x thunder" in capsys.readouterr().err


def test_table_prints_every_event(capsys: Captured) -> None:
    assert cli.main(["table", "timeouts", "--rebalance", "eager", "--profile", "deployed"]) == 0
    shown = capsys.readouterr().out
    assert all(event.name in shown for event in tables()["timeouts", "eager", "deployed"].events)


@pytest.mark.parametrize(("matrix_format", "beginning"), [("markdown", "# timeouts"), ("html", "<!doctype html>")])
def test_table_writes_other_formats(tmp_path: Path, matrix_format: str, beginning: str, capsys: Captured) -> None:
    chosen = ["table", "timeouts", "--rebalance", "eager", "--profile", "deployed", "--format", matrix_format]
    assert cli.main(chosen) == 0
    assert capsys.readouterr().out.startswith(beginning)
    assert cli.main([*chosen, "--out", str(tmp_path)]) == 0
    assert next(tmp_path.iterdir()).read_text().startswith(beginning)


# generate


@pytest.mark.exhaustive
def test_what_is_committed_is_what_the_specification_generates(tmp_path: Path, capsys: Captured) -> None:
    told = tmp_path / "told.json"
    assert cli.main(["generate", "--check", "--json", str(told)]) == 0, capsys.readouterr().out
    assert _json(told, "generate")["stale"] == []


MADE_SLOWLY = (generate.HASHES, generate.MODELS, generate.SCORES)
"""These take most of the time of all: each model and each table is made for them."""


def test_what_is_committed_and_quickly_made_is_what_the_specification_generates() -> None:
    quick = [file for file in generate.generated_files() if file.committed and file.path not in MADE_SLOWLY]
    assert {file.path: why for file in quick if (why := file.stale())} == {}


QUICKLY_MADE = (
    "diagrams/generated/rebalance.",
    "diagrams/generated/timeouts.",
    "conformance/generated/feasible/subscription.",
)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The committed files that are quickly made, copied to where a test may spoil them."""
    quick = [
        g
        for g in generate.generated_files()
        if g.committed and g.path.startswith(QUICKLY_MADE) and g.path.count("/") < 4
    ]
    for file in quick:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.file(), tmp_path / file.path)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    for module in (generate, generate_command):
        monkeypatch.setattr(module, "generated_files", lambda: iter(quick))
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "diagrams/generated/rebalance.eager.deployed.md",
        "conformance/generated/feasible/subscription.eager.deployed.json",
    ],
)
def test_an_edited_file_is_named_and_written_anew(name: str, copied: Path, capsys: Captured) -> None:
    file = copied / name
    right = file.read_text()
    file.write_text(right + "\n")
    assert cli.main(["generate", "--check"]) == 1
    assert f"stale: {name}" in capsys.readouterr().out
    assert cli.main(["generate"]) == 0
    assert file.read_text() == right
    assert cli.main(["generate", "--check"]) == 0


def test_an_svg_of_another_version_of_the_machine_is_stale(copied: Path, capsys: Captured) -> None:
    file = copied / "diagrams/generated/timeouts.eager.deployed.svg"
    file.write_text((copied / "diagrams/generated/timeouts.eager.published.svg").read_text())
    assert cli.main(["generate", "--check"]) == 1
    assert "stale: diagrams/generated/timeouts.eager.deployed.svg" in capsys.readouterr().out


def test_a_missing_file_and_one_that_nothing_generates_are_named(copied: Path, capsys: Captured) -> None:
    (copied / "diagrams/generated/timeouts.eager.deployed.md").rename(copied / "diagrams/generated/old.md")
    assert cli.main(["generate", "--check"]) == 1
    told = capsys.readouterr().out
    assert "stale: diagrams/generated/timeouts.eager.deployed.md" in told
    assert "nothing generates this" in told
    assert "old.md" in told


def test_the_texts_of_one_model_are_written_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert cli.main(["generate", "--model", "open-part*"]) == 0
    written = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file())
    assert written[0] == "conformance/generated/promela/open-partition.pml"
    assert {file.partition(".")[0] for file in written[1:]} <= {
        "conformance/generated/tla/OpenPartition",
        "conformance/generated/tla/OpenPartitionLive",
    }
    assert f"{len(written)} generated files, {len(written)} written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "open-comit"], "allowed: open-commit"),
        (["--model", "open-commit", "--check"], "--check looks at all files"),
        (["--model", "base-eager-deployed-3"], "models of three members are not written"),
    ],
)
def test_what_generate_cannot_do_is_refused_with_what_it_can(arguments: list[str], said: str, capsys: Captured) -> None:
    assert cli.main(["generate", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_changed_hash_is_named_and_its_file_is_written_though_it_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    wanted = ("conformance/generated/hashes.json", "conformance/generated/tables/timeouts.eager.deployed.json")
    files = [file for file in generate.generated_files() if file.path in wanted]
    table = next(file for file in files if not file.committed)
    monkeypatch.setattr(generate, "_hashed_files", lambda: iter([table]))
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    for module in (generate, generate_command):
        monkeypatch.setattr(module, "generated_files", lambda: iter(files))
    assert cli.main(["generate"]) == 0
    assert table.file().read_bytes() == table.data()
    table.file().unlink()
    assert cli.main(["generate", "--check"]) == 0
    hashes = tmp_path / wanted[0]
    hashes.write_text(hashes.read_text().replace('": "', '": "0'))
    capsys.readouterr()
    assert cli.main(["generate", "--check"]) == 1
    assert f"the hash of {wanted[1]}" in capsys.readouterr().out


@pytest.mark.parametrize("table", each_table(), ids=lambda table: table.label)
def test_a_table_keeps_the_committed_schema(table: Table) -> None:
    schema = json.loads((ROOT / "conformance/generated/tables/schema.json").read_text())
    jsonschema.validate({**table_data(table), "sha256": table.hash}, schema)

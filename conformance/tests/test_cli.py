"""Every way in which a command can end has its exit code, and a message that helps.

Commands are planted as files into a folder of their own: the group knows no list, so a file is all there is to it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import jsonschema
import pytest

from groupspec.conformance import cli
from groupspec.conformance.commands import _common
from groupspec.conformance.commands._common import Steps, write_json
from groupspec.conformance.errors import InternalProblem, UsageProblem
from groupspec.conformance.outputs import writable_folder


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """A command named `planted` whose ending the test chooses with --end."""

    @click.command()
    @click.option("--end", type=click.Choice(["well", "code", "usage", "internal", "crash", "stop", "ctx"]))
    @click.pass_context
    def command(context: click.Context, end: str) -> int | None:
        match end:
            case "code":
                return 4
            case "usage":
                raise UsageProblem("no such client 'x'", "argument 1", ["aiokafka", "reference"], "see --list")
            case "internal":
                raise InternalProblem("the log goes backwards")
            case "crash":
                raise ZeroDivisionError("planted")
            case "stop":
                raise KeyboardInterrupt
            case "ctx":
                context.exit(1)
        return None

    monkeypatch.setattr(cli.LazyGroup, "list_commands", lambda self, ctx: ["planted"])
    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: command)
    return command


@pytest.mark.usefixtures("plant")
@pytest.mark.parametrize(
    ("end", "code"), [("well", 0), ("ctx", 1), ("usage", 2), ("internal", 3), ("crash", 3), ("code", 4), ("stop", 2)]
)
def test_each_ending_has_its_exit_code(end: str, code: int) -> None:
    assert cli.main(["planted", "--end", end]) == code


@pytest.mark.usefixtures("plant")
def test_a_usage_problem_is_told_in_four_parts_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["planted", "--end", "usage"])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "groupspec: no such client 'x'",
        "  where:   argument 1",
        "  allowed: aiokafka, reference",
        "  next:    see --list",
    ]


@pytest.mark.usefixtures("plant")
def test_a_crash_is_called_our_defect_and_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["planted", "--end", "crash"])
    err = capsys.readouterr().err
    assert "ZeroDivisionError: planted" in err
    assert "defect of groupspec" in err
    assert "report it" in err


@pytest.mark.parametrize("arguments", [["nonesuch"], ["--nonesuch"], ["doctor", "--nonesuch"], ["doctor", "extra"], []])
def test_what_the_command_line_does_not_know_is_a_usage_problem(arguments: list[str]) -> None:
    assert cli.main(arguments) == 2


def test_an_unknown_command_is_answered_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["docter"]) == 2
    err = capsys.readouterr().err
    assert "there is no command 'docter'" in err
    assert cli.main(["why"]) == 2
    assert "did you mean `groupspec trace why`?" in capsys.readouterr().err
    assert "doctor" in err
    assert "did you mean `groupspec doctor`?" in err


def test_an_unknown_command_that_is_like_none_is_not_answered_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["vectors"]) == 2
    assert "see `groupspec --help`" in capsys.readouterr().err


def test_a_command_without_a_file_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "render.py").write_text('"""`groupspec render`: pictures of the machines."""\n')
    (tmp_path / "_common.py").write_text("")
    monkeypatch.setattr(cli.cli, "folder", tmp_path)
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "render  pictures of the machines." in out
    assert "_common" not in out
    assert "doctor  " not in out


def test_help_imports_no_command() -> None:
    """Some pull in Spark or a Kafka client; help must come at once."""
    program = (
        "import sys; from groupspec.conformance.cli import main; main(['--help']);"
        "sys.exit(bool({'pyspark', 'pyarrow', 'numba', 'kafka', 'hypothesis', 'kio'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


def leaf_commands(group: click.Group, context: click.Context, path: str = "") -> list[tuple[str, click.Command]]:
    """Every command that does something, with its words: `trace check`, `doctor`."""
    result: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        words = f"{path} {name}".strip()
        result += leaf_commands(command, context, words) if isinstance(command, click.Group) else [(words, command)]
    return result


def test_every_command_has_help_with_an_example_and_can_write_json() -> None:
    context = click.Context(cli.cli)
    for words, command in leaf_commands(cli.cli, context):
        assert "example" in (command.help or "").lower(), f"groupspec {words} --help shows no example"
        options = {option for parameter in command.params for option in parameter.opts}
        assert "--json" in options, f"groupspec {words} has no --json"


def test_every_schema_is_a_schema() -> None:
    for file in _common.SCHEMAS.glob("*.json"):
        jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))


def test_a_result_that_keeps_its_schema_is_written_whole(tmp_path: Path) -> None:
    file = tmp_path / "new" / "doctor.json"
    write_json("doctor", {"found": [], "missing": []}, file)
    assert json.loads(file.read_text()) == {"found": [], "missing": []}
    assert [entry.name for entry in file.parent.iterdir()] == ["doctor.json"]


def test_where_the_json_is_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "told.json"
    assert cli.main(["explain", "H2", "--json", str(file)]) == 0
    assert capsys.readouterr().err == f"groupspec: the JSON result is in {file}\n"
    assert cli.main(["explain", "H2", "--json", "-"]) == 0
    assert "the JSON result is in" not in capsys.readouterr().err


def test_a_large_result_that_nobody_asked_for_is_not_checked_for_seconds(tmp_path: Path) -> None:
    large = {"found": [{"name": 7, "detail": "x" * 2_000_000}], "missing": []}
    write_json("doctor", large)
    with pytest.raises(InternalProblem, match=r"breaks its own schema"):
        write_json("doctor", large, tmp_path / "doctor.json")


def test_a_result_that_breaks_its_schema_is_our_defect_and_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "doctor.json"
    file.write_text("what was there")
    with pytest.raises(InternalProblem, match=r"breaks its own schema") as problem:
        write_json("doctor", {"found": [{"name": 7}], "missing": []}, file)
    assert "found[0]" in problem.value.where
    assert file.read_text() == "what was there"


def test_a_command_without_a_schema_is_our_defect() -> None:
    with pytest.raises(InternalProblem) as problem:
        write_json("nonesuch", {}, None)
    assert "no schema nonesuch.json" in str(problem.value)


def test_a_file_where_a_folder_should_be_is_a_usage_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageProblem, match="cannot write the output"):
        write_json("doctor", {"found": [], "missing": []}, tmp_path / "file" / "doctor.json")
    with pytest.raises(UsageProblem, match="cannot write the output"):
        writable_folder(tmp_path / "file" / "report")


def test_a_folder_is_made_when_it_can_be(tmp_path: Path) -> None:
    assert writable_folder(tmp_path / "a" / "b").is_dir()


def test_progress_where_nobody_watches_is_a_line_each_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock_s = [0.0]
    with Steps("joining", total=4) as steps:
        steps.bar.get_time = lambda: clock_s[-1]
        steps.before(0, left=4)
        steps.done()
        assert capsys.readouterr() == ("", "")
        for now_s in (31.0, 32.0, 62.0):
            clock_s.append(now_s)
            steps.now("synchronising")
            steps.done()
    told = re.sub(r"\d+ s$", "N s", capsys.readouterr().err, flags=re.MULTILINE)
    assert told == "groupspec: synchronising: 2 of 4, N s\ngroupspec: synchronising: 4 of 4, N s\n"


def test_on_a_terminal_progress_is_one_line_with_what_is_done_and_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with Steps("judging", total=0) as steps:
        steps.before(3, left=5)
        steps.done()
        steps.more(1)
        steps.now("judging, 2 FAIL")
        steps.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"(?m)judging, 2 FAIL \S+ 4/9 0:00:0\d left [-\d:]+\s*$", shown)


def test_a_reader_that_has_seen_enough_ends_the_run_quietly() -> None:
    """`groupspec ... | head -1`: the pipe is closed while results are still being written."""
    for arguments in (["clients", "list"], ["--help"], ["explain", "join"]):
        program = (
            "import os, sys; from groupspec.conformance import cli; "
            f"r, w = os.pipe(); os.close(r); os.dup2(w, 1); sys.exit(cli.main({arguments}))"
        )
        run = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, check=False)
        assert (run.returncode, run.stderr) == (141, "")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("groupspec con", "conform"),
        ("groupspec conform aio", "aiokafka"),
        ("groupspec explain J3", "J3"),
        ("groupspec table --profile depl", "deployed"),
        ("groupspec docter x", ""),
    ],
)
def test_a_shell_completes_commands_clients_and_rules(typed: str, offered: str) -> None:
    asked = {"_GROUPSPEC_COMPLETE": "zsh_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    program = "import sys; from groupspec.conformance.cli import main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert offered in run.stdout.split() if offered else run.stdout == "\n"


def test_a_misspelt_scenario_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["conform", "reference", "--scenario", "member-unknwon"]) == 2
    assert "did you mean 'member-unknown'?" in capsys.readouterr().err
    assert cli.main(["conform", "aiokakfa"]) == 2
    assert "did you mean 'aiokafka'?" in capsys.readouterr().err


def test_a_list_that_is_piped_cuts_no_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["conform", "--list"]) == 0
    out = capsys.readouterr().out
    assert "\u2026" not in out
    assert "close-while-stable" in out


def test_a_rule_that_only_some_variants_of_a_scenario_judge_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["conform", "--list"]) == 0
    cells = [line.split("│")[-2].split() for line in capsys.readouterr().out.splitlines() if line.startswith("│ ")]
    shown = {word for cell in cells for word in cell}
    assert {"H1*", "H2*", "H2", "H7*", "W1"} <= shown
    assert "W1*" not in shown


def test_a_stdout_of_few_characters_gets_escapes() -> None:
    """LC_ALL=C: what it cannot write is no reason to stop."""
    program = "import sys; from groupspec.conformance import cli; sys.exit(cli.main())"
    command = [sys.executable, "-c", program, "explain", "D1", "--all"]
    few = os.environ | {"PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, env=few, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    usual = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert not usual.stdout.isascii()
    assert run.stdout == usual.stdout.encode("ascii", "backslashreplace").decode()

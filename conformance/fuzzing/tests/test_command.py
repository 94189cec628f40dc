"""`python -m groupspec.conformance.fuzzing`: its help, and the names that it refuses."""

from __future__ import annotations

import pytest

from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE
from groupspec.conformance.fuzzing.__main__ import main
from groupspec.conformance.fuzzing.doors import DOORS

FIRST = next(iter(DOORS))


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], [FIRST, "--help"]])
def test_the_help_names_every_door_and_attacks_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == EXIT_OK
    told = capsys.readouterr().out
    assert told.startswith("Usage: python -m groupspec.conformance.fuzzing [DOOR...]")
    assert [door for door in DOORS if door not in told] == []


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["acme"], "there is no door 'acme'"),
        ([FIRST, "acme"], "there is no case 'acme', and no such door"),
        ([FIRST, "-1"], "there is no case '-1', and no such door"),
        ([FIRST, FIRST, "acme"], "there is no door 'acme'"),
        (["--seconds", "5"], "there is no door '--seconds'"),
    ],
)
def test_what_is_no_door_is_refused(arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == EXIT_USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert f"groupspec: {what}\n" in told.err
    assert "  allowed: " in told.err
    assert "  next: " in told.err


def test_one_case_is_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FIRST, "0"]) == EXIT_OK
    assert capsys.readouterr().out in ("refused\n", "taken\n")

"""A machine file that is wrong, as its author meets it: each mistake is told with file, line, row and what to do.

The file is written, loaded and put in the place of the specification's machines; then the command line is asked. No
mistake may end in a traceback: that is what defects of groupspec itself look like.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from groupspec.conformance import cli
from groupspec.spec.compiler import introspect
from groupspec.spec.compiler import tables as tables_module

Captured = pytest.CaptureFixture[str]

MACHINE = '''"""A machine of two states, and one mistake."""

from groupspec.spec.machine import State, StateMachine, error, ignored, row


class Broken(StateMachine):
    machine_name = "connection"
    DOWN = State(initial=True)
    UP = State()
    row(DOWN, "started", UP, rules="D7")
    row(UP, "stopped", DOWN, rules="L4")
    ignored(UP, "started", because="already")
    ignored(DOWN, "stopped", because="already")
'''
LINE = MACHINE.count("\n") + 1
"""Where the mistake stands."""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that takes the place of all machines; a test writes it."""
    file = tmp_path / "broken_machine.py"
    monkeypatch.setattr(tables_module, "introspect", lambda _: introspect(load(file).Broken))
    for cached in (tables_module.whole_tables, tables_module.tables):
        cached.cache_clear()
    yield file
    monkeypatch.undo()
    sys.modules.pop("broken_machine", None)
    for cached in (tables_module.whole_tables, tables_module.tables):
        cached.cache_clear()


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("broken_machine", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["broken_machine"] = module
    spec.loader.exec_module(module)
    return module


def told(arguments: list[str], capsys: Captured) -> str:
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "defect of groupspec" not in said
    return said


@pytest.mark.parametrize(
    ("mistake", "row", "what", "next_step"),
    [
        pytest.param(
            'row(DOWN, "stopped", None, when=lambda: True, rules="L4")',
            "DOWN.stopped.2", "the guard is a function", "write the guard as a string over variables",
            id="a lambda as guard",
        ),
        pytest.param(
            'row(DOWN, "started", None, when="join_backoff", rules="D7")',
            "DOWN.started.1", "holds together with DOWN.started.2", "make the guards exclude each other",
            id="overlapping guards",
        ),
        pytest.param(
            'row(DOWN, "coordinator_needed", None, when="join_backof", rules="D7")',
            "DOWN.coordinator_needed.1", "unknown variable 'join_backof'", "did you mean 'join_backoff'?",
            id="an unknown variable",
        ),
        pytest.param(
            'row((DOWN, UP), "connection_stoped", None, rules="D7")',
            "DOWN.connection_stoped.1", "unknown event 'connection_stoped'", "next: ",
            id="an unknown event",
        ),
        pytest.param(
            'row((DOWN, UP), "turn_ended", None, do=["find_coordinatr"], rules="D7")',
            "DOWN.turn_ended.1", "unknown effect 'find_coordinatr'", "next: ",
            id="an unknown effect",
        ),
        pytest.param(
            'row((DOWN, UP), "turn_ended", None, when="join_backoff", rules="D7")',
            "DOWN x turn_ended", "no row holds when join_backoff=False", "add a row for these values",
            id="a gap",
        ),
        pytest.param(
            'row((DOWN, UP), "turn_ended", None)',
            "DOWN.turn_ended.1", "cites no rule", "name the rules that it rests on",
            id="a row without a rule",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_row_is_told_with_file_line_row_and_remedy(
    mistake: str, row: str, what: str, next_step: str, broken: Path, capsys: Captured
) -> None:
    broken.write_text(f"{MACHINE}    {mistake}\n")
    said = told(["table", "--check"], capsys)

    assert f"connection: {row}: {what}" in said
    assert next_step in said
    assert told(["verify", "--model", "open-member-eager-deployed"], capsys) == said, "nothing is explored"
    line = LINE if "holds together" not in what else MACHINE[: MACHINE.index('row(DOWN, "started"')].count("\n") + 1
    assert f"{broken}:{line}: " in said


def test_a_state_that_is_only_behind_a_guard_that_never_holds_is_unreachable(broken: Path, capsys: Captured) -> None:
    broken.write_text(
        MACHINE
        + """    LOST = State()
    row(UP, "turn_ended", LOST, when="eager and cooperative", rules="D7")
    row(UP, "turn_ended", None, when="not (eager and cooperative)", rules="D7")
    row(LOST, "stopped", DOWN, rules="L4")
    ignored(LOST, "started", because="already")
    ignored((DOWN, LOST), "turn_ended", because="nothing_waits")
"""
    )
    said = told(["table", "--check"], capsys)

    assert f"{broken}: connection: LOST: cannot be reached from the initial state" in said
    assert f"{broken}:{LINE + 1}: connection: UP.turn_ended.1: its guard can never hold" in said


def test_a_state_named_like_an_event_is_refused(broken: Path, capsys: Captured) -> None:
    broken.write_text(MACHINE.replace("UP", "turn_ended"))
    said = told(["table", "--check"], capsys)

    assert "turn_ended: is both a state and an event or variable" in said
    assert "next: rename one of them" in said
    assert str(broken) in said


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param("    LOST = State()\n", "LOST", id="a state without rows"),
        pytest.param(
            '    LOST = State()\n    row(LOST, "started", DOWN, rules="D7")\n',
            "unreachable states",
            id="no row leads to it",
        ),
        pytest.param(
            '    LOST = State(initial=True)\n    row(LOST, "started", DOWN, rules="D7")\n',
            "one and only one initial state",
            id="two initial states",
        ),
    ],
)
def test_what_the_library_refuses_is_told_with_the_file_too(
    text: str, what: str, broken: Path, capsys: Captured
) -> None:
    broken.write_text(MACHINE + text)
    said = told(["table", "--check"], capsys)

    assert f"{broken}: connection: " in said
    assert what in said
    assert "next: every state needs a row" in said


@pytest.mark.parametrize("command", [["generate", "--check"], ["render"], ["table"], ["explain", "J9"]])
def test_every_command_that_needs_the_machines_says_so(command: list[str], broken: Path, capsys: Captured) -> None:
    broken.write_text(f'{MACHINE}    row(DOWN, "stopped", None, when=lambda: True, rules="L4")\n')

    assert f"{broken}:{LINE}: connection: DOWN.stopped.2: the guard is a function" in told(command, capsys)


def test_a_machine_without_mistakes_passes(broken: Path, capsys: Captured) -> None:
    broken.write_text(MACHINE)
    assert cli.main(["table", "--check"]) == 0
    assert "0 blank" in capsys.readouterr().out

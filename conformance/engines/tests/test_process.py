"""A program that was started ends: when it is done, and when whoever started it is gone, however that happened."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupspec.conformance.engines.process import run_bounded

STARTS_ONE = """\
from pathlib import Path
from groupspec.conformance.engines.process import run_bounded
run_bounded(["sh", "-c", "(echo $$; sleep 90 & echo $!; wait) > told"], Path({folder!r}), None)
"""
"""A process that starts a program with a child; the program tells both their numbers."""

TERMINATED = """\
import signal, sys, tempfile
from unittest import mock
from groupspec.conformance import cli
def command(arguments):
    with tempfile.TemporaryDirectory() as folder:
        print(folder, flush=True)
        signal.pause()
with mock.patch.object(cli, "_run", command):
    sys.exit(cli.main())
"""
"""The command line, with a command that keeps a folder, and never ends."""


def has_ended(process: int) -> None:
    """Long before it would by itself."""
    try:
        it = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([it], [], [], 30)[0], "it goes on"
    finally:
        os.close(it)


def test_children_of_an_engine_end_with_it(tmp_path: Path) -> None:
    ended = run_bounded(["sh", "-c", "sleep 90 & echo $!; exit 4"], tmp_path, 30)
    assert ended.code == 4
    has_ended(int(ended.output))


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_ends_with_who_started_it(by: signal.Signals, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    command = [sys.executable, "-c", STARTS_ONE.format(folder=str(tmp_path))]
    with subprocess.Popen(command) as starter, (tmp_path / "told").open() as told:
        program, child = (int(told.readline()) for _ in range(2))
        starter.send_signal(by)
    assert starter.returncode == -by
    has_ended(program)
    has_ended(child)


def test_a_command_that_is_terminated_leaves_no_folder_behind() -> None:
    with subprocess.Popen([sys.executable, "-c", TERMINATED], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        folder = Path(command.stdout.readline().strip())
        assert folder.is_dir()
        command.terminate()
    assert command.returncode == 128 + signal.SIGTERM
    assert not folder.exists()


def test_a_program_that_is_not_there_is_told_from_one_that_fails(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_bounded(["no-such-program"], tmp_path, 30)
    with pytest.raises(FileNotFoundError):
        run_bounded(["./no-such-program"], tmp_path, 30)
    assert run_bounded(["sh", "-c", "exit 127"], tmp_path, 30).code == 127


def test_signals_exit_codes_and_output_are_the_program_s_own(tmp_path: Path) -> None:
    assert run_bounded(["sh", "-c", "kill -SEGV $$"], tmp_path, 30).code == -signal.SIGSEGV
    ended = run_bounded(["sh", "-c", "cat; echo done; echo bad >&2; exit 3"], tmp_path, 30)
    assert (ended.code, ended.output) == (3, "done\nbad\n"), "there is nothing to read"

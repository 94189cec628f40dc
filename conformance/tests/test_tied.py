"""Whatever groupspec starts ends with it: killed, or stopped by the user, who gets a part of the report then."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupspec.conformance import tied
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.results_json import as_json
from groupspec.conformance.wire.scenarios import all_cases

A_HARNESS = """\
import signal
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log
harness = HarnessProcess(["sh", "-c", "echo $$ > {told}; sleep 600"], Log())
signal.pause()
"""
A_PART = """\
import subprocess
from groupspec.conformance import tied
process = tied.start(["sh", "-c", "echo $$ > {told}; sleep 600"], stdin=subprocess.DEVNULL)
process.wait()
"""
A_WORKER = """\
import multiprocessing, os, signal
from concurrent.futures import ProcessPoolExecutor
from groupspec.conformance.scores.trials import _end_with_who_started_it
with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), _end_with_who_started_it) as pool:
    worker = pool.submit(os.getpid).result()
    with open("{told}", "w") as told:
        print(worker, file=told)
    signal.pause()
"""


def ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 30)[0])


@pytest.mark.parametrize("program", [A_HARNESS, A_PART, A_WORKER])
def test_what_a_killed_process_has_started_ends_with_it(program: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    with subprocess.Popen([sys.executable, "-c", program.format(told=told)]) as starter:
        with told.open() as tells:
            pidfd = os.pidfd_open(int(tells.readline()))
        starter.kill()
    try:
        assert ended(pidfd), "it goes on"
    finally:
        os.close(pidfd)


def test_the_end_of_a_program_is_seen_though_a_shell_waits_beside_it() -> None:
    process = tied.start(["sh", "-c", "echo said; exit 7"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.read() == b"said\n", "its output has an end"
        assert process.wait(30) == 7
        tied.end(process)


def test_a_program_in_the_folder_is_started_by_its_relative_path(tmp_path: Path) -> None:
    (tmp_path / "harness").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "harness").chmod(0o755)
    process = tied.start(["./harness"], tmp_path, stdin=subprocess.DEVNULL)
    assert process.wait(30) == 7
    tied.end(process)


def test_a_program_that_is_not_there_is_no_exit_code() -> None:
    with pytest.raises(FileNotFoundError):
        tied.start(["no-such-program"])


def test_ctrl_c_ends_the_runs_and_leaves_the_part_that_is_done() -> None:
    """One client ends at once; the user stops the kit then, while the other has not said a word."""
    gone, silent = Client("cmd:gone", ("false",)), Client("cmd:silent", ("sleep", "600"))
    begun = time.monotonic()

    def interrupted(result: CaseResult, more: int) -> None:
        assert result.client is gone
        raise KeyboardInterrupt

    campaign = run_campaign([gone, silent], all_cases()[:1], jobs=2, finished=interrupted)
    assert time.monotonic() - begun < 9, "less than the time that a silent harness is given to start"
    done, missing = campaign.clients
    assert done.rows
    assert not missing.rows
    assert as_json(campaign)["stopped"] == "stopped by the user after 1 of at least 2 runs: what follows is a part"

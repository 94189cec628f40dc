"""What the machine refuses is said as such, wherever it comes up; `--json` writes to what it is given.

A command ends with `a defect of groupspec` only when it is one.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import resource
import runpy
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from groupspec.conformance import cli, endings, missing
from groupspec.conformance.outputs import write_bytes
from groupspec.spec import composition, properties

RUN = "import sys; from groupspec.conformance.cli import main; sys.exit(main())"
THREAD_WITHOUT_MEMORY = f"""
from groupspec.conformance.wire import harness_process
def no_memory(*_): raise MemoryError
harness_process.HarnessProcess._read = no_memory
{RUN}"""
TERMINATED_AFTER_A_RUN = f"""
import os, signal
from groupspec.conformance.wire import campaign
run_case, begun = campaign.run_case, []
def terminated_in_the_second(*of):
    begun.append(of)
    if len(begun) == 2:
        os.kill(os.getpid(), signal.SIGTERM)
    return run_case(*of)
campaign.run_case = terminated_in_the_second
{RUN}"""
Plant = Callable[[Callable[[], int | None]], None]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Makes `groupspec planted` do what the test says."""

    def planted(does: Callable[[], int | None]) -> None:
        command = click.Command("planted", callback=does)
        monkeypatch.setattr(cli.LazyGroup, "list_commands", lambda self, ctx: ["planted"])
        monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: command)

    return planted


def groupspec(
    *arguments: str, shell: str = '"$@"', limit: Callable[[], None] | None = None, run: str = RUN
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a real process; `shell` may redirect it."""
    command = ["sh", "-c", shell, "sh", sys.executable, "-c", run, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def is_whole(text: str) -> bool:
    return bool(json.loads(text)["clients"][0]["name"] == "reference")


# --json


def test_json_to_a_hyphen_has_stdout_for_itself() -> None:
    code, out, err = groupspec("clients", "list", "--json", "-")
    assert code == 0
    assert is_whole(out)
    assert "kafka-python" in err, "what is for people"


def test_another_name_of_stdout_is_stdout() -> None:
    _, out, _ = groupspec("clients", "list", "--json", "/dev/stdout")
    assert is_whole(out)


def test_json_to_a_device_writes_to_it() -> None:
    code, _, err = groupspec("clients", "list", "--json", "/dev/full")
    assert (code, "No space left on device" in err, "free some space" in err) == (2, True, True)
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_json_to_a_fifo_reaches_its_reader(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    assert cli.main(["clients", "list", "--json", str(fifo)]) == 0
    reader.join(30)
    assert is_whole(read[0])
    assert fifo.is_fifo()


def test_json_to_a_link_writes_where_it_points(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "there.json")
    for _ in range(2):
        assert cli.main(["clients", "list", "--json", str(link)]) == 0
        assert link.is_symlink()
        assert is_whole((tmp_path / "there.json").read_text())


@pytest.mark.parametrize("target", [".", "/proc/nothing/result.json"])
def test_json_that_cannot_be_written_is_refused_before_the_work(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "groupspec.conformance.commands.explain.explain", lambda name: pytest.fail("the work was begun")
    )
    assert cli.main(["explain", "M1", "--json", target]) == 2
    assert "cannot write the output" in capsys.readouterr().err


def test_a_file_keeps_its_permissions_and_a_new_one_has_the_users(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("")
    kept.chmod(0o640)
    before = os.umask(0o027)
    try:
        write_bytes(kept, b"1")
        write_bytes(tmp_path / "new", b"1")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("kept", "new")] == [0o640, 0o640]


def test_a_disk_that_fills_leaves_what_was_there_and_no_parts(tmp_path: Path) -> None:
    def at_most_a_few_bytes() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    file = tmp_path / "clients.json"
    file.write_text("what was there")
    code, _, err = groupspec("clients", "list", "--json", str(file), limit=at_most_a_few_bytes)
    assert (code, "File too large" in err) == (2, True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["clients.json"]
    assert file.read_text() == "what was there"


# stdout


def test_results_that_nobody_takes_are_no_defect() -> None:
    full = groupspec("clients", "list", shell='"$@" >/dev/full')
    assert full == (
        2,
        "",
        "groupspec: the system refused: No space left on device\n"
        "  where:   <stdout>\n  next:    free some space, or choose a path on another disk, then run it again\n",
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_caller_that_closes_what_it_does_not_want_gets_the_exit_code(closed: str, tmp_path: Path) -> None:
    file = tmp_path / "clients.json"
    code, _, err = groupspec("clients", "list", "--json", str(file), shell=f'"$@" {closed}')
    said = "" if "2>&-" in closed else f"groupspec: the JSON result is in {file}\n"
    assert (code, err) == (0, said)
    assert is_whole(file.read_text()), "no result was written over another's descriptor"


# what comes up anywhere


def wrapped(reason: BaseException) -> Callable[[], None]:
    def does() -> None:
        try:
            raise reason
        except BaseException as problem:
            raise ExceptionGroup("of a library", [ValueError("it failed")]) from problem

    return does


@pytest.mark.parametrize(
    ("reason", "code", "said"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "wire.txt"),
            2,
            "No space left on device\n  where:   wire.txt",
        ),
        (OSError(errno.EROFS, os.strerror(errno.EROFS)), 2, "Read-only file system"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), 2, "Too many open files"),
        (MemoryError(), 4, "there is not enough memory"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), 4, "there is not enough memory"),
        (RuntimeError("can't start new thread"), 4, "there is not enough memory"),
        (ImportError("libarrow.so: failed to map segment from shared object"), 4, "there is not enough memory"),
    ],
)
def test_what_the_machine_refuses_is_said_as_such(
    reason: BaseException, code: int, said: str, plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(wrapped(reason))
    assert cli.main(["planted"]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert "defect" not in err


@pytest.mark.parametrize(
    "reason", [FileNotFoundError(errno.ENOENT, "gone"), BrokenPipeError(errno.EPIPE, "a harness's")]
)
def test_what_could_be_our_own_mistake_stays_a_defect(
    reason: BaseException, plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(wrapped(reason))
    assert cli.main(["planted"]) == 3
    assert "defect of groupspec" in capsys.readouterr().err


def test_a_process_that_may_have_little_memory_says_so() -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    code, _, err = groupspec("conform", "reference", "--scenario", "first-join", limit=little)
    assert code == 4
    assert "there is not enough memory for" in err
    assert "ulimit -v" in err


def test_a_thread_without_memory_ends_the_command() -> None:
    """The others would take its silence for the client's."""
    code, _, err = groupspec("conform", "reference", "--scenario", "first-join", run=THREAD_WITHOUT_MEMORY)
    assert code == 4
    assert "there is not enough memory" in err
    assert "Traceback" not in err


def test_a_campaign_that_is_terminated_tells_what_it_knew_as_after_ctrl_c(tmp_path: Path) -> None:
    arguments = ("conform", "reference", "--scenario", "first-join", "--jobs", "1", "--report", str(tmp_path))
    code, out, err = groupspec(*arguments, run=TERMINATED_AFTER_A_RUN)
    assert code == 4, err
    assert "stopped by SIGTERM after 1 of at least" in out
    assert "stopped by SIGTERM" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_command_that_has_nothing_to_tell_ends_as_terminated_programs_do(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGTERM, cli.terminated)
    plant(lambda: signal.raise_signal(signal.SIGTERM))
    try:
        assert cli.main(["planted"]) == 143
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "groupspec: stopped by SIGTERM\n"


@pytest.mark.parametrize("text", ["STATES = (UNJOINDE,)\n", "STATES = (\n", "import nonesuch\n"])
def test_a_mistake_in_a_machine_file_is_its_authors(
    text: str, tmp_path: Path, plant: Plant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rebalance.py"
    file.write_text(text)
    monkeypatch.setattr(endings, "SPEC", tmp_path)

    def reads_it() -> None:
        spec = importlib.util.spec_from_file_location("rebalance", file)
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))

    plant(reads_it)
    assert cli.main(["planted"]) == 2
    err = capsys.readouterr().err
    assert "rebalance.py:1" in err
    assert "defect" not in err


def test_an_install_that_lacks_a_new_file_is_told_with_what_renews_it(
    tmp_path: Path, plant: Plant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout, links = tmp_path / "checkout" / "conformance", tmp_path / "links" / "conformance"
    for folder in (checkout, links):
        folder.mkdir(parents=True)
    (checkout / "missing.py").write_text("")
    (links / "missing.py").symlink_to(checkout / "missing.py")
    monkeypatch.setattr(missing, "__file__", str(links / "missing.py"))
    plant(lambda: {}["of a new file"])  # type: ignore[index]
    assert cli.main(["planted"]) == 3
    assert "defect of groupspec" in capsys.readouterr().err
    (checkout / "new.toml").write_text("")
    assert cli.main(["planted"]) == 2
    assert capsys.readouterr().err == (
        "groupspec: KeyError: 'of a new file'\n"
        "groupspec: files were added or removed since the last `make install`\n"
        "  where:   conformance/new.toml\n"
        "  next:    make install, then the same command again\n"
    )


def test_what_goes_wrong_while_the_user_stops_it_is_no_defect(plant: Plant, capsys: pytest.CaptureFixture[str]) -> None:
    def does() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionError("of a library that tidies up")

    plant(does)
    assert cli.main(["planted"]) == 2
    assert capsys.readouterr().err == "groupspec: stopped by the user\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param(
            "class A:\n    STABLE = 1\n    TO = STABEL\n", 3, "next:    did you mean 'STABLE'?", id="in a class"
        ),
        pytest.param("class A:\n    STABLE = 1\nTO = A.STABEL\n", 3, "allowed: STABLE\n", id="of a class"),
        pytest.param(
            "def row(rules):\n    rules.split()\n\nrow(['J4'])\n", 4, "no attribute 'split'", id="in a function"
        ),
    ],
)
def test_a_mistake_in_a_row_is_told_where_it_stands(
    text: str,
    line: int,
    said: str,
    tmp_path: Path,
    plant: Plant,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "rebalance.py"
    file.write_text(text)
    monkeypatch.setattr(endings, "SPEC", tmp_path)
    plant(lambda: len(runpy.run_path(str(file))))
    assert cli.main(["planted"]) == 2
    err = capsys.readouterr().err
    assert f"rebalance.py:{line}\n" in err
    assert said in err
    assert "Traceback" not in err and "defect" not in err


@pytest.mark.parametrize("change", [('kind = "recoverable"', 'kind = "safety"'), ("holds =", "hold =")])
def test_a_mistake_in_a_data_file_is_its_authors(
    change: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a command meets it: the file of a model's properties, with one word changed."""
    folder = tmp_path / "properties"
    shutil.copytree(Path(properties.__file__).with_name("data") / "properties", folder)
    text = (folder / "base.toml").read_text(encoding="utf-8")
    assert change[0] in text
    (folder / "base.toml").write_text(text.replace(*change, 1), encoding="utf-8")
    monkeypatch.setattr(properties, "_FOLDER", folder)
    properties.properties.cache_clear()
    composition.models.cache_clear()
    try:
        assert cli.main(["verify", "--model", "base-eager-deployed-2"]) == 2
    finally:
        monkeypatch.undo()
        properties.properties.cache_clear()
        composition.models.cache_clear()
    err = capsys.readouterr().err
    assert "where:" in err and "base.toml:" in err
    assert "kind (invariant | reachable | recoverable | leads_to)" in err
    assert "Traceback" not in err and "defect" not in err

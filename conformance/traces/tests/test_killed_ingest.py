"""An ingest that is killed, or that another one meets.

The target holds the whole answer or none, and is refused in words.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces import engine, fleet
from groupspec.conformance.traces.inputs import workspace_folder
from groupspec.conformance.traces.tests.ingesting import killed_at
from groupspec.conformance.traces.tests.recordings import SAMPLES

BUCKETS = 5


def steps_of(traces: Path, out: Path) -> list[str]:
    """All steps of a local ingest that nobody disturbs."""
    steps: list[str] = []
    engine.ingest([traces], out, BUCKETS, lambda what, done, of: steps.append(f"{what} {done} of {of}"))
    return steps


def check_after_a_kill(traces: Path, out: Path, events: int, capsys: pytest.CaptureFixture[str]) -> None:
    """`trace check` refuses the target in words or gives the whole answer; the next ingest makes it whole."""
    whole, begun = out.exists(), workspace_folder(out).exists()
    assert main(["trace", "check", str(out)]) == (0 if whole else 2)
    said = capsys.readouterr()
    assert f"{events:,} events" in said.out if whole else "has not ended" in said.err or not begun
    if whole:
        shutil.rmtree(out)
    assert engine.ingest([traces], out, BUCKETS).events == events
    assert not workspace_folder(out).exists(), "what the killed ingest left is gone"
    assert engine.check([out]).events == events


def test_a_killed_ingest_never_passes_as_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed in the middle of the buckets, between marker and rename, and after the rename."""
    steps = steps_of(SAMPLES, tmp_path / "undisturbed")
    assert [step.split()[0] for step in steps] == ["read", *["written"] * (len(steps) - 3), "marked", "published"]
    events = engine.check([SAMPLES]).events
    for step in (2, len(steps) - 2, len(steps) - 1):
        out = tmp_path / f"out-{step}"
        assert killed_at("local", SAMPLES, out, BUCKETS, step) == steps[: step + 1]
        check_after_a_kill(SAMPLES, out, events, capsys)


@pytest.mark.exhaustive
def test_kills_at_many_steps_of_an_ingest_of_a_million_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = tmp_path / "traces"
    events = fleet.write(traces, fleet.groups("r", 1600, members=4, rounds=4, beats=20, seed=1), 4, 1_000_000)
    steps = steps_of(traces, tmp_path / "undisturbed")
    for step in sorted(random.Random(8).sample(range(len(steps)), 6)):
        out = tmp_path / "out"
        killed_at("local", traces, out, BUCKETS, step)
        check_after_a_kill(traces, out, events, capsys)
        shutil.rmtree(out)


@pytest.mark.exhaustive
@pytest.mark.spark
def test_kills_at_steps_of_an_ingest_on_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the tasks, after them, in the middle of the commit, and on either side of the rename."""
    events = engine.check([SAMPLES]).events
    made = engine.ingest([SAMPLES], tmp_path / "undisturbed", BUCKETS)
    committed = len(made.files)
    for step in (0, 1, 2 + committed // 2, 2 + committed, 3 + committed):
        out = tmp_path / f"out-{step}"
        steps = killed_at("spark", SAMPLES, out, BUCKETS, step)
        assert len(steps) == step + 1
        assert out.exists() == steps[-1].startswith("published")
        check_after_a_kill(SAMPLES, out, events, capsys)


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("which", ["local", "spark"])
def test_kills_at_random_moments_of_an_ingest_of_a_million_events(
    which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command as a user starts it; the last moments, when files are moved, are tried as often as all before."""
    traces, out = tmp_path / "traces", tmp_path / "out"
    events = fleet.write(traces, fleet.groups("r", 1600, members=4, rounds=4, beats=20, seed=1), 4, 1_000_000)
    command = [sys.executable, "-m", "groupspec.conformance.cli", *("trace", "ingest", "--engine", which)]

    def killed_after(limit_s: float | None) -> float:
        began = time.monotonic()
        with subprocess.Popen([*command, str(traces), "--out", str(out)], stdout=subprocess.DEVNULL) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limit_s)
            process.kill()
        return time.monotonic() - began

    whole_s = killed_after(None)
    assert engine.check([out]).events == events
    moments = random.Random(20)
    for number in range(20):
        shutil.rmtree(out, ignore_errors=True)
        killed_after(moments.uniform(0 if number % 2 else 0.85 * whole_s, whole_s))
        check_after_a_kill(traces, out, events, capsys)


def test_a_second_ingest_into_the_same_folder_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused: list[str] = []

    def meanwhile(what: str, done: int, of: int) -> None:
        if what != "published":
            with pytest.raises(UsageProblem, match="another ingest into this folder is running") as problem:
                engine.ingest([SAMPLES / "alone.ndjson"], out, BUCKETS)
            refused.append(str(problem.value))

    made = engine.ingest([SAMPLES], out, BUCKETS, meanwhile)
    assert len(refused) > 3
    assert engine.check([out]).events == made.events
    with pytest.raises(UsageProblem, match="not empty"):
        engine.ingest([SAMPLES / "alone.ndjson"], out, BUCKETS)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out"]


def test_what_comes_to_lie_in_the_target_meanwhile_is_not_lost(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def meanwhile(what: str, done: int, of: int) -> None:
        if what == "marked":
            out.mkdir()
            (out / "notes.txt").write_text("mine")

    with pytest.raises(UsageProblem, match="not empty"):
        engine.ingest([SAMPLES], out, BUCKETS, meanwhile)
    assert [file.name for file in out.iterdir()] == ["notes.txt"]
    assert not workspace_folder(out).exists()


def test_what_a_killed_ingest_left_is_not_read_with_the_folder_around_it(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes((SAMPLES / "alone.ndjson").read_bytes())
    events = engine.check([tmp_path]).events
    killed_at("local", tmp_path, tmp_path / "out", BUCKETS, 2)
    assert workspace_folder(tmp_path / "out").exists()
    verdict = engine.check([tmp_path])
    assert (verdict.events, [left.reason for left in verdict.left_out]) == (events, ["hidden"])


def test_an_empty_folder_and_a_link_to_one_are_targets(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    made = engine.ingest([SAMPLES], tmp_path / "link", BUCKETS)
    assert engine.check([tmp_path / "real"]).events == made.events
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("change", ["other rows", "other bytes", "too many", "too few", "quarantine", "counts"])
def test_a_layout_that_was_changed_is_refused(tmp_path: Path, change: str) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    made = engine.ingest([SAMPLES], out, BUCKETS)
    engine.ingest([SAMPLES / "alone.ndjson", SAMPLES / "expelled.ndjson"], other, 1)
    bucket = out / made.files[0].name
    if change == "other rows":
        shutil.copy(other / "bucket-00000.parquet", bucket)
    elif change == "other bytes":
        content = bytearray(bucket.read_bytes())
        content[len(content) // 2] ^= 1
        bucket.write_bytes(content)
    elif change == "too many":
        shutil.copy(other / "bucket-00000.parquet", out / "bucket-00077.parquet")
    elif change == "too few":
        bucket.unlink()
    elif change == "quarantine":
        (out / "_quarantine.parquet").write_bytes(b"PAR1")
    else:
        marker = out / "_layout.json"
        marker.write_text(marker.read_text().replace(f'"events": {made.events}', '"events": 7'))
    with pytest.raises(UsageProblem, match="ingest the traces again into a new folder"):
        engine.check([out])

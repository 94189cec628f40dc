"""A full disk, and too little memory: said as such, exit code 2, and nothing half-written that passes as whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.traces import layout
from groupspec.conformance.traces.tests.recordings import SAMPLES


def full_disk(path: Path, events: pa.Table) -> layout.Written:
    """Writes as a disk with no room does."""
    path.write_bytes(b"PAR1")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def test_a_full_disk_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(layout, "write_bucket", full_disk)
    command = ["trace", "ingest", str(SAMPLES), "--engine", "local", "--out", str(tmp_path / "out")]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "the disk is full while ingesting" in said
    assert "next:    make room" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert main(command) == 0


def test_too_little_memory_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    """A process whose address space is limited, once everything is loaded, to less than the traces need.

    They are one long line, which memory runs out for while it is read: what decodes whole lines (msgspec) has crashed
    without memory in 2 of 120 runs, which no handler can turn into a message.
    """
    (tmp_path / "big.ndjson").write_bytes(b"x" * 120_000_000)
    program = f"""
import resource, sys
from groupspec.conformance.commands.trace import ingest
from groupspec.conformance.traces import engine, reading
from groupspec.conformance.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000,) * 2)
big, out = {str(tmp_path / "big.ndjson")!r}, {str(tmp_path / "out")!r}
sys.exit(main(["trace", "ingest", big, "--engine", "local", "--out", out]))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "the memory that this process may use is exhausted while ingesting" in ended.stderr
    assert "next:    allow more memory" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["big.ndjson"]

"""Compressed traces: the same events, and of a file that is not whole all that can be had."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.traces import engine, reading
from groupspec.conformance.traces.tests.recordings import SAMPLES

LINES = (SAMPLES / "cooperative_pair.ndjson").read_bytes().splitlines(keepends=True)


def test_compressed_traces_are_read_in_folders_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two gzip members in one file, zero bytes at the end, and far smaller pieces than usual."""
    monkeypatch.setattr(reading, "CHUNK_BYTES", 700)
    file = tmp_path / "trace.ndjson.gz"
    text = b"\xef\xbb\xbf" + b"".join(LINES)
    file.write_bytes(gzip.compress(text[:9_000]) + gzip.compress(text[9_000:]) + bytes(100))
    plainly = engine.check([SAMPLES / "cooperative_pair.ndjson"])
    for path in (tmp_path, file):
        verdict = engine.check([path])
        assert (verdict.events, verdict.quarantine, verdict.violations) == (len(LINES), [], [])
        assert verdict.members == plainly.members


@pytest.mark.parametrize("cut", [100, 700, 1_500])
def test_of_a_compressed_file_that_was_cut_off_the_lines_before_are_read(tmp_path: Path, cut: int) -> None:
    (tmp_path / "trace.ndjson.gz").write_bytes(gzip.compress(b"".join(LINES))[:cut])
    verdict = engine.check([tmp_path])
    assert 0 <= verdict.events < len(LINES)
    (lost,) = verdict.quarantine
    assert (lost.line, lost.reason) == (verdict.events + 1, "truncated")
    assert "ends in the middle" in lost.problem
    assert LINES[verdict.events].decode().startswith(lost.text[:50])
    assert main(["trace", "check", str(tmp_path)]) in (1, 4)


def test_of_a_compressed_file_with_damage_the_lines_before_are_read(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"".join(LINES), 0))  # stored: a flipped byte is found by the checksum at the end
    whole[-6] ^= 0xFF
    (tmp_path / "sum.ndjson.gz").write_bytes(whole)
    verdict = engine.check([tmp_path / "sum.ndjson.gz"])
    assert verdict.events == len(LINES)
    assert [(lost.line, lost.reason) for lost in verdict.quarantine] == [(len(LINES) + 1, "damaged")]

    (tmp_path / "tail.ndjson.gz").write_bytes(gzip.compress(b"".join(LINES)) + b"no gzip")
    verdict = engine.check([tmp_path / "tail.ndjson.gz"])
    assert (verdict.events, verdict.quarantined) == (len(LINES), {"damaged": 1})

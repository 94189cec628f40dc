"""Which files are read: nothing that may hold events is passed over without a word."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces import engine
from groupspec.conformance.traces.inputs import LeftOut, find_files, local_path, named
from groupspec.conformance.traces.tests.recordings import SAMPLES

ALONE = (SAMPLES / "alone.ndjson").read_bytes()
WIRE_LOG = b'{"at_us":1,"source":"wire","kind":"request","event":{"kind":"ready"}}\n' * 30


def report_folder(folder: Path) -> Path:
    """What `groupspec conform --report` leaves behind for a case, with a page above it."""
    case = folder / "reference" / "first-join"
    case.mkdir(parents=True)
    (case / "trace.ndjson").write_bytes(ALONE)
    (case / "log.ndjson").write_bytes(WIRE_LOG)
    (case / "wire.txt").write_text("PASS  J1\n")
    (case / "sequence.svg").write_text("<svg/>")
    (folder / "conform.json").write_text(json.dumps({"clients": [], "member": 1}, indent=2))
    (folder / "index.html").write_text("<html></html>")
    return folder


def test_of_the_kits_report_folder_the_traces_are_read_and_the_rest_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = report_folder(tmp_path / "report")
    found = find_files([folder])
    assert [file.path.name for file in found.files] == ["trace.ndjson"]
    assert found.left_out == [LeftOut("no_trace", 5, str(folder / "conform.json"))]
    assert main(["trace", "check", str(folder), "--json", str(tmp_path / "v.json")]) == 0
    assert "5 files left out: no_trace" in capsys.readouterr().out
    assert json.loads((tmp_path / "v.json").read_text())["left_out"][0]["files"] == 5


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("trace.ndjson.1", ALONE, "other_name"),
        ("trace.ndjson.2.gz", gzip.compress(ALONE), "other_name"),
        ("trace.ndjson.zst", b"\x28\xb5\x2f\xfd", "other_compression"),
    ],
)
def test_what_may_hold_events_and_is_not_read_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, reason: str
) -> None:
    (tmp_path / "trace.ndjson").write_bytes(ALONE)
    (tmp_path / name).write_bytes(content)
    assert main(["trace", "check", str(tmp_path)]) == 4
    assert f"1 files left out: {reason}" in capsys.readouterr().out
    assert main(["trace", "ingest", str(tmp_path), "--engine", "local", "--out", str(tmp_path / ".out")]) == 0
    assert main(["trace", "check", str(tmp_path / ".out")]) == 4, "the layout remembers what its ingest left out"


@pytest.mark.parametrize(
    "late",
    [b"no event\n" * 50 + ALONE, ALONE.decode().encode("utf-16"), gzip.compress(b"no event\n" * 50 + ALONE), b"",
     gzip.compress(WIRE_LOG)[:-9]],
    ids=["events after 50 other lines", "utf-16", "the same, compressed", "empty", "compressed and not whole"],
)  # fmt: skip
def test_a_file_in_which_one_line_could_be_an_event_is_read(tmp_path: Path, late: bytes) -> None:
    (tmp_path / "late.json").write_bytes(late)
    assert [file.path.name for file in find_files([tmp_path]).files] == ["late.json"]


def test_hidden_files_and_folders_are_told_and_links_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.ndjson").write_bytes(ALONE)
    (tmp_path / "in" / ".git").mkdir(parents=True)
    (tmp_path / "in" / ".git" / "b.ndjson").write_bytes(ALONE)
    (tmp_path / "in" / "_c.ndjson").write_bytes(ALONE)
    (tmp_path / "in" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "in" / "circle").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "again.ndjson").symlink_to(tmp_path / "real" / "a.ndjson")
    found = find_files([tmp_path / "in", tmp_path / "real" / "a.ndjson"])
    assert len(found.files) == 1
    assert found.left_out == [LeftOut("hidden", 2, str(tmp_path / "in" / ".git"))]


def test_a_trace_that_cannot_be_opened_is_an_error_also_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(ALONE)
    (tmp_path / "b.ndjson").symlink_to(tmp_path / "gone")
    with pytest.raises(UsageProblem, match="No such file"):
        find_files([tmp_path])


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ndjson")
    with pytest.raises(UsageProblem, match="not a regular file"):
        find_files([tmp_path / "pipe.ndjson"])


def test_a_folder_without_traces_is_an_error_that_says_what_lies_there(tmp_path: Path) -> None:
    (tmp_path / "log.ndjson").write_bytes(WIRE_LOG)
    with pytest.raises(UsageProblem, match="1 files left out: no_trace"):
        find_files([tmp_path])


def test_urls_and_patterns_name_files(tmp_path: Path) -> None:
    for name in ("a 1.ndjson", "b.ndjson", "[c].ndjson"):
        (tmp_path / name).write_bytes(ALONE)
    assert local_path(f"file://{tmp_path}/a%201.ndjson") == tmp_path / "a 1.ndjson"
    assert named([f"{tmp_path}/?.ndjson"]) == [tmp_path / "b.ndjson"]
    assert named([f"{tmp_path}/[c].ndjson"]) == [tmp_path / "[c].ndjson"]
    assert len(named([f"file://{tmp_path}/*.ndjson"])) == 3
    with pytest.raises(UsageProblem, match="no file matches"):
        named([f"{tmp_path}/*.parquet"])
    with pytest.raises(UsageProblem, match="s3a://"):
        named(["s3a://bucket/traces"])


def test_buckets_are_read_through_their_marker_only(tmp_path: Path) -> None:
    made = engine.ingest([SAMPLES], tmp_path / "layout", buckets=2)
    bucket = tmp_path / "layout" / made.files[0].name
    with pytest.raises(UsageProblem, match="no trace by itself"):
        engine.check([bucket])
    with pytest.raises(UsageProblem, match="an ingested layout lies in this folder"):
        engine.check([tmp_path])
    (tmp_path / "layout" / "_layout.json").unlink()
    with pytest.raises(UsageProblem, match=r"without the layout's marker"):
        engine.check([tmp_path / "layout"])
    bucket.rename(tmp_path / "mine.parquet")
    with pytest.raises(UsageProblem, match=r"without the layout's marker"):
        engine.check([tmp_path / "mine.parquet"])

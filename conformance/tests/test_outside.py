"""Files that strangers hand over: each ends in a message, and none in the kit's own defect (exit code 3)."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from groupspec.conformance import outside
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_INCONCLUSIVE, EXIT_USAGE, UsageProblem
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import BrokenLine
from groupspec.conformance.outside import TooDeep, contents, decoded, lines_of
from groupspec.conformance.traces.dialects import reading
from groupspec.conformance.traces.dialects.times import Clock
from groupspec.conformance.traces.gunzip import Damage, unpacked_lines
from groupspec.conformance.traces.quarantine import parse_line

CAPTURES = Path(__file__).parents[1] / "traces" / "captures"
DEEP = "[" * 2_000 + "]" * 2_000
EVENT = '{"v":1,"run":"r","group":"g","member":"m","seq":1,"at_us":0,"source":"wire","event":"heartbeat","detail":%s}\n'
BOMB = gzip.compress(bytes(outside.MOST_BYTES + 1), mtime=0)
JUDGE, COMPARE, CHECK = ["conform", "--judge"], ["compare"], ["trace", "check"]
WHY = ["trace", "why", "g"]


@pytest.mark.parametrize(
    ("command", "name", "data", "code", "said"),
    [
        (COMPARE, "a.json", f'{{"clients": {DEEP}}}'.encode(), EXIT_USAGE, "no result of groupspec"),
        (COMPARE, "a.json", b'{"clients": [], "seconds": "\xff"}', EXIT_USAGE, "no result of groupspec"),
        (COMPARE, "a.json", BOMB, EXIT_USAGE, "larger than anything"),
        (JUDGE, "log.ndjson", f'{{"x": {DEEP}}}'.encode(), EXIT_USAGE, "JSON is nested too deep"),
        (JUDGE, "log.ndjson.gz", BOMB, EXIT_USAGE, "larger than anything"),
        (CHECK, "t.ndjson", DEEP.encode() + b"\n", EXIT_INCONCLUSIVE, "JSON is nested too deep"),
        (CHECK, "t.ndjson", (EVENT % DEEP).encode(), EXIT_INCONCLUSIVE, "JSON is nested too deep"),
        (CHECK, "t.ndjson.gz", BOMB, EXIT_INCONCLUSIVE, "more than 250 times the file's size"),
        (WHY, "b.log", b'{"message":' + DEEP.encode() + b"}\n", EXIT_USAGE, "none of the files is a log"),
        (WHY, "b.log", b'{"result":"ok","message":"x"}\n', EXIT_USAGE, "none of the files is a log"),
        (
            WHY,
            "b.log",
            gzip.compress(b"x" * (outside.MOST_BYTES + 1), mtime=0),
            EXIT_USAGE,
            "none of the files is a log",
        ),
    ],
)
def test_a_hostile_file_ends_in_a_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    name: str,
    data: bytes,
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    assert main([*command, name, *([name] if command == COMPARE else [])]) == code
    told = capsys.readouterr()
    assert said in told.out + told.err


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo], ids=["device", "pipe"])
def test_what_may_never_end_is_not_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "log.ndjson")
    with pytest.raises(UsageProblem, match="no regular file"):
        contents(tmp_path / "log.ndjson")
    assert main(["conform", "--judge", str(tmp_path / "log.ndjson")]) == EXIT_USAGE
    assert main(["compare", *[str(tmp_path / "log.ndjson")] * 2]) == EXIT_USAGE


def test_what_is_packed_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = gzip.compress(b"abc" * 1_000)
    (tmp_path / "f").write_bytes(packed[:-12])
    assert contents(tmp_path / "f").startswith(b"abc")


def test_nested_json_is_an_error_of_json() -> None:
    with pytest.raises(TooDeep):
        decoded(json.loads, DEEP * 10)
    assert decoded(json.loads, "[[1]]") == [[1]]


def test_a_line_of_a_harness_that_is_nested_too_deep_is_broken() -> None:
    with pytest.raises(BrokenLine, match="nested too deep"):
        protocol.decode_event(f'{{"event": "poll_started", "x": {DEEP}}}'.encode())


def test_a_line_without_end_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "MOST_LINE_BYTES", 10)
    (tmp_path / "f").write_bytes(b"x" * 25 + b"\nshort\n")
    with (tmp_path / "f").open("rb") as stream:
        assert list(lines_of(stream)) == [b"x" * 10, b"x" * 10, b"x" * 5 + b"\n", b"short\n"]


def test_traces_pack_well_and_bombs_better(tmp_path: Path) -> None:
    """As often as deflate can, a heartbeat a second is no bomb."""
    beat = "".join(EVENT % f'{{"at":{at}}}' for at in range(100_000)).encode()
    (tmp_path / "t.ndjson.gz").write_bytes(gzip.compress(beat))
    assert not any(isinstance(line, Damage) for line in unpacked_lines(tmp_path / "t.ndjson.gz"))
    (tmp_path / "bomb").write_bytes(BOMB)
    assert [line for line in unpacked_lines(tmp_path / "bomb") if isinstance(line, Damage)]


def test_a_bomb_of_long_lines_is_told_like_one_of_short_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a log it was read to its end, 6 GB of 6 MB."""
    monkeypatch.setattr(outside, "MOST_BYTES", 2**21)
    log = (CAPTURES / "02a-slow-java" / "broker.log").read_bytes()
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(log + (b"x" * 2**20 + b"\n") * 100))
    [parsed] = reading.read_logs([tmp_path / "b.log.gz"], Clock()).parsed.values()
    assert "250 times the file's size" in parsed.cut_off


def test_of_long_lines_few_tell_what_a_log_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    monkeypatch.setattr(reading, "recognise", taken.extend)
    (tmp_path / "b.log").write_bytes((b"x" * 2**20 + b"\n") * 40)
    with pytest.raises(UsageProblem, match="not a log"):
        reading.read_logs([tmp_path / "b.log"], Clock())
    assert len(taken) < 20


def test_of_a_name_that_stands_twice_the_last_one_counts_for_every_reader() -> None:
    assert decoded(json.loads, '{"a": 1, "a": 2}') == {"a": 2}
    assert protocol.decode_event(b'{"name":"shutdown_complete","elapsed_ms":1,"elapsed_ms":2}') == (
        protocol.ShutdownComplete(elapsed_ms=2)
    )
    line = (EVENT % "null").replace('"group":"g"', '"group":"g","group":"h"').replace('"heartbeat"', '"heartbeat_sent"')
    assert parse_line(line.encode()).group == "h"

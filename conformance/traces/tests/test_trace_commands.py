"""`groupspec trace ingest` and `check`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.traces.tests.defects import DEFECTS
from groupspec.conformance.traces.tests.judging import flat
from groupspec.conformance.traces.tests.recordings import SAMPLES, sample
from groupspec.conformance.traces.trace_rules import CODES, detail, levels


def test_correct_traces_end_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = tmp_path / "verdict.json"
    assert main(["trace", "check", str(SAMPLES), "--json", str(verdict)]) == 0
    result = json.loads(verdict.read_text())
    assert (result["violations"], result["recording"], result["notices"]) == ([], [], [])
    assert (result["quarantined"], result["members"], result["sources"]) == ({}, 9, ["reference"])
    out = capsys.readouterr().out
    assert "0 violations" in out
    assert "not judged here, but by `groupspec conform`: " in out


def test_a_faulty_recording_is_no_violation_and_ends_with_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line was delivered twice: nothing is accused, and nothing is called fine."""
    lines = flat(sample("expelled"))
    file = tmp_path / "twice.ndjson"
    file.write_bytes(msgspec.json.Encoder().encode_lines(lines * 2))
    assert main(["trace", "check", str(file), "--json", str(tmp_path / "verdict.json")]) == 4
    result = json.loads((tmp_path / "verdict.json").read_text())
    assert result["violations"] == []
    assert {fault["rule"] for fault in result["recording"]} == {"T-SEQUENCE-DUPLICATE"}
    assert "Faults of the recording, which say nothing about the client:" in capsys.readouterr().out


def test_a_log_is_named_with_the_command_that_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    log = SAMPLES.parent / "captures/02a-slow-java/broker.log"
    assert main(["trace", "check", str(log)]) == 4
    told = " ".join(capsys.readouterr().out.split())
    hint = "is a broker group-coordinator log, and no trace: groupspec trace why GROUP"
    assert hint in told
    assert "not_json:" not in told, "its lines are no news"


def test_a_rule_that_a_client_should_keep_is_told_from_what_it_must() -> None:
    assert levels(("H1", "H2")) == "H1 (should), H2"


@pytest.mark.parametrize(
    ("silent_us", "said"), [(450_000, "450 ms"), (400_040, "400.1 ms"), (400_900, "400.9 ms"), (401_000, "401 ms")]
)
def test_a_time_beyond_its_bound_never_looks_like_the_bound(silent_us: int, said: str) -> None:
    for rule in ("T-HEARTBEAT-GAP", "T-HEARTBEAT-RARE"):
        told = detail(CODES[rule], 400_000, silent_us)
        assert told.startswith(f"{said} without a heartbeat")
        assert "400 ms" in told.partition("heartbeat")[2]


def test_a_broken_rule_ends_with_1_and_is_told_with_place_and_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    defect = next(one for one in DEFECTS if one.name == "a_commit_is_of_the_generation_before")
    spoilt = next(defect.edit(sample("eager_pair")))
    file = tmp_path / "spoilt.ndjson"
    file.write_bytes(msgspec.json.Encoder().encode_lines(flat(spoilt)) + b"{half\n")
    assert main(["trace", "check", str(file), "--json", str(tmp_path / "verdict.json")]) == 1
    out = capsys.readouterr().out
    assert "T-COMMIT-GENERATION (checks M1, C6)" in out
    assert "commit_sent in rebalance." in out
    assert "STABLE" in out
    assert f"{file}:" in out
    (violation,) = json.loads((tmp_path / "verdict.json").read_text())["violations"]
    assert (violation["rule"], violation["event"], violation["group"]) == (
        "T-COMMIT-GENERATION",
        "commit_sent",
        "billing",
    )


def test_ingest_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "layout"
    assert (
        main(["trace", "ingest", str(SAMPLES), "--engine", "local", "--out", str(out), "--json", str(tmp_path / "i")])
        == 0
    )
    assert json.loads((tmp_path / "i").read_text())["quarantined"] == {}
    assert main(["trace", "check", str(out)]) == 0
    assert main(["trace", "ingest", str(SAMPLES), "--engine", "local", "--out", str(out)]) == 2
    assert "not empty" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_path_that_is_not_there_ends_with_2_before_anything_starts(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "check", "/nowhere/at/all", "--engine", engine]) == 2
    assert "/nowhere/at/all" in capsys.readouterr().err


def test_nothing_but_quarantine_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.ndjson").write_text("INFO started\nINFO stopped\n")
    assert main(["trace", "check", str(tmp_path / "log.ndjson")]) == 4
    assert "2 lines quarantined: not_json" in capsys.readouterr().out


def test_an_unknown_subcommand_names_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "chek"]) == 2
    assert "check, ingest, why" in capsys.readouterr().err


def test_a_master_is_for_spark_and_must_be_one_that_spark_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "check", str(SAMPLES), "--engine", "local", "--master", "local[2]"]) == 2
    assert "--master is for Spark only" in capsys.readouterr().err
    assert main(["trace", "check", "s3a://bucket/traces"]) == 2
    assert "groupspec does not read or write s3a:// paths" in capsys.readouterr().err

"""The recorder: events in, lines of the schema out."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from groupspec.conformance.traces import schema
from groupspec.conformance.traces.recorder import FileRecorder, Recorder
from groupspec.conformance.traces.schema import EVENTS, TraceLine
from groupspec.conformance.traces.tests.recordings import SAMPLES
from groupspec.impl import trace
from groupspec.impl.trace import TraceEvent


def test_the_reference_and_the_schema_have_the_same_events() -> None:
    assert set(trace.EVENTS) == set(EVENTS)


def test_a_line_says_what_the_event_said(tmp_path: Path) -> None:
    file = tmp_path / "trace.ndjson"
    with FileRecorder(file, "run-7", "reference", process="host-3") as recorder:
        recorder.record(
            TraceEvent("billing", "app-1", 0, 5, "join_answered", "NONE", 3, "id", ("a-0",), {"late": False}, 300)
        )
    assert json.loads(file.read_text()) == {
        "v": 1, "run": "run-7", "group": "billing", "member": "app-1", "seq": 0, "at_us": 5, "source": "reference",
        "event": "join_answered", "error": "NONE", "generation": 3, "member_id": "id", "partitions": ["a-0"],
        "process": "host-3", "throttle_time_ms": 300,
        "detail": {"late": False},
    }  # fmt: skip


def test_a_client_that_starts_again_goes_on_counting() -> None:
    lines: list[bytes] = []
    recorder = Recorder("run", "reference", lines.append)
    for event in (TraceEvent("g", "m", 0, 0, "config"), TraceEvent("g", "m", 1, 0, "poll")) * 2:
        recorder(event)
    assert [json.loads(line)["seq"] for line in lines] == [0, 1, 2, 3]


def test_a_gap_in_the_events_stays_a_gap() -> None:
    recorder = Recorder("run", "reference", lambda line: None)
    assert [recorder.line(TraceEvent("g", "m", seq, 0, "poll")).seq for seq in (0, 2)] == [0, 2]


def test_an_event_that_breaks_the_schema_is_refused() -> None:
    lines: list[bytes] = []
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value"):
        Recorder("run", "reference", lines.append)(TraceEvent("g", "m", 0, 0, "danced"))
    assert lines == []


def test_the_committed_json_schema_is_that_of_the_code_and_holds_for_the_samples() -> None:
    assert schema.SCHEMA_FILE.read_text() == schema.schema_text()
    validator = jsonschema.Draft202012Validator(json.loads(schema.SCHEMA_FILE.read_text()))
    for file in SAMPLES.glob("*.ndjson"):
        for line in file.read_text().splitlines():
            validator.validate(json.loads(line))
            msgspec.json.decode(line, type=TraceLine)


def test_two_recorders_of_one_client_id_are_two_processes(tmp_path: Path) -> None:
    file = tmp_path / "trace.ndjson"
    for _ in range(2):
        with FileRecorder(file, "run", "reference") as recorder:
            recorder.record(TraceEvent("g", "m", 0, 0, "config"))
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert (first["seq"], second["seq"]) == (0, 0)
    assert first["process"] != second["process"]

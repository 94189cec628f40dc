"""Answers are paired by connection and order: a client that numbers all its requests 7 is judged alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.pairing import pairs
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.wire.recording import Recording, judge_recording, load
from groupspec.conformance.wire.tests.test_recording import FILES
from groupspec.conformance.wire.tests.test_to_trace import UNSUBSCRIBE, told
from groupspec.conformance.wire.tests.test_virtual import case
from groupspec.conformance.wire.to_trace import trace_events
from groupspec.conformance.wire.virtual.run import Trial, run_apart
from groupspec.impl.network import codec, connection
from groupspec.impl.threads.designs import Design


def numbered_alike(entry: Entry) -> Entry:
    return entry if entry.correlation_id == -1 else replace(entry, correlation_id=7)


def numbers_alike(seam: Seam) -> None:
    encode, expected = codec.encode_request, connection._Expected
    seam.put(connection, "encode_request", lambda message, version, _, *rest: encode(message, version, 7, *rest))
    seam.put(connection, "_Expected", lambda _, *rest: expected(7, *rest))


def wire(kind: str, connection: int = 1, api: str = "Heartbeat") -> Entry:
    return Entry(0, "wire", kind, api=api, connection=connection, correlation_id=7)


def test_the_first_answer_of_a_connection_is_that_of_the_oldest_request() -> None:
    first, other, second = wire("request"), wire("request", 2), wire("request", api="OffsetCommit")
    answers = wire("response"), wire("response", api="OffsetCommit"), wire("response", 2)
    found = pairs([first, other, second, *answers])
    assert [(id(sent), id(end)) for sent, end in found] == [
        (id(first), id(answers[0])),
        (id(other), id(answers[2])),
        (id(second), id(answers[1])),
    ]


@pytest.mark.parametrize("end", ["sent_raw", "note"])
def test_what_is_never_answered_leaves_no_answer_over_for_the_next(end: str) -> None:
    answer = wire("response")
    (_, first), (_, second) = pairs([wire("request"), wire(end), wire("request"), answer])
    assert first is not None
    assert (first.kind, second) == (end, answer)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name.partition('.')[0]}")
def test_a_recorded_run_is_judged_alike_whatever_its_requests_are_numbered(file: Path) -> None:
    recording = load(file)
    alike = replace(recording, entries=[numbered_alike(entry) for entry in recording.entries])
    if times(recording) == times(alike):
        assert judge_recording(alike).judgements == judge_recording(recording).judgements
    else:
        assert recording.header.edited, "no broker answers a connection out of order"


def times(recording: Recording) -> list[tuple[int, int | None]]:
    """When each request came, and when its answer was written."""
    return [(sent.at_us, end.at_us if end is not None else None) for sent, end in pairs(recording.entries)]


def test_a_trace_is_told_alike() -> None:
    result = told(UNSUBSCRIBE)
    entries = [numbered_alike(entry) for entry in result.entries]
    alike = replace(result, history=replace(result.history, entries=entries))
    assert list(trace_events(alike)) == list(trace_events(result))


@pytest.mark.realtime
@pytest.mark.parametrize("design", ["background", "heartbeat"])
def test_a_client_that_numbers_its_requests_alike_keeps_the_rules(design: Design) -> None:
    run = run_apart(Trial(case("rebalance-eager/slow-callback"), numbers_alike, design, keep_log=True))
    assert {entry.correlation_id for entry in run.log if entry.kind == "request"} == {7}
    assert (run.broken, run.broke_off) == ((), "")

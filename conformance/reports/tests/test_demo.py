"""The demo: parts that fail, hang or lie are told as such, and only the reference decides the exit code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_INTERNAL, EXIT_OK, EXIT_USAGE
from groupspec.conformance.reports.demo import LOG, Part, Runner, exit_code, gather, lanes, summary, trace_arguments
from groupspec.conformance.reports.html import Results, report_html
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, Step
from groupspec.conformance.reports.tests import samples

LIST = Part("wire", "the list", lambda out: ["conform", "--list"])
UNKNOWN = Part("log", "an unknown group", lambda out: ["trace", "why", "nobody", str(LOG)])
AFTER = Part("traces", "what needs the log", lambda out: ["doctor"], needs="log")
ENDLESS = Part("core", "a suite without end", lambda out: ["test", "--examples", "1000000"], limit_s=0.5)


def _no_one(part: Part, ended: Step | None) -> None:
    pass


def _step(part: str, code: int = 0) -> Step:
    return Step(part, part, "failed" if code else "ok", code, 1.0, "groupspec x", "why")


@pytest.mark.realtime
def test_each_part_is_a_process_and_a_failing_one_stops_only_what_needs_it(tmp_path: Path) -> None:
    steps = Runner(tmp_path, _no_one).run(((LIST,), (UNKNOWN, AFTER)))
    assert steps["wire"].status == "ok"
    assert (tmp_path / "wire.json").exists()
    assert steps["log"].status == "failed"
    assert steps["log"].exit_code == EXIT_INCONCLUSIVE
    assert "the logs have nothing about group nobody" in steps["log"].said
    assert steps["traces"].status == "left out"


@pytest.mark.realtime
def test_a_part_that_does_not_end_is_stopped_and_says_so(tmp_path: Path) -> None:
    step = Runner(tmp_path, _no_one).run(((ENDLESS,),))["core"]
    assert (step.status, step.said) == ("failed", "it was stopped after 0 s")
    assert step.seconds < 20


def test_the_lanes_have_every_part_and_the_quick_ones_fewer() -> None:
    parts = [part.id for lane in lanes(quick=False) for part in lane]
    assert sorted(parts) == ["background", "core", "log", "pictures", "traces", "wire"]
    assert "background" not in [part.id for lane in lanes(quick=True) for part in lane]


def test_only_the_traces_of_this_demo_are_checked(tmp_path: Path) -> None:
    (tmp_path / "wire.json").write_bytes(msgspec.json.encode(samples.conform()))
    samples.write_run(tmp_path / "wire")
    (tmp_path / "wire" / "someone-else").mkdir()
    (tmp_path / "wire" / "someone-else" / "trace.ndjson").write_text("{}")
    words = trace_arguments(tmp_path)
    assert words[:4] == ["trace", "check", "--engine", "spark"]
    assert words[4:] == [str(tmp_path / "wire" / "kafka-python" / "rebalance-eager" / "trace.ndjson")]


def _found(step: Step, *verdicts: str, failures: tuple[str, ...] = ()) -> Results:
    reference = ClientVerdicts("reference", "0.1", tuple(samples.row("J1", verdict) for verdict in verdicts))
    other = ClientVerdicts("aiokafka", "0.14", (samples.row("J1", "FAIL"), samples.row("J2", "INCONCLUSIVE")))
    suite = msgspec.structs.replace(samples.generated("core"), failures=failures)
    return Results("The demo", Conform((reference, other), 1.0), generated={"core": suite}, steps=(step,))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (_found(_step("wire"), "PASS"), EXIT_OK),
        (_found(_step("wire"), "PASS", "FAIL"), EXIT_CONFORMANCE_FAILURE),
        (_found(_step("wire"), "PASS", failures=("state after poll",)), EXIT_CONFORMANCE_FAILURE),
        (_found(_step("wire"), "PASS", "INCONCLUSIVE"), EXIT_INCONCLUSIVE),
        (_found(_step("log", 2), "PASS"), EXIT_USAGE),
        (_found(_step("log", 4), "PASS"), EXIT_INCONCLUSIVE),
        (_found(_step("log", 3), "PASS"), EXIT_INTERNAL),
        (_found(_step("log", 3), "FAIL"), EXIT_CONFORMANCE_FAILURE),
    ],
    ids=[
        "all well",
        "reference fails",
        "suite diverges",
        "inconclusive",
        "no Java",
        "no such group",
        "internal",
        "both",
    ],
)
def test_the_exit_code_is_the_references(found: Results, code: int) -> None:
    assert exit_code(found) == code


def test_a_violation_in_the_references_own_trace_is_its_failure(tmp_path: Path) -> None:
    check = samples.results(tmp_path).trace_check
    assert check
    assert exit_code(Results("The demo", trace_check=check)) == EXIT_OK
    own = msgspec.structs.replace(check.violations[0], run="reference/first-join/1")
    broken = msgspec.structs.replace(check, violations=(own,))
    assert exit_code(Results("The demo", trace_check=broken)) == EXIT_CONFORMANCE_FAILURE


def test_a_result_that_cannot_be_read_makes_its_part_fail_and_the_page_says_so(tmp_path: Path) -> None:
    (tmp_path / "wire.json").write_text("not JSON")
    found = gather(tmp_path, [_step("wire")])
    assert found.conform is None
    assert found.steps[0].status == "failed"
    assert exit_code(found) == EXIT_INTERNAL
    assert "wire failed." in report_html(found)
    lines = summary(found, tmp_path / "report.html")
    assert "FAILED: this is no result of groupspec" in lines[0]
    assert lines[-1].endswith("report.html")


def test_the_summary_ends_with_what_was_left_out_here_and_the_report(tmp_path: Path) -> None:
    clients = tuple(ClientVerdicts(name, "1", (samples.row("J1", "PASS"),)) for name in "abcd")
    found = replace(samples.results(tmp_path), conform=Conform(clients, 1.0), steps=(_step("wire"),))
    lines = summary(found, tmp_path / "report.html")
    assert len(lines) <= 11
    assert "1 session timeout" in lines[-3]
    left_out = "left out nothing of the demo; it judges no client in another language ("
    assert " ".join(lines[-2].split()).startswith(left_out)
    assert lines[-1].split() == ["report", str(tmp_path / "report.html")]

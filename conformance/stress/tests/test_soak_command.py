"""`groupspec bench soak`: what it refuses, and how a result is told."""

from __future__ import annotations

from collections import Counter

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.commands._common import write_json
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE
from groupspec.conformance.stress import report
from groupspec.conformance.stress.judging import Finding, Verdict
from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.run import Outcome

CLIENTS = ("reference", "kafka-python")


def outcome(*findings: Finding, settled_s: float | None = 1.5) -> Outcome:
    verdict = Verdict(findings, {"reference": 600, "kafka-python": 400}, {"kafka-python": 7}, 120)
    return Outcome(
        draw(5, CLIENTS, 10_000),
        0,
        60.0,
        993,
        settled_s,
        verdict,
        [(0, 40_000)],
        {"kafka-python": Counter(OSError=3)},
        [],
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["soak", "step"], "soak beside other benchmarks"),
        (["soak", "--members", "reference"], "2 to 8 of"),
        (["soak", "--members", "reference,sarama"], "2 to 8 of"),
    ],
)
def test_what_is_no_soak_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == EXIT_USAGE
    assert said in capsys.readouterr().err


def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == EXIT_OK
    assert "several clients on a real broker" in capsys.readouterr().out


def test_a_result_is_told_by_client_with_each_finding_and_the_command_that_runs_it_again() -> None:
    found = Finding("doubled", "kafka-python-1-2", 4_000_000, "reference-0-1 processes 3 to 9 of 2", 7)
    told = list(report.lines(outcome(found), "groupspec bench soak --seed 5"))
    assert told[0].startswith(f"seed 5, {outcome().plan.rebalance}: 993 records, ")
    assert "stable 1.5 s after the last; " in told[0]
    assert told[0].endswith("120 ms after it could hear of it, or sooner")
    assert told[1:] == [
        "  reference: 600 processed, 0 of them again with an excuse; nothing wrong",
        "  kafka-python: 400 processed, 7 of them again with an excuse; 7 doubled; raised OSError 3x",
        "FOUND doubled (records that were processed twice without an excuse): kafka-python-1-2 at 4.0 s: "
        "reference-0-1 processes 3 to 9 of 2",
        "replay: groupspec bench soak --seed 5",
    ]


@pytest.mark.parametrize("settled_s", [None, 2.0])
def test_a_result_keeps_its_schema(settled_s: float | None) -> None:
    found = Finding("unstable", "", 4_000_000, "nobody has 3")
    write_json("bench-soak", report.data(outcome(found, settled_s=settled_s), "groupspec bench soak"))


def test_what_is_put_down_to_nobody_counts_as_the_reference_s_own() -> None:
    theirs, ours = Finding("hang", "kafka-python-1-1", 0, ""), Finding("hang", "reference-heartbeat-0-1", 0, "")
    nobodys = Finding("unstable", "", 0, "")
    assert report.of_reference(outcome(theirs, ours, nobodys)) == [ours, nobodys]

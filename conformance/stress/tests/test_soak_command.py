"""`groupspec bench soak`: what it refuses, and how a result is told."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.commands._common import write_json
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE
from groupspec.conformance.reports.soak import html
from groupspec.conformance.stress import report
from groupspec.conformance.stress.judging import Finding, Verdict
from groupspec.conformance.stress.lanes import lanes
from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.run import Outcome
from groupspec.conformance.stress.timeline import Happening

CLIENTS = ("reference", "kafka-python")


HAPPENINGS = (
    Happening(0, "started", "reference-0-1"),
    Happening(100_000, "started", "kafka-python-1-2"),
    Happening(500_000, "assigned", "kafka-python-1-2", (2,)),
    Happening(600_000, "assigned", "reference-0-1", (3,)),
    Happening(700_000, "consumed", "kafka-python-1-2", (2,), 0, 9),
    Happening(800_000, "consumed", "kafka-python-1-2", (2,), 10, 19),
    Happening(840_000, "committed", "", (2,), last=10),
    Happening(850_000, "committed", "", (2,), last=20),
    Happening(900_000, "consumed", "kafka-python-1-2", (1,), 0, 5),
    Happening(1_000_000, "stopped", "kafka-python-1-2"),
    Happening(2_000_000, "broker down", text="broker 1 killed"),
    Happening(3_000_000, "broker up", text="broker 1 killed"),
    Happening(3_500_000, "loaded", text="broker-2"),
    Happening(3_800_000, "expelled", "kafka-python-1-2", text="session_expired"),
    Happening(3_900_000, "assigned", "reference-0-1", (2,)),
    Happening(4_000_000, "resumed", "kafka-python-1-2"),
    Happening(4_500_000, "lost", "kafka-python-1-2", (2,)),
    Happening(5_500_000, "callback returned", "kafka-python-1-2", text="partitions_lost"),
)


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
        HAPPENINGS,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["soak", "step"], "soak beside other benchmarks"),
        (["soak", "--members", "reference"], "2 to 8 of"),
        (["soak", "--members", "reference,acme"], "there is no client 'acme'"),
        (["soak", "--members", "reference,sarama@0.0.1"], "that its harness builds with; tried with 1.61.1"),
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
    told = [
        line
        for line in report.lines(outcome(found), "groupspec bench soak --seed 5")
        if not line.startswith("known of kafka-python ")  # whatever is known by now
    ]
    assert told[0].startswith(f"seed 5, {outcome().plan.rebalance}: 993 records, ")
    assert "stable 1.5 s after the last; " in told[0]
    assert told[0].endswith("120 ms after it could hear of it, or sooner; the machine stood still for 40 ms at most")
    assert told[1:] == [
        "  reference: 600 processed, 0 of them again with an excuse; nothing wrong",
        "  kafka-python: 400 processed, 7 of them again with an excuse; 7 doubled; raised OSError 3x",
        "FOUND doubled (records that were processed twice without an excuse): kafka-python-1-2 at 4.0 s: "
        "reference-0-1 processes 3 to 9 of 2",
        "replay: groupspec bench soak --seed 5",
    ]


def test_a_page_shows_faults_owners_and_findings_and_what_came_before_each() -> None:
    found = Finding("doubled", "kafka-python-1-2", 4_500_000, "it is so", 7, partition=2)
    page = html(outcome(found, Finding("unstable", "", 3_600_000, "nobody has 3")), "groupspec bench soak --seed 5")
    assert "4.5 s, partition 2: records that were processed twice" in page
    assert "put down to kafka-python-1-2 (m1.2)" in page
    assert "put down to nobody in particular" in page
    assert {"cut or stall", "broker down", "m0 reference"} <= set(re.findall(r'class="chip"[^>]*>([^<]*)<', page))
    of_process, of_nobody, clients, _ = (part.split("\n") for part in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL))
    assert of_process == [
        "    0.10 s  kafka-python-1-2: started",
        "    0.50 s  kafka-python-1-2: assigned [2]",
        "    0.70 s  kafka-python-1-2: consumed 0 to 19 of 2",
        "    0.85 s  the group: committed 20 of 2",
        "    1.00 s  kafka-python-1-2: stopped",
        "    2.00 s  everybody: broker down (broker 1 killed)",
        "    3.00 s  everybody: broker up (broker 1 killed)",
        "    3.50 s  everybody: loaded (broker-2)",
        "    3.80 s  kafka-python-1-2: expelled (session_expired)",
        "    3.90 s  reference-0-1: assigned [2]",
        "    4.00 s  kafka-python-1-2: resumed",
        "    4.50 s  kafka-python-1-2: lost [2]",
    ]
    assert [line.split("  ")[-1] for line in of_nobody] == [
        "kafka-python-1-2: stopped",
        "everybody: broker down (broker 1 killed)",
        "everybody: broker up (broker 1 killed)",
        "everybody: loaded (broker-2)",
    ]
    assert [line.partition(":")[0] for line in clients] == ["reference", "kafka-python"]
    assert not re.search(r'(src|href)="http', page)
    _, *members, owners, _ = lanes(outcome().plan, HAPPENINGS, [found])
    assert [[bar.place for bar in row] for row in owners.rows] == [[1], [0]]  # two owners at once are two rows
    assert [[mark.text for mark in lane.marks] for lane in members] == [[], ["expelled session_expired", "1"]]


@pytest.mark.parametrize("settled_s", [None, 2.0])
def test_a_result_keeps_its_schema(settled_s: float | None) -> None:
    found = Finding("unstable", "", 4_000_000, "nobody has 3")
    write_json("bench-soak", report.data(outcome(found, settled_s=settled_s), "groupspec bench soak"))


def test_what_is_put_down_to_nobody_counts_as_the_reference_s_own() -> None:
    theirs, ours = Finding("hang", "kafka-python-1-1", 0, ""), Finding("hang", "reference-heartbeat-0-1", 0, "")
    nobodys = Finding("unstable", "", 0, "")
    assert report.of_reference(outcome(theirs, ours, nobodys)) == [ours, nobodys]

"""Results as the other commands write them, small, and with everything in them that could break a page."""

from __future__ import annotations

from pathlib import Path

from groupspec.conformance.reports.html import Results
from groupspec.conformance.reports.inputs import (
    ClientVerdicts,
    Conform,
    Count,
    Generated,
    Line,
    Rebalance,
    Step,
    TraceCheck,
    TraceViolation,
    VerdictRow,
    Why,
)
from groupspec.diagrams.sequence import Entry, sequence_svg
from groupspec.spec.compiler.tables import tables

NASTY = "<script>alert('x')</script> & \"quotes\""


def row(rule: str, verdict: str, scenario: str = "rebalance-eager", reason: str = "as it should be") -> VerdictRow:
    return VerdictRow(
        scenario=scenario,
        rule=rule,
        level="must",
        verdict=verdict,
        reason=reason,
        replay=f"groupspec conform kafka-python --scenario {scenario} --report out/replay",
        poll_ms=50,
        seconds=0.8,
        folder=f"kafka-python/{scenario}",
        at_ms=812.4,
        trace_seq=6,
    )


def conform() -> Conform:
    good = tuple(row(rule, "PASS") for rule in ("D1", "J1", "J2", "H1", "H2", "H3", "C1", "M1"))
    bad = (
        row("D1", "PASS"),
        row("J1", "FAIL", reason="a second JoinGroup was sent 12 ms after the first, which had no answer yet"),
        row("J1", "PASS", "first-join"),
        row("H3", "FAIL", reason=NASTY),
        row("H1", "DEVIATION", reason="a heartbeat came 2 intervals late"),
        row("C1", "UNSUPPORTED", reason="no listener"),
        row("M1", "UNTESTABLE", reason="nothing to commit"),
        row("J2", "INCONCLUSIVE", reason="the machine stood still for 3 s"),
    )
    return Conform((ClientVerdicts("reference", "0.1.0", good), ClientVerdicts("kafka-python", "3.0.12", bad)), 31.4)


def write_run(folder: Path) -> None:
    """The evidence of the run that `row` points to."""
    place = folder / "kafka-python" / "rebalance-eager"
    place.mkdir(parents=True)
    entries = [
        Entry(0.0, "client", "broker 1", "JoinGroup", "request"),
        Entry(12.0, "client", "broker 1", "JoinGroup", "violation", NASTY),
    ]
    (place / "sequence.svg").write_text(sequence_svg(("client", "broker 1"), entries, "rebalance-eager"))
    (place / "wire.txt").write_text(f"rebalance-eager\n   0.0 ms JoinGroup v5 #1 {NASTY}\n" + "line\n" * 500)
    config = (
        '{"v":1,"run":"r","group":"g","member":"m","seq":0,"at_us":5000000,"source":"wire","event":"config","detail":'
        '{"rebalance":"eager","session_timeout_ms":1000,"max_poll_interval_ms":1000,"heartbeat_interval_ms":100}}'
    )
    events = [
        ("subscribed", "null"),
        ("poll", "null"),
        ("lookup_sent", "null"),
        ("lookup_answered", '"NONE"'),
        ("join_sent", "null"),
        ("join_answered", '"MEMBER_ID_REQUIRED"'),
    ]
    lines = [config] + [
        f'{{"v":1,"run":"r","group":"g","member":"m","seq":{n},"at_us":{5000000 + n * 1000},"source":"wire",'
        f'"event":"{event}","error":{error}}}'
        for n, (event, error) in enumerate(events, 1)
    ]
    (place / "trace.ndjson").write_text("\n".join(lines) + "\n")


def generated(driver: str) -> Generated:
    coverage = {}
    for key in (("rebalance", "cooperative", "deployed"), ("connection", "eager", "deployed")):
        table = tables()[key]
        coverage[table.label] = {r.id: 7 for r in table.rows if r.kind == "transition"}
    return Generated(driver, Count(137, total=140), Count(385, feasible=391), 52_000, 9.2, coverage=coverage)


def results(folder: Path) -> Results:
    """Everything there is, `folder` being where the runs lie."""
    violation = TraceViolation(
        "T-TWO-JOINS", "kafka-python/rebalance-eager/1", "g", "m", 42, "STABLE", "join_sent", NASTY
    )
    faulty = TraceViolation("T-STANDSTILL", "aiokafka/first-join/1", "g", "m", 7, "STABLE", "poll", "for 30000 ms")
    notice = TraceViolation(
        "T-MANY-REBALANCES", "aiokafka/first-join/1", "g", "m", 9, "STABLE", "join_sent", "12 of them"
    )
    rebalance = Rebalance(
        generation=4,
        at_ms=1_750_000_000_000,
        cause="session_timeout",
        member="orders-2",
        outcome="completed",
        members=2,
        duration_ms=3_100,
        follow_up=False,
        alternatives=("leave",),
        evidence=(Line("/logs/broker.log", 17, f"Member orders-2 has failed {NASTY}"),),
        advice="Look for a process that was killed.",
    )
    return Results(
        title="A thin line through everything",
        conform=conform(),
        runs_folder=folder,
        generated={"core": generated("core"), "background": generated("background")},
        trace_check=TraceCheck("spark", 12_345, 52, 52, {"not JSON": 2}, (violation,) * 20, 4.2, (faulty,), (notice,)),
        why=Why("orders", (rebalance,), 0.2),
        why_source="Recorded on a real broker.",
        steps=(
            Step("wire", "wire kit", "ok", 0, 31.4, "groupspec conform reference kafka-python"),
            Step("traces", "traces", "failed", 2, 0.2, "groupspec trace check out/", NASTY),
        ),
    )

"""Vectors at work: on the reference core, and on a toy member in Go that shares nothing with this project."""

from __future__ import annotations

import os
import re
import subprocess
from io import StringIO
from pathlib import Path

import pytest

from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE
from groupspec.conformance.generate import ROOT
from groupspec.conformance.vectors import VectorState, VectorStep, read_vectors
from groupspec.conformance.vectors.examples.run_vectors import Run, main

VECTORS = ROOT / "conformance" / "vectors"
PROTOCOLS = pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
MAX_OF_A_BUILD_S = 300
"""For a Go that builds its standard library first; a bound, not a wait."""


def run_of(rebalance: str) -> Run:
    """The reference core on one file."""
    return Run(read_vectors(str(VECTORS / "data" / f"member.{rebalance}.deployed.ndjson.gz")))


@pytest.mark.parametrize("rebalance", ["eager", pytest.param("cooperative", marks=pytest.mark.exhaustive)])
def test_the_reference_core_passes_every_pair_and_a_sample_of_the_states(rebalance: str) -> None:
    run = run_of(rebalance)
    run.all_pairs()
    run.all_states(every=1000)

    assert run.failures == []
    assert run.counts["pairs passed"] == len(run.file.pairs)


@pytest.mark.parametrize("name", ["partition.any", "commit.any", "group.any"])
def test_vectors_of_what_is_no_member_are_refused_and_told_which_would_do(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(VECTORS / "data" / f"{name}.deployed.ndjson.gz")]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "pairs:" not in said
    for part in (f"vectors of a {name.partition('.')[0]}", "member.eager", "member.cooperative", "choose a file"):
        assert part in said


def test_help_tells_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == EXIT_OK
    assert "data/member.eager.deployed.ndjson.gz" in capsys.readouterr().out


def test_how_far_a_run_is_is_told_each_tenth() -> None:
    told = StringIO()
    list(Run(read_vectors(VECTORS / "data" / "commit.any.deployed.ndjson.gz"), told).counted("pairs", range(1_000)))
    assert told.getvalue().splitlines() == [f"pairs: {number} of 1000" for number in range(0, 1_000, 100)]


@pytest.mark.parametrize(
    "every", [pytest.param(25, marks=pytest.mark.exhaustive), pytest.param(1, marks=pytest.mark.nightly)]
)
@PROTOCOLS
def test_the_reference_core_passes_what_can_be_brought_about_in_many_and_in_all_states(
    rebalance: str, every: int
) -> None:
    run = run_of(rebalance)
    run.all_states(every)

    assert run.failures == []
    assert run.counts["does: passed"] == run.file.counts["changes"] or (
        every > 1 and run.counts["does: passed"] > 3_000
    )
    undriven = {name for name in run.counts if "not driven" in name}
    # Late answers need a request given up before; what only a wrong application does, the consumer above the core
    # refuses.
    assert undriven <= {
        "quiet: not driven, message",
        "quiet: not driven, application",
        "illegal: not driven, application",
    }


def toy(tmp_path: Path) -> Path:
    """The toy member, built; a Go that is missing fails here."""
    binary = tmp_path / "toymember"
    offline = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "-mod=mod"}
    try:
        build = subprocess.run(
            ["go", "build", "-o", str(binary), "."],
            cwd=VECTORS / "examples" / "toy_member",
            env={**os.environ, **offline},
            capture_output=True,
            text=True,
            timeout=MAX_OF_A_BUILD_S,
            check=False,
        )
    except FileNotFoundError:
        pytest.fail("go is missing: install Go 1.21 or later; nothing else is needed, and nothing is downloaded")
    assert build.returncode == 0, build.stderr
    return binary


@pytest.mark.exhaustive
def test_a_member_written_from_the_book_alone_passes_all_and_each_planted_bug_is_caught_on_the_wire(
    tmp_path: Path,
) -> None:
    files = [str(VECTORS / "data" / f"member.{name}.deployed.ndjson.gz") for name in ("eager", "cooperative")]
    said = subprocess.run(
        [toy(tmp_path), "-kills", "-wire", *files],
        capture_output=True,
        text=True,
        timeout=MAX_OF_A_BUILD_S,
        check=False,
    )
    rows = re.findall(r"^(eager|cooperative) +([a-z-]*) +(\d+) of (\d+) steps fail", said.stdout, re.MULTILINE)

    assert said.returncode == 0, said.stdout + said.stderr
    assert [int(failed) for _, bug, failed, _ in rows if not bug] == [0, 0]
    planted = {(rebalance, bug) for rebalance, bug, _, _ in rows if bug}
    assert len({bug for _, bug in planted}) >= 8
    assert all(int(failed) for _, bug, failed, _ in rows if bug)
    table = re.findall(r"(?m)^\| `([a-z-]+)` \| (.*) \| (.*) \|$", (VECTORS / "README.md").read_text(encoding="utf-8"))
    failing = {(rebalance, bug): f"{int(failed):,}" for rebalance, bug, failed, _ in rows if bug}
    assert {bug for bug, _, _ in table} == {bug for _, bug in planted}
    for bug, *figures in table:
        shown = dict(zip(("eager", "cooperative"), figures, strict=True))
        assert (
            failing.items() >= {(each, bug): said for each, said in shown.items() if not said.startswith("(")}.items()
        )


JOINS = ["subscribed_to_topics", "application_polled"]
GIVES_UP = {
    "JoinGroup": [*JOINS, "leave_requested"],
    "SyncGroup and Heartbeat": [*JOINS, "join_accepted", "heartbeat_due", "leave_requested"],
    "OffsetCommit": [
        *JOINS,
        "join_accepted",
        "sync_accepted",
        "partitions_assigned",
        "rejoin_requested",
        "leave_requested",
        "callback_started",
        "partitions_revoked",
    ],
}
"""Ways into a group and out of it that leave a request behind whose answer nobody waits for."""
FORGETS_THE_COORDINATOR = [
    "commit_or_fetch_requested",
    "requests_settled",
    "commit_or_fetch_requested",
    "offset_fetch_coordinator_gone",
    "discovery_retriable",
    "requests_settled",
    "discovery_backoff_elapsed",
]


def past(run: Run, start: VectorState) -> list[VectorStep]:
    """A started consumer, lives that left requests of each kind unanswered, and back to a started one."""
    lives = [*GIVES_UP["JoinGroup"] * 9, *GIVES_UP["SyncGroup and Heartbeat"] * 9]
    if start.config["auto_commit"]:
        lives += GIVES_UP["OffsetCommit"] * 9
    names = [*lives[:2], "discovery_succeeded", *lives[2:], *FORGETS_THE_COORDINATOR]
    here, steps = start, list[VectorStep]()
    for name in names:
        step = next(s for s in here.does if s.event.name == name and s.event.inputs.get("adds_any", True))
        steps.append(step)
        here = run.file.states[step.target]
    assert here is start
    return steps


@pytest.mark.exhaustive
@PROTOCOLS
def test_J9_late_answers_change_nothing_in_a_core_that_has_lived(rebalance: str) -> None:
    run = run_of(rebalance)
    kinds: set[str] = set()
    for state in run.file.states[::25]:
        way = run.file.way_to(state.number)
        lived = [step for first in way[:1] for step in (first, *past(run, run.file.states[first.target]))]
        assert run.walk(run.file.start_of(state.number), [*lived, *way[1:]]), run.failures
        for event in state.stays:
            if event.inputs.get("current") is False and run.take("late answers", VectorStep(event, (), state.number)):
                kinds.add(event.name)

    assert run.failures == []
    # Lookups are never given up while the consumer runs; every other kind of answer has come too late.
    late = {event.name for event in run.file.events if event.inputs.get("current") is False}
    assert late - kinds == {"discovery_succeeded", "discovery_retriable", "discovery_fatal"}
    assert run.counts["late answers: passed"] >= 20 * len(run.file.states[::25])

"""A breach that a campaign calls certain is never taken back: who says so can be wrong, and several clients say it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from groupspec.conformance.checks.verdicts import CERTAIN_RUNS, Judgement, Verdict, combine
from groupspec.conformance.wire.case import PLAIN, Case
from groupspec.conformance.wire.results import Row
from groupspec.conformance.wire.scenarios import SCENARIOS, all_cases
from groupspec.conformance.wire.tests.stability import CLIENTS, Held, busy, hold, installed

TIMES, WITHIN_S = 3, 2_400
CERTAIN = [Verdict.FAIL] * CERTAIN_RUNS
FLAPS = [Verdict.FAIL, Verdict.PASS]


def row(verdicts: Sequence[Verdict]) -> Row:
    judgements = [Judgement(verdict, "as the test has it") for verdict in verdicts]
    return Row(Case(SCENARIOS["first-join"], PLAIN), "J2", combine(judgements), seconds=1.0, replay="")


@pytest.mark.parametrize(
    ("campaigns", "changed", "taken_back"),
    [
        ([[Verdict.PASS], [Verdict.PASS]], 0, 0),
        ([[Verdict.PASS], FLAPS], 1, 0),
        ([CERTAIN, CERTAIN], 0, 0),
        ([CERTAIN, [Verdict.INCONCLUSIVE]], 0, 0),
        ([CERTAIN, FLAPS], 0, 1),
        ([[Verdict.PASS], CERTAIN], 1, 1),
        ([[Verdict.UNSUPPORTED], [Verdict.PASS]], 0, 0),
    ],
)
def test_what_was_certain_and_was_kept_in_another_campaign_is_taken_back(
    campaigns: Sequence[Sequence[Verdict]], changed: int, taken_back: int
) -> None:
    held = Held()
    for verdicts in campaigns:
        held.add("fake", [row(verdicts)], 1.0)
    assert (len(held.changed()), len(held.taken_back())) == (changed, taken_back)
    assert sum("TAKEN BACK" in line for line in held.lines()) == taken_back


def test_the_busy_processes_end_with_the_block() -> None:
    with busy(2, 60) as processes:
        assert [process.poll() for process in processes] == [None, None]
    assert all(process.returncode is not None for process in processes)


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_campaigns_that_were_kept_are_not_made_again(tmp_path: Path) -> None:
    told: list[str] = []
    cases = [Case(SCENARIOS["first-join"], PLAIN)]
    for times in (1, 2):
        clients = installed(["reference"])
        held = hold(clients, cases, times=times, loops=0, within_s=60, keep=tmp_path, told=told.append)
    assert [line.endswith("more") for line in told] == [False, True, False]
    assert {len(rows) for rows in held.rows.values()} == {2}
    assert len(held.seconds["reference"]) == 1


@pytest.mark.realtime
@pytest.mark.nightly
@pytest.mark.parametrize("loops", [0, 2], ids=["quiet", "two busy loops"])
def test_no_certain_verdict_on_four_clients_is_taken_back(loops: int) -> None:
    """Three campaigns of each; `python -m` with that module makes twenty, and says what changed besides."""
    held = hold(installed(CLIENTS), all_cases(), times=TIMES, loops=loops, within_s=WITHIN_S)
    assert set(held.seconds) == set(CLIENTS)
    assert held.taken_back() == [], "\n".join(held.lines())

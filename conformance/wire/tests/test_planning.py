"""What a campaign runs again: enough to be certain, and no more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from threading import Barrier, Event
from typing import Any

import pytest

from groupspec.conformance.api import judge
from groupspec.conformance.checks.verdicts import CERTAIN_RUNS, Judgement, Verdict
from groupspec.conformance.wire import campaign as campaigns
from groupspec.conformance.wire import planning
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import entries
from groupspec.conformance.wire.planning import to_confirm
from groupspec.conformance.wire.rule_choice import EVERY_RULE
from groupspec.conformance.wire.runs import Finished, Job, Runs
from groupspec.conformance.wire.tests.test_resume import CASES, CLIENTS, Made

BOUND_S = 10.0
_, CLIENT = CLIENTS
SLOW, QUICK, QUICKER = CASES[:3]
SECONDS = {SLOW: 9.0, QUICK: 2.0, QUICKER: 1.0}


def broken_run(case: Case) -> CaseResult:
    return Made().run(CLIENT, case, None)


def runs_that_broke(rules: Mapping[Case, str]) -> Runs:
    """One run of each case, which broke these rules."""
    runs = Runs(None)
    for case, broken in rules.items():
        add(runs, case, 0, dict.fromkeys(broken.split(), Verdict.FAIL))
    return runs


def add(runs: Runs, case: Case, number: int, verdicts: Mapping[str, Verdict]) -> None:
    judged = {rule: Judgement(verdicts.get(rule, Verdict.PASS), "as the test has it") for rule in case.rules}
    run = replace(broken_run(case), seconds=SECONDS[case], judgements=judged)
    runs.put(Job(CLIENT, case, number), Finished(run, "", "", {}))


def confirmed(runs: Runs, certain_cases: int = 1, under_way: Collection[Case] = ()) -> list[Case]:
    """The cases that are confirmed, in that order: each is run until there are enough runs of it."""
    jobs = to_confirm(runs, EVERY_RULE, certain_cases, [Job(CLIENT, case, 0) for case in under_way])
    cases = list(dict.fromkeys(job.case for job in jobs))
    assert jobs == [
        Job(CLIENT, case, number) for case in cases for number in range(len(runs.of(CLIENT, case)), CERTAIN_RUNS)
    ]
    return cases


@pytest.mark.parametrize(("certain_cases", "cases"), [(1, [QUICKER]), (2, [QUICK, QUICKER]), (5, [*SECONDS])])
def test_the_quickest_cases_confirm_a_rule_and_of_these_the_longest_comes_first(
    certain_cases: int, cases: list[Case]
) -> None:
    assert confirmed(runs_that_broke(dict.fromkeys(SECONDS, "J1")), certain_cases) == cases


def test_the_only_case_of_one_rule_confirms_another_one_too() -> None:
    assert confirmed(runs_that_broke({QUICKER: "J1", SLOW: "J1 H4"})) == [SLOW]


def test_a_case_that_is_run_now_confirms_its_rules_as_long_as_none_was_kept() -> None:
    runs = runs_that_broke({QUICKER: "J1", QUICK: "J1"})
    assert confirmed(runs, under_way=[QUICKER]) == []
    add(runs, QUICKER, 1, {})
    assert confirmed(runs, under_way=[QUICKER]) == [QUICK]


@pytest.mark.parametrize(("last", "cases"), [(Verdict.FAIL, []), (Verdict.PASS, [QUICK])])
def test_where_the_confirmed_case_flaps_the_next_one_is_confirmed(last: Verdict, cases: list[Case]) -> None:
    runs = runs_that_broke({QUICKER: "J1", QUICK: "J1"})
    for number in range(1, CERTAIN_RUNS):
        add(runs, QUICKER, number, {"J1": last if number == CERTAIN_RUNS - 1 else Verdict.FAIL})
    assert confirmed(runs) == cases


def test_runs_are_confirmed_when_all_that_were_asked_for_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[Case] = []

    def run(_: Client, case: Case, __: object) -> CaseResult:
        order.append(case)
        return broken_run(case)

    monkeypatch.setattr(campaigns, "run_case", run)
    run_campaign([CLIENT], CASES, jobs=1, confirm=True, certain_cases=1)
    assert len(order) == len(CASES) + CERTAIN_RUNS - 1
    assert {*order[: len(CASES)]} == {*CASES}


@pytest.mark.parametrize(
    ("options", "certain_cases"), [({}, 1), ({"profile": "full"}, 5), ({"scenarios": ["first-join"]}, 5)]
)
def test_the_quick_profile_needs_one_certain_case_of_a_rule(
    options: dict[str, Any], certain_cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(campaigns, "run_campaign", lambda *_, **asked: given.update(asked))
    judge("reference", **options)
    assert given["certain_cases"] == certain_cases


def test_the_runs_that_confirm_a_breach_are_made_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first, together = Event(), Barrier(CERTAIN_RUNS - 1)

    def run(client: Client, case: Case, clock: object) -> CaseResult:
        if first.is_set():
            together.wait(BOUND_S)  # raises where they do not come together
        first.set()
        return broken_run(case)

    monkeypatch.setattr(campaigns, "run_case", run)
    found = run_campaign([CLIENT], CASES[:1], jobs=CERTAIN_RUNS, confirm=True)
    assert {row.combined.runs for row in found.clients[0].rows} == {CERTAIN_RUNS}


@pytest.mark.parametrize(("flaps", "runs"), [(True, 1), (False, CERTAIN_RUNS)])
def test_what_the_docket_knows_to_flap_is_not_confirmed(
    flaps: bool, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = next(entry for entry in entries() if entry.flaps is flaps)
    monkeypatch.setattr(planning, "explanation", lambda *_: known)
    monkeypatch.setattr(campaigns, "run_case", lambda _, case, __: broken_run(case))
    [found] = run_campaign([CLIENT], CASES[:1], jobs=1, confirm=True).clients
    assert {row.combined.runs for row in found.rows} == {runs}

"""The profile quick: how it is chosen, and that what is committed finds enough in its time."""

from __future__ import annotations

import json
import random
from typing import Final

import msgspec
import pytest

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.wire.docket import Entry
from groupspec.conformance.wire.scenarios import QUICK_CASES, all_cases, case_of, written_cases
from groupspec.conformance.wire.virtual.run import Trial, run_apart
from groupspec.conformance.wire_kills import quick
from groupspec.conformance.wire_kills.matrix import Fate, Found, WireKills, committed

DRAWN: Final = 40
MADE: Final = committed() or pytest.fail("there is no wire kill matrix: `groupspec verify --wire-mutation` computes it")


def found_by(mutants: dict[str, str]) -> WireKills:
    """A matrix of all cases that are written by hand: mutant -> cases that find it."""
    fates = {
        mutant: Fate("", "background", 9, 9, 0, tuple(Found(case, ("H1",), 1.0) for case in cases.split()))
        for mutant, cases in mutants.items()
    }
    return WireKills(2, {case.id: 6.0 if case.id == "long-poll/late-fetch" else 3.0 for case in written_cases()}, fates)


def test_a_case_is_chosen_that_finds_most_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "BUDGET_S", 2 * (quick.PROCESS_S + 0.5))
    silent = "coordinator-silent/silent"
    made = found_by({"A": f"first-join {silent}", "B": silent, "C": "long-poll/late-fetch join-takes-long"})
    assert quick.chosen(made) == ["join-takes-long", silent]
    assert json.loads(quick.quick_text(made)) == ["join-takes-long", silent]
    assert quick.share_of_kills(made, [silent]) == 2 / 3


def test_a_case_is_not_chosen_that_a_client_refuses_to_be_configured_for() -> None:
    refused = [case for case in written_cases() if 0 < case.scenario.poll_interval_ms < case.scenario.timeout_ms]
    made = found_by({case.id: case.id for case in refused})
    assert made.killed()
    assert not made.killed({*quick.chosen(made)})


def seen_in(rule: str, *cases: str) -> Entry:
    """An entry of the docket."""
    return Entry(
        client="kgo",
        version="1",
        rule=rule,
        scenarios=[*cases],
        verdict="FAIL",
        kind="true",
        where="a.b",
        evidence="seen",
    )


def test_what_real_clients_do_comes_before_rules_where_the_case_judges_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry names a case; the second case does not judge the entry's rule, so that it can't show it."""
    monkeypatch.setattr(quick, "BUDGET_S", quick.PROCESS_S + 0.5)
    monkeypatch.setattr(quick, "entries", lambda: [seen_in("J1", "first-join"), seen_in("X1", "topic-matches")])
    assert quick.chosen(found_by({})) == ["first-join"]


def test_what_a_chosen_case_shows_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "BUDGET_S", 2 * (quick.PROCESS_S + 0.5))
    monkeypatch.setattr(quick, "entries", lambda: [seen_in("J1", "first-join", "topic-matches")])
    chosen = quick.chosen(found_by({"A": "first-join"}))
    assert len(chosen) == 2 and "first-join" in chosen and "topic-matches" not in chosen


def test_what_time_is_left_goes_to_what_real_clients_do_and_to_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "BUDGET_S", 1_000.0)
    names = quick.chosen(found_by({}))
    chosen = [case for case in written_cases() if case.id in names]
    assert {rule for case in chosen for rule in case.rules} == {rule for case in written_cases() for rule in case.rules}
    assert len(chosen) < len(written_cases())


def test_what_is_committed_finds_enough_in_its_time() -> None:
    assert list(quick.problems(MADE)) == []
    assert {case.id for case in all_cases()} == QUICK_CASES


def test_a_choice_that_finds_too_little_or_takes_too_long_is_refused() -> None:
    told = [*quick.problems(MADE, ["first-join"]), *quick.problems(MADE, [case.id for case in written_cases()])]
    assert [each.split()[1] for each in told] == ["finds", "takes"]
    assert list(quick.problems(MADE, ["no-such-case"])) == ["quick.json names cases that are not there: no-such-case"]


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_cases_find_what_the_matrix_says() -> None:
    """A few kills, drawn anew with each matrix; the same rules are broken, as nothing depends on the machine."""
    kills = [(mutant, found) for mutant, fate in MADE.fates.items() for found in fate.found_by]
    for mutant, found in random.Random(msgspec.json.encode(MADE)).sample(kills, DRAWN):
        case = case_of(found.case)
        assert case is not None
        design = MADE.fates[mutant].design
        told = run_apart(Trial(case, MUTANTS[mutant].change, "heartbeat" if design == "heartbeat" else "background"))
        assert told.broken == found.rules, f"{mutant} in {case.id}"

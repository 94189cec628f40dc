"""Judging by some rules only: what is left out, what is not, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.conformance.checks.verdicts import Judgement, Verdict
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, UsageProblem
from groupspec.conformance.wire.gathering import judged_again
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.rule_choice import EVERY_RULE, chosen_rules, with_occasion
from groupspec.conformance.wire.scenarios import all_cases
from groupspec.conformance.wire.tests import stories
from groupspec.conformance.wire.tests.stories import BOTH
from groupspec.conformance.wire.tests.test_judging import result_of, spoiled
from groupspec.spec.rules import RULES

FOREIGN_COMMIT = spoiled(lambda story: story.commit(1_500, 1, {BOTH[0]: 6}))


def test_rules_are_named_by_id_or_name_and_without_any_all_are_meant() -> None:
    assert chosen_rules(["M1", "rejoin-not-forgotten"]) == {"M1", "J2"}
    assert chosen_rules() == EVERY_RULE
    assert {RULES[rule].level for rule in chosen_rules(must_only=True)} == {"must"}


def test_a_case_without_an_occasion_for_any_of_them_is_left_out() -> None:
    left = with_occasion(all_cases(), frozenset({"H1"}))
    assert left == [case for case in all_cases() if "H1" in case.rules]
    assert 0 < len(left) < len(all_cases())


@pytest.mark.parametrize(
    ("names", "scenario", "told"),
    [
        (["L4"], "", "no run on the wire can judge L4"),
        (["P1"], "first-join", "allowed: poll-interval-exceeded"),
        (["acme"], "", "there is no rule 'acme'"),
    ],
)
def test_rules_for_which_there_is_no_occasion_are_refused(names: list[str], scenario: str, told: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        with_occasion([case for case in all_cases() if case.scenario.id.startswith(scenario)], chosen_rules(names))
    assert told in " ".join(str(refused.value).split())


def test_a_choice_that_must_only_empties_is_refused() -> None:
    with pytest.raises(UsageProblem, match="--must-only leaves out every rule that --rule names: H1"):
        chosen_rules(["H1"], must_only=True)


def test_only_the_chosen_rules_have_verdicts_and_decide() -> None:
    run = result_of(FOREIGN_COMMIT)
    assert judged_again([run]).exit_code() == EXIT_CONFORMANCE_FAILURE
    others = judged_again([run], rules=frozenset({"J2", "S3"}))
    assert [row.rule for row in others.clients[0].rows] == ["J2", "S3"]
    assert others.exit_code() == EXIT_OK


def test_an_event_that_is_demanded_by_another_rule_is_not_laid_to_a_chosen_one() -> None:
    missed = Outcome(missed_rule="J2", missed="SyncGroup did not come", missed_since_us=700_000)
    whole = judged_again([result_of(stories.eager_rebalance(), missed)]).clients[0]
    some = judged_again([result_of(stories.eager_rebalance(), missed)], rules=frozenset({"S3"})).clients[0]
    [row] = some.rows
    assert row.judgement == next(each.judgement for each in whole.rows if each.rule == "S3")


def test_what_is_a_symptom_of_a_rule_that_nobody_asked_for_is_told_by_itself() -> None:
    broken = {
        "S3": Judgement(Verdict.FAIL, "never handed on", 1),
        "K1": Judgement(Verdict.DEVIATION, "says it owns nothing", 2),
    }
    run = result_of(stories.eager_rebalance())
    scenario = replace(run.case.scenario, rules=("S3", "K1"))
    run = replace(run, case=replace(run.case, scenario=scenario), judgements=broken)
    assert [row.symptom_of for row in judged_again([run]).clients[0].rows] == ["", "S3"]
    assert [row.symptom_of for row in judged_again([run], rules=frozenset({"K1"})).clients[0].rows] == [""]


def test_what_a_baseline_has_no_better_does_not_count_and_a_client_that_was_not_judged_is_no_success() -> None:
    campaign = judged_again([result_of(FOREIGN_COMMIT)])
    case = campaign.clients[0].rows[0].case.id
    assert campaign.against({("fake", case, "M1")}).exit_code() == EXIT_OK
    assert campaign.against({("fake", case, "J2")}).exit_code() == EXIT_CONFORMANCE_FAILURE
    assert campaign.against({("another", case, "M1")}).exit_code() == EXIT_CONFORMANCE_FAILURE
    unknown = judged_again([result_of(stories.eager_rebalance(), Outcome(inconclusive="the kit failed"))])
    every = {("fake", case, row.rule) for row in unknown.clients[0].rows}
    assert unknown.against(every).exit_code() == EXIT_INCONCLUSIVE

"""Who judges a rule: each that binds clients has a checker on the wire, or a reason why it has none."""

from __future__ import annotations

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.checks.unjudged import UNJUDGED
from groupspec.conformance.judges import judges_markdown
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.spec.rules import RULES

AT_MOST_UNJUDGED = 10


def test_a_rule_that_binds_clients_is_judged_on_the_wire_or_says_why_not() -> None:
    of_clients = {rule.id for rule in RULES.values() if rule.applies_to in ("any", "java_style")}
    assert of_clients - set(CHECKERS) == set(UNJUDGED)
    assert not set(UNJUDGED) & set(CHECKERS)
    assert len(UNJUDGED) <= AT_MOST_UNJUDGED
    assert all(len(why) > 60 for why in UNJUDGED.values())


def test_a_rule_with_a_checker_has_a_scenario_that_gives_occasion() -> None:
    assert {rule for each in SCENARIOS.values() for rule in each.rules} == set(CHECKERS)


def test_the_reasons_stand_below_the_table() -> None:
    below = judges_markdown().partition("## What binds clients")[2]
    assert all(f"* {RULES[rule].title}: " in below for rule in UNJUDGED)

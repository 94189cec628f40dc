"""A rule's level and its words say the same, as RFC 2119 has them."""

from __future__ import annotations

import pytest

from groupspec.spec.rules import RULES, Rule


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_says_must_if_breaking_it_is_a_failure_and_should_if_not(rule: Rule) -> None:
    """Rules of the broker are exempt from the word: they say what it does, and nobody is judged by them."""
    if rule.level == "should":
        assert "MUST" not in rule.statement
    elif rule.applies_to != "broker":
        assert "MUST" in rule.statement

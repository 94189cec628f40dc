"""Every rule says whether it binds a member of a consumer group, and why."""

from __future__ import annotations

from collections import Counter

from groupspec.spec.consumer_protocol import BINDINGS, BINDS, CONSUMER_PROTOCOL
from groupspec.spec.rules import RULES


def test_each_rule_has_one_entry() -> None:
    named = Counter(rule for entry in BINDINGS.values() for rule in entry.rules)
    assert set(named) == set(RULES)
    assert [rule for rule, times in named.items() if times > 1] == []


def test_what_is_of_the_classic_broker_or_the_reference_alone_binds_no_member() -> None:
    others = {rule.id for rule in RULES.values() if rule.applies_to in ("broker", "internal")}
    assert {CONSUMER_PROTOCOL[rule].binds for rule in others} == {"no"}


def test_an_entry_says_why() -> None:
    assert {entry.binds for entry in BINDINGS.values()} == set(BINDS)
    assert all(len(entry.why) > 50 and entry.sources for entry in BINDINGS.values())

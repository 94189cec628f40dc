"""Who names something by its id names what there is: in data, in registrations, in prose and in the names of tests.

References go one way: to the rule, the property, the difference. What belongs to a rule is computed from them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import pytest

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.findings import FINDINGS
from groupspec.conformance.tests.repository import ROOT, project_files
from groupspec.conformance.traces.trace_rules import RULES as TRACE_RULES
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.spec import composition, kip62
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.composition.monitor import EVENT_CHECKS, WORD_CHECKS
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.expiry.theorems import THEOREMS
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.properties import FILES, assertions, properties
from groupspec.spec.request_handling import HANDLINGS
from groupspec.spec.rules import RULES

CHECKED_LATER = ("illegal-event", "late-changes-nothing")
"""Assertions of a member that are checked with every event, not with a word."""


def rules_named() -> Iterator[tuple[str, Iterable[str]]]:
    """Who names rules, and which."""
    yield from ((bug.id, bug.rules) for bug in KNOWN_BUGS.values())
    yield from ((entry.id, entry.rules) for entry in DIFFERENCES.values())
    yield from ((entry.id, entry.rules) for entry in THEOREMS.values())
    yield from ((entry.id, entry.rules) for file in FILES for entry in properties(file).values())
    yield from ((row.id, row.rules) for table in whole_tables().values() for row in table.rows)
    yield from ((str(case), case.rules.split()) for case in HANDLINGS)
    yield from ((str(each), each.rules.split()) for each in (*kip62.JOIN_GROUP_VERSIONS, *kip62.DELAYS))
    yield from ((check.id, check.spec_rules) for check in TRACE_RULES)
    yield from ((scenario.id, scenario.rules) for scenario in SCENARIOS.values())
    yield "the wire's checkers", CHECKERS


def test_every_rule_that_is_named_exists() -> None:
    missing = {who: unknown for who, named in rules_named() if (unknown := set(named) - set(RULES))}

    assert not missing


@pytest.mark.parametrize(
    ("named", "known"),
    [
        ({finding.difference for finding in FINDINGS.values()} - {""}, DIFFERENCES),
        ({finding.theorem for finding in FINDINGS.values()} - {""}, THEOREMS),
        ({theorem for entry in DIFFERENCES.values() for theorem in entry.theorems}, THEOREMS),
        ({run.model for finding in FINDINGS.values() for run in finding.runs}, composition.models()),
    ],
    ids=["findings' differences", "findings' theorems", "differences' theorems", "findings' models"],
)
def test_what_is_named_exists(named: set[str], known: Collection[str]) -> None:
    assert named
    assert named <= set(known)


def test_the_monitor_checks_each_assertion_of_a_member_and_no_other() -> None:
    checks = (*WORD_CHECKS, *EVENT_CHECKS)

    assert {name for name, _, _ in checks} == set(assertions("member")) - set(CHECKED_LATER)


def test_the_properties_that_models_are_known_to_break_are_claimed_of_them() -> None:
    for name, make in composition.models().items():
        if broken := composition.expected_violations(name):
            assert broken <= {each.id for each in make().properties}, name


@pytest.mark.parametrize("file", FILES)
def test_a_property_is_about_a_rule_unless_it_says_only_what_is_possible(file: str) -> None:
    for entry in properties(file).values():
        assert entry.statement and (entry.kind == "reachable" or (entry.rules and entry.sources)), entry.id


def test_prose_names_rules_and_bugs_that_exist() -> None:
    rule, bug = re.compile(r"\b[A-Z]\d{1,2}\b"), re.compile(r"\bBUG-\d\d\b")
    rules = re.compile(r"\brules? (?:[A-Z]\d{1,2}(?:, (?:and )?| and | or | to )?)+")
    wrong = []
    for path in project_files():
        if path.suffix in (".py", ".toml", ".md", ".j2") and path.name not in ("test_text.py", "test_references.py"):
            text = path.read_text(encoding="utf-8")
            named = {each for found in rules.findall(text) for each in rule.findall(found)}
            unknown = named - set(RULES) | set(bug.findall(text)) - set(KNOWN_BUGS) - {"BUG-99"}
            wrong += [f"{path.relative_to(ROOT)}: {sorted(unknown)}"] if unknown else []

    assert not wrong


def test_a_test_that_carries_a_rule_in_its_name_carries_one_that_exists() -> None:
    name = re.compile(r"^ *def (test_(?:[A-Z]\d{1,2}_)+)", re.MULTILINE)
    wrong = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in project_files()
        if path.suffix == ".py"
        for found in name.findall(path.read_text(encoding="utf-8"))
        if not set(found.removeprefix("test_").rstrip("_").split("_")) <= set(RULES)
    ]

    assert not wrong

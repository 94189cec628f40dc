"""Rules: what each says, the rows and functions that keep it, and everything that checks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.explain import code
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, SourcePlace, sections, themselves
from groupspec.conformance.explain.machines import rows_where
from groupspec.conformance.kills import kills, why_none
from groupspec.conformance.missing import in_checkout
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire import docket
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.spec.consumer_protocol import BINDS, CONSUMER_PROTOCOL
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.rules import APPLIES_TO, LEVELS, RULES

_STRICTLY: Final = ("spec/rules.py", "RFC 2119")


def _names() -> dict[str, str]:
    return {name: rule.id for rule in RULES.values() for name in (rule.id, rule.name, rule.title)}


def explain_rule(identifier: str) -> Explanation:
    """What is known of a rule."""
    rule = RULES[identifier]
    return Explanation(
        "rule",
        identifier,
        rule.statement,
        address("rule", identifier),
        title=rule.title,
        sources=rule.sources,
        rows=rows_where(lambda _, row: identifier in row.rules),
        code=code.citing(identifier),
        applies_to=rule.applies_to,
        level=rule.level,
        scenarios=tuple(scenario.id for scenario in SCENARIOS.values() if identifier in scenario.rules),
        checks=tuple(checks_of(identifier)),
        trace_checks=tuple(check.id for check in trace_rules.RULES if identifier in check.spec_rules),
        properties=of_the_lab("properties_of", identifier),
        mutants=of_the_lab("mutants_of", identifier),
        tests=tests_of(identifier),
        known_bugs=rule.known_bugs,
        deviations=docket.of_rule(identifier),
        differences=tuple(entry for entry in DIFFERENCES.values() if identifier in entry.rules),
        kills=kills(identifier),
        why_no_kills=why_none(identifier),
        sections=sections(
            {
                "in a consumer group (KIP-848)": in_a_consumer_group(identifier),
                "judged in schedules": of_the_lab("in_world", "schedules", identifier),
                "judged in simulation": of_the_lab("in_world", "simulation", identifier),
            }
        ),
    )


def checks_of(identifier: str) -> Iterator[SourcePlace]:
    """The functions that judge histories by a rule."""
    for checker in CHECKERS.get(identifier, ()):
        code, file = checker.check.__code__, checker.check.__module__.removeprefix("groupspec.").replace(".", "/")
        yield SourcePlace(f"{file}.py", code.co_firstlineno, checker.check.__name__)


def in_a_consumer_group(identifier: str) -> str:
    """Whether a rule binds a member by the protocol that followed, and why."""
    entry = CONSUMER_PROTOCOL[identifier]
    return f"{entry.binds} ({BINDS[entry.binds]}). {entry.why}"


def of_the_lab(function: str, *names: str) -> tuple[Any, ...]:
    """What a function of `lab.py` says of these; nothing where that is not installed."""
    if not in_checkout():
        return ()
    return tuple(getattr(import_module("groupspec.conformance.explain.lab"), function)(*names))


@cache
def tests() -> tuple[SourcePlace, ...]:
    """Every test function of the four packages; none where tests are not installed."""
    found = []
    for package in ("spec", "impl", "conformance", "diagrams"):
        spec = find_spec(f"groupspec.{package}")
        for root in map(Path, (spec and spec.submodule_search_locations) or ()):
            for file in sorted(root.rglob("tests/test_*.py")):
                for line, text in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
                    if begun := re.match(r"\s*def (test_\w+)\(", text):
                        found.append(SourcePlace(f"{package}/{file.relative_to(root)}", line, begun[1]))
    return tuple(found)


def tests_of(rule: str) -> tuple[SourcePlace, ...]:
    """The tests that carry a rule's id in their names."""
    return tuple(place for place in tests() if rule in place.name.split("_"))


def _bound(name: str) -> Explanation:
    """A word of the column `binds`."""
    told = {"rules": ", ".join(rule.id for rule in RULES.values() if rule.applies_to == name)}
    said = f"the rules of this kind bind {APPLIES_TO[name]}"
    return Explanation("whom a rule binds", name, said, "rules.html", sources=_STRICTLY, sections=sections(told))


def _level(name: str) -> Explanation:
    """A word of the column `level`."""
    told = {"rules": ", ".join(rule.id for rule in RULES.values() if rule.level == name)}
    return Explanation("level of a rule", name, LEVELS[name], "rules.html", sources=_STRICTLY, sections=sections(told))


def _in_the_new_protocol(name: str) -> Explanation:
    """A word of the column `KIP-848`."""
    told = {"rules": ", ".join(rule for rule in RULES if CONSUMER_PROTOCOL[rule].binds == name)}
    said = f"how a rule binds a member of a consumer group (KIP-848): {BINDS[name]}"
    return Explanation(
        "rules in a consumer group", name, said, "rules.html", sources=("KIP-848",), sections=sections(told)
    )


KINDS = (
    Kind("rule", _names, explain_rule),
    Kind("rules in a consumer group", lambda: themselves(BINDS), _in_the_new_protocol),
    Kind("whom a rule binds", lambda: themselves(APPLIES_TO), _bound),
    Kind("level of a rule", lambda: themselves(LEVELS), _level),
)

"""Every source is of a form that leads somewhere.

A KIP, an issue, a class and method of Kafka, an issue of a named project, a text.

Whether the class says so is for a person to read; that there is a class to read is checked here.
"""

from __future__ import annotations

import re

import pytest

from groupspec.spec.consumer_protocol import BINDINGS
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.expiry.theorems import THEOREMS
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.properties import FILES, properties
from groupspec.spec.rules import CHAPTERS, RULES

NOTE = r"(?: \([^()]*(?:\(\))?[^()]*\))?"
CLASS = r"[A-Z]\w+(?:\.\w+)*"
VERSION = r"v?\d+(?:\.\d+)+(?:-\d+(?:\.\d+)*)?"
SECTION = r"'[^']+'"
PROJECT = "(?:aiokafka|franz-go|FluidFramework|kafka-go|kafka-python|kafkajs|librdkafka|node-rdkafka|sarama)"
WHERE = rf"(?:#\d+|PR \d+|{VERSION}(?: note)?|[0-9a-f]{{7}}|rd_kafka_\w+|[\w/]+\.(?:c|go|py))"
FORMS = {
    "KIP": rf"KIP-\d+(?:, (?:{SECTION}|on[A-Z]\w+))?{NOTE}",
    "issue of Kafka": rf"KAFKA-\d+(?:, KAFKA-\d+| / \d+)*(?: follow-up)?{NOTE}",
    "change of Kafka": rf"MINOR (?:#\d+|[0-9a-f]{{7}}){NOTE}",
    "class of Kafka": rf"Kafka (?:{VERSION} and later, |up to {VERSION}, )?{CLASS}(?:, {CLASS}|, \w+)*"
    rf"(?: javadoc)?{NOTE}",
    "another class of Kafka": rf"(?=[A-Z][a-z]+[A-Z.]){CLASS}(?:, {CLASS})*{NOTE}",
    "setting of Kafka": rf"Kafka configuration [a-z]+(?:\.[a-z]+)+{NOTE}",
    "other project": rf"(?:same in )?{PROJECT} {WHERE}{NOTE}(?:(?:, | / |/| and ){WHERE}{NOTE}|, {PROJECT} {WHERE}|, "
    r"[a-z ]+)*",
    "proposal": rf"Threading refactor proposal \(Apache Kafka wiki\)(?:, {SECTION}(?: and {SECTION})?)?",
    "article": rf"(?:Chrząszcz, {SECTION} \(2019\)|{SECTION} \([^()]+\)"
    rf"|'Learning Kafka with Python: [^']+', {SECTION})",
    "theorem": r"theorem [a-z-]+: .+",
    "tables": r"the error rows of the tables",
}


def form(part: str) -> str:
    """Which form a source has; empty if none."""
    return next((name for name, pattern in FORMS.items() if re.fullmatch(pattern, part)), "")


def sources() -> list[tuple[str, str]]:
    """Whose, and each of its sources."""
    found = [(rule.id, source) for rule in RULES.values() for source in rule.sources]
    found += [(entry.id, said.source) for entry in DIFFERENCES.values() for said in entry.statements]
    found += [(entry.id, source) for entry in BINDINGS.values() for source in entry.sources]
    claims = [entry for file in FILES for entry in properties(file).values()]
    found += [(entry.id, source) for entry in claims for source in entry.sources]
    return [*found, *((bug.id, bug.source) for bug in KNOWN_BUGS.values())]


@pytest.mark.parametrize(("whose", "source"), sorted(set(sources())))
def test_a_source_leads_somewhere(whose: str, source: str) -> None:
    for part in source.split("; "):
        assert form(part), f"{whose}: {part!r} is none of {', '.join(FORMS)}"


def test_a_theorem_that_is_a_source_exists() -> None:
    named = {
        part.split()[1].rstrip(":") for _, source in sources() for part in source.split("; ") if form(part) == "theorem"
    }

    assert named
    assert named <= set(THEOREMS)


@pytest.mark.parametrize(
    "vague", ["Kafka", "the protocol guide", "kafka-python", "KIP 62", "Kafka, the coordinator", "PR 123"]
)
def test_what_leads_nowhere_is_no_source(vague: str) -> None:
    assert not form(vague)


def test_every_rule_has_a_short_name_of_its_own() -> None:
    names = [rule.name for rule in RULES.values()]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[a-z]+(-[a-z]+){0,3}", name), name
    assert RULES["J3"].title == "J3 member-id-required"


def test_every_chapter_has_rules_and_they_stand_in_its_order() -> None:
    assert list(dict.fromkeys(rule.chapter for rule in RULES.values())) == list(CHAPTERS.values())

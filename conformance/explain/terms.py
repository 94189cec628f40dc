"""Terms of the glossary, known bugs, differences of the sources, and the two profiles and protocols."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.explanation import Explanation, Kind, Section, themselves
from groupspec.conformance.explain.rules import of_the_lab
from groupspec.conformance.glossary import TERMS
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES
from groupspec.spec.vocabulary import REQUESTS

_PROFILES: Final = MappingProxyType(
    {
        "deployed": "the profile of the tables that says what Kafka's brokers and clients do today, KIP-429 included",
        "published": "the profile of the tables that follows the threading refactor proposal to the letter",
    }
)


def _term_names() -> dict[str, str]:
    """Terms by all their forms; an API is explained with its term."""
    return {name: term.name for term in TERMS.values() for name in (term.name, *term.also) if name not in REQUESTS}


def _term(name: str) -> Explanation:
    term = TERMS[name]
    rules = tuple(rule for rule in RULES if f"rule {rule})" in term.means or f"rules {rule}" in term.means)
    return Explanation(
        "term",
        name,
        term.means,
        addresses.term(term.anchor),
        rules=rules,
        sections=(Section("also", (", ".join(term.also),)),) if term.also else (),
    )


def _profile(name: str) -> Explanation:
    voices = [entry for entry in DIFFERENCES.values() if any(said.voice == name for said in entry.statements)]
    return Explanation(
        "profile",
        name,
        _PROFILES[name],
        sections=(
            Section("see its tables", (f"groupspec table --profile {name}",)),
            Section("where the sources disagree", tuple(f"{entry.id}: {entry.title}" for entry in voices)),
        ),
    )


def _bug(name: str) -> Explanation:
    bug = KNOWN_BUGS[name]
    return Explanation(
        "known bug",
        name,
        f"{bug.client}: {bug.symptom}",
        addresses.bug(name),
        sources=(f"{bug.source}, {bug.versions}",),
        rules=bug.rules,
        sections=(
            Section("what it leads to", (bug.severity,)),
            Section("what has to happen", (bug.trigger,)),
            Section("where it shows", (bug.shows_on,)),
            Section("the change that brings it back", (bug.mutation,)),
            *of_the_lab("noticed", name),
        ),
    )


def _difference(name: str) -> Explanation:
    entry = DIFFERENCES[name]
    return Explanation(
        "difference between the sources",
        name,
        entry.title,
        addresses.difference(name),
        rules=entry.rules,
        differences=(entry,),
        sections=tuple(
            Section(heading, lines)
            for heading, lines in (
                ("why they differ", (entry.reason,)),
                ("cells", entry.rows),
                ("theorems", entry.theorems),
                ("tests", entry.tests),
            )
            if lines
        ),
    )


KINDS = (
    Kind("term", _term_names, _term),
    Kind("profile", lambda: themselves(_PROFILES), _profile),
    Kind("known bug", lambda: themselves(KNOWN_BUGS), _bug),
    Kind("difference", lambda: themselves(DIFFERENCES), _difference),
)

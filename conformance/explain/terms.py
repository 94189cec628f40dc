"""Terms of the glossary, known bugs, differences of the sources, and the two profiles of the tables."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, sections, themselves
from groupspec.conformance.explain.rules import of_the_lab
from groupspec.conformance.glossary import TERMS
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES
from groupspec.spec.vocabulary import REQUESTS

_PROFILES: Final = {
    "deployed": "the profile of the tables that says what Kafka's brokers and clients do today, KIP-429 included",
    "published": "the profile of the tables that follows the threading refactor proposal to the letter",
}


def _term_names() -> dict[str, str]:
    """Terms by all their forms; an API is explained with its term."""
    return {name: term.name for term in TERMS.values() for name in (term.name, *term.also) if name not in REQUESTS}


def _term(name: str) -> Explanation:
    term = TERMS[name]
    named = (rule for rule in RULES if f"rule {rule})" in term.means or f"rules {rule}" in term.means)
    rules = tuple(dict.fromkeys((*named, *term.rules)))
    place = address("word", term.anchor)
    return Explanation("term", name, term.means, place, rules=rules, sections=sections({"also": ", ".join(term.also)}))


def _profile(name: str) -> Explanation:
    voices = [entry for entry in DIFFERENCES.values() if any(said.voice == name for said in entry.statements)]
    told = {
        "see its tables": f"groupspec table --profile {name}",
        "where the sources disagree": [f"{entry.id}: {entry.title}" for entry in voices],
    }
    return Explanation("profile", name, _PROFILES[name], sections=sections(told))


def _bug(name: str) -> Explanation:
    bug = KNOWN_BUGS[name]
    told = {
        "what it leads to": bug.severity,
        "what has to happen": bug.trigger,
        "where it shows": bug.shows_on,
        "the change that brings it back": bug.mutation,
        **dict(of_the_lab("noticed", name)),
    }
    return Explanation(
        "known bug",
        name,
        f"{bug.client}: {bug.symptom}",
        address("bug", name),
        sources=(f"{bug.source}, {bug.versions}",),
        rules=bug.rules,
        sections=sections(told),
    )


def _difference(name: str) -> Explanation:
    entry = DIFFERENCES[name]
    told = {
        "why they differ": entry.reason,
        "cells": entry.rows,
        "theorems": entry.theorems,
        "tests": entry.tests,
    }
    return Explanation(
        "difference between the sources",
        name,
        entry.title,
        address("difference", name),
        rules=entry.rules,
        differences=(entry,),
        sections=sections(told),
    )


KINDS = (
    Kind("term", _term_names, _term),
    Kind("profile", lambda: themselves(_PROFILES), _profile),
    Kind("known bug", lambda: themselves(KNOWN_BUGS), _bug),
    Kind("difference", lambda: themselves(DIFFERENCES), _difference),
)

"""The pages for looking things up: known bugs, differences, words, answers, request handling, checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

from markupsafe import Markup

from groupspec.conformance.book.page import Page
from groupspec.conformance.book.text import attribute_docs, prose
from groupspec.conformance.book.variants import variants
from groupspec.conformance.explain.protocol import EXCEPTIONS, SETTINGS
from groupspec.conformance.explain.words import outgoing
from groupspec.conformance.glossary import TERMS
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire.scenario import SCENARIOS
from groupspec.spec import differences, known_bugs, request_handling, vocabulary
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.known_bugs import KNOWN_BUGS, KnownBug
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS

_BUG_LABELS = {"source": "Source", "shows_on": "Shows on", "mutation": "Brought back by"}
_DIFFERENCE_LABELS = {"rows": "Cells that differ", "seen_in": "Seen in", "theorems": "Theorems", "tests": "Tests"}
_ANSWERS_ARE = "Every answer to a request of a member, and every way of getting none, is one event of the machines. "
_GROUPS = {
    "config": "Chosen before the first event, and never changed",
    "input": "That come with an event, and are gone after it",
}


def intro(module: ModuleType, labels: Mapping[str, str] | None = None) -> Markup:
    """The text of a module, less its first line, which is the page's heading, and less its sources.

    Args:
        module: The module.
        labels: Names of fields that the text uses, and what they are called on the page.
    """
    text = (module.__doc__ or "").partition("\n\n")[2]
    for name, label in (labels or {}).items():
        text = text.replace(f"`{name}`", f"*{label}*")
    return prose("\n\n".join(part for part in text.split("\n\n") if not part.startswith("Sources:")))


@cache
def heard() -> dict[str, list[tuple[str, str]]]:
    """Event to (machine, address of its row in the matrix that most readers look for)."""
    found: dict[str, list[tuple[str, str]]] = {event: [] for event in vocabulary.EVENTS}
    for name, table in whole_tables().items():
        for event in table.events:
            found[event.name].append((name, f"{variants()[name][0].page}#on.{event.name}"))
    return found


def bugs_page() -> Iterator[Page]:
    """Every known bug, by client."""
    clients: dict[str, list[KnownBug]] = {}
    for bug in KNOWN_BUGS.values():
        clients.setdefault(bug.client, []).append(bug)
    named = [
        ({"name": name, "slug": "of-" + re.sub(r"\W+", "-", name.lower()).strip("-")}, members)
        for name, members in clients.items()
    ]
    yield Page(
        "bugs.html",
        "Known bugs",
        "bugs",
        "bugs",
        {"intro": intro(known_bugs, _BUG_LABELS), "clients": named, "mutants": MUTANTS},
    )


def differences_page() -> Iterator[Page]:
    """Where the sources disagree."""
    cells = {entry.id: [(cell, _cell_places(cell)) for cell in entry.rows] for entry in DIFFERENCES.values()}
    yield Page(
        "differences.html",
        "Where the sources disagree",
        "differences",
        "differences",
        {"intro": intro(differences, _DIFFERENCE_LABELS), "entries": list(DIFFERENCES.values()), "cells": cells},
    )


def _cell_places(cell: str) -> list[tuple[str, str]]:
    """`rebalance:STABLE.join_needed` -> (words for a table, address of the cell there), for each table."""
    machine, _, place = cell.partition(":")
    state, _, event = place.rpartition(".")
    return [
        (variant.words, variant.cell(state, event))
        for variant in variants().get(machine, ())
        if variant.table.cell(state, event)
    ]


def vocabulary_page() -> Iterator[Page]:
    """Every word that guards and effects are made of."""
    whole = whole_tables()
    owners = dict.fromkeys(v.owner for v in vocabulary.VARIABLES.values() if v.kind == "state")
    groups = [
        (f"Of {owner}", [v for v in vocabulary.VARIABLES.values() if v.kind == "state" and v.owner == owner])
        for owner in owners
    ]
    groups += [(title, [v for v in vocabulary.VARIABLES.values() if v.kind == kind]) for kind, title in _GROUPS.items()]
    kinds = dict.fromkeys(event.kind for event in vocabulary.EVENTS.values())
    yield Page(
        "vocabulary.html",
        "Glossary",
        "vocabulary",
        "vocabulary",
        {
            "intro": intro(vocabulary),
            "terms": list(TERMS.values()),
            "settings": SETTINGS.values(),
            "variable_groups": groups,
            "event_groups": [(kind, [e for e in vocabulary.EVENTS.values() if e.kind == kind]) for kind in kinds],
            "effects": list(vocabulary.EFFECTS.values()),
            "outgoing": [
                (name, each.goes_to, [e.name for e in vocabulary.EFFECTS.values() if name in e.emit])
                for name, each in outgoing().items()
            ],
            "server_events": vocabulary.SERVER_EVENTS,
            "server_events_intro": attribute_docs(vocabulary)["SERVER_EVENTS"],
            "heard": heard(),
            "ignored": {
                reason: sum(row.reason == reason for table in whole.values() for row in table.rows)
                for reason in vocabulary.IGNORED_REASONS
            },
        },
    )


def answers_page() -> Iterator[Page]:
    """What each error of each answer means to a member."""
    answers: dict[str, list[dict[str, str]]] = {}
    for (request, error), event in vocabulary.RESPONSES.items():
        means = vocabulary.EVENTS[event].doc
        answers.setdefault(request, []).append({"error": error, "event": event, "means": means})
    yield Page(
        "answers.html",
        "Error codes",
        "answers",
        "answers",
        {
            "intro": prose(_ANSWERS_ARE + attribute_docs(vocabulary)["RESPONSES"].partition(". ")[2]),
            "answers": list(answers.items()),
            "requests": list(answers),
            "exceptions": EXCEPTIONS.values(),
            "heard": heard(),
        },
    )


def request_handling_page() -> Iterator[Page]:
    """What no machine waits for."""
    by_request: dict[str, list[request_handling.Handling]] = {}
    for case in HANDLINGS:
        by_request.setdefault(case.request, []).append(case)
    titles = {name: name for name in by_request} | {
        request_handling.COMMAND: "Commands",
        request_handling.TIMER: "Timers",
    }
    firsts = dict.fromkeys(by_request, "Error") | {request_handling.COMMAND: "Command", request_handling.TIMER: "Timer"}
    yield Page(
        "request_handling.html",
        "Other requests",
        "request_handling",
        "request_handling",
        {
            "intro": intro(request_handling),
            "cases": list(by_request.items()),
            "jumps": [(f"#{request}", titles[request]) for request in by_request],
            "titles": titles,
            "firsts": firsts,
            "preconditions": PRECONDITIONS,
            "postconditions": POSTCONDITIONS,
        },
    )


def checks_page() -> Iterator[Page]:
    """Who looks whether the rules are kept."""
    yield Page(
        "checks.html",
        "Scenarios and checks",
        "checks",
        "checks",
        {
            "scenarios": list(SCENARIOS.values()),
            "trace_checks": trace_rules.RULES,
            "mutants": list(MUTANTS.values()),
        },
    )

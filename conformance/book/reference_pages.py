"""The pages for looking things up: known bugs, differences, words, answers, request handling, timeouts, checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from groupspec.conformance.book.machines import hearing
from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.text import attribute_docs, module_prose, prose
from groupspec.conformance.book.variants import variants
from groupspec.conformance.explain.protocol import EXCEPTIONS, SETTINGS
from groupspec.conformance.explain.vocabulary import OUTGOING
from groupspec.conformance.glossary import TERMS
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.diagrams.expiry import assumptions, boundary_svg, boundary_words, conditions, defaults
from groupspec.spec import differences, known_bugs, request_handling, vocabulary
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.expiry import parts, theorems
from groupspec.spec.expiry.proofs import ARITHMETICS, prove
from groupspec.spec.expiry.theorems import THEOREMS
from groupspec.spec.known_bugs import KNOWN_BUGS, KnownBug
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS

_BUG_LABELS = {"source": "Source", "shows_on": "Shows on", "mutation": "Brought back by"}
_DIFFERENCE_LABELS = {"rows": "Cells that differ", "seen_in": "Seen in", "theorems": "Theorems", "tests": "Tests"}
_ANSWERS_ARE = "Every answer to a request of a member, and every way of getting none, is one event of the machines. "
_GROUPS = {
    "config": "Chosen before the first event, and never changed",
    "input": "That come with an event, and are gone after it",
}


@cache
def heard() -> dict[str, list[tuple[str, str]]]:
    """Event to (machine, address of its row in the matrix that most readers look for)."""
    return {
        event: [(name, f"{variants()[name][0].page}#on.{event}") for name in machines]
        for event, machines in hearing().items()
    }


def bugs_page() -> Iterator[Page]:
    """Every known bug, by client."""
    clients: dict[str, list[KnownBug]] = {}
    for bug in KNOWN_BUGS.values():
        clients.setdefault(bug.client, []).append(bug)
    named = [
        ({"name": name, "slug": "of-" + re.sub(r"\W+", "-", name.lower()).strip("-")}, members)
        for name, members in clients.items()
    ]
    yield page(
        "bugs",
        "Known bugs",
        intro=module_prose(known_bugs, heading=True, labels=_BUG_LABELS),
        clients=named,
        mutants=MUTANTS,
    )


def differences_page() -> Iterator[Page]:
    """Where the sources disagree."""
    yield page(
        "differences",
        "Sources that disagree",
        intro=module_prose(differences, heading=True, labels=_DIFFERENCE_LABELS),
        entries=list(DIFFERENCES.values()),
        cells={entry.id: [(cell, _cell_places(cell)) for cell in entry.rows] for entry in DIFFERENCES.values()},
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
    variables = vocabulary.VARIABLES.values()
    owners = dict.fromkeys(v.owner for v in variables if v.kind == "state")
    groups = [(f"Of {owner}", [v for v in variables if v.kind == "state" and v.owner == owner]) for owner in owners]
    groups += [(title, [v for v in variables if v.kind == kind]) for kind, title in _GROUPS.items()]
    events, effects = vocabulary.EVENTS.values(), list(vocabulary.EFFECTS.values())
    rows = [row for table in whole_tables().values() for row in table.rows]
    yield page(
        "vocabulary",
        "Glossary",
        intro=module_prose(vocabulary, heading=True),
        terms=list(TERMS.values()),
        settings=SETTINGS.values(),
        variable_groups=groups,
        event_groups=[(kind, [e for e in events if e.kind == kind]) for kind in dict.fromkeys(e.kind for e in events)],
        effects=effects,
        outgoing=[(name, out.goes_to, [e.name for e in effects if name in e.emit]) for name, out in OUTGOING.items()],
        server_events=vocabulary.SERVER_EVENTS,
        server_events_intro=attribute_docs(vocabulary)["SERVER_EVENTS"],
        heard=heard(),
        ignored=Counter(row.reason for row in rows),
    )


def answers_page() -> Iterator[Page]:
    """What each error of each answer means to a member."""
    answers: dict[str, list[dict[str, str]]] = {}
    for (request, error), event in vocabulary.RESPONSES.items():
        means = vocabulary.EVENTS[event].doc
        answers.setdefault(request, []).append({"error": error, "event": event, "means": means})
    yield page(
        "answers",
        "Error codes",
        intro=prose(_ANSWERS_ARE + attribute_docs(vocabulary)["RESPONSES"].partition(". ")[2]),
        answers=list(answers.items()),
        requests=list(answers),
        exceptions=EXCEPTIONS.values(),
        heard=heard(),
    )


def request_handling_page() -> Iterator[Page]:
    """What no machine waits for."""
    by_request: dict[str, list[request_handling.Handling]] = {}
    for case in HANDLINGS:
        by_request.setdefault(case.request, []).append(case)
    ours = {request_handling.COMMAND: ("Commands", "Command"), request_handling.TIMER: ("Timers", "Timer")}
    titles = {name: ours.get(name, (name, "Error")) for name in by_request}
    yield page(
        "request_handling",
        "Other requests",
        intro=module_prose(request_handling, heading=True),
        cases=list(by_request.items()),
        jumps=[(f"#{request}", title) for request, (title, _) in titles.items()],
        titles=titles,
        preconditions=PRECONDITIONS,
        postconditions=POSTCONDITIONS,
    )


def time_page() -> Iterator[Page]:
    """For which timeouts a living member can be put out: a table, Kafka's defaults, a section for each theorem."""
    yield page(
        "time",
        "Timeouts",
        intro=module_prose(theorems, heading=True),
        limits=module_prose(parts, heading=True),
        theorems=list(THEOREMS.values()),
        arithmetics=ARITHMETICS,
        conditions=conditions,
        assumptions=assumptions,
        zones={name: prove(theorem, 0).zones for name, theorem in THEOREMS.items()},
        boundary=boundary_words,
        pictures={name: boundary_svg(theorem) for name, theorem in THEOREMS.items()},
        defaults=defaults(),
    )


def checks_page() -> Iterator[Page]:
    """Who looks whether the rules are kept."""
    yield page(
        "checks",
        "Scenarios and checks",
        scenarios=list(SCENARIOS.values()),
        trace_checks=trace_rules.RULES,
        mutants=list(MUTANTS.values()),
    )

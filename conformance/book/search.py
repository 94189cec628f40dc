"""The index of the search: every thing that has a place in the book, in a script that also loads from a file."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from groupspec.conformance.book import api_pages, guides
from groupspec.conformance.book.claims import claims
from groupspec.conformance.book.machines import gist, module_of
from groupspec.conformance.book.variants import variants
from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.protocol import EXCEPTIONS, SETTINGS
from groupspec.conformance.explain.state_meanings import STATES
from groupspec.conformance.explain.words import outgoing, words
from groupspec.conformance.findings import Finding
from groupspec.conformance.glossary import TERMS
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.traces import trace_rules
from groupspec.conformance.wire.scenario import SCENARIOS
from groupspec.diagrams.matrix import row_text
from groupspec.spec import vocabulary
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.differences import DIFFERENCES
from groupspec.spec.expiry.theorems import THEOREMS
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS
from groupspec.spec.rules import RULES


class Entry(NamedTuple):
    """One thing: what it is called, what kind of thing it is, where it stands, and the text that it is found by."""

    title: str
    kind: str
    address: str
    text: str


def search_index(models: Mapping[str, Model], found: Iterable[Finding]) -> str:
    """The index as a script."""
    entries = [
        Entry("KIP-848", "not specified here", "index.html#scope", "the new consumer group protocol"),
        *_rules(),
        *_machines(),
        *_for_users(),
        *_words(),
        *_answers(),
        *_theorems(),
        *_bugs(),
        *_differences(),
        *_checks(),
        *_composition(models),
        *(Entry(f.title, "finding", addresses.finding(f.id), f"{f.sentence} {f.instead}") for f in found),
        *_cells(),
    ]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    also = json.dumps(_also(), ensure_ascii=False)
    called = json.dumps([(name.said, name.means) for name in names().values()], ensure_ascii=False)
    return f"window.BOOK = [\n{lines}\n];\nwindow.ALSO = {also};\nwindow.NAMES = {called};\n"


class Name(Record, frozen=True):
    """What people call something that the specification calls otherwise.

    Attributes:
        id: A name for it.
        said: Phrases; one is said when all of its words are.
        means: Titles of entries, what is meant most first.
    """

    id: str
    said: tuple[str, ...]
    means: tuple[str, ...]


@cache
def names() -> Mapping[str, Name]:
    """`names.toml`."""
    return read_entries(Path(__file__).with_name("names.toml"), Name)


def _also() -> dict[str, str]:
    """What states (`machine.STATE`) and events are called by who has not read the tables: cells are found by it."""
    found = {f"{machine}.{state}": words for machine, states in STATES.items() for state, words in states.items()}
    answers: dict[str, list[str]] = {}
    for (request, error), event in vocabulary.RESPONSES.items():
        answers.setdefault(event, [request]).append(error)
    return found | {
        event.name: " ".join(answers[event.name]) if event.name in answers else event.doc
        for event in vocabulary.EVENTS.values()
    }


def _rules() -> Iterator[Entry]:
    for rule in RULES.values():
        yield Entry(
            rule.id, "rule", addresses.rule(rule.id), f"{rule.name}: {rule.statement} {'; '.join(rule.sources)}"
        )


def _for_users() -> Iterator[Entry]:
    """What programs can import, and the guides."""
    for package in api_pages.PACKAGES:
        for name in package.__all__:
            about = api_pages.DATA.get(name) or inspect.getdoc(getattr(package, name)) or ""
            yield Entry(name, "Python", f"api.html#{package.__name__}.{name}", about.partition("\n\n")[0])
    for guide in guides.pages():
        yield Entry(guide.title, "guide", guide.path, "how to begin")


def _machines() -> Iterator[Entry]:
    for name, table in whole_tables().items():
        text = " ".join((inspect.getdoc(module_of(name)) or "").split())
        yield Entry(name, "machine", addresses.machine(name), f"{gist(name)} {text}")
        for variant in variants()[name]:
            yield Entry(f"{name}: {variant.words}", "table", variant.page, "picture matrix rows")
        for state in table.states:
            yield Entry(state, f"state of {name}", addresses.state(name, state), "")


def _words() -> Iterator[Entry]:
    for term in TERMS.values():
        yield Entry(term.name, "term", addresses.term(term.anchor), " ".join((term.means.replace("`", ""), *term.also)))
    for variable in vocabulary.VARIABLES.values():
        yield Entry(variable.name, "variable", addresses.word(variable.name), variable.doc)
    for event in vocabulary.EVENTS.values():
        yield Entry(event.name, "event", addresses.word(event.name), event.doc)
    for effect in vocabulary.EFFECTS.values():
        yield Entry(effect.name, "effect", addresses.word(effect.name), f"{effect.doc} {' '.join(effect.emit)}".strip())
    for name, each in outgoing().items():
        yield Entry(name, f"for {each.goes_to}", addresses.word(name), words()[name])
    for name in vocabulary.SERVER_EVENTS:
        yield Entry(name, "server event", addresses.word("server-events"), vocabulary.SERVER_EVENTS[name][0])
    for name, meaning in vocabulary.IGNORED_REASONS.items():
        yield Entry(name.replace("_", " "), "reason", addresses.word(name), meaning)
    for name, meaning in (*PRECONDITIONS.items(), *POSTCONDITIONS.items()):
        yield Entry(name.replace("_", " "), "request handling", f"request_handling.html#{name}", meaning)


def _answers() -> Iterator[Entry]:
    for exception in EXCEPTIONS.values():
        yield Entry(
            exception.name, "exception", f"answers.html#{exception.name}", " ".join((exception.means, *exception.also))
        )
    for setting in SETTINGS.values():
        yield Entry(setting.name, "setting", addresses.word(setting.name), setting.means)
    for (request, error), event in vocabulary.RESPONSES.items():
        means = vocabulary.EVENTS[event].doc
        yield Entry(f"{request} {error}", "answer", f"answers.html#{request}", f"{event}: {means}")

    for case in HANDLINGS:
        then = f"{PRECONDITIONS[case.when]}: {POSTCONDITIONS[case.then]}"
        yield Entry(f"{case.request} {case.error}", "request handling", f"request_handling.html#{case.request}", then)


def _theorems() -> Iterator[Entry]:
    for theorem in THEOREMS.values():
        yield Entry(theorem.id, "theorem", f"time.html#{theorem.id}", f"{theorem.question} {theorem.meaning}")


def _bugs() -> Iterator[Entry]:
    for bug in KNOWN_BUGS.values():
        text = f"{bug.symptom} {bug.trigger} {bug.source} {bug.versions} {' '.join(bug.rules)}"
        yield Entry(f"{bug.id} {bug.client}", "known bug", addresses.bug(bug.id), text)


def _differences() -> Iterator[Entry]:
    for entry in DIFFERENCES.values():
        said = " ".join(statement.says for statement in entry.statements)
        yield Entry(entry.title, "difference", addresses.difference(entry.id), f"{said} {entry.reason} {entry.choice}")


def _checks() -> Iterator[Entry]:
    for scenario in SCENARIOS.values():
        yield Entry(scenario.id, "scenario", addresses.check(scenario.id), " ".join(scenario.doc.split()))
    for check in trace_rules.RULES:
        yield Entry(check.id, "trace check", addresses.check(check.id), check.statement)
    for mutant in MUTANTS.values():
        yield Entry(f"{mutant.id} mutant", "mutant", addresses.check(f"{mutant.id}-mutant"), mutant.what)


def _composition(models: Mapping[str, Model]) -> Iterator[Entry]:
    for model in models.values():
        yield Entry(model.name, "model", addresses.model(model.name), " ".join(model.doc.split()))
    for claim in claims(models):
        yield Entry(claim.stated.id, "property", addresses.claim(claim.stated.id), claim.stated.statement)


def _cells() -> Iterator[Entry]:
    for name, each in variants().items():
        for variant in each:
            for state, event, rows in variant.table.cells():
                text = "; ".join(row_text(row, variant.table) for row in rows)
                kind = f"cell of {name}, {variant.words}" if len(each) > 1 else f"cell of {name}"
                yield Entry(f"{state} {event.name}", kind, variant.cell(state, event.name), text)

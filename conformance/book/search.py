"""The index of the search: every thing that has a place in the book, in a script that also loads from a file."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from groupspec.conformance.book import api_pages, guides
from groupspec.conformance.book.composition import models
from groupspec.conformance.book.page import CHAPTERS
from groupspec.conformance.book.variants import variants
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.index import kinds
from groupspec.conformance.explain.machines import STATES
from groupspec.diagrams.matrix import row_text
from groupspec.spec import vocabulary
from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS
from groupspec.spec.rules import RULES


class Entry(NamedTuple):
    """One thing: what it is called, what kind of thing it is, where it stands, and the text that it is found by."""

    title: str
    kind: str
    address: str
    text: str


def search_index() -> str:
    """The index as a script."""
    entries = [
        Entry("KIP-848", "not specified here", "index.html#scope", "the new consumer group protocol"),
        *(Entry(chapter.title, "chapter", chapter.page, chapter.about) for chapter in CHAPTERS),
        *_explained(),
        *_for_users(),
        *_answers(),
        *_tables(),
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


def _for_users() -> Iterator[Entry]:
    """What programs can import, and the guides."""
    for package in api_pages.PACKAGES:
        for name in package.__all__:
            about = api_pages.DATA.get(name) or inspect.getdoc(getattr(package, name)) or ""
            yield Entry(name, "Python", f"api.html#{package.__name__}.{name}", about.partition("\n\n")[0])
    for guide in guides.pages():
        yield Entry(guide.title, "guide", guide.path, "how to begin")


_OTHERWISE: Final = ("row", "rule", "model")
"""Kinds of names of which `explain` is not asked: rows stand in cells, of the others it says more than is needed."""


def _explained() -> Iterator[Entry]:
    """Whatever `groupspec explain` takes, if the book has a place for it."""
    for rule in RULES.values():
        text = " ".join((f"{rule.name}:", rule.statement, *rule.sources))
        yield Entry(rule.id, "rule", address("rule", rule.id), text)
    for model in models().values():
        yield Entry(model.name, "model", address("model", model.name), " ".join(model.doc.split()))
    for kind in (kind for kind in kinds() if kind.name not in _OTHERWISE):
        for name in dict.fromkeys(kind.names().values()):
            each = kind.explain(name)
            parts = [each.title.removeprefix(each.name).strip(" :"), each.statement, *each.sources]
            parts += [line for lines in each.sections.values() for line in lines]
            text = " ".join(" ".join(dict.fromkeys(parts)).split()).replace("`", "")
            if each.page:
                yield Entry(each.name, kind.name, each.page, text)


def _answers() -> Iterator[Entry]:
    for (request, error), event in vocabulary.RESPONSES.items():
        means = vocabulary.EVENTS[event].doc
        yield Entry(f"{request} {error}", "answer", f"answers.html#{request}", f"{event}: {means}")
    for case in HANDLINGS:
        then = f"{PRECONDITIONS[case.when]}: {POSTCONDITIONS[case.then]}"
        yield Entry(f"{case.request} {case.error}", "request handling", f"request_handling.html#{case.request}", then)


def _tables() -> Iterator[Entry]:
    for name, each in variants().items():
        for variant in each:
            yield Entry(f"{name}: {variant.words}", "table", variant.page, "picture matrix rows")
            kind = f"cell of {name}, {variant.words}" if len(each) > 1 else f"cell of {name}"
            for state, event, rows in variant.table.cells():
                text = "; ".join(row_text(row, variant.table) for row in rows)
                yield Entry(f"{state} {event.name}", kind, variant.cell(state, event.name), text)

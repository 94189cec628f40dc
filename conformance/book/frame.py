"""What every template of the book can use: addresses, the specification's dictionaries, and how words are written."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterable
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from groupspec import conformance
from groupspec.conformance.book import composition, text
from groupspec.conformance.book.claims import notices
from groupspec.conformance.book.rule_pages import BINDS
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.sources import source
from groupspec.conformance.explain.vocabulary import OUTGOING, kind_of, words
from groupspec.conformance.findings import FINDINGS
from groupspec.conformance.reports.templating import environment
from groupspec.conformance.vectors import VectorEvent
from groupspec.spec import vocabulary
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import APPLIES_TO, RULES
from groupspec.spec.terms import Value

KINDS: Final = {
    "message": "the wire",
    "timer": "a timer",
    "application": "the application",
    "internal": "another machine",
}
KINDS_LONG: Final = {
    "message": "From the wire",
    "timer": "Timers",
    "application": "What the application does, and what its thread reports",
    "internal": "Between the machines of one member",
}


def book_environment() -> Environment:
    """The environment of the templates in `book/`."""
    made = environment()
    made.filters |= {"anchors": _anchors, "plain": _plain, "inputs": _inputs}
    made.globals |= {
        "to": address,
        "RULES": RULES,
        "BUGS": KNOWN_BUGS,
        "REASONS": vocabulary.IGNORED_REASONS,
        "BINDS": BINDS,
        "BINDS_LONG": APPLIES_TO,
        "KINDS": KINDS,
        "KINDS_LONG": KINDS_LONG,
        "word": text.word,
        "kind_of": kind_of,
        "breakable": text.breakable,
        "guard": text.guard,
        "inline": text.inline,
        "prose": text.prose,
        "mentions": text.mentions,
        "source": source,
        "values": _values,
        "meaning": _meaning,
        "listener": _listener,
        "parameters": composition.parameters,
        "guard_of": composition.guard_of,
        "notices": notices(),
        "FINDINGS": FINDINGS,
        "spec_hash": _spec_hash(),
        "version": conformance.__version__,
    }
    return made


def _spec_hash() -> str:
    """One hash of all whole tables and the rules: which specification the book was made from."""
    digest = hashlib.sha256()
    for table in whole_tables().values():
        digest.update(table.hash.encode())
    digest.update(repr(sorted(RULES.items())).encode())
    return digest.hexdigest()


def _anchors(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(f"#{name}", name) for name in names]


def _plain(text: str) -> Markup:
    """Text between tags, in which quotation marks may stay as they are: a tenth of a listing is quotation marks."""
    return Markup(html.escape(text, quote=False))


def _inputs(event: VectorEvent) -> str:
    """What comes with an event, in words: a yes is its name. What is as usual (its initial value) is not told."""
    told = []
    for name, value in event.inputs.items():
        if value == vocabulary.VARIABLES[name].initial:
            continue
        if name == "current":
            told.append("late")
        elif isinstance(value, bool):
            told.append(name if value else f"not {name}")
        else:
            told.append(f"{name}: {value}")
    return ", ".join(word.replace("_", " ") for word in told)


def _values(variable: Any) -> Markup:
    """The domain of a variable, its initial value first in weight."""
    initial: Value = variable.initial
    if variable.domain == (False, True):
        return Markup("<b>no</b>, yes") if not initial else Markup("no, <b>yes</b>")
    shown = [Markup("<b>{}</b>" if value == initial else "{}").format(str(value)) for value in variable.domain]
    return Markup(", ").join(shown)


def _listener(word: str) -> str:
    """Who hears a word that no machine hears."""
    return OUTGOING[word].goes_to if word in OUTGOING else ""


def _meaning(word: str) -> Markup:
    return text.inline(words().get(word, ""))

"""Every name that can be explained, and the nearest ones to a name that cannot.

Case, hyphens, underscores and blanks do not count: `commit failed exception` is CommitFailedException. Where several
things have a name (`commit`: a machine and an effect; `stable`: states of three machines), each is explained.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, TypeAlias

from groupspec.conformance.explain import checks, code, machines, protocol, rules, terms, vocabulary
from groupspec.conformance.explain.explanation import Explanation, Kind
from groupspec.conformance.explain.log_lines import is_line, read_line
from groupspec.conformance.missing import in_checkout
from groupspec.spec.rules import RULES

_OF_CLIENTS: Final = re.compile(r"^(rdkafkaresperr|kerr|err)|(exception|error)$")
"""What clients put before or behind the name of an error: IllegalGenerationException, kerr.IllegalGeneration."""
_ERRORS: Final = ("Kafka error", "exception of clients")
"""Kinds of names that say something of a text in which they stand; another name may stand there by chance."""
_ERROR: Final = re.compile(r"[A-Z]_[A-Z]|\w(Exception|Error)$")
_MISSPELT: Final = 0.8
"""How alike two names are that differ in a letter or two; below that they must share a word: not Stabilized, DISABLED.
"""
_CELL: Final = re.compile(r"(?:\w+: )?([\w.]+) x (\w+)")
"""A state and an event, as tables and their problems name a cell: `STABLE x stopped`."""
_SOUGHT: Final = re.compile(r"[\w.:/-]+")


Named: TypeAlias = tuple[Kind, str]
"""A kind, and the name that its `explain` takes."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of name, those first that a reader most probably means."""
    modules = [rules, protocol, machines, vocabulary, checks, terms]
    if in_checkout():
        modules += [import_module(f"groupspec.conformance.explain.{name}") for name in ("lab", "model_words")]
    return tuple(kind for module in modules for kind in module.KINDS)


@cache
def names() -> Mapping[str, tuple[Named, ...]]:
    """Every name with the things that are called so: (kind, the name that its `explain` takes)."""
    found: dict[str, tuple[Named, ...]] = {}
    for kind in kinds():
        for name, own in kind.names().items():
            found[name] = (*found.get(name, ()), (kind, own))
    return found


def explain(name: str) -> list[Explanation]:
    """Everything that is called so; nothing if there is no such name.

    A text that is no name, such as a line of a log, is explained by what it is known to tell and the errors in it.
    """
    if things := _things(name):
        # Who asks for a word that `trace why` prints as a cause wants that first.
        told = [kind.explain(own) for kind, own in sorted(dict.fromkeys(things), key=_is_no_cause)]
        return told if name in names() else told + _in_the_reference(name)
    if told := _in_the_reference(name) or _in_the_scores(name):
        return told
    told, meant = read_line(name)
    if not told and is_line(name):
        return []
    things = [thing for each in meant for thing in _causes(_things(each))]
    things += [thing for each in errors_in(name) for thing in _things(each)]
    return told + [kind.explain(own) for kind, own in dict.fromkeys(things)]


def is_name(text: str) -> bool:
    """Whether something is called so, however it is spelt; a line of a log is no name."""
    return bool(_things(text))


def _in_the_reference(name: str) -> list[Explanation]:
    """Functions and classes of the reference that are called so, with or without their class.

    A word of plain English is none: logs are full of them.
    """
    *_, own = name.split(".")
    places = [place for place in code.defining(own) if name in (own, place.name)]
    if not places or (name.isalpha() and name.islower()):
        return []
    said = "; ".join(f"{place.name}: {code.summary(place)}" for place in places)
    rules = tuple(rule for rule in RULES if set(places) & set(code.citing(rule)))
    return [Explanation("function of the reference", name, said, code=tuple(places), rules=rules)]


def _in_the_scores(name: str) -> list[Explanation]:
    """A mutant of a row, by its id; there are thousands, which is why they are no names."""
    if name.count("/") < 3 or not in_checkout():
        return []
    told: list[Explanation] = import_module("groupspec.conformance.explain.model_words").changed_row(name)
    return told


def _causes(things: list[Named]) -> list[Named]:
    """Of namesakes the cause of a rebalance, if there is one: that is what lines of logs are about."""
    return [thing for thing in things if not _is_no_cause(thing)] or things


def _is_no_cause(thing: Named) -> bool:
    return thing[0].name != "cause of a rebalance"


def _things(name: str) -> list[Named]:
    if name in names():
        # A state is called in capitals what a word of the scores may be called in small letters: `idle`.
        states = (thing for thing in names().get(name.upper(), ()) if thing[0].name == "state")
        return [*names()[name], *states]
    if (cell := _CELL.fullmatch(name.strip())) and (things := _things(f"{cell[1]}.{cell[2]}")):
        return things
    found = _by_folded()
    return next((found[form] for form in _forms(name) if form in found), [])


def errors_in(text: str) -> list[str]:
    """The errors that a text of several words names; a number is an error's only where the text says so."""
    words = [word.strip(".:") for word in _SOUGHT.findall(text)]
    found = [word for word in words if _ERROR.search(word)]
    found += [f"error {number}" for number in re.findall(r"\berror (\d+)", text, re.IGNORECASE)]
    errors = (word for word in found if any(kind.name in _ERRORS for kind, _ in _things(word)))
    return list(dict.fromkeys(errors)) if words[1:] else []


@cache
def _by_folded() -> Mapping[str, list[Named]]:
    found: dict[str, list[Named]] = {}
    for name, things in names().items():
        for folded in _forms(name):
            found.setdefault(folded, []).extend(things)
    return found


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _forms(name: str) -> tuple[str, ...]:
    """The folded name, and the same without what clients add to it."""
    folded = _folded(name)
    return tuple(form for form in dict.fromkeys((folded, _OF_CLIENTS.sub("", folded))) if form)


def nearest(name: str, most: int = 3) -> list[str]:
    """The names that are spelt most nearly so, the nearest first; one for all names that mean the same."""
    with_rows = "." in name  # there are thousands of rows and cells, and each has a dot in its name
    length = len(_folded(name))
    spelt: dict[str, list[str]] = {}
    for known, things in names().items():
        if with_rows or things[0][0].name != "row":
            for form in _forms(known):
                if abs(len(form) - length) <= length // 4 + 1:
                    spelt.setdefault(form, []).append(known)
    near = [(sought, form) for sought in _forms(name) for form in difflib.get_close_matches(sought, spelt, n=8)]
    by_meaning: dict[object, str] = {}
    for sought, form in near:
        misspelt = difflib.SequenceMatcher(None, form, sought).ratio() >= _MISSPELT
        for known in sorted(spelt[form], key=lambda known: _folded(known) != form):
            if misspelt or _words(name) & _words(known):
                by_meaning.setdefault(names()[known], known)
    return list(by_meaning.values())[:most]


def _words(name: str) -> set[str]:
    """`CommitFailedException`: commit, failed, exception."""
    return set(re.sub("([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split())

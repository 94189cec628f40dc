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
from typing import Final

from groupspec.conformance.explain import checks, machines, protocol, rules, terms, vocabulary
from groupspec.conformance.explain.explanation import Explanation, Kind
from groupspec.conformance.missing import in_checkout

_OF_CLIENTS: Final = re.compile(r"^(rdkafkaresperr|kerr|err)|(exception|error)$")
"""What clients put before or behind the name of an error: IllegalGenerationException, kerr.IllegalGeneration."""
_SOUGHT: Final = re.compile(r"[\w.:/-]+")


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of name, those first that a reader most probably means."""
    modules = [rules, protocol, machines, vocabulary, checks, terms]
    if in_checkout():
        modules.append(import_module("groupspec.conformance.explain.lab"))
    return tuple(kind for module in modules for kind in module.KINDS)


@cache
def names() -> Mapping[str, tuple[tuple[Kind, str], ...]]:
    """Every name with the things that are called so: (kind, the name that its `explain` takes)."""
    found: dict[str, tuple[tuple[Kind, str], ...]] = {}
    for kind in kinds():
        for name, own in kind.names().items():
            found[name] = (*found.get(name, ()), (kind, own))
    return found


def explain(name: str) -> list[Explanation]:
    """Everything that is called so; nothing if there is no such name.

    A text that is no name, such as a line of a log, is explained by the names in it.
    """
    things = dict.fromkeys(_things(name) or _in_text(name))
    return [kind.explain(own) for kind, own in things]


def _things(name: str) -> list[tuple[Kind, str]]:
    if name in names():
        return list(names()[name])
    found = _by_folded()
    return next((found[form] for form in _forms(name) if form in found), [])


def _in_text(text: str) -> list[tuple[Kind, str]]:
    words = _SOUGHT.findall(text)
    if len(words) < 2:
        return []
    known = (word.strip(".:") for word in words if re.search(r"[A-Z_]{2}|[a-z][A-Z]|\d", word))
    return [thing for word in known for thing in names().get(word, ())]


@cache
def _by_folded() -> Mapping[str, list[tuple[Kind, str]]]:
    found: dict[str, list[tuple[Kind, str]]] = {}
    for name, things in names().items():
        for folded in _forms(name):
            found.setdefault(folded, []).extend(things)
    return found


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _forms(name: str) -> tuple[str, ...]:
    """The folded name, and the same without what clients add to it."""
    folded = _folded(name)
    return tuple(dict.fromkeys((folded, _OF_CLIENTS.sub("", folded))))


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
    near = [form for sought in _forms(name) for form in difflib.get_close_matches(sought, spelt, n=8)]
    by_meaning: dict[object, str] = {}
    for known in (known for form in near for known in sorted(spelt[form], key=lambda known: _folded(known) != form)):
        by_meaning.setdefault(names()[known], known)
    return list(by_meaning.values())[:most]

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
    folded = _folded(name)
    found = _by_folded()
    return found.get(folded) or found.get(_OF_CLIENTS.sub("", folded), []) if folded else []


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
        for folded in dict.fromkeys((_folded(name), _OF_CLIENTS.sub("", _folded(name)))):
            found.setdefault(folded, []).extend(things)
    return found


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def nearest(name: str, most: int = 3) -> list[str]:
    """The names that are spelt most nearly so, the nearest first; one for all names that mean the same."""
    with_rows = "." in name  # there are thousands of rows and cells, and each has a dot in its name
    sought = _OF_CLIENTS.sub("", _folded(name))
    spelt: dict[str, str] = {}
    for known, things in names().items():
        folded = _OF_CLIENTS.sub("", _folded(known))
        if (with_rows or things[0][0].name != "row") and abs(len(folded) - len(sought)) <= len(sought) // 4 + 1:
            spelt.setdefault(folded, known)
    near = difflib.get_close_matches(sought, spelt, n=8, cutoff=0.6)
    by_meaning = {names()[spelt[each]]: spelt[each] for each in reversed(near)}
    return list(reversed(by_meaning.values()))[:most]

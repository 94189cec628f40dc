"""Where everything stands in the book. All pages lie in one folder, so an address is the same from everywhere."""

from __future__ import annotations

from typing import Final

_PLACES: Final = {
    "answer": "answers.html#{}",
    "bug": "bugs.html#{}",
    "check": "checks.html#{}",
    "claim": "properties.html#{}",
    "condition": "request_handling.html#{}",
    "defect": "defect-{}.html",
    "difference": "differences.html#{}",
    "finding": "finding-{}.html",
    "machine": "machine-{}.html",
    "model": "model-{}.html",
    "rule": "rule-{}.html",
    "state": "machine-{}.html#{}",
    "theorem": "time.html#{}",
    "word": "vocabulary.html#{}",
}
"""Kind to page and anchor. A check is a scenario, a trace rule or a mutant; a word is whatever the glossary's page has:
a term's anchor, a variable, an event, an effect, a request, a setting or a reason."""


def address(kind: str, *names: str) -> str:
    """The place of a thing, by its id; of a state, by its machine and its name."""
    return _PLACES[kind].format(*names)

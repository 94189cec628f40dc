"""What a machine says, kept in variables until the next event.

So two models can be compared by their words, not by their states only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupspec.spec.compiler.model import Block, ModelVariable, Set, flag


def said(word: str) -> str:
    """The variable that says whether the word has just been said."""
    return f"said_{word.lower()}"


def said_variables(words: Iterable[str]) -> Iterator[ModelVariable]:
    """One for each word."""
    for word in words:
        yield flag(said(word), f"{word} has just been said")


def silence(words: Iterable[str]) -> Block:
    """Nothing has been said yet: what an event begins with."""
    return (Set(tuple((said(word), "False") for word in words)),)

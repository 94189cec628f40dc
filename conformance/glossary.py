"""The terms of the field, for who knows the protocol only from its configuration.

Prose links each where it first stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupspec.spec.datafile import Record, read_entries


class Term(Record, frozen=True):
    """A term.

    Attributes:
        name: As it is looked up.
        means: One or two sentences; rules named in it are links.
        also: Other forms in which prose has it.
        rules: Of a kind of member: what binds it and not every one, or binds it in another way.
        linked: Whether prose links it; not, where the word is an everyday one, too.
    """

    name: str
    means: str
    also: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    linked: bool = True

    @property
    def anchor(self) -> str:
        """Its name on the page."""
        return "term-" + "-".join(self.name.lower().replace(".", " ").split())


TERMS: Final[Mapping[str, Term]] = read_entries(Path(__file__).with_name("glossary.toml"), Term)
"""By name, in alphabetical order. The requests are terms, too."""

"""What is claimed of the machines when they run: safety, liveness, and what must be possible at all.

An *assertion* is checked where something happens (a request leaves, a callback is queued; `composition/monitor.py` and
`composition/group_claims.py` say where); the first one that fails is kept in the variable `fault`, and then nothing
more happens. An *invariant* is checked in every state. Both are safety. *Recoverable* means that from every state in
which no assertion has failed the good one can still be reached. *Leads to* is liveness, under the fairness of the
model's actions: the explorer and TLC look for fair circles that break it. *Reachable* guards the rest against holding
in a model in which nothing happens.

The properties are in `data/properties`, a file for each model; `claims` in the file of a model gives those of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from groupspec.spec.compiler.model import ModelProperty
from groupspec.spec.datafile import Record, place_of_entry, read_entries

FAULT = "fault"
"""The variable that keeps the first assertion that failed."""

_FOLDER = Path(__file__).with_name("data") / "properties"
FILES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


class Property(Record, frozen=True):
    """What is claimed of a model.

    Attributes:
        id: Lower case with hyphens: `one-owner`.
        statement: In prose, as a reader should remember it.
        kind: As in `ModelProperty`.
        holds: An expression over the model's variables; none for an assertion. `claimed` is given what
            stands for a name in braces.
        when: For leads_to.
        rules: Ids of the rules that it is about.
        sources: Where that is said.
    """

    id: str
    statement: str
    kind: Literal["invariant", "reachable", "recoverable", "leads_to"] = "invariant"
    holds: str = ""
    when: str = ""
    rules: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def stated(self, words: Mapping[str, object]) -> ModelProperty:
        """The property of a model, with these words for the names in braces."""
        name, statement = self.id.format(**words), self.statement.format(**words)
        holds = self.holds.format(**words) or f"{FAULT} != '{name}'"
        return ModelProperty(name, self.kind, holds, self.when.format(**words), statement, self.sources, self.rules)


@cache
def properties(file: str) -> Mapping[str, Property]:
    """The properties of one file of `data/properties`, by id."""
    return read_entries(_FOLDER / f"{file}.toml", Property)


def places(name: str) -> Iterator[str]:
    """File and line of each statement of a property: models may state it otherwise. A model may fill in its id."""
    for file in FILES:
        for entry in properties(file):
            if re.fullmatch(re.sub(r"\\{\w+\\}", r"[\\w-]+", re.escape(entry)), name):
                yield place_of_entry(_FOLDER / f"{file}.toml", entry)


def assertions(file: str) -> tuple[str, ...]:
    """The ids of those that are checked where something happens."""
    return tuple(each.id for each in properties(file).values() if not each.holds)


def claimed(file: str, each: Iterable[Mapping[str, object]] = (), **words: object) -> Iterator[ModelProperty]:
    """The properties of one file, as a model claims them.

    Args:
        file: Its name.
        each: Words for the names in braces in an id: such an entry is one property for each of these.
        words: Words for the other names in braces.
    """
    for entry in properties(file).values():
        for more in each if "{" in entry.id else ({},):
            yield entry.stated({**words, **more})

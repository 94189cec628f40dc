"""The words of the vocabulary as the book sees them: what each means, and where what leaves a machine goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from groupspec.conformance.glossary import TERMS
from groupspec.spec import vocabulary
from groupspec.spec.terms import Effect, Event, Variable


@dataclass(frozen=True)
class Outgoing:
    """Words that leave a machine for something that is no machine.

    Attributes:
        goes_to: Who gets them.
        kind: How they are shown: `request`, `callback`, or `act`.
        names: The words, with what they mean.
    """

    goes_to: str
    kind: str
    names: Mapping[str, str]


_FOR_THE_APPLICATION: Final = {
    "ERROR": "an exception is to be raised",
    "REVOKE_PARTITIONS": "the listener is to hear that partitions go: onPartitionsRevoked, or onPartitionsLost",
    "ASSIGN_PARTITIONS": "the listener is to hear of its new partitions: onPartitionsAssigned",
}
_SUCCESSES: Final = {
    "ANSWER_NONE": "NONE: it is as asked",
    "ANSWER_CURRENT_GENERATION": "NONE, with the generation as it is",
    "ANSWER_STORED_ASSIGNMENT": "NONE, with the assignment that is stored",
}


def _answer(name: str) -> str:
    return _SUCCESSES.get(name) or f"the error {name.removeprefix('ANSWER_')}"


OUTGOING: Final = (
    Outgoing("the broker", "request", {name: TERMS[name].means for name in vocabulary.REQUESTS}),
    Outgoing("the application's thread", "callback", _FOR_THE_APPLICATION),
    Outgoing("whoever asked for the commit", "callback", vocabulary.COMMIT_ENDINGS),
    Outgoing("the member that asked", "request", {name: _answer(name) for name in vocabulary.ANSWERS}),
    Outgoing("the coordinator's records of the members", "act", vocabulary.GROUP_ACTS),
)


@cache
def outgoing() -> Mapping[str, Outgoing]:
    """Each such word, and what it belongs to."""
    return {name: each for each in OUTGOING for name in each.names}


@cache
def words() -> Mapping[str, str]:
    """Every word that has a place on the vocabulary's page, and what it means."""
    entries: list[Variable | Event | Effect] = [
        *vocabulary.VARIABLES.values(),
        *vocabulary.EVENTS.values(),
        *vocabulary.EFFECTS.values(),
    ]
    sent = {name: each.names[name] for name, each in outgoing().items()}
    return {entry.name: entry.doc for entry in entries} | sent | dict(vocabulary.IGNORED_REASONS)


def kind_of(name: str) -> str:
    """How an emitted word is shown; `internal` is an event for the other machines."""
    return "internal" if name in vocabulary.EVENTS else outgoing()[name].kind

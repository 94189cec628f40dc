"""The words of the tables: events, variables, effects, what leaves a machine, and why an event may be ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.explanation import Explanation, Kind, sections, themselves
from groupspec.conformance.explain.machines import differences_of, functions_for, rows_where
from groupspec.conformance.glossary import TERMS
from groupspec.spec import vocabulary
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS
from groupspec.spec.terms import Effect, Event, Variable


@dataclass(frozen=True)
class Outgoing:
    """A word that leaves a machine for something that is no machine.

    Attributes:
        goes_to: Who gets it.
        kind: How it is shown: `request`, `callback`, or `act`.
        means: What it asks for, or tells.
    """

    goes_to: str
    kind: str
    means: str


_FOR_THE_APPLICATION: Final = {
    "ERROR": "an exception is to be raised",
    "REVOKE_PARTITIONS": "the listener is to hear that partitions go: onPartitionsRevoked, or onPartitionsLost",
    "ASSIGN_PARTITIONS": "the listener is to hear of its new partitions: onPartitionsAssigned",
}
_ANSWERS: Final = {name: f"the error {name.removeprefix('ANSWER_')}" for name in vocabulary.ANSWERS} | {
    "ANSWER_NONE": "NONE: it is as asked",
    "ANSWER_CURRENT_GENERATION": "NONE, with the generation as it is",
    "ANSWER_STORED_ASSIGNMENT": "NONE, with the assignment that is stored",
}
_SENT: Final = (
    ("the broker", "request", {name: TERMS[name].means for name in vocabulary.REQUESTS}),
    ("the application's thread", "callback", _FOR_THE_APPLICATION),
    ("whoever asked for the commit", "callback", vocabulary.COMMIT_ENDINGS),
    ("the member that asked", "request", _ANSWERS),
    ("the coordinator's records of the members", "act", vocabulary.GROUP_ACTS),
)
OUTGOING: Final[Mapping[str, Outgoing]] = {
    name: Outgoing(goes_to, kind, means) for goes_to, kind, names in _SENT for name, means in names.items()
}


@cache
def words() -> Mapping[str, str]:
    """Every word that has a place on the vocabulary's page, and what it means."""
    entries: tuple[Variable | Event | Effect, ...] = (
        *vocabulary.VARIABLES.values(),
        *vocabulary.EVENTS.values(),
        *vocabulary.EFFECTS.values(),
    )
    sent = {name: each.means for name, each in OUTGOING.items()}
    return {entry.name: entry.doc for entry in entries} | sent | dict(vocabulary.IGNORED_REASONS)


def kind_of(name: str) -> str:
    """How an emitted word is shown; `internal` is an event for the other machines."""
    return "internal" if name in vocabulary.EVENTS else OUTGOING[name].kind


def _event(name: str) -> Explanation:
    """An event of the machines, with the answers and calls that it stands for."""
    event = vocabulary.EVENTS[name]
    sources = [f"answer {api} {error}" for (api, error), meant in vocabulary.RESPONSES.items() if meant == name]
    sources += [f"server event {call}" for call, (meant, _) in vocabulary.SERVER_EVENTS.items() if meant == name]
    return Explanation(
        "event",
        name,
        f"{event.doc} ({event.kind})",
        address("word", name),
        sources=tuple(sources),
        rows=rows_where(lambda _, row: row.event == name),
        code=functions_for(name),
        differences=differences_of(lambda cell: cell.rpartition(".")[2] == name),
    )


def _variable(name: str) -> Explanation:
    variable = vocabulary.VARIABLES[name]
    told = {
        "values": f"{', '.join(map(str, variable.domain))}; first {variable.initial}",
        "set by the effects of" if variable.owner else "kind": variable.owner or variable.kind,
        "effects that set it": ", ".join(each.name for each in vocabulary.EFFECTS.values() if name in each.set),
    }
    return Explanation(
        "variable",
        name,
        variable.doc,
        address("word", name),
        rows=rows_where(lambda _, row: name in row.guard.replace("(", " ").replace(")", " ").split()),
        sections=sections(told),
    )


def _effect(name: str) -> Explanation:
    effect = vocabulary.EFFECTS[name]
    done = [f"{variable} := {value}" for variable, value in effect.set.items()]
    done += [f"emits {word}" for word in effect.emit]
    return Explanation(
        "effect",
        name,
        effect.doc or "; ".join(done),
        address("word", name),
        rows=rows_where(lambda _, row: name in row.effects),
        sections=sections({"what it does": done}),
    )


def _output(name: str) -> Explanation:
    rows = rows_where(lambda table, row: name in table.emitted(row))
    return Explanation(
        "output", name, f"{words()[name]} (for {OUTGOING[name].goes_to})", address("word", name), rows=rows
    )


def _server_event(name: str) -> Explanation:
    event, needs_coordinator = vocabulary.SERVER_EVENTS[name]
    return Explanation(
        "server event",
        name,
        f"what the application's thread hands to the background thread; the machines call it {event}",
        address("word", "server-events"),
        sources=("Threading refactor proposal (Apache Kafka wiki), ServerEventType",),
        rows=rows_where(lambda _, row: row.event == event),
        code=functions_for(event),
        sections=sections({"required coordinator": "yes" if needs_coordinator else "no"}),
    )


def _reason(name: str) -> Explanation:
    means, rows = vocabulary.IGNORED_REASONS[name], rows_where(lambda _, row: row.reason == name)
    return Explanation("reason why an event is ignored", name, means, address("word", name), rows=rows)


def _condition(name: str) -> Explanation:
    cases = [case for case in HANDLINGS if name in (case.when, case.then)]
    return Explanation(
        "precondition" if name in PRECONDITIONS else "postcondition",
        name,
        {**PRECONDITIONS, **POSTCONDITIONS}[name],
        address("condition", name),
        rules=tuple(dict.fromkeys(rule for case in cases for rule in case.rules.split())),
        sections=sections({"answers and timers": [f"{c.request} {c.error}: {c.when} -> {c.then}" for c in cases]}),
    )


KINDS = (
    Kind("event", lambda: themselves(vocabulary.EVENTS), _event),
    Kind("variable", lambda: themselves(vocabulary.VARIABLES), _variable),
    Kind("effect", lambda: themselves(vocabulary.EFFECTS), _effect),
    # Requests leave a machine, too: they are explained as APIs.
    Kind("output", lambda: themselves(name for name in OUTGOING if name not in vocabulary.REQUESTS), _output),
    Kind("server event", lambda: themselves(vocabulary.SERVER_EVENTS), _server_event),
    Kind("reason why an event is ignored", lambda: themselves(vocabulary.IGNORED_REASONS), _reason),
    Kind("condition", lambda: themselves((*PRECONDITIONS, *POSTCONDITIONS)), _condition),
)

"""The words of the tables: events, variables, effects, what leaves a machine, and why an event may be ignored."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.explain import addresses
from groupspec.conformance.explain.explanation import Explanation, Kind, Section, themselves
from groupspec.conformance.explain.machines import differences_of, functions_for, rows_where
from groupspec.conformance.explain.words import OUTGOING, words
from groupspec.spec import vocabulary
from groupspec.spec.request_handling import HANDLINGS, POSTCONDITIONS, PRECONDITIONS


def explain_event(name: str) -> Explanation:
    """An event of the machines, with the answers and calls that it stands for."""
    event = vocabulary.EVENTS[name]
    answers = [f"{api} {error}" for (api, error), meant in vocabulary.RESPONSES.items() if meant == name]
    calls = [server_event for server_event, (meant, _) in vocabulary.SERVER_EVENTS.items() if meant == name]
    return Explanation(
        "event",
        name,
        f"{event.doc} ({event.kind})",
        addresses.word(name),
        sources=tuple([f"answer {answer}" for answer in answers] + [f"server event {call}" for call in calls]),
        rows=rows_where(lambda _, row: row.event == name),
        code=functions_for(name),
        differences=differences_of(lambda cell: cell.rpartition(".")[2] == name),
    )


def _variable(name: str) -> Explanation:
    variable = vocabulary.VARIABLES[name]
    setters = [effect.name for effect in vocabulary.EFFECTS.values() if name in effect.set]
    return Explanation(
        "variable",
        name,
        variable.doc,
        addresses.word(name),
        rows=rows_where(lambda _, row: name in row.guard.replace("(", " ").replace(")", " ").split()),
        sections=(
            Section("values", (f"{', '.join(map(str, variable.domain))}; first {variable.initial}",)),
            Section("set by the effects of" if variable.owner else "kind", (variable.owner or variable.kind,)),
            *([Section("effects that set it", (", ".join(setters),))] if setters else []),
        ),
    )


def _effect(name: str) -> Explanation:
    effect = vocabulary.EFFECTS[name]
    done = [f"{variable} := {value}" for variable, value in effect.set.items()]
    done += [f"emits {word}" for word in effect.emit]
    return Explanation(
        "effect",
        name,
        effect.doc or "; ".join(done),
        addresses.word(name),
        rows=rows_where(lambda _, row: name in row.effects),
        sections=(Section("what it does", tuple(done)),),
    )


def _emitted() -> Iterator[str]:
    """What leaves a machine, but for requests: those are explained as APIs."""
    return (name for each in OUTGOING for name in each.names if name not in vocabulary.REQUESTS)


def _output(name: str) -> Explanation:
    goes_to = next(each.goes_to for each in OUTGOING if name in each.names)
    return Explanation(
        "output",
        name,
        f"{words()[name]} (for {goes_to})",
        addresses.word(name),
        rows=rows_where(lambda table, row: name in table.emitted(row)),
    )


def _server_event(name: str) -> Explanation:
    event, needs_coordinator = vocabulary.SERVER_EVENTS[name]
    return Explanation(
        "server event",
        name,
        f"what the application's thread hands to the background thread; the machines call it {event}",
        addresses.word("server-events"),
        sources=("Threading refactor proposal (Apache Kafka wiki), ServerEventType",),
        rows=rows_where(lambda _, row: row.event == event),
        code=functions_for(event),
        sections=(Section("required coordinator", ("yes" if needs_coordinator else "no",)),),
    )


def _reason(name: str) -> Explanation:
    return Explanation(
        "reason why an event is ignored",
        name,
        vocabulary.IGNORED_REASONS[name],
        addresses.word(name),
        rows=rows_where(lambda _, row: row.reason == name),
    )


def _condition(name: str) -> Explanation:
    cases = [case for case in HANDLINGS if name in (case.when, case.then)]
    return Explanation(
        "precondition" if name in PRECONDITIONS else "postcondition",
        name,
        {**PRECONDITIONS, **POSTCONDITIONS}[name],
        f"request_handling.html#{name}",
        rules=tuple(dict.fromkeys(rule for case in cases for rule in case.rules.split())),
        sections=(Section("answers and timers", tuple(f"{c.request} {c.error}: {c.when} -> {c.then}" for c in cases)),),
    )


KINDS = (
    Kind("event", lambda: themselves(vocabulary.EVENTS), explain_event),
    Kind("variable", lambda: themselves(vocabulary.VARIABLES), _variable),
    Kind("effect", lambda: themselves(vocabulary.EFFECTS), _effect),
    Kind("output", lambda: themselves(_emitted()), _output),
    Kind("server event", lambda: themselves(vocabulary.SERVER_EVENTS), _server_event),
    Kind("reason why an event is ignored", lambda: themselves(vocabulary.IGNORED_REASONS), _reason),
    Kind("condition", lambda: themselves((*PRECONDITIONS, *POSTCONDITIONS)), _condition),
)

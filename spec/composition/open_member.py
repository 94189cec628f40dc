"""One member in any environment: whatever the application, the coordinator and the clock could do, in any order.

This model has everything that the member's tables have: no variable is frozen, no event is left out. The environment is
the most general one that is still correct: it may do anything but what an error row forbids (answer a request that is
not out, end a callback that has not begun). So a safety property that holds here holds for the member in every group.

What the member sends is monitored by a few variables of the model's own (`monitor`): which requests are out, what the
listener was told. They follow the member and do not lead it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from groupspec.spec import member, vocabulary
from groupspec.spec.compiler.guards import names, parse
from groupspec.spec.compiler.model import Action, Block, Model, ModelProperty, Scope
from groupspec.spec.compiler.specialise import constants
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.blocks import NO_FAULT, conjunction, sets
from groupspec.spec.composition.machines import (
    MachineCode,
    action_name,
    choices,
    configuration,
    hear,
    hearers_of,
    model_of,
    said,
    said_variables,
    silence,
    texts,
)
from groupspec.spec.composition.monitor import CORRECT, MONITOR_VARIABLES, after_event, on_event, on_words
from groupspec.spec.composition.partial_evaluation import frozen_block, prune, pruned
from groupspec.spec.properties import assertions, claimed
from groupspec.spec.terms import Event, Value

CONFIGURATION = ("auto_commit", "static")


def open_member_model(rebalance: str, profile: str, observed: bool = False) -> Model:
    """The model.

    `observed`: each word that leaves the member has a variable that says whether the last event made the member say it.
    Two models are compared by those.
    """
    used = {name: tables()[name, rebalance, profile] for name in member.MACHINES}
    codes = {name: machine_code(table, used, observed) for name, table in used.items()}
    configured, chosen = configuration(CONFIGURATION)
    actions = [*chosen, *_environment(codes, constants(rebalance, profile))]
    words = outward_words(used) if observed else ()
    if observed:
        actions = [replace(action, body=silence(words) + action.body) for action in actions]
    return model_of(
        Scope("open-member", rebalance, profile),
        codes.values(),
        (*configured, *MONITOR_VARIABLES),
        actions,
        faults=assertions("member"),
        later=said_variables(words),
        properties=claims(rebalance),
        doc=__doc__,
    )


def claims(rebalance: str) -> tuple[ModelProperty, ...]:
    """What is claimed of one member in any environment."""
    return tuple(p for p in claimed("member") if rebalance == "eager" or p.id != "eager-gives-up-first")


def machine_code(table: Table, used: Mapping[str, Table], observed: bool = False) -> MachineCode:
    """A table as procedures of this model; `used` are the tables of all machines of the member."""
    noted = on_words()
    seen = frozenset(outward_words(used)) if observed else frozenset()

    def before(_event: str, word: str) -> Block:
        return noted.get(word, ()) + (sets(f"{said(word)} = True") if word in seen else ())

    return MachineCode(table, before=before, hearers=hearers_of(used))


def outward_words(used: Mapping[str, Table]) -> tuple[str, ...]:
    """Words that no machine of the member hears: they go to the wire, to the listener, or to a partition."""
    hearers = hearers_of(used)
    emitted = dict.fromkeys(word for table in used.values() for effect in table.effects for word in effect.emit)
    return tuple(word for word in emitted if not hearers.get(word))


def _environment(codes: Mapping[str, MachineCode], fixed: Mapping[str, Value]) -> Iterator[Action]:
    known = frozenset(p.name for p in prune([p for code in codes.values() for p in code.procedures()]))
    for event in vocabulary.EVENTS.values():
        hearers = [code for code in codes.values() if any(each.name == event.name for each in code.table.events)]
        if event.kind == "internal" or not hearers:
            continue
        for inputs in choices(event):
            body = pruned(hear(codes, event.name, texts(inputs)), known)
            if not body or _says_nothing_new(event, inputs, hearers):
                continue
            if inputs.get("current", True):
                noted = frozen_block(on_event(event.name), {**inputs, **fixed})
                body = (*noted, *body, *after_event(event.name))
            legal = (_legal(code, event.name, inputs) for code in hearers)
            guard = conjunction("configured", NO_FAULT, CORRECT.get(event.name, "True"), *legal)
            yield Action(action_name(event.name, inputs), (), guard, body, event.kind, doc=event.doc)


def _says_nothing_new(event: Event, inputs: Mapping[str, Value], hearers: list[MachineCode]) -> bool:
    """Of late answers, those that differ only in what no guard reads are one."""
    guards = [row.guard for code in hearers for row in code.table.rows if row.event == event.name]
    read = {name for guard in guards for name in names(parse(guard))}
    unread = (name for name in inputs if name not in read)
    return not inputs.get("current", True) and any(inputs[n] != vocabulary.VARIABLES[n].initial for n in unread)


def _legal(code: MachineCode, event: str, inputs: Mapping[str, Value]) -> str:
    """That no error row of the machine would fire on the event."""
    forbidden = [
        code.condition_given(row, inputs) for row in code.table.rows if row.event == event and row.kind == "error"
    ]
    return conjunction(*(f"not ({text})" for text in forbidden if text != "False"))

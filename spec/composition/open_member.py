"""One member in any environment: whatever the application, the coordinator and the clock could do, in any order.

This model has everything that the member's tables have: no variable is frozen, no event is left out. The environment is
the most general one that is still correct: it may do anything but what an error row forbids (answer a request that is
not out, end a callback that has not begun). So a safety property that holds here holds for the member in every group.

What the member sends is monitored by a few variables of the model's own (`monitor`): which requests are out, what the
listener was told. They follow the member and do not lead it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product

from groupspec.spec import member, vocabulary
from groupspec.spec.compiler.guards import names, parse
from groupspec.spec.compiler.model import Action, Block, Call, Model, ModelProperty, ModelVariable, Scope, Set, flag
from groupspec.spec.compiler.specialise import constants
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.machines import (
    TURN_ENDED,
    Abstraction,
    MachineCode,
    action_name,
    choices,
    conjunction,
    prune,
)
from groupspec.spec.composition.monitor import MONITOR_VARIABLES, after_event, correct, on_event, on_words
from groupspec.spec.composition.observed import said, said_variables, silence
from groupspec.spec.composition.partial_evaluation import frozen_block
from groupspec.spec.properties import FAULT, assertions
from groupspec.spec.terms import NO_YES, Event, Value

CONFIGURATION = ("auto_commit", "static")


def open_member_model(
    rebalance: str,
    profile: str,
    properties: tuple[ModelProperty, ...] = (),
    replaced: Mapping[str, Table] | None = None,
    observed: bool = False,
) -> Model:
    """The model.

    `replaced`: other tables in the place of the specification's, by machine: how the properties are tested.

    `observed`: each word that leaves the member has a variable that says whether the last event made the member say it.
    Two models are compared by those.
    """
    used = {name: (replaced or {}).get(name, tables()[name, rebalance, profile]) for name in member.MACHINES}
    codes = {name: machine_code(table, used, observed) for name, table in used.items()}
    hearers = hearers_of(used)
    procedures = prune([p for code in codes.values() for p in code.procedures()])
    known = {p.name: p for p in procedures}
    variables = [v for code in codes.values() for v in code.variables()]
    variables += [flag(name, vocabulary.VARIABLES[name].doc) for name in CONFIGURATION]
    faults = ("none", *assertions("member"))
    variables += [flag("configured", "the configuration is chosen"), *MONITOR_VARIABLES]
    variables.append(ModelVariable(FAULT, faults, "none", (), "the first assertion that failed"))
    actions = [*_configure(), *_environment(codes, hearers, known, constants(rebalance, profile))]
    if observed:
        words = outward_words(used)
        variables += said_variables(words)
        actions = [replace(action, body=(silence(words), *action.body)) for action in actions]
    return Model(
        name=f"open-member-{rebalance}-{profile}",
        scope=Scope("open-member", rebalance, profile),
        sizes={"members": 1, "partitions": 1},
        variables=tuple(variables),
        procedures=tuple(procedures),
        actions=tuple(actions),
        properties=properties,
        doc=__doc__ or "",
    )


def hearers_of(used: Mapping[str, Table]) -> dict[str, tuple[str, ...]]:
    """Event to the machines that hear it, in order."""
    return {
        event: tuple(name for name, table in used.items() if any(e.name == event for e in table.events))
        for event in vocabulary.EVENTS
    }


def machine_code(table: Table, used: Mapping[str, Table], observed: bool = False) -> MachineCode:
    """A table as procedures of this model; `used` are the tables of all machines of the member."""
    noted = on_words()
    seen = frozenset(outward_words(used)) if observed else frozenset()

    def before(_event: str, word: str) -> Block | None:
        told = (Set(((said(word), "True"),)),) if word in seen else ()
        return (*noted.get(word, ()), *told) or None

    return MachineCode(table, Abstraction(before=before, index=""), hearers_of(used))


def outward_words(used: Mapping[str, Table]) -> tuple[str, ...]:
    """Words that no machine of the member hears: they go to the wire, to the listener, or to a partition."""
    hearers = hearers_of(used)
    emitted = dict.fromkeys(word for table in used.values() for effect in table.effects for word in effect.emit)
    return tuple(word for word in emitted if not hearers.get(word))


def _configure() -> Iterator[Action]:
    for chosen in product(NO_YES, repeat=len(CONFIGURATION)):
        name = "_".join(v for v, yes in zip(CONFIGURATION, chosen, strict=True) if yes) or "nothing"
        sets = tuple((v, str(yes)) for v, yes in zip(CONFIGURATION, chosen, strict=True))
        yield Action(
            f"configure_{name}",
            (),
            "not configured",
            (Set((*sets, ("configured", "True"))),),
            "application",
            doc="chooses the configuration",
        )


def _environment(
    codes: Mapping[str, MachineCode],
    hearers: Mapping[str, tuple[str, ...]],
    known: Collection[str],
    fixed: Mapping[str, Value],
) -> Iterator[Action]:
    for event in vocabulary.EVENTS.values():
        if event.kind == "internal" or not hearers[event.name]:
            continue
        for inputs in choices(event):
            if _says_nothing_new(event, inputs, codes, hearers):
                continue
            body: Block = tuple(_hear(event.name, inputs, codes, hearers, known))
            if body and inputs.get("current", True):
                body = (
                    *frozen_block(on_event(event.name), {**inputs, **fixed}),
                    *body,
                    *after_event(event.name),
                )
            if body:
                legal = conjunction(
                    correct(event.name), *(_legal(codes[m], event.name, inputs) for m in hearers[event.name])
                )
                guard = conjunction("configured", f"{FAULT} == 'none'", legal)
                yield Action(action_name(event.name, inputs), (), guard, body, event.kind, doc=event.doc)


def _says_nothing_new(
    event: Event, inputs: Mapping[str, Value], codes: Mapping[str, MachineCode], hearers: Mapping[str, tuple[str, ...]]
) -> bool:
    """Of late answers, those that differ only in what no guard reads are one."""
    guards = [row.guard for m in hearers[event.name] for row in codes[m].table.rows if row.event == event.name]
    read = {name for guard in guards for name in names(parse(guard))}
    unread = (name for name in inputs if name not in read)
    return not inputs.get("current", True) and any(inputs[n] != vocabulary.VARIABLES[n].initial for n in unread)


def _hear(
    event: str,
    inputs: Mapping[str, Value],
    codes: Mapping[str, MachineCode],
    hearers: Mapping[str, tuple[str, ...]],
    known: Collection[str],
) -> Iterator[Call]:
    for word in (event, TURN_ENDED):
        for machine in hearers[word]:
            yield from codes[machine].hears(word, inputs, known)


def _legal(code: MachineCode, event: str, inputs: Mapping[str, Value]) -> str:
    """That no error row of the machine would fire on the event."""
    forbidden = [
        code.condition_given(row, inputs) for row in code.table.rows if row.event == event and row.kind == "error"
    ]
    return conjunction(*(f"not ({text})" for text in forbidden if text != "False"))

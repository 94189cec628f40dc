"""A machine's table as procedures of a model: one for each event, made from its rows.

A row becomes a branch: its condition is the state and the guard, its body the assignments of its effects, in order, and
then what it emits, in order. A word that other machines hear becomes calls of their procedures, right there, so that
everything that an event sets off is one step, exactly as in `compiler.member`. What is left for the composition to say
is what the other words mean (a JoinGroup goes into the network).

Two things make a model smaller than the tables, and both are named where a model is put together:

- a variable may be *frozen*: it keeps one value, guards are simplified with it, and assignments to it are dropped;
- a variable may be *refined*: the member's `owned` (something is assigned) is read off one variable for each partition.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from groupspec.spec import vocabulary
from groupspec.spec.compiler.formula import formula, substitute, tree_of
from groupspec.spec.compiler.guards import names, parse, show, simplify
from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    Fairness,
    If,
    IndexSet,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Scope,
    Set,
    Statement,
    flag,
)
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.composition.blocks import NO_FAULT, claim, conjunction, pairs, sets
from groupspec.spec.composition.partial_evaluation import prune, pruned
from groupspec.spec.member import MACHINES as MEMBER
from groupspec.spec.properties import FAULT
from groupspec.spec.terms import NO_YES, Event, Value

ILLEGAL = "illegal-event"
"""The assertion that fails where an error row fires."""
LATE = "late-changes-nothing"
"""The assertion that fails where a row of the member does something on a late answer (rule J9)."""

TURN_ENDED = "turn_ended"
"""What a member's machines hear when an event and all that it set off is over."""

CONFIGURES = "configure_"
"""What the names of the actions that choose a configuration begin with."""

Words = Callable[[str, str], "Block | None"]
Inputs = Mapping[str, Value]
Note = tuple[str, str, str]
"""When a correct environment may bring an event about, when the monitor notes it, and what it notes (see `sets`)."""


@dataclass(frozen=True, kw_only=True)
class MachineCode:
    """The procedures and variables of one table within a model: what the model keeps of it, and how it says the rest.

    Attributes:
        table: The machine.
        hearers: Event to the machines of the same member that hear it, in order.
        frozen: Variables and inputs that never change, and their value.
        refined: Variables that are not kept but read off others: name to expression (`i` is the member).
        effects: What an effect assigns besides (see `sets`).
        follows: What is done right after an effect: instead of what it assigns to refined variables.
        words: (event, word) to what the word means where a row of that event emits it; None: the machines hear it.
        before: (event, word) to what is done before anybody hears it.
        index: The index of the member in its variables; empty if there is only one of the machine.
        indexed_events: Events whose procedures know the member that they are about; None: all, if there is an index.
    """

    table: Table = field(kw_only=False)
    hearers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    frozen: Mapping[str, Value] = field(default_factory=dict)
    refined: Mapping[str, str] = field(default_factory=dict)
    effects: Mapping[str, str] = field(default_factory=dict)
    follows: Mapping[str, Block] = field(default_factory=dict)
    words: Words = lambda _event, _word: None
    before: Callable[[str, str], Block] = lambda _event, _word: ()
    index: str = ""
    indexed_events: frozenset[str] | None = None
    _expressions: dict[tuple[str, bool], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def variables(self) -> Iterator[ModelVariable]:
        """The state of the machine, and its own variables that are neither frozen nor refined."""
        over: tuple[IndexSet, ...] = ("members",) if self.index else ()
        yield ModelVariable(self.table.name, self.table.states, self.table.initial, over, f"state of {self.table.name}")
        for variable in self.table.own:
            if variable.name not in self.frozen and variable.name not in self.refined:
                yield ModelVariable(variable.name, variable.domain, variable.initial, over, variable.doc)

    def procedures(self) -> Iterator[Procedure]:
        """One for each event that changes something or must not come."""
        for event in self.table.events:
            rows = [row for row in self.table.rows if row.event == event.name]
            # Rows that do nothing are in nobody's way, since rows exclude each other.
            branches = [branch for branch in map(self._branch, rows) if branch[0] != "False" and branch[1]]
            if branches:
                body = If(tuple((guard, block) for guard, block, _ in branches), notes=tuple(b[2] for b in branches))
                inputs = tuple((name, vocabulary.VARIABLES[name].domain) for name in self.inputs(event.name))
                doc = f"{self.table.name} hears: {event.doc}"
                yield Procedure(name_of(self.table.name, event.name), self._indices(event.name), inputs, (body,), doc)

    def inputs(self, event: str) -> tuple[str, ...]:
        """What of the event's inputs the rows read, in the event's order, without what is frozen."""
        read: set[str] = set()
        for row in self.table.rows:
            if row.event == event:
                read.update(names(parse(row.guard)))
                for effect in row.effects:
                    assigned = self.table.effect_by_name[effect].set.values()
                    read.update(name for text in assigned for name in names(parse(text, True)))
        known = vocabulary.EVENTS[event].inputs
        return tuple(name for name in known if name in read and name not in self.frozen)

    def call(self, event: str, inputs: Mapping[str, str]) -> Call:
        """The machine's procedure for the event, with the inputs that it reads."""
        index = tuple(name for name, _ in self._indices(event))
        return Call(name_of(self.table.name, event), (*index, *(inputs[name] for name in self.inputs(event))))

    def environment(
        self, monitor: Callable[[str, Inputs], tuple[str, Block]], guard: str = NO_FAULT, fair: Collection[str] = ()
    ) -> Iterator[Action]:
        """Whatever can reach the machine if it is alone: each event that it hears, with each choice of its inputs.

        Args:
            monitor: An event and its inputs to when a correct environment may bring it about, and what is noted of it.
            guard: Holds whenever something happens.
            fair: Names of the actions that must happen if they can.
        """
        for event in self.table.events:
            for inputs in choices(event) if event.name != TURN_ENDED else ():
                legal, noted = monitor(event.name, inputs)
                body = (*noted, self.call(event.name, texts(inputs)), self.call(TURN_ENDED, {}))
                name = action_name(event.name, inputs)
                fairness: Fairness = "weak" if name in fair else ""
                yield Action(name, (), conjunction(guard, legal), body, event.kind, fairness, event.doc)

    def condition(self, row: Row) -> str:
        """When the row fires."""
        state = f"{self._own(self.table.name)} == '{row.source}'"
        guard = self._expression(row.guard) or "True"
        return guard if guard == "False" else conjunction(state, guard)

    def condition_given(self, row: Row, inputs: Mapping[str, Value]) -> str:
        """When the row fires, given the inputs of its event."""
        return self.condition(replace(row, guard=show(simplify(parse(row.guard), inputs))))

    def _indices(self, event: str) -> tuple[tuple[str, IndexSet], ...]:
        is_indexed = event in self.indexed_events if self.indexed_events is not None else bool(self.index)
        return (("i", "members"),) if is_indexed else ()

    def _branch(self, row: Row) -> tuple[str, Block, str]:
        note = f"{row.id} [{' '.join(row.rules)}]" if row.rules else row.id
        return self.condition(row), tuple(self._body(row)), note

    def _body(self, row: Row) -> Iterator[Statement]:
        if row.kind == "error":
            yield from claim(ILLEGAL)
            return
        if row.kind == "transition" and self.table.name in MEMBER and "current" in self.inputs(row.event):
            yield from claim(LATE, "current")
        if row.target != row.source:
            yield from sets(f"{self._own(self.table.name)} = '{row.target}'")
        words: list[str] = []
        for name in row.effects:
            effect = self.table.effect_by_name[name]
            assignments = tuple(self._assignments(name, effect.set))
            if assignments:
                yield Set(assignments, name)
            yield from self.follows.get(name, ())
            words += effect.emit
        for word in words:
            yield from self._word(row.event, word)

    def _word(self, event: str, word: str) -> Iterator[Statement]:
        yield from self.before(event, word)
        said = self.words(event, word)
        if said is not None:
            yield from said
            return
        for machine in self.hearers.get(word, ()):
            yield Call(name_of(machine, word), (self.index,) if self.index else ())

    def _assignments(self, effect: str, assigned: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for variable, text in assigned.items():
            if variable not in self.frozen and variable not in self.refined:
                yield self._own(variable), self._expression(text, conditional=True) or "True"
            elif variable in self.refined and effect not in self.follows:
                raise ValueError(f"effect {effect} sets {variable}, which the model refines: say what it does instead")
        if effect in self.effects:
            yield from pairs(self.effects[effect])

    def _own(self, variable: str) -> str:
        return f"{variable}[{self.index}]" if self.index else variable

    def _expression(self, text: str, conditional: bool = False) -> str:
        """The expression over the model's variables; "" if it is always true. Rows repeat each other's guards: kept."""
        if (text, conditional) not in self._expressions:
            decided = simplify(parse(text, conditional), self.frozen)
            said = formula(substitute(decided, self.name_in_model)) if show(decided) else ""
            self._expressions[text, conditional] = said
        return self._expressions[text, conditional]

    def name_in_model(self, variable: str) -> ast.expr:
        """What stands in the model for a variable of the tables: it has an index, or a refinement stands there."""
        known = vocabulary.VARIABLES.get(variable)
        if known is not None and known.kind == "input":
            text = variable
        else:
            text = self.refined.get(variable, self._own(variable))
        return tree_of(text)


def hearers_of(used: Mapping[str, Table]) -> dict[str, tuple[str, ...]]:
    """Event to the machines of one member that hear it, in the order of their tables."""
    return {
        event: tuple(name for name, table in used.items() if any(each.name == event for each in table.events))
        for event in vocabulary.EVENTS
    }


def hear(codes: Mapping[str, MachineCode], event: str, inputs: Mapping[str, str]) -> Block:
    """The machines of one member hear an event, and its turn ends. `inputs`: an expression for each input."""
    hearers = next(iter(codes.values())).hearers
    return tuple(codes[machine].call(word, inputs) for word in (event, TURN_ENDED) for machine in hearers[word])


def texts(inputs: Mapping[str, Value]) -> dict[str, str]:
    """Values as expressions."""
    return {name: repr(value) for name, value in inputs.items()}


def choices(event: Event) -> Iterator[dict[str, Value]]:
    """Whatever could come with the event: each value of each input."""
    for values in product(*(vocabulary.VARIABLES[name].domain for name in event.inputs)):
        yield dict(zip(event.inputs, values, strict=True))


def action_name(event: str, inputs: Mapping[str, Value]) -> str:
    """The event and what comes with it, as in `join_answered_current_not_retriable`."""
    shown = (
        name if value is True else f"not_{name}" if value is False else str(value) for name, value in inputs.items()
    )
    return "_".join([event, *shown])


def configuration(names: tuple[str, ...]) -> tuple[tuple[ModelVariable, ...], list[Action]]:
    """Variables for these of the configuration, and the actions that choose it: first of all, and once."""
    variables = (*(flag(name, vocabulary.VARIABLES[name].doc) for name in names),
                 flag("configured", "the configuration is chosen"))  # fmt: skip
    actions = []
    for chosen in product(NO_YES, repeat=len(names)):
        values = dict(zip(names, chosen, strict=True))
        name = "_".join(name for name, yes in values.items() if yes) or "nothing"
        body = sets("; ".join(f"{name} = {yes}" for name, yes in {**values, "configured": True}.items()))
        doc = "chooses the configuration"
        actions.append(Action(f"{CONFIGURES}{name}", (), "not configured", body, "application", doc=doc))
    return variables, actions


def name_of(machine: str, event: str) -> str:
    """The name of a machine's procedure for an event."""
    return f"{machine}_{event}"


def name_of_model(scope: Scope, suffix: str = "") -> str:
    """The name of the model of a scope; `suffix` says how large it is, where there are several."""
    return "-".join(filter(None, [scope.family, *sorted(scope.features), scope.rebalance, scope.profile, suffix]))


def model_of(
    scope: Scope,
    codes: Collection[MachineCode],
    variables: Iterable[ModelVariable],
    actions: Iterable[Action],
    *,
    faults: Iterable[str],
    procedures: Iterable[Procedure] = (),
    later: Iterable[ModelVariable] = (),
    suffix: str = "",
    members: int = 1,
    partitions: int = 1,
    properties: tuple[ModelProperty, ...],
    doc: str | None,
) -> Model:
    """A model of machines, with the variables, actions and procedures that surround them.

    FAULT, which says which of the `faults` was the first assertion that failed, stands between `variables` and `later`.
    """
    made = prune([*(procedure for code in codes for procedure in code.procedures()), *procedures])
    known = frozenset(procedure.name for procedure in made)
    own = (variable for code in codes for variable in code.variables())
    fault = ModelVariable(FAULT, ("none", *faults), "none", (), "the first assertion that failed")
    left = (replace(action, body=pruned(action.body, known)) for action in actions)
    return Model(
        name=name_of_model(scope, suffix),
        scope=scope,
        sizes={"members": members, "partitions": partitions},
        variables=(*own, *variables, fault, *later),
        procedures=tuple(made),
        actions=tuple(action for action in left if action.body),
        properties=properties,
        doc=doc or "",
    )


# What a machine says is kept in variables until the next event, where two models are compared by their words ----------


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

"""The machines of a member, as procedures of a model: one for each (machine, event), made from the rows of its table.

A row becomes a branch: its condition is the state and the guard, its body the assignments of its effects, in order, and then
what it emits, in order. A word that other machines hear becomes calls of their procedures, right there, so that everything
that an event sets off is one step, exactly as in `compiler.member`. What is left for the composition to say is what the other
words mean (a JoinGroup goes into the network); it does so in a table of words, see `words.py`.

Two things make a model smaller than the tables, and both are named where a model is put together:

- a variable may be *frozen*: it keeps one value, guards are simplified with it, and assignments to it are dropped;
- a variable may be *refined*: the member's `owned` (something is assigned) becomes one variable for each partition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from groupspec.spec import vocabulary
from groupspec.spec.member import MACHINES as MEMBER
from groupspec.spec.compiler.guards import names, parse, show, simplify
from groupspec.spec.compiler.model import Block, Call, If, ModelVariable, Procedure, Set, Statement
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.terms import Value

FAULT = "fault"
ILLEGAL = "illegal-event"
"""The assertion that fails where an error row fires."""
LATE = "late-changes-nothing"
"""The assertion that fails where a row does something on a late answer (rule J9)."""


@dataclass(frozen=True)
class Freedom:
    """What a model keeps of its machines, and how it says the rest.

    Attributes:
        frozen: Variables that never change, and their value.
        refined: Variables that are not kept but read off others: name to expression (`i` is the member).
        effects: Effects whose assignments are said in the words of the refinement: name to pairs (target, value). Assignments
            of other effects to a refined variable are refused.
        words: Word that a row emits to what it means here, instead of what hears it.
        before: Word that a row emits to what is done before anybody hears it.
        index: The index of the member in its procedures; empty if there is only one of the machine.
    """

    frozen: Mapping[str, Value] = field(default_factory=dict)
    refined: Mapping[str, str] = field(default_factory=dict)
    effects: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    words: Mapping[str, Block] = field(default_factory=dict)
    before: Mapping[str, Block] = field(default_factory=dict)
    index: str = "i"


class MachineCode:
    """The procedures and variables of one table within a model."""

    def __init__(self, table: Table, freedom: Freedom, hearers: Mapping[str, tuple[str, ...]]) -> None:
        """`hearers`: event to the machines of the same member that hear it, in order."""
        self.table = table
        self.freedom = freedom
        self.hearers = hearers

    def variables(self) -> Iterator[ModelVariable]:
        """The state of the machine, and its own variables that are neither frozen nor refined."""
        over = ("members",) if self.freedom.index else ()
        yield ModelVariable(
            self.table.name, tuple(self.table.states), self.table.initial, over, f"state of {self.table.name}"
        )  # type: ignore[arg-type]
        for variable in self.table.own:
            if variable.name not in self.freedom.frozen and variable.name not in self.freedom.refined:
                yield ModelVariable(variable.name, variable.domain, variable.initial, over, variable.doc)  # type: ignore[arg-type]

    def procedures(self) -> Iterator[Procedure]:
        """One for each event that changes something or must not come."""
        for event in self.table.events:
            rows = [row for row in self.table.rows if row.event == event.name]
            branches = [self._branch(row) for row in rows]
            kept = [(guard, body, note) for guard, body, note in branches if guard != "False"]
            # Rows that do nothing are dropped where they are not in the way of others: rows are disjoint.
            kept = [(guard, body, note) for guard, body, note in kept if body]
            if kept:
                inputs = tuple((name, vocabulary.VARIABLES[name].domain) for name in inputs_of(self.table, event.name))
                body = (If(tuple((guard, body) for guard, body, _ in kept), notes=tuple(note for _, _, note in kept)),)
                indices = ((self.freedom.index, "members"),) if self.freedom.index else ()
                yield Procedure(
                    name_of(self.table.name, event.name), indices, inputs, body, f"{self.table.name} hears: {event.doc}"
                )  # type: ignore[arg-type]

    def condition(self, row: Row) -> str:
        """When the row fires."""
        state = f"{self._own(self.table.name)} == '{row.source}'"
        guard = self._expression(row.guard)
        if guard == "False":
            return "False"
        return (
            state if guard in ("", "True") else f"{state} and ({guard})" if " or " in guard else f"{state} and {guard}"
        )

    def condition_given(self, row: Row, inputs: Mapping[str, Value]) -> str:
        """When the row fires, given the inputs of its event."""
        given = show(simplify(parse(row.guard), inputs))
        return self.condition(replace(row, guard=given))

    def _branch(self, row: Row) -> tuple[str, Block, str]:
        note = f"{row.id} [{' '.join(row.rules)}]" if row.rules else row.id
        return self.condition(row), tuple(self._body(row)), note

    def _body(self, row: Row) -> Iterator[Statement]:
        if row.kind == "error":
            yield assertion_failed(ILLEGAL)
            return
        if row.kind == "transition" and "current" in inputs_of(self.table, row.event) and self.table.name in MEMBER:
            yield claim(LATE, "current")
        if row.target != row.source:
            yield Set(((self._own(self.table.name), f"'{row.target}'"),))
        words: list[str] = []
        for name in row.effects:
            effect = self.table.effect_by_name[name]
            assignments = tuple(self._assignments(name, effect.set))
            if assignments:
                yield Set(assignments, name)
            words += effect.emit
        for word in words:
            yield from self._word(word)

    def _word(self, word: str) -> Iterator[Statement]:
        yield from self.freedom.before.get(word, ())
        if word in self.freedom.words:
            yield from self.freedom.words[word]
            return
        for machine in self.hearers.get(word, ()):
            yield Call(name_of(machine, word), (self.freedom.index,) if self.freedom.index else ())

    def _assignments(self, effect: str, sets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        said = self.freedom.effects.get(effect)
        for variable, text in sets.items():
            if variable in self.freedom.frozen:
                continue
            if variable in self.freedom.refined:
                if said is None:
                    raise ValueError(
                        f"effect {effect} sets {variable}, which the model refines, and is not refined itself"
                    )
                continue
            yield self._own(variable), self._expression(text, conditional=True) or "True"
        yield from said or ()

    def _own(self, variable: str) -> str:
        return f"{variable}[{self.freedom.index}]" if self.freedom.index else variable

    def _expression(self, text: str, conditional: bool = False) -> str:
        """The expression over the model's variables; "" if it is always true."""
        simple = simplify(parse(text, conditional), self.freedom.frozen)
        shown = show(simple)
        if not shown:
            return ""
        renamed = _Renamer(self).visit(ast.parse(shown, mode="eval"))
        return ast.unparse(renamed)

    def is_input(self, name: str) -> bool:
        """Whether the name comes with an event."""
        known = vocabulary.VARIABLES.get(name)
        return known is not None and known.kind == "input"


class _Renamer(ast.NodeTransformer):
    """Gives every variable its index, and puts the refinement where a refined one stood."""

    def __init__(self, code: MachineCode) -> None:
        self.code = code

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        if self.code.is_input(node.id):
            return node
        refined = self.code.freedom.refined.get(node.id)
        if refined is not None:
            return ast.parse(refined, mode="eval").body
        return ast.parse(self.code._own(node.id), mode="eval").body


def name_of(machine: str, event: str) -> str:
    """The name of a machine's procedure for an event."""
    return f"{machine}_{event}"


def assertion_failed(name: str) -> Statement:
    """What notes that an assertion failed; the first one counts."""
    return If(((f"{FAULT} == 'none'", (Set(((FAULT, f"'{name}'"),)),)),))


def claim(name: str, holds: str) -> Statement:
    """An assertion at this point."""
    return If(((f"{FAULT} == 'none' and not ({holds})", (Set(((FAULT, f"'{name}'"),)),)),))


def prune(procedures: list[Procedure]) -> list[Procedure]:
    """Without calls of procedures that do not exist or do nothing, and without procedures that then do nothing."""
    while True:
        known = {p.name: p for p in procedures}
        kept = [Procedure(p.name, p.indices, p.inputs, pruned_block(p.body, known), p.doc) for p in procedures]
        kept = [p for p in kept if p.body]
        if [(p.name, p.body) for p in kept] == [(p.name, p.body) for p in procedures]:
            return kept
        procedures = kept


def pruned_block(block: Block, known: Mapping[str, Procedure]) -> Block:
    """The block without calls of unknown procedures; calls pass only the inputs that the procedure reads."""
    return tuple(kept for statement in block for kept in _pruned(statement, known))


def _pruned(statement: Statement, known: Mapping[str, Procedure]) -> Iterator[Statement]:
    match statement:
        case Call():
            if statement.procedure in known:
                yield statement
        case If():
            branches = [(guard, pruned_block(body, known)) for guard, body in statement.branches]
            otherwise = pruned_block(statement.otherwise, known)
            if any(body for _, body in branches) or otherwise:
                yield If(tuple(branches), otherwise, statement.notes)
        case _:
            yield statement


def inputs_of(table: Table, event: str) -> tuple[str, ...]:
    """What of the event's inputs the table's rows read, in the event's order."""
    read: set[str] = set()
    for row in table.rows:
        if row.event == event:
            read.update(names(parse(row.guard)))
            for effect in row.effects:
                read.update(
                    name for text in table.effect_by_name[effect].set.values() for name in names(parse(text, True))
                )
    return tuple(name for name in vocabulary.EVENTS[event].inputs if name in read)

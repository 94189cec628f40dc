"""A model: variables, procedures and actions of a whole system, in a language that four engines can be given.

A table says what one machine does. A *model* says what several of them do together: it is the form in which the
composition of members, group and network is explored (Python and C), and written out as TLA+ and Promela. It is a
program, not a relation, because a row that fires may make other machines fire, one after the other, within one step.

A *state* is one value for each variable. An *action* is something that may happen: if its guard holds, its body is run
to the end, and the outcome is the next state. Actions are deterministic; what is open (which member, which partition,
which new leader) is a parameter, and each combination of parameters is an alternative of its own. A *procedure* is a
body with a name. Procedures do not call each other in a circle.

**Expressions** are Python's: `and`, `or`, `not`, `==`, `!=`, `a if c else b`, names, constants, and

    identity[i]   owns[i][p]                     a value of one member; of one member and one partition
    all(joined[j] for j in members if j != i)    for every index; `any` likewise; the `if` may be missing

An index is a name that a parameter, a procedure or a quantifier binds, or a whole number from 1. A variable that holds
an index (`leader`) has the domain (0, 1, ..., n), where 0 is nobody, and may be compared with an index. Two values are
compared, or one is assigned to the other, only if they have the same domain, or one of them is a constant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal, TypeAlias

from groupspec.spec.terms import Value

IndexSet: TypeAlias = Literal["members", "partitions"]
PropertyKind: TypeAlias = Literal["invariant", "reachable", "recoverable", "leads_to"]
Fairness: TypeAlias = Literal["", "weak", "strong"]


@dataclass(frozen=True)
class ModelVariable:
    """One variable of a model.

    Attributes:
        name: Unique in the model; lower snake case.
        domain: Every value it can have; at most 256.
        initial: Its value at the start, for every index.
        over: What it is indexed by: nothing, members, or members and partitions, in this order.
    """

    name: str
    domain: tuple[Value, ...]
    initial: Value
    over: tuple[IndexSet, ...] = ()
    doc: str = ""


def flag(name: str, doc: str = "", over: tuple[IndexSet, ...] = ()) -> ModelVariable:
    """A variable that is so or not, and not so at the start."""
    return ModelVariable(name, (False, True), False, over, doc)


@dataclass(frozen=True)
class Set:
    """Assignments that happen at once: pairs of a target (`leader`, `identity[i]`, `owns[i][p]`) and an expression."""

    assignments: tuple[tuple[str, str], ...]
    note: str = ""


@dataclass(frozen=True)
class If:
    """The body of the first branch whose condition holds; else `otherwise`. `notes`: what each is, for readers."""

    branches: tuple[tuple[str, Block], ...]
    otherwise: Block = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class For:
    """The body for each index in turn, from 1 up."""

    index: str
    over: IndexSet
    body: Block


@dataclass(frozen=True)
class Call:
    """A procedure's body. `arguments`: names of indices, then expressions for its inputs, valued before the call."""

    procedure: str
    arguments: tuple[str, ...] = ()


Statement: TypeAlias = Set | If | For | Call
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Procedure:
    """A body with a name.

    Attributes:
        name: Unique in the model; lower snake case.
        indices: Names that the body uses for indices, and what they range over.
        inputs: Names of values that come with the call, and their domains.
    """

    name: str
    indices: tuple[tuple[str, IndexSet], ...] = ()
    inputs: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    body: Block = ()
    doc: str = ""


@dataclass(frozen=True)
class Action:
    """Something that may happen.

    Attributes:
        name: Unique in the model; lower snake case.
        parameters: Indices that are open: (name, what it ranges over).
        guard: When it can happen; may read the parameters.
        kind: Who or what does it: `application`, `message`, `timer`, `network`, `group`: how it is drawn.
        fair: Whether it must happen if it can, for liveness: weakly (if it stays possible), strongly (if it is so
            often).
        arrow: (from, to, text), for the sequence diagram: `member i`, `group`, or empty for something local.
    """

    name: str
    parameters: tuple[tuple[str, IndexSet], ...]
    guard: str
    body: Block
    kind: str = "message"
    fair: Fairness = ""
    doc: str = ""
    arrow: tuple[str, str, str] = ("", "", "")


@dataclass(frozen=True)
class ModelProperty:
    """What is claimed of a model.

    Attributes:
        id: Lower case with hyphens: `one-owner`.
        kind: *invariant*: `holds` in every state. *reachable*: `holds` in some state. *recoverable*: from every state a
            state can be reached in which `holds`. *leads_to*: under the actions' fairness, each state in which `when`
            holds is followed by one in which `holds`.
        holds: An expression without free indices.
        when: For leads_to.
    """

    id: str
    kind: PropertyKind
    holds: str
    when: str = ""
    statement: str = ""
    sources: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """Which system a model is of. A name says the same to readers; programs ask here.

    Attributes:
        family: `base` is members, group and network; `open-member` one member in any environment; the others have one
            model each.
        rebalance: The members' protocol, or `mixed` for an upgrade; empty if the model has no member.
        profile: `published` or `deployed`; empty if both say the same of it.
        features: Feature modules, each with variables of its own.
    """

    family: str
    rebalance: str = ""
    profile: str = ""
    features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Model:
    """A system, closed: variables, what can happen, and what is claimed.

    Attributes:
        name: Lower case with hyphens, `base-cooperative-2`.
        sizes: How many members and how many partitions.
        symmetric: Whether renaming members and partitions alike (member k together with partition k) changes nothing.
        doc: What it is a model of, and what it leaves out.
    """

    name: str
    sizes: Mapping[IndexSet, int]
    variables: tuple[ModelVariable, ...]
    procedures: tuple[Procedure, ...]
    actions: tuple[Action, ...]
    properties: tuple[ModelProperty, ...] = ()
    symmetric: bool = False
    doc: str = ""
    scope: Scope = Scope("")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all that decides about states: names, domains, bodies, guards, properties; not of prose."""
        digest = hashlib.sha256()
        for part in (
            sorted(self.sizes.items()),
            [(v.name, v.domain, v.initial, v.over) for v in self.variables],
            [(p.name, p.indices, p.inputs, p.body) for p in self.procedures],
            [(a.name, a.parameters, a.guard, a.body, a.fair) for a in self.actions],
            [(p.id, p.kind, p.holds, p.when) for p in self.properties],
        ):
            digest.update(repr(part).encode())
        return digest.hexdigest()

    def variable(self, name: str) -> ModelVariable:
        """The variable of this name."""
        return next(v for v in self.variables if v.name == name)

    def procedure(self, name: str) -> Procedure:
        """The procedure of this name."""
        return next(p for p in self.procedures if p.name == name)

    def indices(self, over: IndexSet) -> range:
        """The indices of one set: 1 to its size."""
        return range(1, self.sizes[over] + 1)

    def arguments(self, action: Action) -> Iterator[dict[str, int]]:
        """Every combination of an action's parameters, by their names."""
        names = [name for name, _ in action.parameters]
        for values in product(*(self.indices(over) for _, over in action.parameters)):
            yield dict(zip(names, values, strict=True))


@dataclass(frozen=True)
class ModelMaker:
    """A model that is made when this is first called, and what is known of it before: making takes up to a second.

    Attributes:
        size: In words: `2 members, 2 partitions`, `3 calls`.
        doc: As the model has it.
    """

    name: str
    scope: Scope
    members: int
    make: Callable[[], Model]
    properties: tuple[ModelProperty, ...] = ()
    size: str = ""
    doc: str = ""

    def __call__(self) -> Model:
        """The model, which is made once."""
        return self._made

    @cached_property
    def _made(self) -> Model:
        return self.make()


def statements(block: Block) -> Iterator[Statement]:
    """Every statement of a block, those inside others too."""
    for statement in block:
        yield statement
        match statement:
            case If():
                for _, body in statement.branches:
                    yield from statements(body)
                yield from statements(statement.otherwise)
            case For():
                yield from statements(statement.body)


def callees(block: Block) -> list[str]:
    """The names of the procedures that a block calls."""
    return [statement.procedure for statement in statements(block) if isinstance(statement, Call)]


def callees_first(procedures: Iterable[Procedure]) -> list[Procedure]:
    """The procedures, each after those that it calls: definitions before uses."""
    by_name = {procedure.name: procedure for procedure in procedures}
    done: dict[str, Procedure] = {}

    def visit(procedure: Procedure) -> None:
        if procedure.name not in done:
            for name in callees(procedure.body):
                visit(by_name[name])
            done[procedure.name] = procedure

    for procedure in by_name.values():
        visit(procedure)
    return list(done.values())

"""Folding: states that differ only in who is called 1 and who 2 are one state, if the model is symmetric.

If it is, whatever can happen in a state can happen renamed in the renamed one, and one of each orbit is enough. How
many renamings it has says how many states it stands for, and the sum of these must be what is counted without folding.

A renaming gives member k and partition k the new number r(k), in every array and in every variable that holds an index.
The renamings of a state form its orbit, and one of them is kept for all, always the same.

It could be the one whose packed number is smallest; but then all n! had to be tried. So members are first put in order
by what each has for itself (its *key*: the values of all variables that are indexed by members alone). Only renamings
that keep the keys in order are tried; where all keys differ, that is one. Of these the smallest packed number is kept.

Whether a variable with the domain (0, 1, ..., n) holds an index or merely counts is nowhere declared. It holds one if
it is compared with an index, assigned one, or the same is true of a variable that it is compared with or assigned to.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

from groupspec.spec.compiler.expressions import Choice, Comparison, Expression, Index, Input, Read, operands
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.resolved import Assign, Body, Branch, Invoke, Loop
from groupspec.spec.explorer.exploration import ExplorerProblem
from groupspec.spec.explorer.layout import WORD_BITS, Layout
from groupspec.spec.explorer.native import Steps
from groupspec.spec.explorer.program import Program

_Holder: TypeAlias = tuple[str, str]
"""A place that can hold an index: ("", variable), (procedure, input), or the index itself."""

_INDEX: _Holder = ("", "")


@dataclass(frozen=True)
class Fold:
    """One renaming, made ready.

    Attributes:
        renaming: At place k the new number of k; 0, nobody, keeps its number.
        fields: Per field the field that its value comes from, and what becomes of the value (None: nothing).
    """

    renaming: tuple[int, ...]
    fields: tuple[tuple[int, tuple[int, ...] | None], ...]

    def apply(self, codes: bytes) -> bytes:
        """The codes of the renamed state."""
        return bytes(codes[source] if values is None else values[codes[source]] for source, values in self.fields)

    @property
    def sources(self) -> tuple[int, ...]:
        """At place k - 1 the old number of who is now k."""
        old = {new: number for number, new in enumerate(self.renaming)}
        return tuple(old[number] for number in range(1, len(self.renaming)))


class Folding:
    """All renamings of a model.

    Attributes:
        folds: The first one changes nothing.
        keys: At place k - 1 the fields that make the key of k: (position, shift).
        neighbours: Places whose keys must be in order: each with the next.
    """

    def __init__(self, layout: Layout, holders: frozenset[str]) -> None:
        self._layout = layout
        self.folds = tuple(_fold(layout, holders, renaming) for renaming in renamings(layout.model))
        sizes = sorted(layout.model.sizes[over] for over in ("members", "partitions"))
        self.keys = tuple(tuple(_key(layout, holders, k)) for k in range(1, sizes[1] + 1))
        # Who has a partner of the same number is never exchanged with one who has none.
        self.neighbours = tuple(place for place in range(sizes[1] - 1) if place != sizes[0] - 1)

    def canonical(self, codes: bytes) -> tuple[bytes, int]:
        """The state that is kept for this one, and how many it stands for."""
        keys = [sum(codes[position] << shift for position, shift in parts) for parts in self.keys]
        best, smallest, same = codes, -1, 0
        for fold in self.folds:
            old = fold.sources
            if any(keys[old[place] - 1] > keys[old[place + 1] - 1] for place in self.neighbours):
                continue
            renamed = fold.apply(codes)
            packed = self._layout.pack(renamed)
            if smallest < 0 or packed < smallest:
                best, smallest, same = renamed, packed, 1
            elif packed == smallest:
                same += 1
        return best, len(self.folds) // same


def renamings(model: Model) -> list[tuple[int, ...]]:
    """Every renaming: at place k the new number of k. The first changes nothing."""
    members, partitions = model.sizes["members"], model.sizes["partitions"]
    small, large = min(members, partitions), max(members, partitions)
    # If there are more of one kind, its surplus is renamed among itself: member and partition k go together.
    low = permutations(range(1, small + 1))
    high = list(permutations(range(small + 1, large + 1)))
    return [(0, *first, *second) for first in low for second in high]


def _fold(layout: Layout, holders: frozenset[str], renaming: tuple[int, ...]) -> Fold:
    place = {(field.variable.name, field.at): field.position for field in layout.fields}
    old = {new: number for number, new in enumerate(renaming)}
    fields: list[tuple[int, tuple[int, ...] | None]] = []
    for field in layout.fields:
        source = place[field.variable.name, tuple(old[index] for index in field.at)]
        values = renaming[: len(field.variable.domain)] if field.variable.name in holders else None
        fields.append((source, values))
    return Fold(renaming, tuple(fields))


def _key(layout: Layout, holders: frozenset[str], index: int) -> Iterator[tuple[int, int]]:
    shift = 0
    for field in layout.fields:
        own = field.variable.over == ("members",) and field.at == (index,) and field.variable.name not in holders
        # More than a word is not needed: keys that are equal cost time, not truth.
        if own and field.bits and shift + field.bits <= WORD_BITS:
            yield field.position, shift
            shift += field.bits


def folding(prepared: Program) -> Folding:
    """How a model is folded that says that it is symmetric; `require_symmetry` says whether it is.

    Raises:
        ExplorerProblem: it does not say so, or cannot be.
    """
    model = prepared.model
    if not model.symmetric:
        raise ExplorerProblem(
            "only a symmetric model can be folded",
            f"model {model.name}",
            "a model with symmetric=True",
            "explore it without folding; or declare it symmetric, if renaming members and partitions changes nothing",
        )
    holders = index_holders(prepared)
    for variable in model.variables:
        if variable.name in holders and variable.initial != 0:
            raise _asymmetric(model, f"{variable.name} holds an index and begins as {variable.initial!r}, not as 0")
    return Folding(prepared.layout, holders)


def require_symmetry(prepared: Program, folding: Folding, steps: Steps, walk: int = 1500, seed: int = 1) -> None:
    """Looks for a state whose renamings behave in another way.

    Along a random walk each renamed state must have the renamed successors, and every property must hold in both or in
    neither. That finds a body that prefers the member 1, and a loop whose outcome depends on its order; it is no proof.
    What is one, for a model of two members: that folding, done with, stands for as many states as there are without.

    Raises:
        ExplorerProblem: there is one.
    """
    model, layout = prepared.model, prepared.layout
    if len(folding.folds) == 1:
        return
    chance, codes = random.Random(seed), layout.initial
    for _ in range(walk):
        fold = chance.choice(folding.folds[1:])
        mirrored, after = fold.apply(codes), steps.successors(codes)
        for number, known in enumerate(prepared.properties):
            if steps.holds(number, codes) is not steps.holds(number, mirrored):
                what = f"property {known.claim.id} says one thing of a state and another of it renamed"
                raise _asymmetric(model, f"{what}: {layout.decode(codes)}")
        expected = Counter((layout.alternatives[number][0].name, fold.apply(one)) for number, one in after)
        found = Counter((layout.alternatives[number][0].name, one) for number, one in steps.successors(mirrored))
        if expected != found:
            names = ", ".join(sorted({name for name, _ in expected.keys() ^ found.keys()}))
            what = f"after a renaming {names} gives something else, first in the state {layout.decode(codes)}"
            raise _asymmetric(model, what)
        # From a dead end the walk begins again.
        codes = chance.choice(after)[1] if after else layout.initial


def _asymmetric(model: Model, why: str) -> ExplorerProblem:
    return ExplorerProblem(
        f"the model says that it is symmetric, and is not: {why}",
        f"model {model.name}",
        "bodies and properties that treat all members alike, and all partitions",
        "explore it without folding, or mend that",
    )


def index_holders(prepared: Program) -> frozenset[str]:
    """The variables that hold an index."""
    beside: dict[_Holder, set[_Holder]] = {}
    for group in _groups(prepared):
        for holder in group:
            beside.setdefault(holder, set()).update(group)
    found, waiting = {_INDEX}, [_INDEX]
    while waiting:
        new = beside.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(name for procedure, name in found if name and not procedure)


def _groups(prepared: Program) -> Iterator[set[_Holder]]:
    """Places whose values are compared with each other, or assigned to each other."""
    for procedure, (body, *_) in prepared.procedures:
        yield from _in_body(body, procedure.name)
    for _, ((guard, body), *_) in prepared.actions:
        yield from _in_expression(guard, "")
        yield from _in_body(body, "")
    for condition in prepared.conditions:
        yield from _in_expression(condition, "")


def _in_body(body: Body, procedure: str) -> Iterator[set[_Holder]]:
    for instruction in body:
        match instruction:
            case Assign(pairs=pairs):
                for target, value in pairs:
                    yield _holders(target, procedure) | _holders(value, procedure)
                    yield from _in_expression(value, procedure)
            case Branch(branches=branches, otherwise=otherwise):
                for condition, block in (*branches, (None, otherwise)):
                    yield from _in_expression(condition, procedure) if condition is not None else ()
                    yield from _in_body(block, procedure)
            case Loop(body=block):
                yield from _in_body(block, procedure)
            case Invoke(procedure=callee, inputs=inputs):
                for (name, _), value in zip(callee.inputs, inputs, strict=True):
                    yield {(callee.name, name)} | _holders(value, procedure)
                    yield from _in_expression(value, procedure)


def _in_expression(node: Expression, procedure: str) -> Iterator[set[_Holder]]:
    if isinstance(node, Comparison):
        yield _holders(node.left, procedure) | _holders(node.right, procedure)
    for part in operands(node):
        yield from _in_expression(part, procedure)


def _holders(node: Expression, procedure: str) -> set[_Holder]:
    """The places from which the expression may take its value."""
    match node:
        case Choice(then=then, otherwise=otherwise):
            return _holders(then, procedure) | _holders(otherwise, procedure)
        case Index():
            return {_INDEX}
        case Read(variable=variable):
            return {("", variable.name)}
        case Input(name=name):
            return {(procedure, name)}
        case _:
            return set()

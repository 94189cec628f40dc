"""How a state is kept: as codes, one byte a value, and packed, as few bits a value as its domain needs.

The *codes* of a state are bytes, one for each variable and index, in the order of declaration; a code is the value's
place in its domain. The engine computes on codes. *Packed* is one whole number of so many 64-bit words: what is
stored, compared and hashed. No value lies across two words, so that C gets at it with one shift.

An *alternative* is an action with its parameters: they are numbered from 0, in the order in which they are
tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from groupspec.spec.compiler.expressions import code_of
from groupspec.spec.compiler.model import Action, IndexSet, Model, ModelVariable
from groupspec.spec.terms import Value

WORD_BITS = 64

State: TypeAlias = dict[str, object]
"""A state as a reader sees it: variable to value; an indexed one to {index: value}, or {index: {index: value}}."""


@dataclass(frozen=True)
class Field:
    """One value of a state.

    Attributes:
        position: Its byte among the codes.
        bits: How many it needs packed; 0 if it has one value only.
        shift: How far from the lowest bit of `word`.
    """

    variable: ModelVariable
    at: tuple[int, ...]
    position: int
    bits: int
    word: int
    shift: int


class Layout:
    """Where everything of a model lies."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.fields: tuple[Field, ...] = tuple(_fields(model))
        self.words = max(field.word for field in self.fields) + 1

    @cached_property
    def alternatives(self) -> tuple[tuple[Action, Mapping[str, int]], ...]:
        """Every action with every combination of its parameters; an alternative's number is its place here."""
        return tuple((action, arguments) for action in self.model.actions for arguments in self.model.arguments(action))

    @cached_property
    def initial(self) -> bytes:
        """The codes of the state in which everything begins."""
        return bytes(code_of(field.variable.initial, field.variable.domain) for field in self.fields)

    def pack(self, codes: Sequence[int]) -> int:
        """The codes as one number, word 0 lowest."""
        packed = 0
        for field in self.fields:
            packed |= codes[field.position] << (field.word * WORD_BITS + field.shift)
        return packed

    def unpack(self, packed: int) -> bytes:
        """The codes that were packed."""
        return bytes(
            packed >> (field.word * WORD_BITS + field.shift) & ((1 << field.bits) - 1) for field in self.fields
        )

    def decode(self, codes: Sequence[int]) -> State:
        """The state that the codes stand for."""
        values = (field.variable.domain[code] for field, code in zip(self.fields, codes, strict=True))
        return {variable.name: self._nested(variable.over, values) for variable in self.model.variables}

    def _nested(self, over: tuple[IndexSet, ...], values: Iterator[Value]) -> object:
        if not over:
            return next(values)
        return {index: self._nested(over[1:], values) for index in self.model.indices(over[0])}

    def encode(self, state: State) -> bytes:
        """The codes of a state."""
        return bytes(code_of(_at(state[field.variable.name], field.at), field.variable.domain) for field in self.fields)


def _at(found: object, indices: tuple[int, ...]) -> Value:
    for index in indices:
        assert isinstance(found, dict)
        found = found[index]
    assert isinstance(found, (bool, int, str))
    return found


def _fields(model: Model) -> list[Field]:
    fields: list[Field] = []
    word = shift = 0
    for variable in model.variables:
        bits = (len(variable.domain) - 1).bit_length()
        for at in product(*(model.indices(over) for over in variable.over)):
            if shift + bits > WORD_BITS:
                word, shift = word + 1, 0
            fields.append(Field(variable, at, len(fields), bits, word, shift))
            shift += bits
    return fields

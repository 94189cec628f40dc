"""A model's statements as TLA+: expressions whose value is the state afterwards.

Names of states are not used twice in one operator, and no name is bound that is visible already: TLA+ refuses both.

Two forms are shorter than the model's own, for readers, and for TLC, which interprets each expression:

- assignments that follow each other become one, if what follows reads nothing that was just assigned; and a loop that
  assigns one element after the other becomes a function (`tla_assign`);
- choices among rows, each for one value of the same variable, are cut by that value first (`CASE`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupspec.spec.compiler.formula import tree_of
from groupspec.spec.compiler.model import Block, Call, For, If, Model, Set, Statement
from groupspec.spec.compiler.tla_assign import Assigning, as_assigning, independent
from groupspec.spec.compiler.tla_text import Expressions, Lines, comment, constant, hang, parts_of
from groupspec.spec.terms import Value

FEWEST_ROWS = 3
"""Fewer are not cut by the value of their variable: it would be longer."""


@dataclass(frozen=True)
class _Row:
    """A branch that begins with `variable == value`: the rest of its condition, what it does, and what it is."""

    value: Value
    rest: ast.expr | None
    body: Block
    note: str


class BodyWriter:
    """Writes the body of one operator.

    Attributes:
        model: Where the sizes are.
        procedures: What the operator of each procedure is called.
        bound: Indices and inputs in scope, and what they are called here.
    """

    def __init__(self, model: Model, procedures: Mapping[str, str], bound: dict[str, str]) -> None:
        self.model = model
        self.procedures = procedures
        self.bound = bound
        self.states = 0
        self.loops = 0
        self.cases = 0
        self.within_case = False

    def block(self, block: Block, state: str, width: int) -> Lines:
        """The state after the block, which begins in `state`."""
        pieces = _pieces(block)
        if not pieces:
            return [state]
        definitions: Lines = []
        for piece in pieces[:-1]:
            text = self._piece(piece, state, width - 12)
            state = self._fresh()
            definitions += hang(f"{state} == ", text)
        last = self._piece(pieces[-1], state, width - 4 if definitions else width)
        return [*hang("LET ", definitions), *hang("IN  ", last)] if definitions else last

    def _piece(self, piece: list[Assigning] | Statement, state: str, width: int) -> Lines:
        match piece:
            case list():
                return self._assign(piece, state, width)
            case If():
                return self._if(piece, state, width)
            case For():
                return self._for(piece, state, width)
            case Call():
                return self._call(piece, state, width)
            case Set():
                return [state]

    def _fresh(self) -> str:
        self.states += 1
        return f"s{self.states}"

    def _assign(self, together: Sequence[Assigning], state: str, width: int) -> Lines:
        writer = Expressions(state, self.bound)
        opening = f"[{state} EXCEPT "
        note, lines = together[0].note, Lines()
        for position, assigning in enumerate(together):
            if position and assigning.note:
                lines += [" " * len(opening) + line for line in comment(assigning.note, width - len(opening))]
            for target, value, over in assigning.targets:
                prefix = (opening if not lines else " " * len(opening)) + writer.target(target) + " = "
                lines += hang(prefix, self._value(writer, value, over, width - len(prefix) - 1), ",")
        lines[-1] = lines[-1].removesuffix(",") + "]"
        return [*(comment(note, width) if note else []), *lines]

    def _value(self, writer: Expressions, value: ast.expr, over: tuple[str, str] | None, width: int) -> Lines:
        """What is assigned: a value, or one for each index."""
        if over is None:
            return writer.lines(value, width)
        index, indices = over
        written = self._unbound(index)
        opening = f"[{written} \\in {indices.title()} |-> "
        return hang(opening, Expressions(writer.state, {**self.bound, index: written}).lines(value, width - 20), "]")

    def _unbound(self, index: str) -> str:
        written = index
        while written in self.bound.values():
            written += "_"
        return written

    def _if(self, statement: If, state: str, width: int) -> Lines:
        cut = _rows_by_value(statement)
        notes = [*statement.notes, *[""] * (len(statement.branches) + 1 - len(statement.notes))]
        if cut is not None:
            return self._case(*cut, notes[len(statement.branches)], state, width)
        branches = [
            (tree_of(condition), body, note) for (condition, body), note in zip(statement.branches, notes, strict=False)
        ]
        return self._choice(branches, statement.otherwise, notes[len(branches)], state, width)

    def _choice(
        self, branches: Sequence[tuple[ast.expr, Block, str]], otherwise: Block, note: str, state: str, width: int
    ) -> Lines:
        writer = Expressions(state, self.bound)
        lines: Lines = []
        for position, (condition, body, about) in enumerate(branches):
            lines += comment(about, width) if about else []
            lines += hang("IF " if position == 0 else "ELSE IF ", writer.lines(condition, width - 8))
            lines += hang("THEN ", self.block(body, state, width - 5))
        lines += comment(note, width) if note else []
        return [*lines, *hang("ELSE ", self.block(otherwise, state, width - 5))]

    def _case(
        self, variable: ast.expr, groups: Mapping[Value, Sequence[_Row]], note: str, state: str, width: int
    ) -> Lines:
        """`LET at == variable IN CASE at = value -> ...`.

        In brackets inside another one, whose next case would be its own.
        """
        self.cases += 1
        within, self.within_case = self.within_case, True
        at = self._unbound("at" if self.cases == 1 else f"at{self.cases}")
        lines = [f"LET {at} == {Expressions(state, self.bound).flat(variable)}"]
        for position, (value, rows) in enumerate(groups.items()):
            lines.append(f"{'IN  CASE' if position == 0 else '      []'} {at} = {constant(value)} ->")
            lines += [f"           {line}" for line in self._rows(rows, state, width - 11)]
        lines += [f"      {line}" for line in comment(note, width - 6)] if note else []
        lines.append(f"      [] OTHER -> {state}")
        self.within_case = within
        return hang("(", lines, ")") if within else lines

    def _rows(self, rows: Sequence[_Row], state: str, width: int) -> Lines:
        """What rows of one value do: the first whose condition holds."""
        conditional = [(row.rest, row.body, row.note) for row in rows if row.rest is not None]
        last = next((row for row in rows if row.rest is None), None)
        if conditional:
            return self._choice(conditional, last.body if last else (), last.note if last else "", state, width)
        about = comment(rows[0].note, width) if rows[0].note else []
        return [*about, *self.block(rows[0].body, state, width)]

    def _for(self, statement: For, state: str, width: int) -> Lines:
        self.loops += 1
        loop, inner = f"Each{self.loops}", self._fresh()
        outside, written = self.bound, self._unbound(statement.index)
        self.bound = {**outside, statement.index: written}
        body = self.block(statement.body, inner, width - 8)
        self.bound = outside
        result = state
        for index in self.model.indices(statement.over):
            result = f"{loop}({result}, {index})"
        return [f"LET {loop}({inner}, {written}) ==", *hang("        ", body), f"IN  {result}"]

    def _call(self, statement: Call, state: str, width: int) -> Lines:
        writer = Expressions(state, self.bound)
        opening = f"{self.procedures[statement.procedure]}("
        arguments = [state, *(writer.flat(tree_of(argument)) for argument in statement.arguments)]
        text = f"{opening}{', '.join(arguments)})"
        if len(text) <= width:
            return [text]
        lines = [f"{argument}," for argument in arguments[:-1]] + [f"{arguments[-1]})"]
        return hang(opening, lines)


def _pieces(block: Block) -> list[list[Assigning] | Statement]:
    """A block's statements; assignments that follow each other, and may be one, are together."""
    pieces: list[list[Assigning] | Statement] = []
    for statement in block:
        assigning = as_assigning(statement)
        if assigning is None:
            pieces.append(statement)
        elif assigning.targets:
            last = pieces[-1] if pieces else None
            if isinstance(last, list) and independent(last, assigning):
                last.append(assigning)
            else:
                pieces.append([assigning])
    return pieces


def _rows_by_value(statement: If) -> tuple[ast.expr, dict[Value, list[_Row]]] | None:
    """The variable that each branch begins by comparing, and the branches by the value it is compared with.

    Else None.
    """
    if len(statement.branches) < FEWEST_ROWS or statement.otherwise:
        return None
    variable: ast.expr | None = None
    groups: dict[Value, list[_Row]] = {}
    for position, (condition, body) in enumerate(statement.branches):
        first, *others = parts_of(tree_of(condition))
        match first:
            case ast.Compare(
                left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=bool() | int() | str() as value)]
            ):
                pass
            case _:
                return None
        if variable is not None and ast.dump(left) != ast.dump(variable):
            return None
        variable = left
        rest = others[0] if len(others) == 1 else ast.BoolOp(ast.And(), others) if others else None
        rows = groups.setdefault(value, [])
        if not rows or rows[-1].rest is not None:  # behind one that always fires, none does
            rows.append(_Row(value, rest, body, statement.notes[position] if position < len(statement.notes) else ""))
    return None if variable is None else (variable, groups)

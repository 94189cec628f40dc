r"""A model's statements as TLA+: expressions whose value is the state afterwards.

Names of states are not used twice in one operator, and no name is bound that is visible already: TLA+ refuses both.

Two forms are shorter than the model's own, for readers, and for TLC, which interprets each expression:

- assignments that follow each other become one, if what follows reads nothing that was just assigned;
- a loop that assigns one element after the other becomes a function: `For p: will_have[i][p] = False` is
  `will_have[i] = [p \in Partitions |-> FALSE]`, if no element's value depends on what was assigned to another one;
- choices among rows, each for one value of the same variable, are cut by that value first (`CASE`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from groupspec.spec.compiler.formula import subscripts, tree_of
from groupspec.spec.compiler.model import Block, Call, For, If, Model, Set, Statement
from groupspec.spec.compiler.tla_text import Expressions, comment, constant, hang, parts_of
from groupspec.spec.compiler.writing import Lines, notes_of
from groupspec.spec.terms import Value

FEWEST_ROWS = 3
"""Fewer are not cut by the value of their variable: it would be longer."""


@dataclass(frozen=True)
class _Row:
    """A branch that begins with `variable == value`: the rest of its condition, what it does, and what it is."""

    rest: ast.expr | None
    body: Block
    note: str


Over = tuple[str, str]
"""An index, and what it ranges over."""


@dataclass(frozen=True)
class Assigning:
    """Assignments that happen at once: target, value, and the index that the value is a function of, if any."""

    targets: tuple[tuple[ast.expr, ast.expr, Over | None], ...]
    note: str


class BodyWriter:
    """Writes the body of one operator.

    `procedures` are the names of the operators, `bound` those of the indices and inputs in scope.
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
            if position:
                lines += [" " * len(opening) + line for line in comment(assigning.note, width - len(opening))]
            for target, value, over in assigning.targets:
                prefix = (opening if not lines else " " * len(opening)) + writer.target(target) + " = "
                lines += hang(prefix, self._value(writer, value, over, width - len(prefix) - 1), ",")
        lines[-1] = lines[-1].removesuffix(",") + "]"
        return [*comment(note, width), *lines]

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
        *notes, last = notes_of(statement)
        if cut is not None:
            return self._case(*cut, last, state, width)
        pairs = zip(statement.branches, notes, strict=True)
        branches = [(tree_of(condition), body, note) for (condition, body), note in pairs]
        return self._choice(branches, statement.otherwise, last, state, width)

    def _choice(
        self, branches: Sequence[tuple[ast.expr, Block, str]], otherwise: Block, note: str, state: str, width: int
    ) -> Lines:
        writer = Expressions(state, self.bound)
        lines: Lines = []
        for position, (condition, body, about) in enumerate(branches):
            lines += comment(about, width)
            lines += hang("IF " if position == 0 else "ELSE IF ", writer.lines(condition, width - 8))
            lines += hang("THEN ", self.block(body, state, width - 5))
        lines += comment(note, width)
        return [*lines, *hang("ELSE ", self.block(otherwise, state, width - 5))]

    def _case(
        self, variable: ast.expr, groups: Mapping[Value, Sequence[_Row]], note: str, state: str, width: int
    ) -> Lines:
        """`LET at == variable IN CASE at = value -> ...`; in brackets inside another CASE."""
        self.cases += 1
        within, self.within_case = self.within_case, True
        at = self._unbound("at" if self.cases == 1 else f"at{self.cases}")
        lines = [f"LET {at} == {Expressions(state, self.bound).flat(variable)}"]
        for position, (value, rows) in enumerate(groups.items()):
            lines.append(f"{'IN  CASE' if position == 0 else '      []'} {at} = {constant(value)} ->")
            lines += [f"           {line}" for line in self._rows(rows, state, width - 11)]
        lines += [f"      {line}" for line in comment(note, width - 6)]
        lines.append(f"      [] OTHER -> {state}")
        self.within_case = within
        return hang("(", lines, ")") if within else lines

    def _rows(self, rows: Sequence[_Row], state: str, width: int) -> Lines:
        """What rows of one value do: the first whose condition holds."""
        conditional = [(row.rest, row.body, row.note) for row in rows if row.rest is not None]
        last = next((row for row in rows if row.rest is None), None)
        if conditional:
            return self._choice(conditional, last.body if last else (), last.note if last else "", state, width)
        return [*comment(rows[0].note, width), *self.block(rows[0].body, state, width)]

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
        assigning = _as_assigning(statement)
        if assigning is None:
            pieces.append(statement)
        elif assigning.targets:
            last = pieces[-1] if pieces else None
            if isinstance(last, list) and _independent(last, assigning):
                last.append(assigning)
            else:
                pieces.append([assigning])
    return pieces


def _rows_by_value(statement: If) -> tuple[ast.expr, dict[Value, list[_Row]]] | None:
    """The variable that each branch begins by comparing, and the branches by the value it is compared with."""
    if len(statement.branches) < FEWEST_ROWS or statement.otherwise:
        return None
    variable: ast.expr | None = None
    groups: dict[Value, list[_Row]] = {}
    for (condition, body), note in zip(statement.branches, notes_of(statement), strict=False):
        first, *others = parts_of(tree_of(condition))
        match first:
            case ast.Compare(left, [ast.Eq()], [ast.Constant(bool() | int() | str() as value)]):
                pass
            case _:
                return None
        if variable is not None and ast.dump(left) != ast.dump(variable):
            return None
        variable = left
        rest = others[0] if len(others) == 1 else ast.BoolOp(ast.And(), others) if others else None
        rows = groups.setdefault(value, [])
        if not rows or rows[-1].rest is not None:  # behind one that always fires, none does
            rows.append(_Row(rest, body, note))
    return None if variable is None else (variable, groups)


def _as_assigning(statement: Statement) -> Assigning | None:
    """A statement in that form, if it can be brought into it."""
    match statement:
        case Set(assignments, note):
            return Assigning(tuple((tree_of(t), tree_of(v), None) for t, v in assignments), note)
        case For(index, over, (Set(assignments, note),)):
            pairs = [(tree_of(target), tree_of(value)) for target, value in assignments]
            if all(_is_element(target, index) for target, _ in pairs) and _in_any_order(pairs):
                whole = [(target.value, value) for target, value in pairs if isinstance(target, ast.Subscript)]
                return Assigning(tuple((target, value, (index, over)) for target, value in whole), note)
    return None


def _independent(earlier: Sequence[Assigning], later: Assigning) -> bool:
    """Whether `later` reads nothing that `earlier` assigns, so that they may happen at once."""
    assigned = {_base(target) for assigning in earlier for target, _, _ in assigning.targets}
    return not assigned & {name for target, value, _ in later.targets for name in _read(target, value)}


def _read(target: ast.expr, value: ast.expr) -> Iterator[str]:
    """The names that an assignment looks at: those of the value, and those in the target's indices."""
    for part in (value, *subscripts(target)[1]):
        yield from (node.id for node in ast.walk(part) if isinstance(node, ast.Name))


def _is_element(target: ast.expr, index: str) -> bool:
    """Whether it is `x[...][index]`, with the index nowhere else."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name) or target.slice.id != index:
        return False
    return all(node.id != index for node in ast.walk(target.value) if isinstance(node, ast.Name))


def _in_any_order(pairs: Sequence[tuple[ast.expr, ast.expr]]) -> bool:
    """Whether a value reads what is assigned only at the very element that is assigned."""
    elements = {_base(target): ast.dump(target) for target, _ in pairs}
    if len(elements) < len(pairs):
        return False
    return all(_reads_own(value, elements) for _, value in pairs)


def _reads_own(node: ast.AST, elements: dict[str, str]) -> bool:
    if isinstance(node, ast.Subscript) and _base(node) in elements:
        return ast.dump(node) == elements[_base(node)]
    if isinstance(node, ast.Name):
        return node.id not in elements
    return all(_reads_own(child, elements) for child in ast.iter_child_nodes(node))


def _base(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""

"""A model's statements as TLA+: expressions whose value is the state afterwards.

Names of states are not used twice in one operator, and no name is bound that is visible already: TLA+ refuses both.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupspec.spec.compiler.model import Block, Call, For, If, Model, Set, Statement, expression
from groupspec.spec.compiler.tla_text import Expressions, Lines, comment, hang


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

    def block(self, block: Block, state: str, width: int) -> Lines:
        """The state after the block, which begins in `state`."""
        if not block:
            return [state]
        definitions: Lines = []
        for statement in block[:-1]:
            text = self.statement(statement, state, width - 12)
            state = self._fresh()
            definitions += hang(f"{state} == ", text)
        last = self.statement(block[-1], state, width - 4 if definitions else width)
        return [*hang("LET ", definitions), *hang("IN  ", last)] if definitions else last

    def statement(self, statement: Statement, state: str, width: int) -> Lines:
        """The state after one statement."""
        match statement:
            case Set():
                return self._set(statement, state, width)
            case If():
                return self._if(statement, state, width)
            case For():
                return self._for(statement, state, width)
            case Call():
                return self._call(statement, state, width)

    def _fresh(self) -> str:
        self.states += 1
        return f"s{self.states}"

    def _set(self, statement: Set, state: str, width: int) -> Lines:
        writer = Expressions(state, self.bound)
        lines = comment(statement.note, width) if statement.note else []
        opening = f"[{state} EXCEPT "
        for position, (target, text) in enumerate(statement.assignments):
            prefix = (opening if position == 0 else " " * len(opening)) + writer.target(expression(target)) + " = "
            suffix = "]" if position == len(statement.assignments) - 1 else ","
            lines += hang(prefix, writer.lines(expression(text), width - len(prefix) - 1), suffix)
        return lines if statement.assignments else [state]

    def _if(self, statement: If, state: str, width: int) -> Lines:
        writer = Expressions(state, self.bound)
        lines: Lines = []
        for position, (condition, body) in enumerate(statement.branches):
            note = statement.notes[position] if position < len(statement.notes) else ""
            lines += comment(note, width) if note else []
            lines += hang("IF " if position == 0 else "ELSE IF ", writer.lines(expression(condition), width - 8))
            lines += hang("THEN ", self.block(body, state, width - 5))
        note = statement.notes[len(statement.branches)] if len(statement.notes) > len(statement.branches) else ""
        lines += comment(note, width) if note else []
        return [*lines, *hang("ELSE ", self.block(statement.otherwise, state, width - 5))]

    def _for(self, statement: For, state: str, width: int) -> Lines:
        self.loops += 1
        loop, inner = f"Each{self.loops}", self._fresh()
        outside, written = self.bound, statement.index
        while written in outside.values():
            written += "_"
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
        arguments = [state, *(writer.flat(expression(argument)) for argument in statement.arguments)]
        text = f"{opening}{', '.join(arguments)})"
        if len(text) <= width:
            return [text]
        lines = [f"{argument}," for argument in arguments[:-1]] + [f"{arguments[-1]})"]
        return hang(opening, lines)

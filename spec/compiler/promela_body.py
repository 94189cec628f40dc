"""A model's statements as C, for the parts of a Promela model that run within one step.

Why C: a body calls bodies, five deep. Promela's `inline` puts the text of each where it is called, which makes tens of
thousands of statements of one model, and SPIN ends with "d_step sequence too long". A C function is there once, takes
its inputs by value, and leaves nothing behind, so that no variable has to be hidden from SPIN's states.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from groupspec.spec.compiler.formula import subscripts, tree_of
from groupspec.spec.compiler.model import Block, Call, For, If, Model, Procedure, Set, Statement
from groupspec.spec.compiler.promela_text import Expressions, Names, identifier

Lines = list[str]


class BodyWriter:
    """Writes bodies.

    Attributes:
        model: Where the sizes are.
        names: What everything is called.
    """

    def __init__(self, model: Model, names: Names) -> None:
        self.model = model
        self.names = names

    def procedure(self, procedure: Procedure) -> Iterator[str]:
        """One procedure, as a function."""
        if procedure.doc:
            yield f"// {procedure.doc}"
        taken = {*self.names.variables.values(), *self.names.values.values(), *self.names.procedures.values()}
        parameters = [name for name, _ in (*procedure.indices, *procedure.inputs)]
        bound = {name: identifier(name, taken) for name in parameters}
        declared = ", ".join(f"int {name}" for name in bound.values()) or "void"
        yield f"c_code {{ static void {self.names.procedures[procedure.name]}({declared}) {{"
        yield from (f"  {line}" for line in self.block(procedure.body, bound))
        yield from ("} }", "")

    def block(self, block: Block, bound: Mapping[str, str]) -> Lines:
        """The statements, one after the other."""
        return [line for statement in block for line in self._statement(statement, bound)]

    def _statement(self, statement: Statement, bound: Mapping[str, str]) -> Lines:
        match statement:
            case Set():
                return self._set(statement, bound)
            case If():
                return self._if(statement, bound)
            case For():
                return self._for(statement, bound)
            case Call():
                return self._call(statement, bound)

    def _set(self, statement: Set, bound: Mapping[str, str]) -> Lines:
        """All right sides are read before anything is assigned: what a later one needs is kept in a variable."""
        writer = Expressions(self.model, self.names, bound, c=True)
        kept: Lines = []
        writes: Lines = []
        assigned: set[str] = set()
        for target, text in statement.assignments:
            value = writer.text(tree_of(text))
            if assigned & _names(tree_of(text)):
                kept.append(f"int new{len(kept) + 1} = {value};")
                value = f"new{len(kept)}"
            writes.append(f"{writer.place(tree_of(target))} = {value};")
            assigned.add(subscripts(tree_of(target))[0])
        note = _note(statement.note)
        return [*note, "{", *(f"  {line}" for line in (*kept, *writes)), "}"] if kept else [*note, *writes]

    def _if(self, statement: If, bound: Mapping[str, str]) -> Lines:
        writer = Expressions(self.model, self.names, bound, c=True)
        lines: Lines = []
        for position, (condition, body) in enumerate(statement.branches):
            opening = "if" if position == 0 else "} else if"
            lines.append(f"{opening} ({writer.text(tree_of(condition))}) {{")
            note = statement.notes[position] if position < len(statement.notes) else ""
            lines += [f"  {line}" for line in (*_note(note), *self.block(body, bound))]
        note = statement.notes[len(statement.branches)] if len(statement.notes) > len(statement.branches) else ""
        if statement.otherwise or note:
            lines.append("} else {")
            lines += [f"  {line}" for line in (*_note(note), *self.block(statement.otherwise, bound))]
        return [*lines, "}"]

    def _for(self, statement: For, bound: Mapping[str, str]) -> Lines:
        loop = identifier(statement.index, {*bound.values(), *self.names.values.values()})
        body = self.block(statement.body, {**bound, statement.index: loop})
        head = f"for (int {loop} = 1; {loop} <= {statement.over.upper()}; {loop}++) {{"
        return [head, *(f"  {line}" for line in body), "}"]

    def _call(self, statement: Call, bound: Mapping[str, str]) -> Lines:
        writer = Expressions(self.model, self.names, bound, c=True)
        arguments = ", ".join(writer.text(tree_of(text)) for text in statement.arguments)
        return [f"{self.names.procedures[statement.procedure]}({arguments});"]


def _note(text: str) -> Lines:
    return [f"/* {text.replace('*/', '* /')} */"] if text else []


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}

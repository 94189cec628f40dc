"""What the two back ends that people read, TLA+ and Promela, have in common."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from groupspec.spec.compiler.model import If, IndexSet, ModelProperty

WIDTH = 110
"""Characters a line may have before it is broken."""

Lines = list[str]


def comment(text: str, sign: str, width: int = WIDTH) -> Lines:
    """Prose as comment lines; an empty line separates paragraphs, and one that begins with a space is kept."""
    if not text:
        return []
    lines: Lines = []
    for paragraph in text.split("\n\n"):
        lines += [sign] if lines else []
        if paragraph.startswith(" "):
            lines += [f"{sign}{line}" for line in paragraph.splitlines()]
            continue
        writer = textwrap.TextWrapper(width, f"{sign} ", f"{sign} ", break_long_words=False, break_on_hyphens=False)
        lines += writer.wrap(" ".join(paragraph.split())) or [sign]
    return lines


def about(claim: ModelProperty) -> Iterator[str]:
    """A property in prose: what it says, its sources, its rules."""
    yield f"{claim.id} ({claim.kind.replace('_', '-')}): {claim.statement}"
    yield from (f"Source: {source}" for source in claim.sources)
    if claim.rules:
        yield f"Rules: {', '.join(claim.rules)}"


def notes_of(statement: If) -> list[str]:
    """The note of each branch, then that of `otherwise`; empty where there is none."""
    return [*statement.notes, *[""] * (len(statement.branches) + 1 - len(statement.notes))]


@dataclass(frozen=True)
class Quantifier:
    """`all(body for index in over if condition)`; `any`, if not `every`."""

    every: bool
    index: str
    over: IndexSet
    condition: ast.expr | None
    body: ast.expr


def quantifier(call: ast.Call) -> Quantifier:
    """The parts of a call of `all` or `any`."""
    match call.args:
        case [ast.GeneratorExp(body, [ast.comprehension(ast.Name(index), ast.Name(over), [] | [_] as given)])]:
            every = isinstance(call.func, ast.Name) and call.func.id == "all"
            indices: IndexSet = "members" if over == "members" else "partitions"
            return Quantifier(every, index, indices, given[0] if given else None, body)
    raise ValueError(f"`{ast.unparse(call)}` is not in the language of models")

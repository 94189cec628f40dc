"""Bodies of a model's actions and procedures, written to be read."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.spec.compiler.model import Block, Call, For, If, Set


def code(block: Block, depth: int = 0) -> str:
    """A body, to be read: one line a statement; what is assigned in one line is assigned at once."""
    return "\n".join(_lines(block, depth))


def _lines(block: Block, depth: int) -> Iterator[str]:
    space = "    " * depth
    for statement in block:
        match statement:
            case Set(assignments=assignments, note=note):
                yield space + "; ".join(f"{target} := {value}" for target, value in assignments) + _note(note)
            case If(branches=branches, otherwise=otherwise, notes=notes):
                for place, (condition, body) in enumerate(branches):
                    note = notes[place] if place < len(notes) else ""
                    yield f"{space}{'elif' if place else 'if'} {condition}:{_note(note)}"
                    yield from _lines(body, depth + 1)
                if otherwise:
                    note = notes[len(branches)] if len(notes) > len(branches) else ""
                    yield f"{space}else:{_note(note)}"
                    yield from _lines(otherwise, depth + 1)
            case For(index=index, over=over, body=body):
                yield f"{space}for {index} in {over}:"
                yield from _lines(body, depth + 1)
            case Call(procedure=procedure, arguments=arguments):
                yield f"{space}{procedure}({', '.join(arguments)})"


def _note(note: str) -> str:
    return f"  # {note}" if note else ""

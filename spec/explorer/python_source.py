"""A model as Python, for machines without a C compiler: the same functions as in C, on bytes instead of a struct."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from groupspec.spec.compiler.expressions import (
    Choice,
    Comparison,
    Connective,
    Constant,
    Expression,
    Index,
    Input,
    Not,
    Quantified,
    Read,
)
from groupspec.spec.compiler.model import IndexSet
from groupspec.spec.compiler.resolved import Assign, Body, Branch, Instruction, Invoke, Loop
from groupspec.spec.explorer.program import Program


@dataclass(frozen=True)
class PythonModule:
    """What was generated, ready to be called; states are codes.

    Attributes:
        successors: Every alternative that is possible: its number, and the state after.
        holds: Per property about single states whether it holds.
    """

    successors: Callable[[bytes], list[tuple[int, bytes]]]
    holds: list[Callable[[bytes], bool]]


def python_module(program: Program, variant: int = 0) -> PythonModule:
    """The functions of one variant."""
    space: dict[str, Any] = {}
    exec(compile(python_source(program, variant), f"<model {program.model.name}>", "exec"), space)
    return PythonModule(space["successors"], space["HOLDS"])


def python_source(program: Program, variant: int = 0) -> str:
    """The whole module, of one variant: `successors(codes)` and `holds(codes, property)`."""
    return "\n".join(_Writer(program, variant).lines()) + "\n"


class _Writer:
    """Writes one program. In what is written, `s` is the state: bytes where it is read, a bytearray in bodies."""

    def __init__(self, program: Program, variant: int) -> None:
        self.program = program
        self.sizes = program.model.sizes
        self.version = program.variants[variant]

    def lines(self) -> Iterator[str]:
        """The module."""
        first = len(self.program.procedures)
        for number, known in enumerate(self.program.procedures):
            names = [f"i_{name}" for name, _ in known.procedure.indices] + [f"n_{n}" for n, _ in known.procedure.inputs]
            yield f"def p_{known.procedure.name}({', '.join(['s', *names])}):"
            yield from self._block(known.bodies[self.version[number]], 1)
        for number, action in enumerate(self.program.actions):
            arguments = "".join(f", i_{name}" for name, _ in action.action.parameters)
            guard, body = action.versions[self.version[first + number]]
            yield f"def a_{action.action.name}(before{arguments}):"
            yield "    s = before"
            yield f"    if not {self.expression(guard)}:"
            yield "        return None"
            yield "    s = bytearray(before)"
            yield from self._block(body, 1)
            yield "    return bytes(s)"
        yield "def successors(s):"
        yield "    found = []"
        for alternative in self.program.layout.alternatives:
            arguments = "".join(f", {index}" for index in alternative.arguments)
            yield f"    t = a_{alternative.action.name}(s{arguments})"
            yield f"    if t is not None: found.append(({alternative.number}, t))"
        yield "    return found"
        for number, claim in enumerate(self.program.properties):
            yield f"def holds_{number}(s):"
            yield f"    return {self.expression(claim.holds)}"
        yield f"HOLDS = [{', '.join(f'holds_{number}' for number in range(len(self.program.properties)))}]"

    def _block(self, body: Body, depth: int) -> list[str]:
        lines = [line for instruction in body for line in self._instruction(instruction, depth)]
        return lines or ["    " * depth + "pass"]

    def _instruction(self, instruction: Instruction, depth: int) -> list[str]:
        indent = "    " * depth
        match instruction:
            case Assign(pairs=pairs):
                # Python computes the whole right side first; a boolean counts as 0 or 1.
                targets = ", ".join(self.expression(target) for target, _ in pairs)
                return [f"{indent}{targets} = {', '.join(self.expression(value) for _, value in pairs)}"]
            case Branch(branches=branches, otherwise=otherwise):
                lines: list[str] = []
                for number, (condition, block) in enumerate(branches):
                    word = "elif" if number else "if"
                    lines += [f"{indent}{word} {self.expression(condition)}:", *self._block(block, depth + 1)]
                if not branches:
                    return self._block(otherwise, depth)
                return [*lines, f"{indent}else:", *self._block(otherwise, depth + 1)]
            case Loop(index=index, over=over, body=block):
                return [f"{indent}for i_{index} in {self._range(over)}:", *self._block(block, depth + 1)]
            case Invoke(procedure=procedure, indices=indices, inputs=inputs):
                arguments = ["s", *(self.expression(part) for part in (*indices, *inputs))]
                return [f"{indent}p_{procedure.name}({', '.join(arguments)})"]

    def _range(self, over: IndexSet) -> str:
        return f"({''.join(f'{index}, ' for index in range(1, self.sizes[over] + 1))})"

    def expression(self, node: Expression) -> str:
        """The expression on codes."""
        match node:
            case Constant():
                return str(node.code)
            case Index(name=name, number=number):
                return f"i_{name}" if name else str(number)
            case Input(name=name):
                return f"n_{name}"
            case Read():
                return f"s[{self._position(node)}]"
            case Not(operand=operand):
                return f"(not {self.expression(operand)})"
            case Connective(operator=operator, parts=parts):
                return f"({f' {operator} '.join(self.expression(part) for part in parts)})"
            case Comparison(left=left, same=same, right=right):
                return f"({self.expression(left)} {'==' if same else '!='} {self.expression(right)})"
            case Choice(test=test, then=then, otherwise=otherwise):
                return f"({self.expression(then)} if {self.expression(test)} else {self.expression(otherwise)})"
            case Quantified():
                word = "all" if node.every else "any"
                condition = f" if {self.expression(node.condition)}" if node.condition is not None else ""
                loop = f"for i_{node.index} in {self._range(node.over)}{condition}"
                return f"{word}({self.expression(node.body)} {loop})"

    def _position(self, node: Read) -> str:
        offset = self.program.layout.offsets[node.variable.name]
        match node.at:
            case ():
                return str(offset)
            case (index,):
                return f"{offset - 1} + {self.expression(index)}"
            case (first, second):
                width = self.sizes["partitions"]
                return f"{offset - width - 1} + {self.expression(first)} * {width} + {self.expression(second)}"
        raise AssertionError(node)

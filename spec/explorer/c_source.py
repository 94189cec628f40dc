"""A model as C: a struct with a byte for each value, a function for each body, and one that tries every alternative.

What is written here is different for each model; the search itself is the same for all, and stands in `worker_pool.c`
and `search.c`, which are appended. Names are kept, with a letter before them (`v_` variable, `i_` index, `n_` input,
`p_` procedure, `a_` action), so that no name of a model can mean anything to C.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.layout import Layout
from groupspec.spec.explorer.program import Program

_GROUP = 8
"""Bytes that are packed at once."""

FIXED = [Path(__file__).parent / name for name in ("worker_pool.c", "search.c")]


def c_source(program: Program, folding: Folding | None = None) -> str:
    """The whole C file: of a program, and of how it is folded."""
    writer = _Writer(program)
    renamings = len(folding.folds) if folding is not None else 1
    parts = [*writer.head(renamings), *writer.state(), *writer.bodies(), *writer.actions(), *writer.properties()]
    folds = _folding(program.layout, folding) if folding is not None else []
    return "\n".join([*parts, *packing(program.layout), *folds, *(path.read_text() for path in FIXED)])


class _Writer:
    """Writes what depends on the model."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.sizes = program.model.sizes

    def head(self, renamings: int) -> Iterator[str]:
        """What the search needs to know in numbers."""
        layout, program = self.program.layout, self.program
        yield f"/* {program.model.name}, generated from model {program.model.hash[:12]}. */"
        yield "#include <stdint.h>"
        for name, value in (
            ("WORDS", layout.words),
            ("ALTERNATIVES", len(layout.alternatives)),
            ("ACTIONS", len(program.actions)),
            ("PROPERTIES", len(program.properties)),
            ("RENAMINGS", renamings),
        ):
            yield f"#define {name} {value}"
        yield "static __thread int variant;"

    def state(self) -> Iterator[str]:
        """The state, and where everything begins."""
        yield "typedef struct {"
        for variable in self.program.model.variables:
            yield f"    uint8_t v_{variable.name}{''.join(f'[{self.sizes[over]}]' for over in variable.over)};"
        yield "} State;"
        codes = ", ".join(map(str, self.program.layout.initial))
        yield f"static const uint8_t INITIAL[sizeof(State)] = {{{codes}}};"

    def bodies(self) -> Iterator[str]:
        """Every procedure; heads first, so that any may call any."""
        heads = []
        for procedure, _ in self.program.procedures:
            names = [*(f"i_{name}" for name, _ in procedure.indices), *(f"n_{name}" for name, _ in procedure.inputs)]
            heads.append((f"p_{procedure.name}", names))
            yield f"{_head(*heads[-1])};"
        for number, ((name, names), (_, bodies)) in enumerate(zip(heads, self.program.procedures, strict=True)):
            texts = [self._block(body, 1) for body in bodies]
            if len(texts) > 1:  # each a function of its own: C compilers need very long for one that is huge
                for version, text in enumerate(texts):
                    own = f"{name}_{version}"
                    yield from [f"__attribute__((noinline)) {_head(own, names)} {{", *text, "}"]
                    texts[version] = [f"    {own}({', '.join(['s', *names])});"]
            yield from [f"{_head(name, names)} {{", *self._versions(number, texts), "}"]

    def actions(self) -> Iterator[str]:
        """Guard and body of each action, and what tries them all."""
        first = len(self.program.procedures)
        for number, (action, versions) in enumerate(self.program.actions, first):
            parameters = "".join(f", int i_{name}" for name, _ in action.parameters)
            guards = [[f"    return {self.expression(guard)};"] for guard, _ in versions]
            yield f"static int g_{action.name}(const State *s{parameters}) {{"
            yield from [*self._versions(number, guards), "    return 0;", "}"]
            yield f"static void a_{action.name}(State *s{parameters}) {{"
            yield from [*self._versions(number, [self._block(body, 1) for _, body in versions]), "}"]
        yield "/* At most so many of the alternatives possible in s: the states after, and the numbers. */"
        yield "static int successors(const State *s, State *out, uint16_t *numbers, int most) {"
        yield "    int n = 0, number = 0;"
        for action, _ in self.program.actions:
            yield from (f"    {self._for(f'i_{name}', over)}" for name, over in action.parameters)
            arguments = "".join(f", i_{name}" for name, _ in action.parameters)
            yield f"    {{ if (g_{action.name}(s{arguments})) {{"
            yield f"        out[n] = *s; a_{action.name}(&out[n]{arguments}); numbers[n++] = (uint16_t)number;"
            yield "        if (n == most) return n;"
            yield "    } number++; }"
        yield from ["    return n;", "}"]
        actions = enumerate(self.program.model.actions)
        owners = [str(number) for number, action in actions for _ in self.program.model.arguments(action)]
        yield f"static const uint16_t ACTION_OF[ALTERNATIVES] = {{{', '.join(owners)}}};"

    def properties(self) -> Iterator[str]:
        """Whether a condition holds; that of a property about single states has the property's number."""
        yield "static int holds(const State *s, int condition) {"
        yield "    switch (condition) {"
        for number, condition in enumerate(self.program.conditions):
            yield f"    case {number}: return {self.expression(condition)};"
        yield from ["    }", "    return 0;", "}"]
        kinds = ", ".join(f"'{known.claim.kind[2]}'" for known in self.program.properties) or "0"
        yield "/* v: invariant, a: reachable, c: recoverable. */"
        yield f"static const char KIND[PROPERTIES + 1] = {{{kinds}}};"

    def _versions(self, body_number: int, texts: list[list[str]]) -> Iterator[str]:
        if len(texts) == 1:
            yield from texts[0]
            return
        rows = [row[body_number] for row in self.program.variants]
        yield f"    static const uint16_t VERSION[] = {{{', '.join(map(str, rows))}}};"
        yield "    switch (VERSION[variant]) {"
        for number, text in enumerate(texts):
            yield from [f"    case {number}: {{", *text, "    break; }"]
        yield "    }"

    def _block(self, body: Body, depth: int) -> list[str]:
        return [line for instruction in body for line in self._instruction(instruction, depth)]

    def _instruction(self, instruction: Instruction, depth: int) -> list[str]:
        indent = "    " * depth
        match instruction:
            case Assign(pairs=((target, value),)):
                return [f"{indent}{self.expression(target)} = (uint8_t)({self.expression(value)});"]
            case Assign(pairs=pairs):
                values = [f"uint8_t t{k} = (uint8_t)({self.expression(value)});" for k, (_, value) in enumerate(pairs)]
                sets = [f"{self.expression(target)} = t{k};" for k, (target, _) in enumerate(pairs)]
                return [f"{indent}{{ {' '.join([*values, *sets])} }}"]
            case Branch(branches=branches, otherwise=otherwise):
                return self._branch(branches, otherwise, depth)
            case Loop(index=index, over=over, body=body):
                head = f"{indent}{self._for(f'i_{index}', over)} {{"
                return [head, *self._block(body, depth + 1), f"{indent}}}"]
            case Invoke(procedure=procedure, indices=indices, inputs=inputs):
                arguments = ["s", *(self.expression(part) for part in (*indices, *inputs))]
                return [f"{indent}p_{procedure.name}({', '.join(arguments)});"]

    def _branch(self, branches: tuple[tuple[Expression, Body], ...], otherwise: Body, depth: int) -> list[str]:
        indent = "    " * depth
        if not branches:
            return self._block(otherwise, depth)
        lines: list[str] = []
        for number, (condition, body) in enumerate(branches):
            word = "if" if number == 0 else "} else if"
            lines += [f"{indent}{word} ({self.expression(condition)}) {{", *self._block(body, depth + 1)]
        return [*lines, f"{indent}}} else {{", *self._block(otherwise, depth + 1), f"{indent}}}"]

    def _for(self, name: str, over: IndexSet) -> str:
        return f"for (int {name} = 1; {name} <= {self.sizes[over]}; {name}++)"

    def expression(self, node: Expression) -> str:
        """The expression, in parentheses where it could be misread."""
        match node:
            case Constant():
                return str(node.code)
            case Index(name=name, number=number):
                return f"i_{name}" if name else str(number)
            case Input(name=name):
                return f"n_{name}"
            case Read(variable=variable, at=at):
                return f"s->v_{variable.name}{''.join(f'[{self.expression(index)} - 1]' for index in at)}"
            case Not(operand=operand):
                return f"!({self.expression(operand)})"
            case Connective(operator=operator, parts=parts):
                sign = " && " if operator == "and" else " || "
                return f"({sign.join(self.expression(part) for part in parts)})"
            case Comparison(left=left, same=same, right=right):
                return f"({self.expression(left)} {'==' if same else '!='} {self.expression(right)})"
            case Choice(test=test, then=then, otherwise=otherwise):
                return f"({self.expression(test)} ? {self.expression(then)} : {self.expression(otherwise)})"
            case Quantified():
                return self._quantified(node)

    def _quantified(self, node: Quantified) -> str:
        # A statement expression: gcc's and clang's, and read by every C compiler that calls itself cc today.
        result, name = f"q_{node.index}", f"i_{node.index}"
        body = self.expression(node.body)
        decides = f"!({body})" if node.every else body
        condition = f"{self.expression(node.condition)} && " if node.condition is not None else ""
        loop = f"{self._for(name, node.over)} if ({condition}{decides}) {{ {result} = {int(not node.every)}; break; }}"
        return f"({{ int {result} = {int(node.every)}; {loop} {result}; }})"


def _head(name: str, names: list[str]) -> str:
    return f"static void {name}({', '.join(['State *s', *(f'int {each}' for each in names)])})"


def _folding(layout: Layout, folding: Folding) -> Iterator[str]:
    """For each renaming the packed state after it; and what says which renamings are to be tried."""
    for number, fold in enumerate(folding.folds):
        for position, (_, values) in enumerate(fold.fields):
            if values is not None:
                yield f"static const uint8_t R{number}_{position}[] = {{{', '.join(map(str, values))}}};"
        yield f"static void rename_{number}(const uint8_t *c, uint64_t *w) {{"
        # Straight into words: bytes written one by one cannot be read back eight at a time without a wait.
        yield from _words(
            layout,
            [
                f"c[{source}]" if values is None else f"R{number}_{position}[c[{source}]]"
                for position, (source, values) in enumerate(fold.fields)
            ],
        )
        yield "}"
    yield "static void renamed(const uint8_t *c, int renaming, uint64_t *w) {"
    yield "    switch (renaming) {"
    yield from (f"    case {number}: rename_{number}(c, w); break;" for number in range(len(folding.folds)))
    yield from ["    }", "}"]
    yield "/* The renamings that put the keys in order, as bits. */"
    yield "static void orderly(const uint8_t *c, uint8_t *fits) {"
    for place, own in enumerate(folding.keys):
        key = " | ".join(f"(uint64_t)c[{position}] << {shift}" for position, shift in own)
        yield f"    uint64_t k{place + 1} = {key or '0'};"
    # The same two keys are compared in many renamings: the compiler keeps what it knows.
    for number, fold in enumerate(folding.folds):
        old = fold.sources
        pairs = [f"k{old[place]} <= k{old[place + 1]}" for place in folding.neighbours]
        yield f"    fits[{number}] = {' & '.join(f'({pair})' for pair in pairs) or '1'};"
    yield "}"


def _words(layout: Layout, values: list[str]) -> Iterator[str]:
    """Assignments of a state's words, from the value of each field."""
    for word in range(layout.words):
        fields = [field for field in layout.fields if field.word == word and field.bits]
        parts = (f"(uint64_t){values[field.position]} << {field.shift}" for field in fields)
        yield f"    w[{word}] = {' | '.join(parts) or '0'};"


def packing(layout: Layout) -> Iterator[str]:
    """`pack` and `unpack`, for any processor and for those that have pext and pdep (x86-64 with BMI2)."""
    yield "static void pack_plain(const uint8_t *c, uint64_t *w) {"
    yield from _words(layout, [f"c[{field.position}]" for field in layout.fields])
    yield "}"
    yield "static void unpack_plain(const uint64_t *w, uint8_t *c) {"
    for field in layout.fields:
        value = f"w[{field.word}] >> {field.shift} & {(1 << field.bits) - 1}" if field.bits else "0"
        yield f"    c[{field.position}] = (uint8_t)({value});"
    yield "}"
    yield from _quick(layout)


def _quick(layout: Layout) -> Iterator[str]:
    groups = [layout.fields[at : at + _GROUP] for at in range(0, len(layout.fields), _GROUP)]
    yield "#if defined(__x86_64__) && defined(__GNUC__)"
    yield '__attribute__((target("bmi2"))) static void pack_quick(const uint8_t *c, uint64_t *w) {'
    yield "    uint64_t g;"
    yield f"    {' '.join(f'uint64_t w{word} = 0;' for word in range(layout.words))}"
    for number, group in enumerate(groups):
        yield f"    g = 0; __builtin_memcpy(&g, c + {number * _GROUP}, {len(group)});"
        for word, mask, shift in _masks(layout, number):
            yield f"    w{word} |= __builtin_ia32_pext_di(g, {mask:#x}u) << {shift};"
    yield f"    {' '.join(f'w[{word}] = w{word};' for word in range(layout.words))}"
    yield "}"
    yield '__attribute__((target("bmi2"))) static void unpack_quick(const uint64_t *w, uint8_t *c) {'
    yield "    uint64_t g;"
    for number, group in enumerate(groups):
        parts = [
            f"__builtin_ia32_pdep_di(w[{word}] >> {shift}, {mask:#x}u)" for word, mask, shift in _masks(layout, number)
        ]
        yield f"    g = {' | '.join(parts) or '0'}; __builtin_memcpy(c + {number * _GROUP}, &g, {len(group)});"
    yield "}"
    yield "#endif"


def _masks(layout: Layout, number: int) -> Iterator[tuple[int, int, int]]:
    """For eight fields, word by word: which of their bits go there, and how far up."""
    group = [field for field in layout.fields[number * _GROUP : (number + 1) * _GROUP] if field.bits]
    for word in sorted({field.word for field in group}):
        here = [field for field in group if field.word == word]
        mask = sum(((1 << field.bits) - 1) << 8 * (field.position % _GROUP) for field in here)
        yield word, mask, here[0].shift

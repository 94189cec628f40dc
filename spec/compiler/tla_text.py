"""TLA+ for what stands inside a model's bodies: names, expressions, and layout that keeps them readable.

A piece of text is a list of lines that starts at column 0; whoever puts it somewhere indents all of it. That matters
more here than elsewhere: TLA+ reads lists of conjuncts and disjuncts by the column they stand in.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence

from groupspec.spec.compiler.formula import subscripts
from groupspec.spec.compiler.model import Action, Model, ModelMaker
from groupspec.spec.compiler.writing import WIDTH, Lines, quantifier
from groupspec.spec.compiler.writing import comment as prose
from groupspec.spec.terms import Value

RESERVED = frozenset(
    {"Init", "Next", "Spec", "FairSpec", "Fairness", "TypeOK", "Watch", "Members", "Partitions"}
    | {"Nat", "Assert", "Print", "PrintT", "TLCGet", "TLCSet", "Permutations", "SortSeq", "RandomElement", "Any"}
    | {"ToString", "JavaTime", "TLCEval"}
    | {"LiveInit", "LiveNext", "LiveSpec", "LiveFairness", "Settle"}
)
"""What the modules themselves define, and what the modules that they extend do."""

Names = dict[tuple[str, str], str]
"""(kind, name) to what it is called; kinds: `procedure`, `action`, `property`; of an action also `guard` and `live`."""


def module_name(model: Model | ModelMaker) -> str:
    """The module's name: letters, digits and underscores; never empty or a number."""
    return _camel(model.name)


def live_module_name(model: Model | ModelMaker) -> str:
    """The name of the module that liveness is checked with."""
    return f"{module_name(model)}Live"


def has_possible(model: Model, action: Action) -> bool:
    """Whether the action's guard is an operator of its own: where weak fairness is to be said of it."""
    return action.fair == "weak" and any(claim.kind == "leads_to" for claim in model.properties)


def operator_names(model: Model) -> Names:
    """What each procedure, action and property is called: a name that nothing else has."""
    wanted = [
        *(("procedure", procedure.name, _camel(procedure.name)) for procedure in model.procedures),
        *(("action", action.name, _camel(action.name)) for action in model.actions),
        *(("property", claim.id, _camel(claim.id)) for claim in model.properties),
        *(("guard", action.name, f"{_camel(action.name)}Possible") for action in model.actions),
        *(("live", action.name, f"Live{_camel(action.name)}") for action in model.actions),
    ]
    taken = set(RESERVED)
    names: Names = {}
    for kind, name, written in wanted:
        if written in taken:
            written += {"procedure": "Body", "property": "Property"}.get(kind, "Action")
        while written in taken:
            written += "_"
        taken.add(written)
        names[kind, name] = written
    return names


def call(name: str, action: Action) -> str:
    """An operator of an action, with the action's parameters."""
    given = ", ".join(parameter for parameter, _ in action.parameters)
    return name + (f"({given})" if given else "")


def each(sign: str, action: Action) -> str:
    """Quantifiers over an action's parameters; `sign`: `E` or `A`."""
    return "".join(f"\\{sign} {name} \\in {over.title()} : " for name, over in action.parameters)


def _camel(name: str) -> str:
    words = name.replace("-", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words)


def hang(prefix: str, lines: Sequence[str], suffix: str = "") -> Lines:
    """The lines behind a prefix, those after the first below its end."""
    found = [prefix + lines[0], *(" " * len(prefix) + line for line in lines[1:])]
    return [*found[:-1], found[-1] + suffix]


def comment(text: str, width: int = WIDTH) -> Lines:
    """Prose as comment lines."""
    return prose(text, "\\*", width)


def constant(value: Value) -> str:
    """A value as TLA+ writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f'"{value}"' if isinstance(value, str) else str(value)


def values(domain: Sequence[Value], width: int = WIDTH) -> Lines:
    """A set of values, in as many lines as it needs."""
    text = f"{{{', '.join(map(constant, domain))}}}"
    return textwrap.wrap(text, width, subsequent_indent=" ", break_long_words=False, break_on_hyphens=False)


class Expressions:
    """Writes expressions over the record `state`; `bound` are the indices and inputs, and what they are called here."""

    def __init__(self, state: str, bound: Mapping[str, str]) -> None:
        self.state = state
        self.bound = dict(bound)

    def lines(self, node: ast.expr, width: int = WIDTH) -> Lines:
        """The expression, broken where it is too wide. It can stand alone, or as one item of a list."""
        text = self.flat(node)
        if len(text) <= width:
            return [text]
        match node:
            case ast.BoolOp(op=operator, values=parts):
                sign = "/\\ " if isinstance(operator, ast.And) else "\\/ "
                return [line for part in parts for line in hang(sign, self.lines(part, width - 3))]
            case ast.UnaryOp(operand=part):
                return hang("~(", self.lines(part, width - 3), ")")
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                words = (("IF ", test), ("THEN ", then), ("ELSE ", otherwise))
                return [line for word, part in words for line in hang(word, self.lines(part, width - 5))]
            case ast.Call():
                head, inner, part, condition = self._quantifier(node)
                if condition is None:
                    return [head, *hang("    ", inner.lines(part, width - 4))]
                sign = "/\\ " if head.startswith("\\E") else "=> "
                given = hang("    (", inner.lines(condition, width - 6), ")")
                return [head, *given, *hang(f"    {sign}(", inner.lines(part, width - 9), ")")]
        return [text]

    def flat(self, node: ast.expr) -> str:
        """The expression in one line."""
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, (bool, int, str))
                return constant(value)
            case ast.Name(id=name):
                return self.bound.get(name, f"{self.state}.{name}")
            case ast.Subscript():
                return self._place(self.state, node)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return f"~{self._operand(part)}"
            case ast.BoolOp(op=operator, values=parts):
                sign = " /\\ " if isinstance(operator, ast.And) else " \\/ "
                return sign.join(map(self._item, parts))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                sign = "=" if isinstance(operator, ast.Eq) else "/="
                return f"{self._operand(left)} {sign} {self._operand(right)}"
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return f"IF {self.flat(test)} THEN {self.flat(then)} ELSE {self.flat(otherwise)}"
            case ast.Call():
                head, inner, part, condition = self._quantifier(node)
                if condition is None:
                    return f"{head} {inner.flat(part)}"
                sign = "/\\" if head.startswith("\\E") else "=>"
                return f"{head} {inner._item(condition)} {sign} {inner._item(part)}"
        raise ValueError(f"`{ast.unparse(node)}` is not in the language of models")

    def target(self, node: ast.expr) -> str:
        """The target of an assignment, as EXCEPT names it: `!.owns[i][p]`."""
        return self._place("!", node)

    def _place(self, state: str, node: ast.expr) -> str:
        name, indices = subscripts(node)
        return f"{state}.{name}" + "".join(f"[{self.flat(index)}]" for index in indices)

    def _item(self, node: ast.expr) -> str:
        """An operand of a connective; those bind less than comparisons and negation."""
        loose = isinstance(node, (ast.BoolOp, ast.IfExp, ast.Call))
        return f"({self.flat(node)})" if loose else self.flat(node)

    def _operand(self, node: ast.expr) -> str:
        text = self.flat(node)
        return text if isinstance(node, (ast.Constant, ast.Name, ast.Subscript)) else f"({text})"

    def _quantifier(self, node: ast.Call) -> tuple[str, Expressions, ast.expr, ast.expr | None]:
        """The opening up to the colon, how to write what is behind it, what that is, and what j is limited by."""
        found = quantifier(node)
        # TLA+ refuses a name that is bound already.
        written = found.index
        while written in self.bound.values() or written == self.state:
            written += "_"
        inner = Expressions(self.state, {**self.bound, found.index: written})
        sign = "A" if found.every else "E"
        return f"\\{sign} {written} \\in {found.over.title()} :", inner, found.body, found.condition


def parts_of(condition: ast.expr) -> list[ast.expr]:
    """The conditions that a conjunction is made of; one that is none stands for itself."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        return list(condition.values)
    return [condition]

"""Models without a meaning.

Every construct of the language, put together by chance, to set the engines against each other.
"""

from __future__ import annotations

import random

from groupspec.spec.compiler.expressions import same_domain
from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    For,
    If,
    IndexSet,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Set,
    Statement,
)
from groupspec.spec.terms import Value

_SETS: tuple[IndexSet, ...] = ("members", "partitions")


def random_model(seed: int) -> Model:
    """A small one; the same for the same seed."""
    return _Maker(seed).model()


class _Maker:
    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.seed = seed
        self.sizes: dict[IndexSet, int] = {"members": chance.randint(1, 3), "partitions": chance.randint(1, 2)}
        self.holder = tuple(range(self.sizes["members"] + 1))
        self.domains: list[tuple[Value, ...]] = [
            (False, True),
            self.holder,
            ("A", "B", "C"),
            (0, 1, 2, 3, 4),
            ("only",),
        ]
        shapes: list[tuple[IndexSet, ...]] = [(), ("members",), ("members", "partitions")]
        self.variables = tuple(
            ModelVariable(f"x{k}", domain := chance.choice(self.domains), chance.choice(domain), chance.choice(shapes))
            for k in range(chance.randint(3, 5))
        )
        self.fresh = 0
        self.inputs: dict[str, tuple[Value, ...]] = {}
        self.procedures: list[Procedure] = []

    def model(self) -> Model:
        for k in range(2):
            self.inputs = {"given": self.chance.choice(self.domains)}
            body = self.block({"m": "members"}, 2)
            self.procedures.append(Procedure(f"do{k}", (("m", "members"),), tuple(self.inputs.items()), body))
        self.inputs = {}
        parameters: list[tuple[tuple[str, IndexSet], ...]] = [
            (),
            (("i", "members"),),
            (("i", "members"), ("p", "partitions")),
        ]
        actions = []
        for k in range(4):
            heads = self.chance.choice(parameters)
            actions.append(Action(f"act{k}", heads, self.boolean(dict(heads), 2), self.block(dict(heads), 2)))
        claims = (
            ModelProperty("always", "invariant", f"not ({self.boolean({}, 1)} and {self.boolean({}, 1)})"),
            ModelProperty("sometimes", "reachable", f"{self.boolean({}, 1)} and {self.boolean({}, 1)}"),
            ModelProperty("again", "recoverable", self.boolean({}, 1)),
        )
        name = f"random-{self.seed}"
        return Model(name, self.sizes, self.variables, tuple(self.procedures), tuple(actions), claims)

    def block(self, scope: dict[str, IndexSet], depth: int) -> Block:
        return tuple(self.statement(scope, depth) for _ in range(self.chance.randint(1, 2)))

    def statement(self, scope: dict[str, IndexSet], depth: int) -> Statement:
        kind = self.chance.choice(["set", "set", "if", "for", "call"]) if depth else "set"
        if kind == "if":
            branches = tuple((self.boolean(scope, 1), self.block(scope, depth - 1)) for _ in range(2))
            return If(branches, self.chance.choice([(), self.block(scope, depth - 1)]))
        if kind == "for":
            name, over = self.name(), self.chance.choice(_SETS)
            return For(name, over, self.block({**scope, name: over}, depth - 1))
        members = [name for name, over in scope.items() if over == "members"]
        if kind == "call" and members and self.procedures:
            procedure = self.chance.choice(self.procedures)
            (_, domain) = procedure.inputs[0]
            return Call(procedure.name, (self.chance.choice(members), self.value(scope, domain, 1)))
        targets: dict[str, str] = {}
        for variable in self.chance.sample(self.variables, self.chance.randint(1, 2)):
            at = "".join(f"[{self.index(scope, over)}]" for over in variable.over)
            targets[variable.name + at] = self.value(scope, variable.domain, 1)
        return Set(tuple(targets.items()))

    def name(self) -> str:
        self.fresh += 1
        return f"k{self.fresh}"

    def index(self, scope: dict[str, IndexSet], over: IndexSet) -> str:
        names = [name for name, known in scope.items() if known == over]
        return self.chance.choice([*names, *names, str(self.chance.randint(1, self.sizes[over]))])

    def value(self, scope: dict[str, IndexSet], domain: tuple[Value, ...], depth: int) -> str:
        if same_domain(domain, (False, True)):
            return self.boolean(scope, depth)
        found = [repr(self.chance.choice(domain))]
        found += [name for name, known in self.inputs.items() if same_domain(known, domain)]
        if same_domain(domain, self.holder):
            found += [name for name, over in scope.items() if over == "members"]
        for variable in self.variables:
            if same_domain(variable.domain, domain):
                found.append(variable.name + "".join(f"[{self.index(scope, over)}]" for over in variable.over))
        if depth:
            one, other = self.value(scope, domain, 0), self.value(scope, domain, 0)
            found.append(f"{one} if {self.boolean(scope, 0)} else {other}")
        return self.chance.choice(found)

    def boolean(self, scope: dict[str, IndexSet], depth: int) -> str:
        kind = self.chance.choice(["not", "and", "or", "all", "any", "compare"]) if depth else "compare"
        if kind == "not":
            return f"not ({self.boolean(scope, depth - 1)})"
        if kind in ("and", "or"):
            return f"({self.boolean(scope, depth - 1)} {kind} {self.boolean(scope, depth - 1)})"
        if kind in ("all", "any"):
            name, over = self.name(), self.chance.choice(_SETS)
            inner = {**scope, name: over}
            condition = f" if {self.boolean(inner, 0)}" if self.chance.random() < 0.5 else ""
            return f"{kind}({self.boolean(inner, depth - 1)} for {name} in {over}{condition})"
        variable = self.chance.choice(self.variables)
        read = variable.name + "".join(f"[{self.index(scope, over)}]" for over in variable.over)
        sign = self.chance.choice(["==", "!="])
        return f"{read} {sign} {self.value(scope, variable.domain, 0) if variable.domain[0] is not False else 'True'}"

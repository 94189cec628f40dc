"""Is a model one that the engines can be given? Asked before anything runs, so that no engine fails in its own way.

Everything that a body names must exist, be indexed as declared and keep to its domain; procedures must not call each
other in a circle; names must be such that C, TLA+ and Promela can have them too.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from groupspec.spec.compiler.expressions import BOOLEAN, Domain, same_domain
from groupspec.spec.compiler.model import IndexSet, Model, Procedure, callees
from groupspec.spec.compiler.resolved import Bodies, ModelProblem, ResolvedModel

MAX_VALUES = 256
"""Values that a domain may have: every engine keeps one in a byte."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HYPHENED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SETS: tuple[IndexSet, ...] = ("members", "partitions")
_SHAPES = ((), ("members",), ("members", "partitions"))
_KINDS = ("invariant", "reachable", "recoverable", "leads_to")
_FAIRNESS = ("", "weak", "strong")


class ModelError(Exception):
    """A model that no engine can be given; `problems` has all of them, not only the first."""

    def __init__(self, problems: Sequence[ModelProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(problems)} problem" + ("s" if len(problems) != 1 else "")
        super().__init__("\n".join([f"the model has {count}", *(f"  {problem}" for problem in problems)]))


def resolve_model(model: Model) -> ResolvedModel:
    """The model with every expression understood.

    Raises:
        ModelError: it has problems: every one is listed, with what to do about it.
    """
    whole = [ModelProblem(model.name, *parts) for parts in (*_sizes(model), *_declared(model))]
    # Bodies are only read over declarations that make sense: else one mistake is told a hundred times.
    if whole:
        raise ModelError(whole)
    bodies = Bodies(model)
    procedures = {procedure.name: bodies.procedure(procedure) for procedure in model.procedures}
    actions = [bodies.action(action) for action in model.actions]
    properties = [bodies.property(claim) for claim in model.properties]
    problems = [*bodies.problems, *circles(model)]
    if problems:
        raise ModelError(problems)
    return ResolvedModel(
        model,
        tuple((procedure, procedures[procedure.name]) for procedure in model.procedures),
        tuple(action for action in actions if action is not None),
        tuple(claim for claim in properties if claim is not None),
    )


_Parts = tuple[str, str, str, str]


def _sizes(model: Model) -> Iterator[_Parts]:
    for name in _SETS:
        size = model.sizes.get(name, 0)
        if not 1 <= size < MAX_VALUES:
            yield "sizes", f"{name}: {size}", f"1 to {MAX_VALUES - 1}", "say how many there are in Model.sizes"
    if not model.variables:
        yield "", "has no variables", "at least one", "declare what a state is made of"
    if not model.actions:
        yield "", "has no actions", "at least one", "declare what may happen"


def _declared(model: Model) -> Iterator[_Parts]:
    for what, names, pattern, shape in (
        ("variable", [v.name for v in model.variables], _NAME, "lower case letters, digits and _"),
        ("procedure", [p.name for p in model.procedures], _NAME, "lower case letters, digits and _"),
        ("action", [a.name for a in model.actions], _NAME, "lower case letters, digits and _"),
        ("property", [p.id for p in model.properties], _HYPHENED, "lower case words with hyphens"),
    ):
        for name, times in Counter(names).items():
            if times > 1:
                yield f"{what} {name}", f"is declared {times} times", "once", "rename or remove the others"
            if not pattern.fullmatch(name) or keyword.iskeyword(name) or name in _SETS:
                yield f"{what} {name}", "cannot be a name in every engine", shape, "rename it"
    for variable in model.variables:
        place = f"variable {variable.name}"
        yield from _domain(place, variable.domain)
        if not any(value == variable.initial and type(value) is type(variable.initial) for value in variable.domain):
            yield place, f"begins as {variable.initial!r}", _values(variable.domain), "begin with a value of the domain"
        if variable.over not in _SHAPES:
            allowed = "nothing, members, or members and partitions, in this order"
            yield place, f"is indexed by {' and '.join(variable.over)}", allowed, "index it so"
    for procedure in model.procedures:
        for name, domain in procedure.inputs:
            yield from _domain(f"procedure {procedure.name}, input {name}", domain)
    for action in model.actions:
        if action.fair not in _FAIRNESS:
            yield f"action {action.name}", f"fairness {action.fair!r}", "weak, strong, or empty", "use one of these"
    for claim in model.properties:
        if claim.kind not in _KINDS:
            yield f"property {claim.id}", f"unknown kind {claim.kind!r}", ", ".join(_KINDS), "use one of these"
        if (claim.kind == "leads_to") is not bool(claim.when):
            yield f"property {claim.id}", "`when` goes with leads_to, and only with it", "", "add it, or remove it"


def _domain(place: str, domain: Domain) -> Iterator[_Parts]:
    if not 1 <= len(domain) <= MAX_VALUES:
        remedy = "keep fewer values: relative instead of absolute, modulo, or several variables"
        yield place, f"has {len(domain)} values", f"1 to {MAX_VALUES}", remedy
    if len({(type(value), value) for value in domain}) != len(domain):
        yield place, "names a value twice", "each once", "remove the second one"
    kinds = {type(value).__name__ for value in domain}
    if len(kinds) > 1 or not kinds <= {"bool", "int", "str"}:
        yield place, f"has values of kinds {', '.join(sorted(kinds))}", "one of bool, int, str", "use one kind"
    elif kinds == {"bool"} and not same_domain(domain, BOOLEAN):
        yield place, f"has the domain {domain!r}", "(False, True)", "write (False, True)"


def _values(domain: Domain) -> str:
    return ", ".join(map(repr, domain))


def circles(model: Model) -> list[ModelProblem]:
    """Procedures that call each other in a circle."""
    known = {procedure.name: procedure for procedure in model.procedures}
    found: dict[frozenset[str], ModelProblem] = {}
    for start in known:
        if path := _path_back(start, known):
            what = f"is called in a circle: {' -> '.join(path)}"
            remedy = "break the circle: let one of them be done by an action of its own"
            problem = ModelProblem(model.name, f"procedure {start}", what, "calls that end", remedy)
            found.setdefault(frozenset(path), problem)
    return list(found.values())


def _path_back(start: str, known: dict[str, Procedure]) -> list[str]:
    """The shortest chain of calls from a procedure to itself; empty if there is none."""
    paths = [[start]]
    seen: set[str] = set()
    for path in paths:
        for callee in callees(known[path[-1]].body) if path[-1] in known else []:
            if callee == start:
                return [*path, start]
            if callee not in seen:
                seen.add(callee)
                paths.append([*path, callee])
    return []

"""What the engine is written from: a resolved model, in which a body may have several versions.

Usually there is one of each. For mutation testing hundreds of models differ from one base in a single body each, and to
compile each of them anew would take longer than to explore it; so all versions go into one program, and a variant is a
row that says which version of each body it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from groupspec.spec.compiler.expressions import Expression
from groupspec.spec.compiler.model import Action, Model, Procedure
from groupspec.spec.compiler.model_check import ModelError, circles, resolve_model
from groupspec.spec.compiler.resolved import Bodies, Body, ResolvedProperty
from groupspec.spec.explorer.exploration import ExplorerProblem
from groupspec.spec.explorer.layout import Layout

_Version = TypeVar("_Version")


@dataclass(frozen=True)
class Program:
    """All that the engine needs to know.

    Attributes:
        model: The base.
        procedures: Each with its bodies; the first is the base's.
        actions: Each with its guards and their bodies; the first are the base's.
        properties: Those about single states: invariants, reachable and recoverable ones.
        leads_to: The others, about runs.
        variants: Per variant the version of each procedure, then of each action. The first is the base, all zeros.
    """

    model: Model
    layout: Layout
    procedures: tuple[tuple[Procedure, tuple[Body, ...]], ...]
    actions: tuple[tuple[Action, tuple[tuple[Expression, Body], ...]], ...]
    properties: tuple[ResolvedProperty, ...]
    leads_to: tuple[ResolvedProperty, ...]
    variants: tuple[tuple[int, ...], ...]

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """What can be asked of a state: `properties` first, then `when` and `holds` of each of `leads_to`."""
        sides = (side for claim in self.leads_to for side in (claim.when, claim.holds) if side is not None)
        return (*(claim.holds for claim in self.properties), *sides)


def program(model: Model, variants: Sequence[Model] = ()) -> Program:
    """The program of a model, and of variants that differ from it in guards and bodies only.

    Raises:
        ModelError: one of them has problems.
        ExplorerProblem: a variant differs in more.
    """
    base = resolve_model(model)
    procedures = {procedure.name: [body] for procedure, body in base.procedures}
    actions = {action.name: [(guard, body)] for action, guard, body in base.actions}
    rows = [(0,) * (len(procedures) + len(actions))]
    for variant in variants:
        _require_same_frame(model, variant)
        rows.append(tuple(_versions(model, variant, procedures, actions)))
    return Program(
        model,
        Layout(model),
        tuple((p, tuple(procedures[p.name])) for p in model.procedures),
        tuple((a, tuple(actions[a.name])) for a in model.actions),
        tuple(claim for claim in base.properties if claim.claim.kind != "leads_to"),
        tuple(claim for claim in base.properties if claim.claim.kind == "leads_to"),
        tuple(rows),
    )


def _versions(
    model: Model,
    variant: Model,
    procedures: dict[str, list[Body]],
    actions: dict[str, list[tuple[Expression, Body]]],
) -> Iterator[int]:
    """The variant's row. Only what differs from the base is resolved: with hundreds of variants that takes time."""
    bodies = Bodies(variant)
    for old, new in zip(model.procedures, variant.procedures, strict=True):
        yield 0 if old == new else _number(procedures[new.name], bodies.procedure(new))
    for before, after in zip(model.actions, variant.actions, strict=True):
        if before.guard == after.guard and before.body == after.body:
            yield 0
        elif (found := bodies.action(after)) is not None:
            yield _number(actions[after.name], found[1:])
    problems = [*bodies.problems, *circles(variant)]
    if problems:
        raise ModelError(problems)


def _number(versions: list[_Version], wanted: _Version) -> int:
    if wanted not in versions:
        versions.append(wanted)
    return versions.index(wanted)


def _frame(model: Model) -> Mapping[str, object]:
    return {
        "sizes": sorted(model.sizes.items()),
        "variables": [(v.name, v.domain, v.initial, v.over) for v in model.variables],
        "the heads of procedures": [(p.name, p.indices, p.inputs) for p in model.procedures],
        "the names and parameters of actions": [(a.name, a.parameters) for a in model.actions],
    }


def _require_same_frame(model: Model, variant: Model) -> None:
    expected, found = _frame(model), _frame(variant)
    for what, value in expected.items():
        if found[what] != value:
            raise ExplorerProblem(
                f"a variant differs from its base in {what}",
                f"{variant.name}, base {model.name}",
                "differences in guards and in bodies",
                "explore it as a model of its own",
            )

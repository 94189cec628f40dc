"""A machine with its published overlay, as one class that has the rows of both profiles."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import new_class

from groupspec.spec.compiler.guards import GuardProblem, parse, satisfiable, show, simplify
from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.specialise import REBALANCES, constants
from groupspec.spec.compiler.words import Words
from groupspec.spec.machine import RowTransition, State, StateMachine
from groupspec.spec.overlay import Overlay
from groupspec.spec.terms import Value, Variable


def both_profiles(overlay: Overlay, words: Words) -> type[StateMachine]:
    """The machine with the rows of both profiles: where they differ, guards end with `deployed` or `published`.

    Raises:
        SpecError: something in the machine cannot be compiled.
    """
    machine, variables = overlay.machine, words.variables
    introspect(machine, words)
    states = {state.id: State(initial=state.initial) for state in machine.states}
    for t in sorted((t for state in machine.states for t in state.transitions), key=lambda t: t.order):
        assert isinstance(t, RowTransition)
        cell = [row for row in overlay.rows if (row.source, row.event) == (t.source.id, str(t.event))]
        replaced = any(_overlap(row.when, t.when, variables) for row in cell)
        t.again(states, _and(t.when, "deployed") if replaced else t.when)
    for row in overlay.rows:
        source, target, when = states[row.source], states[row.target], _and(row.when, "published")
        RowTransition(source, target, row.event, when, row.do, row.kind, row.reason, row.rules, row.place)
    body = {name: machine.__dict__[name] for name in ("__module__", "__doc__", "machine_name")}
    return new_class(machine.__name__, (StateMachine,), {}, lambda space: space.update(body | states))


def _overlap(first: str, second: str, variables: Mapping[str, Variable]) -> bool:
    """Whether both guards can hold at once, under either rebalance protocol; not, if the first is no guard."""
    try:
        return any(satisfiable(_and(first, second, constants(r, None)), variables) for r in REBALANCES)
    except (GuardProblem, KeyError):
        return False


def _and(first: str, second: str, known: Mapping[str, Value] | None = None) -> str:
    return show(simplify(ast.BoolOp(ast.And(), [parse(first), parse(second)]), known or {}))

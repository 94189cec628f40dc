"""Every table of the specification, made once."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from itertools import product
from types import MappingProxyType, new_class
from typing import Final

from groupspec.spec.broker_group import BrokerGroup
from groupspec.spec.commit import Commit
from groupspec.spec.compiler.guards import GuardProblem, parse, satisfiable, show, simplify
from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.specialise import REBALANCES, SPECIALISATIONS, constants, specialise
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.words import Words
from groupspec.spec.connection import Connection
from groupspec.spec.machine import RowTransition, State, StateMachine
from groupspec.spec.overlay import Overlay
from groupspec.spec.published import rebalance, timeouts
from groupspec.spec.rebalance import Rebalance
from groupspec.spec.subscription import Subscription
from groupspec.spec.terms import Value, Variable
from groupspec.spec.timeouts import Timeouts

MACHINES: Final = (BrokerGroup, Commit, Connection, Rebalance, Subscription, Timeouts)
"""The classes of the machine files: what deployed clients and brokers do."""

OVERLAYS: Final = (rebalance.PUBLISHED, timeouts.PUBLISHED)
"""What the published profile has otherwise."""

OF_NO_PROTOCOL = frozenset({"broker_group", "commit"})
"""Machines that know neither the rebalance protocol nor a profile: each has one table, not one for every combination.
"""


@cache
def classes() -> Mapping[str, type[StateMachine]]:
    """The class of each machine, with the rows of both profiles."""
    overlaid = {overlay.machine: both_profiles(overlay, Words.ours()) for overlay in OVERLAYS}
    return MappingProxyType({machine.machine_name: overlaid.get(machine, machine) for machine in MACHINES})


@cache
def whole_tables() -> Mapping[str, Table]:
    """The table of each machine, for both protocols and both profiles."""
    return MappingProxyType({table.name: table for table in map(introspect, classes().values())})


@cache
def tables() -> Mapping[tuple[str, str, str], Table]:
    """(machine, rebalance, profile) -> table, for every combination.

    The one table of a machine of no protocol stands here under each combination; `each_table` gives it once.
    """
    return MappingProxyType(
        {
            (name, rebalance, profile): table if name in OF_NO_PROTOCOL else specialise(table, rebalance, profile)
            for (name, table), (rebalance, profile) in product(whole_tables().items(), SPECIALISATIONS)
        }
    )


def each_table() -> tuple[Table, ...]:
    """Every table once."""
    return tuple({table.label: table for table in tables().values()}.values())


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

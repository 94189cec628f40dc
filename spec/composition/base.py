"""Members, group and network together: what can happen, and in which words.

An action is one thing that happens somewhere: an application does something, a timer runs out, a message arrives, a
connection breaks, a process or the coordinator dies. Nothing is counted or rationed: whatever can happen once can
happen again and again, in any order, so that there is no last disturbance after which things look better than they are.
The state space is finite all the same, because the variables are.

The base model has, for each member, a request of a rebalance and a heartbeat in flight, which can be lost; expiry of
the session, the poll interval and the rebalance; leaving and coming back; the death of the process; the restart of the
coordinator once its log has all that it knows.

What it leaves out, and what features bring back one at a time: static members that restart (`static`); callbacks that
take time (`callbacks`; here begin and end are one step); requests and answers that a member has given up and that still
arrive (`late`); the death of the coordinator in the middle of a rebalance (`log`). Left out with every feature: how the
coordinator is looked up (it is found again at once); commits; a loss that nobody notices (whatever is lost is lost with
its connection, and the member hears of that at once); time itself. A timer may run out whenever it runs, so every
property here holds whatever the timeouts are, and what depends on their lengths is proved in `spec.expiry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from groupspec.spec.compiler.model import Action, Model, ModelProperty, ModelVariable, Scope
from groupspec.spec.compiler.table import Table
from groupspec.spec.composition import group, members, static
from groupspec.spec.composition.crashes import crashes
from groupspec.spec.composition.faults_stop import FAULTS_STOPPED, with_end_of_faults
from groupspec.spec.composition.machines import conjunction, prune, pruned
from groupspec.spec.composition.of_group import group_timers
from groupspec.spec.composition.of_members import applications, timers
from groupspec.spec.composition.of_network import network
from groupspec.spec.composition.partial_evaluation import freeze
from groupspec.spec.composition.system import MIXED, system_of
from groupspec.spec.properties import FAULT, assertions
from groupspec.spec.terms import Value

NO_FAULT = f"{FAULT} == 'none'"


def base_model(
    rebalance: str,
    profile: str,
    size: int,
    properties: tuple[ModelProperty, ...] = (),
    replaced: Mapping[str, Table] | None = None,
    features: frozenset[str] = frozenset(),
) -> Model:
    """The base model of `size` members and as many partitions.

    `replaced`: tables instead of the specification's, by machine.
    """
    scope = Scope("base", rebalance, profile, features)
    system = system_of(rebalance, profile, size, replaced or {}, features)
    codes = (*system.codes.values(), system.broker)
    procedures = [p for code in codes for p in code.procedures()]
    procedures += group.procedures(features)
    procedures = prune(procedures)
    known = frozenset(p.name for p in procedures)
    variables = [v for code in codes for v in code.variables()]
    variables += [*members.NETWORK, *members.OWNERSHIP, *group.variables(size, features)]
    variables.append(
        ModelVariable(FAULT, ("none", *assertions("member")[:2]), "none", (), "the first assertion that failed")
    )
    if rebalance == MIXED:
        variables.append(members.UPGRADE)
    started = [_started(v) for v in variables]
    left_out = _UNQUIET if "quiet" in features else frozenset()
    actions = [
        _finished(action, known)
        for action in (
            *applications(system),
            *timers(system),
            *network(system),
            *group_timers(system),
            *crashes(system, started),
        )
        if action.name not in left_out
    ]
    if "faults-stop" in features:
        actions = with_end_of_faults(actions)
        started.append(FAULTS_STOPPED)
    model = Model(
        name=base_name(scope, size),
        scope=scope,
        sizes={"members": size, "partitions": size},
        variables=tuple(started),
        procedures=tuple(procedures),
        actions=tuple(action for action in actions if action.body),
        properties=properties,
        symmetric=True,
        doc=__doc__ or "",
    )
    return freeze(model, frozen_without(features))


def base_name(scope: Scope, size: int) -> str:
    """The name of the base model of this scope with `size` members."""
    return "-".join([scope.family, *sorted(scope.features), scope.rebalance, scope.profile, str(size)])


_FEATURES: Mapping[str, Mapping[str, Value]] = {
    "late": {"request_late": False},
    "log": {"told": "current"},
}
"""What is frozen in a model without the feature."""


def frozen_without(features: frozenset[str]) -> dict[str, Value]:
    """What features that a model lacks would vary, and the value that it has instead."""
    without = {
        name: value for feature, held in _FEATURES.items() if feature not in features for name, value in held.items()
    }
    if static.FEATURE in features:
        del without["told"]
        without.update(static.FROZEN)
    return without


_UNQUIET = frozenset({"leaves", "asks_to_rejoin", "poll_interval_expires", "session_expires_at_member", "polls"})
"""What a quiet application does not do."""


def _started(variable: ModelVariable) -> ModelVariable:
    """The background thread runs from the start."""
    if variable.name == "timeouts":
        return ModelVariable(variable.name, variable.domain, "DISABLED", variable.over, variable.doc)
    return variable


def _finished(action: Action, known: frozenset[str]) -> Action:
    return replace(action, guard=conjunction(NO_FAULT, action.guard), body=pruned(action.body, known))

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
its connection, and the member hears of that at once); any assignor (a partition goes to its *home*, the member of its
number, if that is in the generation, and else to anybody who is: nothing moves away from a home that stays,
`composition/group.py`); time itself. A timer may run out whenever it runs, so every
property here holds whatever the timeouts are, and what depends on their lengths is proved in `spec.expiry`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupspec.spec.compiler.model import Model, ModelProperty, ModelVariable, Scope
from groupspec.spec.composition import actions, group, members, static
from groupspec.spec.composition.blocks import NO_FAULT, conjunction
from groupspec.spec.composition.machines import model_of
from groupspec.spec.composition.partial_evaluation import freeze
from groupspec.spec.composition.system import MIXED, system_of
from groupspec.spec.properties import assertions, claimed
from groupspec.spec.terms import Value


def base_model(rebalance: str, profile: str, size: int, features: frozenset[str] = frozenset()) -> Model:
    """The base model of `size` members and as many partitions."""
    system = system_of(rebalance, profile, features)
    codes = (*system.codes.values(), system.broker)
    around = (*members.NETWORK, *members.OWNERSHIP, *group.variables(size, features))
    own = (variable for code in codes for variable in code.variables())
    kept = [
        replace(action, guard=conjunction(NO_FAULT, action.guard))
        for action in (
            *actions.applications(system),
            *actions.member_timers(system),
            *actions.network(system),
            *actions.group_timers(system),
            *actions.crashes(system, map(_started, (*own, *around))),
        )
        if "quiet" not in features or action.name not in _UNQUIET
    ]
    stops = "faults-stop" in features
    model = model_of(
        Scope("base", rebalance, profile, features),
        codes,
        around,
        actions.with_end_of_faults(kept) if stops else kept,
        faults=assertions("member")[:2],
        procedures=group.procedures(features),
        later=(*([members.UPGRADE] if rebalance == MIXED else []), *([actions.FAULTS_STOPPED] if stops else [])),
        suffix=str(size),
        members=size,
        partitions=size,
        properties=claims(features),
        doc=__doc__,
    )
    started = tuple(map(_started, model.variables))
    return freeze(replace(model, variables=started, symmetric=True), _frozen_without(features))


def claims(features: frozenset[str]) -> tuple[ModelProperty, ...]:
    """What is claimed of members, group and network together.

    With `static`, records stay when their process is gone, and members may have missed a generation.
    """
    is_static = static.FEATURE in features
    told = " and told[{i}] == generation" if "log" in features else " and told[{i}] == 'current'" if is_static else ""
    one_owner, *others = claimed(
        "base",
        told_i=told.format(i="i"),
        told_j=told.format(i="j"),
        late=" or request_late[i]" if "late" in features else "",
        or_missed=" or told[i] != 'current'" if is_static else "",
        died="registered[i] != 'absent' and identity[i] == 'none'" if is_static else "forgotten[i] != 'absent'",
    )
    of_peers = tuple(claimed("member"))[:2]
    if "faults-stop" in features:
        return (*of_peers, one_owner, *claimed("base_liveness"), *(p for p in others if p.kind != "recoverable"))
    return (*of_peers, one_owner, *others, *(claimed("base_static") if is_static else ()))


def _frozen_without(features: frozenset[str]) -> dict[str, Value]:
    """What features that a model lacks would vary, and the value that it has instead."""
    late: dict[str, Value] = {} if "late" in features else {"request_late": False}
    if static.FEATURE in features:
        return {**late, **static.FROZEN}
    return late if "log" in features else {**late, "told": "current"}


_UNQUIET: Final = frozenset({"leaves", "asks_to_rejoin", "poll_interval_expires", "session_expires_at_member", "polls"})
"""What a quiet application does not do."""


def _started(variable: ModelVariable) -> ModelVariable:
    """The background thread runs from the start."""
    return replace(variable, initial="DISABLED") if variable.name == "timeouts" else variable

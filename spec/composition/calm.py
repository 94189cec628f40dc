"""The end of all disturbance: what liveness is claimed under.

Nothing good follows for a group that is disturbed again and again. So the claim is: from the moment on at which disturbances end,
whatever state they have left, the group settles. In a model with the feature `calm` that moment is an action; it may come at any time or
never. After it, no application leaves, stalls or asks for a rebalance, no connection breaks, nobody dies, and timeouts are what they are
meant to be: longer than what they wait for. The session of a living member does not run out, and the join and sync phases end by
their timeouts only if nobody is missing but ids that were forgotten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupspec.spec.compiler.model import Action, ModelVariable, Set
from groupspec.spec.composition.machines import conjunction

CALM: Final = ModelVariable("calm", (False, True), False, (), "all disturbance has ended")

_DISTURBING: Final = frozenset(
    {
        "subscribes",
        "leaves",
        "asks_to_rejoin",
        "poll_interval_expires",
        "session_expires_at_member",
        "session_expires",
        "connection_breaks_in_join",
        "connection_breaks_in_sync",
        "connection_breaks_in_heartbeat",
        "late_call_is_lost",
        "process_dies",
        "coordinator_restarts",
        "coordinator_dies",
    }
)

_PATIENT: Final = {
    "rebalance_timeout": "all(registered[j] == 'absent' or registered[j] == 'parked_join' for j in members)",
    "sync_timeout": "all(registered[j] != 'unsynced' for j in members)",
}


def calmed(actions: list[Action]) -> list[Action]:
    """The actions, with an end to all disturbance among them."""
    begins = Action(
        "disturbance_ends",
        (),
        "not calm",
        (Set((("calm", "True"),)),),
        "network",
        doc="from now on nothing is disturbed any more",
    )
    return [begins, *(_calmed(action) for action in actions)]


def _calmed(action: Action) -> Action:
    if action.name in _DISTURBING:
        return replace(action, guard=conjunction("not calm", action.guard))
    if action.name in _PATIENT:
        return replace(action, guard=conjunction(f"not calm or {_PATIENT[action.name]}", action.guard))
    return action

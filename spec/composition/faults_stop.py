"""Faults stop: the assumption under which liveness is claimed.

A group in which faults never stop need not become stable. The claim is: once faults stop, in whatever state, the group
becomes stable. In a model with the feature `faults-stop` that moment is an action; it may come at any time or never.
After it, no application leaves, stalls or asks for a rebalance, no connection breaks, no process dies, and timeouts are
longer than what they wait for: the session of a living member does not expire, and the join and sync phases end by
their timeouts only if nobody is missing but ids that were forgotten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupspec.spec.compiler.model import Action, ModelVariable, Set
from groupspec.spec.composition.machines import conjunction

FAULTS_STOPPED: Final = ModelVariable("faults_stopped", (False, True), False, (), "faults have stopped")

_FAULTS: Final = frozenset(
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
    "rebalance_timeout": "all(registered[j] == 'absent' or registered[j] == 'awaiting_join' for j in members)",
    "sync_timeout": "all(registered[j] != 'unsynced' for j in members)",
}


def with_end_of_faults(actions: list[Action]) -> list[Action]:
    """The actions, and one more: faults stop."""
    begins = Action(
        "faults_stop",
        (),
        "not faults_stopped",
        (Set((("faults_stopped", "True"),)),),
        "network",
        doc="from now on nothing fails",
    )
    return [begins, *(_without_faults(action) for action in actions)]


def _without_faults(action: Action) -> Action:
    if action.name in _FAULTS:
        return replace(action, guard=conjunction("not faults_stopped", action.guard))
    if action.name in _PATIENT:
        return replace(action, guard=conjunction(f"not faults_stopped or {_PATIENT[action.name]}", action.guard))
    return action

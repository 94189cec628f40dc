"""What is going on in each state, in words that need no table.

The search finds states by them, the front page asks in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

STATES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "connection": {
            "DOWN": "the background thread does not run",
            "INITIALIZED": "nobody needs a coordinator, or the last lookup failed and its backoff runs",
            "COORDINATOR_DISCOVERY": "FindCoordinator is in flight",
            "STABLE": "the coordinator is known",
        },
        "rebalance": {
            "UNJOINED": "it is no member, and does not try to be one",
            "PREPARE_REVOCATION": "partitions that will go are paused, and committed",
            "REVOKING_PARTITION": "onPartitionsRevoked or onPartitionsLost runs, or waits for a poll to run in",
            "PARTITION_REVOKED": "that callback has returned, and what comes next is not settled",
            "PREPARING_REBALANCE": "JoinGroup is in flight, or waits for a poll, a backoff or a coordinator",
            "COMPLETING_REBALANCE": "JoinGroup is answered, and SyncGroup in flight",
            "ASSIGNING_PARTITIONS": "onPartitionsAssigned runs, or waits for a poll to run in",
            "STABLE": "it is a member and has its assignment",
        },
        "timeouts": {
            "STOPPED": "the background thread does not run",
            "DISABLED": "no heartbeats: there is no generation yet, or a JoinGroup is in flight",
            "IDLE": "heartbeats run, and none is in flight",
            "IN_FLIGHT": "a Heartbeat is in flight",
        },
        "subscription": {
            "UNASSIGNED": "the partition is somebody else's",
            "ASSIGNED": "it is assigned, and the listener has not heard of it yet",
            "AWAITING_POSITION": "its committed offset is being asked for",
            "FETCHABLE": "it is fetched, and its records are returned",
            "PAUSED": "the application has paused it",
            "PENDING_REVOCATION": "it will be taken away: neither fetched nor returned",
        },
        "broker_group": {
            "Empty": "nobody is in the group",
            "PreparingRebalance": "the join phase: JoinGroups are parked until all members have sent one",
            "CompletingRebalance": "the sync phase: SyncGroups are parked until the leader's has come",
            "Stable": "everybody has an assignment",
            "Dead": "the coordinator has moved away",
            "Loading": "the next coordinator is reading the group's log",
        },
        "commit": {
            "SETTLED": "not begun, or ended",
            "WAITING": "it waits for a coordinator, an earlier commit, a poll or a backoff",
            "SENT": "OffsetCommit is in flight",
        },
    }
)
"""Machine, state, and what is going on then."""


def means(machine: str, state: str) -> str:
    """What is going on then; empty for a state that nobody has put into words yet."""
    return STATES.get(machine, {}).get(state, "")

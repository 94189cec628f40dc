"""The spine of each picture: the states that a reader should see in one straight line, in this order.

For the rebalance these are the paths that the threading refactor proposal writes out ("Rebalance States") and those of
KIP-429; for the others, the way from nothing to normal operation. A path may close: its last step leads back to a state
that stands further up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

_JOINING = ("UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE")
_REVOKING = ("PREPARE_REVOCATION", "REVOKING_PARTITION", "PARTITION_REVOKED")

_PATHS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("eager", "published"): (*_JOINING, "ASSIGNING_PARTITIONS", "STABLE", *_REVOKING, "PREPARING_REBALANCE"),
    ("eager", "deployed"): (*_JOINING, "ASSIGNING_PARTITIONS", "STABLE", *_REVOKING, "PREPARING_REBALANCE"),
    ("cooperative", "published"): (*_JOINING, "ASSIGNING_PARTITIONS", "STABLE", *_REVOKING, "COMPLETING_REBALANCE"),
    ("cooperative", "deployed"): (*_JOINING, *_REVOKING, "ASSIGNING_PARTITIONS", "STABLE", "PREPARING_REBALANCE"),
}
"""Of the rebalance, by protocol and profile."""

_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "broker_group": ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Loading"),
    "commit": ("SETTLED", "WAITING", "SENT", "SETTLED"),
    "connection": ("DOWN", "INITIALIZED", "COORDINATOR_DISCOVERY", "STABLE"),
    "subscription": ("UNASSIGNED", "ASSIGNED", "AWAITING_POSITION", "FETCHABLE", "PENDING_REVOCATION", "UNASSIGNED"),
    "timeouts": ("STOPPED", "DISABLED", "IDLE", "IN_FLIGHT", "IDLE"),
}


def path(machine: str, rebalance: str | None, profile: str | None) -> tuple[str, ...]:
    """The states of the main path, in order; empty for a machine that has none."""
    if machine == "rebalance":
        return _PATHS.get((rebalance or "", profile or ""), ())
    return _OTHERS.get(machine, ())


def steps(machine: str, rebalance: str | None, profile: str | None) -> frozenset[tuple[str, str]]:
    """The edges of the main path, as (source, target), with the shortcuts that belong to it."""
    edges = frozenset(pairwise(path(machine, rebalance, profile)))
    # Cooperative members revoke before they assign, if there is anything to revoke.
    return edges | {("COMPLETING_REBALANCE", "ASSIGNING_PARTITIONS")} if machine == "rebalance" else edges

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

_PATHS: Final[dict[tuple[str, str, str], tuple[str, ...]]] = {
    ("rebalance", "eager", "published"): (
        *_JOINING, "ASSIGNING_PARTITIONS", "STABLE", *_REVOKING, "PREPARING_REBALANCE",
    ),
    ("rebalance", "eager", "deployed"): (
        *_JOINING, "ASSIGNING_PARTITIONS", "STABLE", *_REVOKING, "PREPARING_REBALANCE",
    ),
    ("rebalance", "cooperative", "published"): (
        *_JOINING, "ASSIGNING_PARTITIONS", "STABLE", *_REVOKING, "COMPLETING_REBALANCE",
    ),
    ("rebalance", "cooperative", "deployed"): (
        *_JOINING, *_REVOKING, "ASSIGNING_PARTITIONS", "STABLE", "PREPARING_REBALANCE",
    ),
}  # fmt: skip

_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "broker_group": ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Loading"),
    "commit": ("SETTLED", "WAITING", "SENT", "SETTLED"),
    "connection": ("DOWN", "INITIALIZED", "COORDINATOR_DISCOVERY", "STABLE"),
    "subscription": ("UNASSIGNED", "ASSIGNED", "AWAITING_POSITION", "FETCHABLE", "PENDING_REVOCATION", "UNASSIGNED"),
    "timeouts": ("STOPPED", "DISABLED", "IDLE", "IN_FLIGHT", "IDLE"),
}


_SHORTCUTS: Final[dict[tuple[str, str, str], frozenset[tuple[str, str]]]] = {
    # nothing is taken away
    ("rebalance", "cooperative", "deployed"): frozenset({("COMPLETING_REBALANCE", "ASSIGNING_PARTITIONS")}),
}


def path(machine: str, rebalance: str | None, profile: str | None) -> tuple[str, ...]:
    """The states of the main path, in order; empty for a machine that has none."""
    return _PATHS.get((machine, rebalance or "", profile or ""), _OTHERS.get(machine, ()))


def steps(machine: str, rebalance: str | None, profile: str | None) -> frozenset[tuple[str, str]]:
    """The edges of the main path, as (source, target), with the shortcuts that belong to it."""
    shortcuts = _SHORTCUTS.get((machine, rebalance or "", profile or ""), frozenset())
    return frozenset(pairwise(path(machine, rebalance, profile))) | shortcuts

"""The scenarios, a file each. Importing this package registers them, in the order in which they are listed."""

from groupspec.conformance.wire.scenarios import (  # isort: skip
    first_join,
    rebalance_eager,
    rebalance_cooperative,
    member_unknown,
    coordinator_moved,
    poll_interval_exceeded,
    close_while_stable,
)

__all__ = [
    "close_while_stable",
    "coordinator_moved",
    "first_join",
    "member_unknown",
    "poll_interval_exceeded",
    "rebalance_cooperative",
    "rebalance_eager",
]

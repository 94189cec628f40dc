"""The assignors: how a leader divides the partitions of a group among its members.

An assignor is a pure function: the same members, subscriptions and partition counts always give the same assignment.
Names and results are those of Kafka's (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor).
"""

from groupspec.impl.core.assignors import base, sticky
from groupspec.impl.core.assignors.base import Assignment, Assignor, Subscriber

ASSIGNORS: dict[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", base.divide_ranges),
        Assignor("roundrobin", base.deal_in_turn),
        Assignor("sticky", sticky.balanced_shares),
        Assignor("cooperative-sticky", sticky.balanced_shares_without_moves, cooperative=True),
    )
}
"""Every assignor by its name in JoinGroup."""

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "Subscriber"]

"""The assignors: how a leader divides the partitions of a group among its members.

An assignor is a pure function: the same members, subscriptions and partition counts always give the same assignment.
Names and results are those of Kafka's (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor).
"""

from groupspec.impl.core.assignors.base import Assignment, Assignor, Subscriber
from groupspec.impl.core.assignors.ranges import RangeAssignor
from groupspec.impl.core.assignors.roundrobin import RoundRobinAssignor
from groupspec.impl.core.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

ASSIGNORS: dict[str, Assignor] = {
    assignor.name: assignor
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
}
"""Every assignor by its name in JoinGroup."""

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "Subscriber"]

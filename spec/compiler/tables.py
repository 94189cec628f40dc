"""Every table of the specification, made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from types import MappingProxyType

from groupspec.spec.broker_group import BrokerGroup
from groupspec.spec.commit import Commit
from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES, specialise
from groupspec.spec.compiler.table import Table
from groupspec.spec.connection import Connection
from groupspec.spec.rebalance import Rebalance
from groupspec.spec.subscription import Subscription
from groupspec.spec.timeouts import Timeouts

MACHINES = (BrokerGroup, Commit, Connection, Rebalance, Subscription, Timeouts)


OF_NO_PROTOCOL = frozenset({"broker_group", "commit"})
"""Machines that know neither the rebalance protocol nor a profile: each has one table, not one for every combination.
"""


@cache
def whole_tables() -> Mapping[str, Table]:
    """The table of each machine, for both protocols and both profiles."""
    return MappingProxyType({table.name: table for table in map(introspect, MACHINES)})


@cache
def tables() -> Mapping[tuple[str, str, str], Table]:
    """(machine, rebalance, profile) -> table, for every combination.

    The one table of a machine of no protocol stands here under each combination; `each_table` gives it once.
    """
    return MappingProxyType(
        {
            (name, rebalance, profile): table if name in OF_NO_PROTOCOL else specialise(table, rebalance, profile)
            for (name, table), rebalance, profile in product(whole_tables().items(), REBALANCES, PROFILES)
        }
    )


def each_table() -> tuple[Table, ...]:
    """Every table once."""
    return tuple({table.label: table for table in tables().values()}.values())

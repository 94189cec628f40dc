"""Every table of the specification, made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from types import MappingProxyType

from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES, specialise
from groupspec.spec.compiler.table import Table
from groupspec.spec.connection import Connection
from groupspec.spec.rebalance import Rebalance
from groupspec.spec.subscription import Subscription
from groupspec.spec.timeouts import Timeouts

MACHINES = (Connection, Rebalance, Subscription, Timeouts)


@cache
def whole_tables() -> Mapping[str, Table]:
    """The table of each machine, for both protocols and both profiles."""
    return MappingProxyType({table.name: table for table in map(introspect, MACHINES)})


@cache
def tables() -> Mapping[tuple[str, str, str], Table]:
    """(machine, rebalance, profile) -> table, for every combination."""
    return MappingProxyType(
        {
            (name, rebalance, profile): specialise(table, rebalance, profile)
            for (name, table), rebalance, profile in product(whole_tables().items(), REBALANCES, PROFILES)
        }
    )

"""Every table of the specification, made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Final

from groupspec.spec.broker_group import BrokerGroup
from groupspec.spec.commit import Commit
from groupspec.spec.compiler.introspect import introspect
from groupspec.spec.compiler.overlay import both_profiles
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES, specialise
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.words import Words
from groupspec.spec.connection import Connection
from groupspec.spec.machine import StateMachine
from groupspec.spec.published import rebalance, timeouts
from groupspec.spec.rebalance import Rebalance
from groupspec.spec.subscription import Subscription
from groupspec.spec.timeouts import Timeouts

MACHINES: Final = (BrokerGroup, Commit, Connection, Rebalance, Subscription, Timeouts)
"""The classes of the machine files: what deployed clients and brokers do."""

OVERLAYS: Final = (rebalance.PUBLISHED, timeouts.PUBLISHED)
"""What the published profile has otherwise."""

OF_NO_PROTOCOL = frozenset({"broker_group", "commit"})
"""Machines that know neither the rebalance protocol nor a profile: each has one table, not one for every combination.
"""


@cache
def classes() -> Mapping[str, type[StateMachine]]:
    """The class of each machine, with the rows of both profiles."""
    overlaid = {overlay.machine: both_profiles(overlay, Words.ours()) for overlay in OVERLAYS}
    return MappingProxyType({machine.machine_name: overlaid.get(machine, machine) for machine in MACHINES})


@cache
def whole_tables() -> Mapping[str, Table]:
    """The table of each machine, for both protocols and both profiles."""
    return MappingProxyType({table.name: table for table in map(introspect, classes().values())})


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

"""What the commands about machines share: which tables a command line asks for, and what is said of unknown names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from groupspec.conformance.errors import UsageProblem, did_you_mean
from groupspec.spec.compiler import PROFILES, REBALANCES, Table
from groupspec.spec.compiler.tables import each_table, whole_tables

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def machine_options(function: Decorated) -> Decorated:
    """Adds `[MACHINE…] --rebalance R --profile F`; `chosen_tables` turns them into tables."""
    for add in (
        click.option("--profile", metavar="F", default="", help=f"Only this one: {' or '.join(PROFILES)}."),
        click.option("--rebalance", metavar="R", default="", help=f"Only this one: {' or '.join(REBALANCES)}."),
        click.argument("machines", nargs=-1, metavar="[MACHINE]..."),
    ):
        function = add(function)
    return function


def chosen_tables(machines: Sequence[str], rebalance: str, profile: str) -> list[Table]:
    """The tables that a command line asks for; everything where it says nothing.

    Raises:
        UsageProblem: a machine, protocol or profile that there is not.
    """
    for machine in machines:
        require(machine, whole_tables(), "machine")
    if rebalance:
        require(rebalance, REBALANCES, "rebalance protocol", "--rebalance")
    if profile:
        require(profile, PROFILES, "profile", "--profile")
    return [
        table
        for table in each_table()
        if table.name in (machines or tuple(whole_tables()))
        and table.rebalance in (None, *([rebalance] if rebalance else REBALANCES))
        and table.profile in (None, *([profile] if profile else PROFILES))
    ]


def require(name: str, known: Iterable[str], kind: str, where: str = "") -> None:
    """Refuses a name that is not known.

    Raises:
        UsageProblem: with every name that is, and the nearest one.
    """
    names = list(known)
    if name in names:
        return
    raise UsageProblem(f"there is no {kind} {name!r}", where=where, allowed=names, next_step=did_you_mean(name, names))

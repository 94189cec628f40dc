"""What the commands about machines share: the options that say which tables, protocols and profiles are meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

from groupspec.conformance.commands._common import Known
from groupspec.spec.compiler import PROFILES, REBALANCES, Table
from groupspec.spec.compiler.tables import each_table, whole_tables

P = ParamSpec("P")
R = TypeVar("R")


def scope_options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds `--rebalance R --profile F`: one of each, or None."""
    for name, metavar, kind, known in (
        ("--profile", "F", "profile", PROFILES),
        ("--rebalance", "R", "rebalance protocol", REBALANCES),
    ):
        words = f"Only this one: {' or '.join(known)}."
        function = click.option(name, type=Known(kind, known), metavar=metavar, help=words)(function)
    return function


def tables_argument(function: Callable[..., R]) -> Callable[..., R]:
    """Adds `[MACHINE]... --rebalance R --profile F`; the command gets `tables`, everything where nothing is said."""

    @wraps(function)
    def chosen(*, machines: Sequence[str], rebalance: str | None, profile: str | None, **others: Any) -> R:
        tables: list[Table] = [
            table
            for table in each_table()
            if (not machines or table.name in machines)
            and (rebalance is None or table.rebalance in (None, rebalance))
            and (profile is None or table.profile in (None, profile))
        ]
        return function(tables=tables, **others)

    names = click.argument("machines", nargs=-1, metavar="[MACHINE]...", type=Known("machine", whole_tables))
    return names(scope_options(chosen))

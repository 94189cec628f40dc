"""Which models a command line of `groupspec verify` asks for."""

from __future__ import annotations

import re

import click

from groupspec.conformance.errors import UsageProblem
from groupspec.spec import composition
from groupspec.spec.compiler import check as check_table
from groupspec.spec.compiler.model import Model, ModelMaker
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.composition.system import MIXED

_SOUND: set[str] = set()
"""Hashes of tables that have been looked at: looking at all takes seconds."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


def fitting(
    model: str | None, members: int | None, rebalance: str | None, profile: str | None, most: int | None = None
) -> list[ModelMaker]:
    """The models that a command line asks for; of them those of at most so many members.

    Raises:
        UsageProblem: none fits.
    """
    fit = [
        maker
        for maker in composition.models().values()
        if model in (None, maker.name)
        and rebalance in (None, maker.scope.rebalance)
        and profile in (None, maker.scope.profile)
        and members in (None, maker.members)
        and (most is None or maker.members <= most)
    ]
    if not fit:
        asked = {"model": model, "members": members, "rebalance": rebalance, "profile": profile}
        where = " ".join(f"--{option} {value}" for option, value in asked.items() if value)
        raise UsageProblem("no model is all of that", where, composition.models(), "see `groupspec verify --list`")
    return fit


def require_sound_tables() -> None:
    """Models are made of the tables: of one that leaves something open they would say nothing.

    Raises:
        SpecError: a table has an overlap, a gap, or a state that cannot be reached.
    """
    for table in whole_tables().values():
        if table.hash not in _SOUND:
            check_table(table)
            _SOUND.add(table.hash)


def about(model: Model) -> str:
    """What a model is about, in a line: of a group that it is one, of what protocol, and what its features add."""
    first, _, _ = " ".join(model.doc.split()).partition(". ")
    scope = model.scope
    if scope.family != "base":
        return first
    kinds = ["a rolling upgrade from eager to cooperative"] if scope.rebalance == MIXED else []
    kinds += ["the proposal to the letter"] if scope.profile == "published" else []
    adds = [meaning for name, (_, meaning) in composition.features().items() if name in scope.features]
    return "; ".join(["Members, group and network", *kinds, *adds])


def size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """A number of bytes as one writes it: 500000000, 512MiB, 6G.

    Raises:
        UsageProblem: it is none.
    """
    match = _SIZE.fullmatch(value.strip())
    if not match or float(match[1]) <= 0:
        where = f"{parameter.opts[0]} {value}"
        raise UsageProblem("this is no size", where, "a number of bytes, KiB, MiB or GiB", "write 6GiB, for example")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))

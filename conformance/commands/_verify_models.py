"""Which models a command line of `groupspec verify` asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import click

from groupspec.conformance.commands._machines import require
from groupspec.conformance.errors import UsageProblem
from groupspec.spec import composition
from groupspec.spec.compiler import PROFILES, REBALANCES
from groupspec.spec.compiler import check as check_table
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.tables import whole_tables

MEMBERS_BY_DEFAULT = 2
"""Without --model and --members: models with at most so many members, which take minutes all together."""

_SOUND: set[str] = set()
"""Hashes of tables that have been looked at."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


@dataclass(frozen=True)
class Catalogue:
    """The models that there are, and what each of them is known to violate."""

    models: Mapping[str, Callable[[], Model]]
    expected: Callable[[str], frozenset[str]]


def catalogue() -> Catalogue:
    """The models of the specification."""
    return Catalogue(composition.models(), composition.expected_violations)


def chosen_models(known: Catalogue, model: str, members: int | None, rebalance: str, profile: str) -> list[Model]:
    """The models that a command line asks for, made.

    Raises:
        UsageProblem: there is no such model, protocol or profile; or none fits.
        SpecError: the tables are not sound.
    """
    require_sound_tables()
    if model:
        require(model, known.models, "model", "--model")
    if rebalance:
        require(rebalance, REBALANCES, "rebalance protocol", "--rebalance")
    if profile:
        require(profile, PROFILES, "profile", "--profile")
    names = [
        name
        for name in known.models
        if (not model or name == model)
        and (not rebalance or rebalance in words_of(name))
        and (not profile or profile in words_of(name))
    ]
    made = [known.models[name]() for name in names]
    most = MEMBERS_BY_DEFAULT if members is None and not model else None
    fitting = [
        each
        for each in made
        if members in (None, each.sizes["members"]) and (most is None or each.sizes["members"] <= most)
    ]
    if not fitting:
        asked = " ".join(
            f"--{option} {value}"
            for option, value in (
                ("model", model), ("members", members), ("rebalance", rebalance), ("profile", profile),
            )
            if value
        )  # fmt: skip
        raise UsageProblem("no model is all of that", asked, known.models, "see `groupspec verify --list`")
    return fitting


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
    words = words_of(model.name)
    if words[0] != "base":
        return first
    said = {"mixed": "a rolling upgrade from eager to cooperative", "published": "the proposal to the letter"}
    kinds = [said[word] for word in words if word in said]
    adds = [meaning for name, (_, meaning) in composition.features().items() if name in words]
    return "; ".join(["Members, group and network", *kinds, *adds])


def words_of(name: str) -> list[str]:
    """The words of a model's name: its protocol and its profile are among them."""
    return name.split("-")


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

"""Which models `groupspec verify` is asked about, and the list of those that there are."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

import click

from groupspec.conformance.commands._common import Known, say
from groupspec.conformance.engines import counts
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.generate import MODELS, ROOT
from groupspec.spec import composition
from groupspec.spec.compiler.model import ModelMaker
from groupspec.spec.composition.system import MIXED

LIST = "see `groupspec verify --list`"
NEAREST = 3
PATTERNS = "a name, or a pattern that a name matches, as 'open-*' or 'base-*-2'"

_ASKED: Mapping[str, Callable[[ModelMaker], str]] = {
    "model": lambda maker: maker.name,
    "members": lambda maker: str(maker.members),
    "rebalance": lambda maker: maker.scope.rebalance,
    "profile": lambda maker: maker.scope.profile,
}
"""Option: what a model has there."""


class ModelNames(Known):
    """The name of a model, or a pattern as a shell has it: `open-*`."""

    def __init__(self) -> None:
        super().__init__("model", lambda: composition.models())

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name or the pattern.

        Raises:
            UsageProblem: no model has that name, or none matches; it says which are nearest.
        """
        if not any(fnmatchcase(name, value) for name in self.known):
            part = value.strip("*?")
            nearest = [name for name in self.known if part in name][:NEAREST]
            nearest = nearest or difflib.get_close_matches(part, self.known, NEAREST)
            what = "no model matches" if part != value else "there is no model"
            raise UsageProblem(f"{what} {value!r}", "--model", nearest or PATTERNS, LIST)
        return value


def fitting(
    model: str | None, members: int | None, rebalance: str | None, profile: str | None, most: int | None = None
) -> list[ModelMaker]:
    """The models that a command line asks for; of them those of at most so many members.

    Raises:
        UsageProblem: none fits; it says with which other value of one option some would.
    """
    given = {"model": model, "members": members and str(members), "rebalance": rebalance, "profile": profile}
    asked = {option: value for option, value in given.items() if value}
    known = [maker for maker in composition.models().values() if most is None or maker.members <= most]
    if fit := _fit(known, asked):
        return fit
    where = " ".join(f"--{option} {value}" for option, value in asked.items())
    others = [f"--{option} {' or '.join(values)}" for option in asked if (values := _instead(known, asked, option))]
    allowed = f"{', or '.join(others)}, with the rest as it is" if others else ""
    raise UsageProblem("no model is all of that", where, allowed, LIST)


def _fit(known: Sequence[ModelMaker], asked: Mapping[str, str]) -> list[ModelMaker]:
    return [maker for maker in known if all(fnmatchcase(_ASKED[option](maker), asked[option]) for option in asked)]


def _instead(known: Sequence[ModelMaker], asked: Mapping[str, str], option: str) -> list[str]:
    """Other values of one option with which some model is all that is asked for, nearest first if they are many."""
    rest = {other: value for other, value in asked.items() if other != option}
    values = sorted({value for maker in _fit(known, rest) if (value := _ASKED[option](maker))})
    return difflib.get_close_matches(asked[option], values, NEAREST, 0) if len(values) > NEAREST else values


def list_models(makers: Sequence[ModelMaker]) -> None:
    """A line for each: its size, how many states it had when they were counted, and what it is about."""
    counted = counts.recorded(ROOT / MODELS)
    rows = [("model", "size", "states", "what it is")]
    for maker in makers:
        count = counted.get(maker.name)
        rows.append((maker.name, maker.size, f"{count.states:,}" if count and count.counted else "?", _about(maker)))
    name, size, states, _ = (max(len(row[column]) for row in rows) for column in range(4))
    say(*(f"{row[0]:<{name}}  {row[1]:<{size}}  {row[2]:>{states}}  {row[3]}" for row in rows))


def _about(maker: ModelMaker) -> str:
    """What a model is about, in a line: of a group that it is one, of what protocol, and what its features add."""
    scope = maker.scope
    if scope.family != "base":
        return " ".join(maker.doc.split()).partition(". ")[0]
    kinds = ["a rolling upgrade from eager to cooperative"] if scope.rebalance == MIXED else []
    kinds += ["the proposal to the letter"] if scope.profile == "published" else []
    adds = [meaning for name, (_, meaning) in composition.features().items() if name in scope.features]
    return "; ".join(["Members, group and network", *kinds, *adds])

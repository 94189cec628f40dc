"""The page of the Python API: what the packages name for users, with its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Final

from markupsafe import Markup

from groupspec import conformance, impl, spec
from groupspec.conformance import pytest_plugin
from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.text import inline, prose
from groupspec.impl.core.config import Config

PACKAGES: Final = (spec, impl, conformance)
_SECTION: Final = re.compile(r"^(Args|Attributes|Returns|Raises):\n((?:    .*\n|\n)+)", re.MULTILINE)
DATA: Final = {"RULES": "Every rule, a `Rule`, by its id."}
"""Public names of what has no docstring."""
MAX_SIGNATURE: Final = 88
"""Columns: longer ones are folded."""
_ENTRY: Final = re.compile(r"^(\w[\w.]*): ", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """One section of a docstring: its title, and (name, meaning) of each entry; a name may be empty."""

    title: str
    entries: tuple[tuple[str, Markup], ...]


@dataclass(frozen=True)
class Documented:
    """One public thing.

    Attributes:
        name: As it is imported; of a method, without its class.
        signature: How it is called; empty for data.
        text: Its docstring, less the sections.
        sections: Args, Attributes, Returns, Raises.
        members: Of a class: its public methods and properties.
    """

    name: str
    signature: str
    text: Markup
    sections: tuple[Section, ...]
    members: tuple[Documented, ...] = ()


def pages() -> Iterator[Page]:
    """The one page."""
    yield page(
        "api",
        "Python API",
        packages=[(package.__name__, *_package(package)) for package in PACKAGES],
        settings=[(field.name, field.type, field.default) for field in fields(Config)],
        plugin=prose(pytest_plugin.__doc__ or ""),
    )


def _package(package: ModuleType) -> tuple[Markup, list[Documented], list[tuple[str, Markup]]]:
    """What a package says of itself; its functions, classes and data; its errors with a line each."""
    named = [(name, getattr(package, name)) for name in package.__all__]
    errors = [(name, each) for name, each in named if inspect.isclass(each) and issubclass(each, Exception)]
    others = [(name, each) for name, each in named if (name, each) not in errors]
    lines = [(name, inline((inspect.getdoc(each) or "").partition("\n\n")[0])) for name, each in errors]
    return prose(package.__doc__ or ""), [documented(name, each) for name, each in others], lines


def documented(name: str, thing: object) -> Documented:
    """A function, a class with its public members, or data."""
    if name in DATA:
        return Documented(name, "", inline(DATA[name]), ())
    text, sections = split(inspect.getdoc(thing) or "")
    members = tuple(documented(each, member) for each, member in _members(thing)) if inspect.isclass(thing) else ()
    return Documented(name, signature(thing), text, sections, members)


def _members(cls: type) -> Iterator[tuple[str, object]]:
    """Its own, then those of the classes of ours that it derives from, without what it has overridden."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("groupspec.")]
    members = {name: member for base in reversed(ours) for name, member in vars(base).items()}
    for name in dict.fromkeys(name for base in ours for name in vars(base)):
        member = members[name]
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            yield name, member


def split(docstring: str) -> tuple[Markup, tuple[Section, ...]]:
    """The prose of a docstring in Google's style, and its sections."""
    found = []
    for title, block in _SECTION.findall(docstring + "\n"):
        body = inspect.cleandoc(block)
        parts = _ENTRY.split(body)
        entries = list(zip(parts[1::2], parts[2::2], strict=True)) if not parts[0] else [("", body)]
        found.append(Section(title, tuple((name, inline(" ".join(text.split()))) for name, text in entries)))
    return prose("\n" + _SECTION.sub("", docstring + "\n")), tuple(found)


class _Plain(str):
    """An annotation that is written as the source has it, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def signature(thing: object) -> str:
    """How a function or class is called, with a line for each parameter where it is long.

    Empty for a property, and for a class that users do not make.
    """
    if not callable(thing) or "Made by" in (inspect.getdoc(thing) or ""):
        return ""
    known = inspect.signature(thing)
    parameters = [
        each.replace(annotation=_annotation(each.annotation), default=_default(each.default))
        for each in known.parameters.values()
        if each.name != "self"
    ]
    result = inspect.Signature.empty if isinstance(thing, type) else _annotation(known.return_annotation)
    whole = str(known.replace(parameters=parameters, return_annotation=result))
    if len(whole) <= MAX_SIGNATURE:
        return whole
    lines = [str(each) for each in parameters]
    first_by_name = next((n for n, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY), None)
    if first_by_name is not None and not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        lines.insert(first_by_name, "*")
    end = "" if result is inspect.Signature.empty else f" -> {result}"
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")" + end


def _default(known: object) -> object:
    return _Plain(known.__name__) if isinstance(known, type) and known is not inspect.Parameter.empty else known


def _annotation(known: object) -> object:
    return _Plain(known) if isinstance(known, str) else known

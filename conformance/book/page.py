"""One page of the book before it is written, and the chapters (`chapters.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from groupspec.spec.datafile import Record, read_entries


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        path: The name of its file; all lie in one folder.
        title: Its heading.
        template: The template of its content, without folder and suffix.
        context: What the template is given.
    """

    path: str
    title: str
    template: str
    context: Mapping[str, object]


def page(template: str, title: str, path: str = "", /, **context: object) -> Page:
    """A page of this template; its file has the template's name where no other is given."""
    return Page(path or f"{template}.html", title, template, context)


class Chapter(Record, frozen=True):
    """An entry of the book's navigation.

    Attributes:
        key: What pages name it by.
        part: The heading that it stands under: a key of `site.PARTS`.
        title: In the navigation.
        page: Where it begins.
        about: One line for the map.
    """

    key: str
    part: Literal["start", "protocol", "tests", "proof"]
    title: str
    page: str
    about: str


CHAPTERS: Final = tuple(read_entries(Path(__file__).with_name("chapters.toml"), Chapter).values())
"""In the order of the navigation."""

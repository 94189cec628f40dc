"""One page of the book before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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

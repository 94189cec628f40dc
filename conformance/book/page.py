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
        chapter: The key of the chapter that it belongs to (see `site.CHAPTERS`).
        template: The template of its content, without folder and suffix.
        context: What the template is given.
    """

    path: str
    title: str
    chapter: str
    template: str
    context: Mapping[str, object]

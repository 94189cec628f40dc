"""Pages for the three kinds of users: what they do first, second, third. The texts lie beside this file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from markupsafe import Markup

from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.text import link, prose
from groupspec.conformance.traces.causes import TOLD

FILES: Final = tuple(Path(__file__).with_name(f"{name}.md") for name in ("client-author", "operator", "formal-methods"))


def pages() -> Iterator[Page]:
    """One that leads to the others, and one for each kind of user."""
    guides = [_guide(file) for file in FILES]
    yield page("guide", "Use it", "use.html", text=Markup("").join(map(_entry, guides)))
    yield from guides


def _guide(file: Path) -> Page:
    heading, _, text = file.read_text(encoding="utf-8").partition("\n\n")
    # `join` in a guide is the cause of a rebalance, not the effect of a machine that has the same name.
    shown, about = prose(text, top=1, plain=TOLD), prose(text.partition("\n\n")[0])
    return page("guide", heading.removeprefix("# "), f"use-{file.stem}.html", text=shown, about=about)


def _entry(guide: Page) -> Markup:
    return Markup("<h2>{}</h2>\n{}\n").format(link(guide.path, guide.title), guide.context["about"])

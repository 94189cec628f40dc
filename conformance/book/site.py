"""The book as a whole: its chapters, its pages, and the files that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from groupspec.conformance.book import (
    api_pages,
    claims,
    composition,
    defects,
    guides,
    machines,
    questions,
    reference_pages,
    rule_pages,
    vectors,
)
from groupspec.conformance.book.frame import book_environment
from groupspec.conformance.book.page import CHAPTERS, Chapter, Page
from groupspec.conformance.book.search import search_index
from groupspec.conformance.reports.templating import template_text

PARTS: Final = {
    "start": "Begin here",
    "protocol": "The protocol",
    "tests": "Testing a client",
    "proof": "Is the specification right?",
}
"""The headings of the navigation, by key."""


PAGES: Final[Mapping[str, Callable[[], Iterator[Page]]]] = {
    "start": questions.pages,
    "use": guides.pages,
    "api": api_pages.pages,
    "machines": machines.pages,
    "rules": rule_pages.pages,
    "answers": reference_pages.answers_page,
    "request_handling": reference_pages.request_handling_page,
    "time": reference_pages.time_page,
    "differences": reference_pages.differences_page,
    "vocabulary": reference_pages.vocabulary_page,
    "bugs": reference_pages.bugs_page,
    "defects": defects.pages,
    "checks": reference_pages.checks_page,
    "vectors": vectors.pages,
    "composition": composition.pages,
    "properties": claims.property_pages,
    "findings": claims.finding_pages,
}


def book() -> dict[str, str]:
    """Every file of the site: name to text. The same sources give the same text, byte for byte."""
    return site({chapter: list(PAGES[chapter.key]()) for chapter in CHAPTERS})


def site(listed: Mapping[Chapter, Sequence[Page]]) -> dict[str, str]:
    """The files of these pages; a chapter without pages is not listed."""
    made = book_environment()
    chapters = [chapter for chapter, pages in listed.items() if pages]
    parts = [(title, [chapter for chapter in chapters if chapter.part == part]) for part, title in PARTS.items()]
    made.globals["parts_of_the_book"] = [part for part in parts if part[1]]
    files = {}
    for current, pages in listed.items():
        for page in pages:
            template = made.get_template(f"book/{page.template}.html.j2")
            files[page.path] = template.render(page.context, page=page, current=current.key)
    files["book.css"] = template_text("base.css", "book/book.css")
    files["book.js"] = template_text("book/search.js", "book/book.js")
    files["search-index.js"] = search_index()
    return files


def write_book(folder: Path) -> list[Path]:
    """Writes the site to a folder that exists.

    Raises:
        OSError: the folder cannot be written to.
    """
    files = book()
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    return [folder / name for name in files]

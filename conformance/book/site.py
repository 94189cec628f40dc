"""The book as a whole: its chapters, its pages, and the files that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from groupspec.conformance.book import (
    api_pages,
    claims,
    composition,
    counterexamples,
    guides,
    machines,
    questions,
    reference_pages,
    rule_pages,
    time,
    vectors,
)
from groupspec.conformance.book.frame import book_environment
from groupspec.conformance.book.page import Page
from groupspec.conformance.book.rows import ShownRow, shown_row
from groupspec.conformance.book.search import search_index
from groupspec.conformance.book.variants import variants
from groupspec.conformance.findings import FINDINGS, Finding
from groupspec.conformance.reports.templating import template_text


@dataclass(frozen=True)
class Chapter:
    """An entry of the book's navigation.

    Attributes:
        part: The heading that it stands under: a key of `PARTS`.
        key: What pages name it by.
        title: In the navigation.
        page: Where it begins.
        about: One line for the map.
        pages: Makes its pages; none: it is not listed.
    """

    part: str
    key: str
    title: str
    page: str
    about: str
    pages: Callable[[], Iterator[Page]]


PARTS = {
    "start": "Begin here",
    "protocol": "The protocol",
    "tests": "Testing a client",
    "proof": "Is the specification right?",
}
"""The headings of the navigation, by key."""


def _example() -> ShownRow:
    """The row by which the first page shows how a table is read."""
    first = variants()["rebalance"][0]
    return shown_row(first, first.table.by_id["PREPARING_REBALANCE.join_accepted.1"])


def _start() -> Iterator[Page]:
    yield Page(
        "index.html",
        "The book",
        "start",
        "start",
        {
            "machines": machines.lines(),
            "variants": variants(),
            "example": _example(),
            "events": list(questions.events()),
            "situations": list(questions.situations()),
        },
    )


CHAPTERS = (
    Chapter(
        "start",
        "start",
        "Start",
        "index.html",
        "Where to look, and how to read.",
        _start,
    ),
    Chapter(
        "start",
        "use",
        "Use it",
        "use.html",
        "What to do first, second and third: for each kind of user.",
        guides.pages,
    ),
    Chapter(
        "start",
        "api",
        "Python API",
        "api.html",
        "What Python programs and tests can import.",
        api_pages.pages,
    ),
    Chapter(
        "protocol",
        "machines",
        "State machines",
        "machines.html",
        "What a member and its group do: prose, picture, matrix and rows of each machine; who says what to whom.",
        machines.pages,
    ),
    Chapter(
        "protocol",
        "rules",
        "Rules",
        "rules.html",
        "What clients and coordinators must and should do: each with its sources, rows, checks and known bugs.",
        rule_pages.pages,
    ),
    Chapter(
        "protocol",
        "answers",
        "Error codes",
        "answers.html",
        "What each error code on each answer means to a member.",
        reference_pages.answers_page,
    ),
    Chapter(
        "protocol",
        "request_handling",
        "Other requests",
        "request_handling.html",
        "Requests that no machine waits for (positions, records, metadata, leaving), and what follows when they fail.",
        reference_pages.request_handling_page,
    ),
    Chapter(
        "protocol",
        "time",
        "Timeouts",
        "time.html",
        "When a member that lives, polls and is connected can be put out: exact conditions for all configurations.",
        time.pages,
    ),
    Chapter(
        "protocol",
        "differences",
        "Sources that disagree",
        "differences.html",
        "Where the proposal, KIP-62, articles and deployed clients disagree, and which side is taken here.",
        reference_pages.differences_page,
    ),
    Chapter(
        "protocol",
        "vocabulary",
        "Glossary",
        "vocabulary.html",
        "The terms of the field; every variable, event, effect and reason.",
        reference_pages.vocabulary_page,
    ),
    Chapter(
        "tests",
        "bugs",
        "Known bugs",
        "bugs.html",
        "Real bugs of real clients: what a user saw, what triggers it, which rules it breaks, how to bring it back.",
        reference_pages.bugs_page,
    ),
    Chapter(
        "tests",
        "checks",
        "Scenarios and checks",
        "checks.html",
        "What judges a client from outside: scenarios on the wire, checks of traces; mutants that test the tests.",
        reference_pages.checks_page,
    ),
    Chapter(
        "tests",
        "vectors",
        "Test data",
        "vectors.html",
        "Runs to test any client with, as data: for each row one that brings it about, and what must be sent on it.",
        vectors.pages,
    ),
    Chapter(
        "proof",
        "composition",
        "Models",
        "composition.html",
        "Members, group and network together: the models that are explored, and who sends what to whom in them.",
        composition.pages,
    ),
    Chapter(
        "proof",
        "properties",
        "Properties",
        "properties.html",
        "What is claimed of the models: what never happens, what can always be reached, what follows in the end.",
        claims.pages,
    ),
    Chapter(
        "proof",
        "findings",
        "Flaws found",
        "findings.html",
        "What exploration found in the proposal itself: each with its shortest counterexample.",
        counterexamples.pages,
    ),
)
"""In the order of the navigation."""


def book() -> dict[str, str]:
    """Every file of the site: name to text. The same sources give the same text, byte for byte."""
    return site({chapter: list(chapter.pages()) for chapter in CHAPTERS}, FINDINGS.values())


def site(listed: Mapping[Chapter, Sequence[Page]], found: Iterable[Finding]) -> dict[str, str]:
    """The files of these pages; a chapter without pages is not listed."""
    made = book_environment()
    chapters = [chapter for chapter, pages in listed.items() if pages]
    parts = [(title, [chapter for chapter in chapters if chapter.part == part]) for part, title in PARTS.items()]
    made.globals |= {"parts_of_the_book": [part for part in parts if part[1]], "found": found}
    files = {}
    for page in (page for pages in listed.values() for page in pages):
        template = made.get_template(f"book/{page.template}.html.j2")
        files[page.path] = template.render(page.context, page=page)
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

"""The defects that the kit has found in released clients, and that no tracker has: their reports."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.text import prose
from groupspec.conformance.defects import DEFECTS, Defect
from groupspec.conformance.explain.addresses import address


def pages() -> Iterator[Page]:
    """The list, and a page for each."""
    yield page("defects", "Defects found", defects=list(DEFECTS.values()))
    for defect in DEFECTS.values():
        yield page("defect", defect.title, address("defect", defect.id), defect=defect, text=_report(defect))


def _report(defect: Defect) -> object:
    """The report as HTML, less its title. What it names as code are the client's words, and no words of ours."""
    text = defect.page.read_text(encoding="utf-8").partition("\n\n")[2]
    return prose(text, top=1, plain=set(text.split("`")[1::2]))

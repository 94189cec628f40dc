"""The pages of what exploration found: the sentence, the shortest run as a picture, what is done instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupspec.conformance.book.page import Page
from groupspec.conformance.explain import addresses
from groupspec.conformance.findings import Counterexample, counterexamples


def pages() -> Iterator[Page]:
    """The list, and a page for each."""
    return finding_pages(counterexamples())


def finding_pages(found: Iterable[Counterexample]) -> Iterator[Page]:
    """The pages of these."""
    found = tuple(found)
    if found:
        listed = [each.finding for each in found]
        yield Page("findings.html", "Flaws found in the proposal", "findings", "findings", {"findings": listed})
    for each in found:
        finding = each.finding
        context = {"finding": finding, "shown": each}
        yield Page(addresses.finding(finding.id), finding.title, "findings", "finding", context)

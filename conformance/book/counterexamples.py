"""The pages of what exploration found: the sentence, the shortest counterexample as a picture, what is done instead.

`groupspec.conformance.findings.counterexamples()` is where they come from; `Counterexample` is what the pages read of
each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from groupspec.conformance import findings
from groupspec.conformance.book.page import Page
from groupspec.conformance.explain import addresses


class Counterexample(Protocol):
    """One violation, dead end or ambiguity, as a page needs it.

    Attributes:
        id: Lower case with hyphens: the page's name.
        title: One line.
        sentence: What the proposal (or another source) says, in its words.
        source: Which one, and where.
        property_id: The property that fails, or empty for an ambiguity.
        model: The model that it fails in, or empty.
        steps: The shortest counterexample in words, one line a step.
        picture: The same as SVG (see `groupspec.diagrams.sequence`), or empty.
        instead: What deployed systems do.
        test: Which test shows it: a path from the top of the repository.
    """

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def sentence(self) -> str: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def property_id(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def steps(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def picture(self) -> str: ...  # noqa: D102
    @property
    def instead(self) -> str: ...  # noqa: D102
    @property
    def test(self) -> str: ...  # noqa: D102


def counterexamples() -> tuple[Counterexample, ...]:
    """Those of this repository."""
    return tuple(findings.counterexamples())


def pages() -> Iterator[Page]:
    """The list, and a page for each."""
    return finding_pages(counterexamples())


def finding_pages(found: Iterable[Counterexample]) -> Iterator[Page]:
    """The pages of these."""
    found = tuple(found)
    if found:
        yield Page("findings.html", "Flaws found in the proposal", "findings", "findings", {"findings": found})
    for each in found:
        yield Page(addresses.finding(each.id), each.title, "findings", "finding", {"finding": each})

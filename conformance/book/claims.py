"""What is claimed of the models, by kind, with what the scores say of each property; and what was found not to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from groupspec.conformance.book.page import Page, page
from groupspec.conformance.explain import lab
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.lab import Claim, claimed
from groupspec.conformance.findings import Counterexample, counterexamples
from groupspec.conformance.scores.files import COMMITTED
from groupspec.spec import properties


def property_pages() -> Iterator[Page]:
    """The properties of this repository's models."""
    yield properties_page(claimed())


def properties_page(claims: Mapping[str, Claim]) -> Page:
    """These properties."""
    listed = by_kind(claims)
    return page(
        "properties",
        "Properties",
        claims=listed,
        kinds=[(f"#{title.lower()}", title) for title, *_ in listed],
        intro=properties.__doc__ or "",
        tested=_tested(),
        count=len(claims),
    )


def by_kind(claims: Mapping[str, Claim]) -> list[tuple[str, str, list[Claim]]]:
    """(heading, what the kind means, claims of it), in the order of `PROPERTY_KINDS`."""
    return [
        (title, meaning, members)
        for kind, (title, meaning) in lab.PROPERTY_KINDS.items()
        if (members := [claim for claim in claims.values() if claim.stated.kind == kind])
    ]


@cache
def notices() -> Mapping[str, str]:
    """Property to how many changed rows of the tables it notices, in words; empty where no scores are committed."""
    return {name: said for name in claimed() if (said := lab.notices(name))}


def _tested() -> str:
    """The scores as a page, less its title and what stands beside each property."""
    file = COMMITTED.with_suffix(".md")
    parts = file.read_text(encoding="utf-8").partition("\n")[2].split("\n## ") if file.is_file() else []
    return "\n## ".join(part for part in parts if not part.startswith("Properties\n"))


def finding_pages(found: Iterable[Counterexample] | None = None) -> Iterator[Page]:
    """The list of what exploration found, and a page for each: the sentence, the run as a picture, what is done."""
    shown = list(counterexamples() if found is None else found)
    yield page("findings", "Flaws found", findings=[each.finding for each in shown])
    for each in shown:
        place = address("finding", each.finding.id)
        yield page("finding", each.finding.title, place, finding=each.finding, shown=each)

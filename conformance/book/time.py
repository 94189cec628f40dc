"""The chapter on time: for which configurations a living member can be put out, and how each boundary case goes."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.book.page import Page
from groupspec.conformance.book.reference_pages import intro
from groupspec.diagrams.expiry import assumptions, boundary_svg, boundary_words, conditions, defaults
from groupspec.spec.expiry import parts, theorems
from groupspec.spec.expiry.proofs import ARITHMETICS, prove
from groupspec.spec.expiry.theorems import THEOREMS


def pages() -> Iterator[Page]:
    """One page: a table to look up, Kafka's defaults, and a section for each theorem."""
    yield Page(
        "time.html",
        "Timeouts",
        "time",
        "time",
        {
            "intro": intro(theorems),
            "limits": intro(parts),
            "theorems": list(THEOREMS.values()),
            "arithmetics": ARITHMETICS,
            "conditions": conditions,
            "assumptions": assumptions,
            "zones": {name: prove(theorem, 0).zones for name, theorem in THEOREMS.items()},
            "boundary": boundary_words,
            "pictures": {name: boundary_svg(theorem) for name, theorem in THEOREMS.items()},
            "defaults": defaults(),
        },
    )

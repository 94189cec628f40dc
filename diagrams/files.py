"""The pictures that are committed: which files there are, and what stands in each.

The DOT text is the picture; it is compared byte for byte. An SVG is what a layout engine of some version made of it, so
it is never compared: it carries the hash of its DOT text, and is stale when that is another one.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, TypeAlias

from groupspec.diagrams.coverage import Coverage
from groupspec.diagrams.layout import render
from groupspec.diagrams.state_diagram import dot, mermaid
from groupspec.spec.compiler.table import Table

PictureFormat: TypeAlias = Literal["svg", "png", "dot", "mermaid"]
PICTURE_FORMATS: tuple[PictureFormat, ...] = ("svg", "png", "dot", "mermaid")
SUFFIXES: dict[PictureFormat, str] = {"svg": ".svg", "png": ".png", "dot": ".dot", "mermaid": ".mmd"}

_HASH = re.compile(r"<!-- groupspec: sha256 of the DOT text: ([0-9a-f]{64}) -->")


def picture(table: Table, picture_format: PictureFormat, coverage: Coverage | None = None) -> bytes:
    """A machine's picture in one of `PICTURE_FORMATS`.

    Raises:
        LayoutProblem: SVG or PNG are wanted, and no layout engine is there.
    """
    if picture_format == "mermaid":
        return mermaid(table).encode()
    source = dot(table, coverage)
    if picture_format == "dot":
        return source.encode()
    return svg(source).encode() if picture_format == "svg" else render(source, "png")


def svg(dot_source: str) -> str:
    """The SVG of a DOT text, with the hash of that text in it."""
    text = render(dot_source, "svg").decode()
    start = text.index("<svg")
    return f"{text[:start]}<!-- groupspec: sha256 of the DOT text: {_digest(dot_source)} -->\n{text[start:]}"


def svg_is_current(svg_text: str, dot_source: str) -> bool:
    """Whether an SVG was made from that DOT text."""
    found = _HASH.search(svg_text)
    return found is not None and found.group(1) == _digest(dot_source)


def _digest(dot_source: str) -> str:
    return hashlib.sha256(dot_source.encode()).hexdigest()

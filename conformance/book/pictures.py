"""The pictures of the machines as parts of a page: the committed ones, whose states lead to their rows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from groupspec import diagrams
from groupspec.conformance.book.variants import Variant
from groupspec.conformance.reports.pictures import embedded
from groupspec.diagrams.files import svg, svg_is_current
from groupspec.diagrams.layout import LayoutProblem
from groupspec.diagrams.state_diagram import dot

_SVG = "http://www.w3.org/2000/svg"
_TITLE_SIZE = "22.00"
"""The heading in a picture; the page has one of its own, which names every protocol and profile that it is true of."""


def picture(variant: Variant) -> str:
    """The picture of a table, to be put into a page; empty where it is not committed and no layout engine is here."""
    table = variant.table
    assert diagrams.__file__ is not None
    file = Path(diagrams.__file__).resolve().parent / "generated" / f"{table.label}.svg"
    source = dot(table)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        text = ""
    if not svg_is_current(text, source):
        try:
            text = svg(source)
        except LayoutProblem:
            return ""
    return _with_links(embedded(text), variant)


def _with_links(text: str, variant: Variant) -> str:
    root = ElementTree.fromstring(text)
    for parent in list(root.iter(f"{{{_SVG}}}g")):
        for heading in parent.findall(f"{{{_SVG}}}text[@font-size='{_TITLE_SIZE}']"):
            parent.remove(heading)
        for place, child in enumerate(list(parent)):
            title = child.findtext(f"{{{_SVG}}}title", "")
            if child.get("class") == "node" and title in variant.table.states:
                link = ElementTree.Element(f"{{{_SVG}}}a", {"href": variant.state(title)})
                parent[place] = link
                link.append(child)
    root.set("role", "group")
    root.set("aria-label", f"State diagram of {variant.table.name}: {', '.join(variant.table.states)}")
    written = ElementTree.tostring(root, encoding="unicode")
    return re.sub(r"(</?)ns0:", r"\1", written).replace("xmlns:ns0=", "xmlns=")

"""SVGs made fit to stand side by side in one page: no prolog, no links, no ids of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from groupspec.conformance.reports.inputs import Generated
from groupspec.diagrams.coverage import Coverage
from groupspec.diagrams.layout import LayoutProblem, render
from groupspec.diagrams.state_diagram import dot
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import each_table


@dataclass(frozen=True)
class MachinePicture:
    """One machine with the coverage of the generated suite drawn on it.

    Attributes:
        table: Which.
        svg: The picture; empty when it could not be laid out, then `problem` says why.
        covered: Transitions that fired under every driver.
        total: Transitions of the table.
        missing: Rows that did not.
        infeasible: Rows that no run of the composed member reaches: not drawn, not counted.
    """

    table: Table
    svg: str
    problem: str
    covered: int
    total: int
    missing: tuple[str, ...]
    infeasible: tuple[str, ...]


def embedded(svg: str) -> str:
    """An SVG document as part of a page.

    Graphviz turns tooltips into links to nowhere; here they become titles, which browsers show without a link.
    """
    start = svg.find("<svg")
    text = svg[start:] if start >= 0 else ""
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'<a\b[^>]*xlink:title="([^"]*)"[^>]*>', r"<g><title>\1</title>", text).replace("</a>", "</g>")
    text = re.sub(r'\s(id|xmlns:xlink)="[^"]*"', "", text)
    return re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL | re.IGNORECASE).strip()


def lanes_apart(svg: str) -> str:
    """A sequence diagram in two pictures of one width, its lanes' headings and the rest, so that the headings can stay.

    The title is left out: it is the page that says what the picture is of. What is no sequence diagram is returned as
    it is.
    """
    size = re.search(r'viewBox="0 0 (\d+) (\d+)" width="\d+" height="\d+"', svg)
    headings = re.findall(r'<rect class="b"[^>]*y="([\d.]+)"[^>]*/><text class="h".*?</text>', svg)
    if not size or not headings:
        return svg
    width, height, top = int(size[1]), int(size[2]), int(float(headings[0])) - 2
    style = f'style="--natural:{width}px"'
    boxes = "".join(found[0] for found in re.finditer(r'<rect class="b"[^>]*/><text class="h".*?</text>', svg))
    head = (
        f'<svg class="gs-sequence lanes" viewBox="0 {top} {width} 34" {style} aria-hidden="true">'
        f'<rect y="{top}" width="{width}" height="34" fill="#ffffff"/>{boxes}</svg>'
    )
    return head + svg.replace(size[0], f'viewBox="0 {top + 34} {width} {height - top - 34}" {style}', 1)


def machine_pictures(suites: Mapping[str, Generated]) -> list[MachinePicture]:
    """The deployed machines, with what the generated suites fired: the hits of the driver that fired a row least.

    Args:
        suites: Driver to its run. Those without coverage do not count.
    """
    measured = [suite for suite in suites.values() if suite.coverage]
    labels = {label for suite in measured for label in suite.coverage}
    return [
        _picture(table, [suite.coverage.get(table.label, {}) for suite in measured], measured[0].infeasible)
        for table in each_table()
        if table.profile != "published" and table.label in labels
    ]


def _picture(table: Table, measured: list[dict[str, int]], infeasible: Mapping[str, tuple[str, ...]]) -> MachinePicture:
    never = infeasible.get(table.label, ())
    possible = replace(table, rows=tuple(row for row in table.rows if row.id not in never))
    least = {row.id: min(hits.get(row.id, 0) for hits in measured) for row in possible.rows}
    transitions = [row.id for row in possible.rows if row.kind == "transition"]
    missing = tuple(row for row in transitions if not least[row])
    svg, problem = "", ""
    try:
        svg = embedded(render(dot(possible, Coverage(least)), "svg").decode())
    except LayoutProblem as trouble:
        problem = str(trouble)
    return MachinePicture(table, svg, problem, len(transitions) - len(missing), len(transitions), missing, never)

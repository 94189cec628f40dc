"""The pictures: made from the tables and nothing else, complete, and with the path in one line."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from itertools import pairwise

import pytest

from groupspec.diagrams.coverage import Coverage, CoverageProblem, read_coverage
from groupspec.diagrams.files import picture, svg, svg_is_current
from groupspec.diagrams.matrix import blank_cells, cell_sign, matrix_html, matrix_markdown
from groupspec.diagrams.paths import path, steps
from groupspec.diagrams.state_diagram import COLOURS, GREEN, RED, dot, mermaid
from groupspec.spec.compiler import Table
from groupspec.spec.compiler.tables import each_table, tables

SVG = "{http://www.w3.org/2000/svg}"
EVERY_TABLE = pytest.mark.parametrize("table", each_table(), ids=lambda table: table.label)
REBALANCES = [table for table in tables().values() if table.name == "rebalance"]


@EVERY_TABLE
def test_every_transition_is_drawn_and_nothing_else(table: Table) -> None:
    source = dot(table)
    assert source == dot(table)
    drawn = set(re.findall(r"[A-Za-z_]+\.[a-z_]+\.\d+", unescape(source)))
    assert drawn == {row.id for row in table.rows if row.kind == "transition"}


@EVERY_TABLE
def test_every_rule_of_a_drawn_row_stands_on_the_picture(table: Table) -> None:
    words = set(re.findall(r"[A-Z]\d+", picture(table, "svg").decode()))
    assert {rule for row in table.rows if row.kind == "transition" for rule in row.rules} <= words


@EVERY_TABLE
def test_paths_are_made_of_transitions(table: Table) -> None:
    edges = {(row.source, row.target) for row in table.rows if row.kind == "transition"}
    assert steps(*table.key) <= edges
    assert set(pairwise(path(*table.key))) <= steps(*table.key)


def outlines(table: Table, kind: str) -> Iterator[tuple[str, list[float], list[float]]]:
    """Each node or edge of a picture, with the x and y of what is drawn: of an edge from its beginning on."""
    for group in ElementTree.fromstring(picture(table, "svg")).iter(f"{SVG}g"):
        drawn = next(group.iter(f"{SVG}path"), None)
        if group.get("class") == kind and drawn is not None:
            numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", drawn.get("d", ""))]
            yield group.findtext(f"{SVG}title", ""), numbers[0::2], numbers[1::2]


@pytest.mark.parametrize("table", REBALANCES, ids=lambda table: table.label)
def test_arrows_to_flags_begin_at_the_border_of_their_state(table: Table) -> None:
    right = {name: max(xs) for name, xs, _ in outlines(table, "node")}
    flagged = [(name.partition(":")[0], xs) for name, xs, _ in outlines(table, "edge") if "->flags of" in name]
    assert flagged
    for state, xs in flagged:
        assert xs[0] == pytest.approx(right[state], abs=3), f"inside {state}"
        assert xs[-1] - xs[0] > 10, "an arrow has a line"


@pytest.mark.parametrize("table", REBALANCES, ids=lambda table: table.label)
def test_the_states_of_the_path_stand_in_one_line_in_its_order(table: Table) -> None:
    line = list(dict.fromkeys(path(*table.key)))
    places = {
        name: ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
        for name, xs, ys in outlines(table, "node")
        if name in line
    }
    middles = [places[state][0] for state in line]
    assert max(middles) - min(middles) <= 2.0, f"the line bends: {places}"
    heights = [places[state][1] for state in line]
    assert heights == sorted(heights)


def test_colours_say_what_fires() -> None:
    source = dot(tables()["timeouts", "eager", "deployed"])
    assert all(colour in source for colour in COLOURS.values())


def test_coverage_is_drawn_over_the_picture() -> None:
    table = tables()["connection", "eager", "deployed"]
    everything = Coverage({row.id: 3 for row in table.rows})
    assert RED not in dot(table, everything).replace(f'COLOR="{RED}">never fired', "")
    nothing = dot(table, Coverage({}))
    assert "dashed" in nothing
    assert "0 of" in nothing
    some = dot(table, Coverage({"DOWN.started.1": 1_234}))
    assert "1,234 times" in some
    assert GREEN in some
    assert RED in some


@pytest.mark.parametrize(
    "text", ["", "[]", '{"rebalance.eager.deployed": 3}', '{"x": {"row": -1}}', '{"x": {"row": true}}']
)
def test_a_coverage_file_that_is_something_else_is_refused(text: str) -> None:
    with pytest.raises(CoverageProblem):
        read_coverage(text)


def test_an_svg_knows_which_dot_text_it_was_made_from() -> None:
    source = dot(tables()["connection", "eager", "deployed"])
    drawn = svg(source)
    ElementTree.fromstring(drawn)
    assert svg_is_current(drawn, source)
    assert not svg_is_current(drawn, source + " ")
    assert not svg_is_current("<svg/>", source)


def test_a_png_is_a_png() -> None:
    assert picture(tables()["connection", "eager", "deployed"], "png").startswith(b"\x89PNG")


@EVERY_TABLE
def test_every_cell_is_decided_and_shown(table: Table) -> None:
    assert blank_cells(table) == []
    assert all(cell_sign(rows) != "?" for _, _, rows in table.cells())
    markdown = matrix_markdown(table)
    lines = [line for line in markdown.splitlines() if line.startswith("| `")]
    assert len(lines) == len(table.events)
    assert not any("|  |" in line for line in lines)
    page = matrix_html(table)
    assert "class='blank'" not in page
    assert page.count("<td>") == len(table.states) * len(table.events)
    assert all(f"title='{row.id}" in page or f'title="{row.id}' in page for row in table.rows)


def test_a_blank_cell_is_seen() -> None:
    whole = tables()["connection", "eager", "deployed"]
    holed = replace(whole, rows=tuple(row for row in whole.rows if (row.source, row.event) != ("DOWN", "stopped")))
    assert blank_cells(holed) == [("DOWN", "stopped")]
    assert "class='blank'" in matrix_html(holed)


@EVERY_TABLE
def test_mermaid_has_every_edge(table: Table) -> None:
    edges = {(row.source, row.target) for row in table.rows if row.kind == "transition" and row.source != row.target}
    drawn = set(re.findall(r"^    (\w+) --> (\w+) :", mermaid(table), re.MULTILINE))
    assert drawn == edges

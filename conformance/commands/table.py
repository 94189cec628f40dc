"""`groupspec table`: state x event matrices, on the terminal or as files; `--check` fails on a blank cell.

`--check` asks more of a machine than that each cell has a row: of the rows of a cell exactly one holds, whatever the
variables are; every word exists; every state is reached. What is wrong is told with its file and line, and the exit
code is 2.
"""

from __future__ import annotations

from pathlib import Path

import click

from groupspec.conformance.commands._common import Known, json_option, remark, results, say, write_json
from groupspec.conformance.commands._machines import tables_argument
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.outputs import write_text
from groupspec.conformance.terminal import Column, write_to_stdout
from groupspec.conformance.terminal import Table as Grid
from groupspec.diagrams.matrix import blank_cells, cell_sign, matrix_html, matrix_markdown
from groupspec.spec.compiler import Table
from groupspec.spec.compiler import check as check_whole
from groupspec.spec.compiler.tables import whole_tables

FORMATS = {"text": "", "markdown": ".md", "html": ".html"}
WIDEST_SIGN = 3
"""A cell has one to three signs (`diagrams.matrix.cell_sign`), and none may be cut off."""

LEGEND = "> leaves the state   o stays, and does something   . ignored   x error of the peer   ? blank"


@click.command()
@tables_argument
@click.option("--check", is_flag=True, help="Print nothing but what is wrong; exit 1 on a blank cell.")
@click.option(
    "--format",
    "matrix_format",
    type=Known("matrix format", FORMATS),
    default="text",
    metavar="FORMAT",
    help="text, markdown or html.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write files instead of printing.")
@json_option
def command(tables: list[Table], check: bool, matrix_format: str, out: Path | None) -> int:
    """Show what every machine does with every event in every state.

    Example: groupspec table rebalance --rebalance eager --profile deployed
    """
    machines = [_summary(table) for table in tables]
    blank = [f"blank: {table.label}: {state} x {event}" for table in tables for state, event in blank_cells(table)]
    if not check:
        for table in tables:
            _show(table, matrix_format, out)
    for line in blank:
        remark(line)
    if check:
        if not blank:
            for name in dict.fromkeys(table.name for table in tables):
                check_whole(whole_tables()[name])
        count = sum(len(table.states) * len(table.events) for table in tables)
        say(f"{len(tables)} tables, {count:,} cells, {len(blank)} blank")
    write_json("table", {"machines": machines})
    return EXIT_CONFORMANCE_FAILURE if check and blank else EXIT_OK


def _summary(table: Table) -> dict[str, object]:
    return {
        "name": table.name,
        "rebalance": table.rebalance,
        "profile": table.profile,
        "states": list(table.states),
        "events": [event.name for event in table.events],
        "cells": len(table.states) * len(table.events),
        "blank": [{"state": state, "event": event} for state, event in blank_cells(table)],
        "sha256": table.hash,
    }


def _show(table: Table, matrix_format: str, out: Path | None) -> None:
    as_text = matrix_html if matrix_format == "html" else matrix_markdown
    if out is not None:
        file = out / f"{table.label}{FORMATS[matrix_format] or '.md'}"
        write_text(file, as_text(table))
        say(str(file))
    elif matrix_format == "text":
        results().table(_grid(table))
        say(LEGEND, "")
    else:
        write_to_stdout(as_text(table) + "\n")


def _grid(table: Table) -> Grid:
    signs = [Column(state, justify="center", min_width=WIDEST_SIGN, folded=True) for state in table.states]
    grid = Grid([Column("event", whole=True), *signs], title=table.label)
    for event in table.events:
        grid.add(event.name, *(cell_sign(table.cell(state, event.name)) for state in table.states))
    return grid

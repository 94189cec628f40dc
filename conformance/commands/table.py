"""`groupspec table`: state x event matrices, on the terminal or as files; `--check` fails on a blank cell.

`--check` asks more of a machine than that each cell has a row: of the rows of a cell exactly one holds, whatever the
variables are; every word exists; every state is reached. What is wrong is told with its file and line, and the exit
code is 2.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table as Grid

from groupspec.conformance.commands._common import json_option, remarks, results, write_json
from groupspec.conformance.commands._machines import chosen_tables, machine_options, require
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.outputs import write_text
from groupspec.diagrams.matrix import blank_cells, cell_sign, matrix_html, matrix_markdown
from groupspec.spec.compiler import Table
from groupspec.spec.compiler import check as check_whole
from groupspec.spec.compiler.tables import whole_tables

FORMATS = {"text": "", "markdown": ".md", "html": ".html"}
WIDEST_SIGN = 3
"""A cell has one to three signs (`diagrams.matrix.cell_sign`), and none may be cut off."""

LEGEND = "> leaves the state   o stays, and does something   . ignored   x error of the peer   ? blank"


@click.command()
@machine_options
@click.option("--check", is_flag=True, help="Print nothing but what is wrong; exit 1 on a blank cell.")
@click.option("--format", "matrix_format", default="text", metavar="FORMAT", help="text, markdown or html.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write files instead of printing.")
@json_option
def command(
    machines: tuple[str, ...],
    rebalance: str,
    profile: str,
    check: bool,
    matrix_format: str,
    out: Path | None,
    json_file: Path | None,
) -> int:
    """Show what every machine does with every event in every state.

    Example: groupspec table rebalance --rebalance eager --profile deployed
    """
    require(matrix_format, FORMATS, "matrix format", "--format")
    chosen = chosen_tables(machines, rebalance, profile)
    blank = {table.label: blank_cells(table) for table in chosen}
    if not check:
        for table in chosen:
            _show(table, matrix_format, out)
    for label, cells in blank.items():
        for state, event in cells:
            remarks().print(f"blank: {label}: {state} x {event}")
    if check:
        if not any(blank.values()):
            for name in dict.fromkeys(table.name for table in chosen):
                check_whole(whole_tables()[name])
        count = sum(len(table.states) * len(table.events) for table in chosen)
        missing = sum(map(len, blank.values()))
        results().print(f"{len(chosen)} tables, {count:,} cells, {missing} blank")
    write_json("table", {"machines": [_summary(table) for table in chosen]}, json_file)
    return EXIT_CONFORMANCE_FAILURE if check and any(blank.values()) else EXIT_OK


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
    if out is not None:
        suffix = FORMATS[matrix_format] or ".md"
        file = out / f"{table.label}{suffix}"
        write_text(file, matrix_html(table) if suffix == ".html" else matrix_markdown(table))
        results().print(str(file))
    elif matrix_format == "text":
        results().print(_grid(table))
        results().print(LEGEND + "\n")
    else:
        click.echo(matrix_html(table) if matrix_format == "html" else matrix_markdown(table))


def _grid(table: Table) -> Grid:
    grid = Grid(title=table.label, title_justify="left")
    grid.add_column("event", no_wrap=True)
    for state in table.states:
        grid.add_column(state, justify="center", min_width=WIDEST_SIGN, overflow="fold")  # a name is broken, never cut
    for event in table.events:
        grid.add_row(event.name, *(cell_sign(table.cell(state, event.name)) for state in table.states))
    return grid

"""`groupspec matrix`: one static page of many results: clients x versions x rules, with history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, remark, say, write_json
from groupspec.conformance.errors import EXIT_OK
from groupspec.conformance.outputs import writable_folder, write_text
from groupspec.conformance.reports.matrix_page import matrix_html
from groupspec.conformance.reports.versions import together


@click.command("matrix")
@click.argument("results", nargs=-1, required=True, metavar="RESULT...", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The folder of the page: DIR/index.html.",
)
@json_option
def command(results: Sequence[Path], out: Path) -> int:
    """Put results of `groupspec conform` (conform.json of a report, or what --json wrote) into one table.

    Versions of a client stand side by side, from old to new, with what they broke and what they fixed. A verdict that
    several results have counts as the last of them says.

    Example: groupspec matrix java/conform.json java-3.9.1.json --out out/matrix
    """
    versions = together(results, writable_folder(out))
    page = out / "index.html"
    write_text(page, matrix_html(versions))
    for column in versions.columns:
        if column.replaced:
            remark(
                f"groupspec: several results have {column.name}, which is one column: {column.replaced} verdicts are "
                "those of the last; `groupspec compare OLD NEW` tells what changed"
            )
    turns = [turn for turned in versions.turns.values() for turn in turned]
    say(*(f"{turn.client}: {turn.rule} {turn}" for turn in turns))
    say(f"columns: {len(versions.columns)}, rules: {len(versions.lines)}, page: {page}")
    write_json(
        "matrix",
        {
            "page": str(page),
            "columns": [{"client": column.client, "version": column.version} for column in versions.columns],
            "rules": [line.rule.id for line in versions.lines],
            "turns": [
                {"client": turn.client, "rule": turn.rule, "version": turn.version, "became": turn.became}
                for turn in turns
            ],
        },
    )
    return EXIT_OK

"""`groupspec render`: draws the machines, with a matrix beside each picture, and coverage over it if there is any."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import click

from groupspec.conformance.commands._common import Known, Steps, json_option, say, write_json
from groupspec.conformance.commands._machines import tables_argument
from groupspec.conformance.errors import UsageProblem, require_known
from groupspec.conformance.outputs import writable_folder, write_bytes, write_text
from groupspec.conformance.outside import contents, decoded
from groupspec.diagrams.coverage import Coverage, CoverageProblem, read_coverage
from groupspec.diagrams.files import PICTURE_FORMATS, SUFFIXES, PictureFormat, picture
from groupspec.diagrams.layout import LayoutProblem
from groupspec.diagrams.matrix import matrix_html, matrix_markdown
from groupspec.spec.compiler import Table
from groupspec.spec.compiler.tables import each_table


@click.command()
@tables_argument
@click.option(
    "--format",
    "picture_format",
    type=Known("picture format", PICTURE_FORMATS),
    default="svg",
    metavar="FORMAT",
    help="svg, png, dot or mermaid.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/diagrams"), metavar="DIR")
@click.option(
    "--coverage",
    "coverage_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='Draw hits over the pictures: JSON, {"rebalance.eager.deployed": {"STABLE.join_needed.1": 12}}.',
)
@json_option
def command(tables: list[Table], picture_format: PictureFormat, out: Path, coverage_file: Path | None) -> None:
    """Draw machines: one picture for each machine, rebalance protocol and profile.

    Example: groupspec render rebalance --rebalance cooperative --profile deployed --format svg --out pictures
    """
    coverage = _coverage(coverage_file) if coverage_file else {}
    writable_folder(out)
    files: list[str] = []
    with Steps("drawing", total=len(tables)) as bar:
        for table in tables:
            bar.now(table.label)
            files += _draw(table, picture_format, coverage.get(table.label), out)
            bar.done()
    say(*files)
    write_json("render", {"files": files})


def _draw(table: Table, picture_format: PictureFormat, coverage: Coverage | None, out: Path) -> list[str]:
    try:
        drawn = picture(table, picture_format, coverage)
    except LayoutProblem as problem:
        raise UsageProblem(
            f"cannot draw {table.label} as {picture_format}",
            where=str(problem),
            allowed="--format dot and --format mermaid need no layout engine",
            next_step="see `groupspec doctor`",
        ) from problem
    file = out / f"{table.label}{SUFFIXES[picture_format]}"
    write_bytes(file, drawn)
    # Text formats go into text; pictures are looked at in a browser.
    as_text = picture_format in ("dot", "mermaid")
    matrix = out / f"{table.label}.matrix{'.md' if as_text else '.html'}"
    write_text(matrix, matrix_markdown(table) if as_text else matrix_html(table))
    return [str(file), str(matrix)]


def _coverage(file: Path) -> Mapping[str, Coverage]:
    try:
        found = decoded(read_coverage, contents(file).decode())
    except (OSError, ValueError, zlib.error, CoverageProblem) as problem:
        raise UsageProblem(
            f"cannot read the coverage: {problem}",
            where=str(file),
            allowed='a JSON object: table label -> {row id: hits}, e.g. {"rebalance.eager.deployed": {...}}',
            next_step="`groupspec test` and the other runs write such files",
        ) from problem
    tables = {table.label: table for table in each_table()}
    for label, rows in found.items():
        require_known(label, tables, "table", str(file))
        for row_id in rows.rows:
            if row_id not in tables[label].by_id:
                raise UsageProblem(
                    f"{label} has no row {row_id!r}",
                    where=str(file),
                    next_step="the file was written for another version of the specification: run the tests again",
                )
    return found

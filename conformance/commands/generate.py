"""`groupspec generate`: writes every file that is generated; `--check` says which of the committed ones are stale."""

from __future__ import annotations

from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, progress, remarks, results, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.generate import GeneratedFile, generated_files, unexpected_files
from groupspec.conformance.outputs import write_bytes
from groupspec.diagrams.layout import LayoutProblem


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name the files that are stale.")
@json_option
def command(check: bool, json_file: Path | None) -> int:
    """Write the pictures, tables, lists and models that are made from the specification.

    Some are not committed, only their hashes are: the tables as JSON, and the models as TLA+ and Promela but for one.
    They are written all the same, and git ignores them.

    Example: groupspec generate --check
    """
    files = [file for file in generated_files() if file.committed or not check]
    stale: list[str] = []
    reasons: dict[str, list[str]] = {}
    with progress("checking" if check else "generating", total=len(files)) as bar:
        for generated in files:
            bar.now(generated.path)
            if generated.stale():
                stale.append(generated.path)
                reasons[generated.path] = generated.why() if check else []
                if not check:
                    _write(generated)
            bar.done()
    left_over = unexpected_files()
    for path in stale:
        results().print(f"stale: {path}" if check else f"written: {path}")
        for reason in reasons.get(path, []):
            results().print(f"  {reason}", markup=False)
    for path in left_over:
        results().print(f"nothing generates this: {path}")
    write_json("generate", {"files": [f.path for f in files], "stale": [*stale, *left_over]}, json_file)
    if check and (stale or left_over):
        remarks().print("next: run `groupspec generate`, delete what nothing generates, and commit the result")
        return EXIT_CONFORMANCE_FAILURE
    results().print(f"{len(files)} generated files, {len(stale)} {'stale' if check else 'written'}")
    return EXIT_OK


def _write(generated: GeneratedFile) -> None:
    try:
        data = generated.data()
    except LayoutProblem as problem:
        raise UsageProblem(
            f"cannot make {generated.path}",
            where=str(problem),
            next_step="see `groupspec doctor`: a layout engine is needed for the SVG files",
        ) from problem
    write_bytes(generated.file(), data)

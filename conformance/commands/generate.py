"""`groupspec generate`: writes every file that is generated; `--check` says which of the committed ones are stale."""

from __future__ import annotations

import click

from groupspec.conformance.commands._common import Steps, json_option, remark, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.generate import GeneratedFile, generated_files, unexpected_files
from groupspec.conformance.outputs import write_bytes
from groupspec.diagrams.layout import LayoutProblem


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name the files that are stale.")
@json_option
def command(check: bool) -> int:
    """Write the pictures, tables, lists and models that are made from the specification.

    Some are not committed, only their hashes are: the tables as JSON, and the models as TLA+ and Promela but for one.
    They are written all the same, and git ignores them.

    Example: groupspec generate --check
    """
    files = [file for file in generated_files() if file.committed or not check]
    stale, told = [], []
    with Steps("checking" if check else "generating", total=len(files)) as bar:
        for generated in files:
            bar.now(generated.path)
            if reasons := generated.stale():
                stale.append(generated.path)
                if check:
                    told += [f"stale: {generated.path}", *(f"  {reason}" for reason in reasons)]
                else:
                    _write(generated)
                    told.append(f"written: {generated.path}")
            bar.done()
    left_over = unexpected_files()
    say(*told, *(f"nothing generates this: {path}" for path in left_over))
    write_json("generate", {"files": [file.path for file in files], "stale": [*stale, *left_over]})
    if check and (stale or left_over):
        remark("next: run `groupspec generate`, delete what nothing generates, and commit the result")
        return EXIT_CONFORMANCE_FAILURE
    say(f"{len(files)} generated files, {len(stale)} {'stale' if check else 'written'}")
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

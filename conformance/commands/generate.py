"""`groupspec generate`: writes every file that is generated; `--check` says which of the committed ones are stale."""

from __future__ import annotations

import click

from groupspec.conformance.commands._common import Steps, json_option, remark, say, write_json
from groupspec.conformance.commands._verify_models import ModelNames
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.generate import GeneratedFile, generated_files, model_files, unexpected_files
from groupspec.conformance.outputs import write_bytes
from groupspec.diagrams.layout import LayoutProblem


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name the files that are stale.")
@click.option(
    "--model", metavar="M", type=ModelNames(), help="Only the TLA+ and Promela of this model, or of 'open-*'."
)
@json_option
def command(check: bool, model: str | None) -> int:
    """Write the pictures, tables, lists and models that are made from the specification.

    Some are not committed, only their hashes are: the tables as JSON, and the models as TLA+ and Promela but for one.
    They are written all the same, and git ignores them.

    Example: groupspec generate --model open-commit
    """
    if model and check:
        where, advice = f"--check --model {model}", "leave --model out"
        raise UsageProblem("--check looks at all files", where, "--check, or --model", advice)
    stale, told = [], []
    with Steps("looking for what there is", total=0) as bar:
        files = [file for file in _files(model) if file.committed or not check]
        bar.more(len(files))
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
    left_over = [] if model else unexpected_files()
    say(*told, *(f"nothing generates this: {path}" for path in left_over))
    write_json("generate", {"files": [file.path for file in files], "stale": [*stale, *left_over]})
    if check and (stale or left_over):
        remark("next: run `groupspec generate`, delete what nothing generates, and commit the result")
        return EXIT_CONFORMANCE_FAILURE
    say(f"{len(files)} generated files, {len(stale)} {'stale' if check else 'written'}")
    return EXIT_OK


def _files(model: str | None) -> list[GeneratedFile]:
    """All, or those of the models that are asked for.

    Raises:
        UsageProblem: there are none.
    """
    files = list(model_files(model) if model else generated_files())
    if not files:
        what = "models of three members are not written: but for the numbers they say what those of two do"
        raise UsageProblem(what, f"--model {model}", next_step="`groupspec verify --engine tlc` makes them for itself")
    return files


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

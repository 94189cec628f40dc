"""`groupspec book`: the whole specification as a static site, to be read in a browser without a server."""

from __future__ import annotations

from pathlib import Path

import click

from groupspec.conformance.book.site import write_book
from groupspec.conformance.commands._common import json_option, say, write_json
from groupspec.conformance.outputs import cannot_write, writable_folder


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/book"), metavar="DIR")
@json_option
def command(out: Path) -> None:
    """Write the book: machines, rules, known bugs, differences, words and checks, all linked, with a search.

    Example: groupspec book --out public
    """
    writable_folder(out)
    try:
        files = write_book(out)
    except OSError as problem:
        raise cannot_write(out, problem) from problem
    say(f"{len(files)} files; begin with {out / 'index.html'}")
    write_json("book", {"files": [str(file) for file in files]})

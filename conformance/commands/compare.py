"""`groupspec compare`: two saved results of `groupspec conform`: what broke, what is fixed, what flaps."""

from __future__ import annotations

from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, say, write_json
from groupspec.conformance.commands._comparison import lines
from groupspec.conformance.reports.comparison import compare
from groupspec.conformance.reports.inputs import Conform, read

_FILE = click.Path(path_type=Path)


@click.command("compare")
@click.argument("old", type=_FILE)
@click.argument("new", type=_FILE)
@json_option
def command(old: Path, new: Path) -> int:
    """Hold two results of `groupspec conform --json` against each other.

    Clients are found again by their names; java@3.9.1 and java are held against each other where each result has one
    such client only. Exit code 1: a rule that every client must keep is newly broken; 4: nothing could be compared, or
    what was judged is INCONCLUSIVE now.

    Example: groupspec compare yesterday.json today.json
    """
    found = compare(read(old, Conform), read(new, Conform))
    say(*lines(found))
    write_json("compare", found.as_json())
    return found.exit_code()

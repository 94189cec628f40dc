"""`groupspec init`: writes a harness for a client of yours, to fill in, with the steps to its first verdict."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from groupspec.conformance.commands._common import Known, json_option, say, write_json
from groupspec.conformance.wire.skeleton import NAME, SKELETONS, write


@click.command("init")
@click.argument("language", metavar="LANGUAGE", type=Known("language", SKELETONS))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("harness"),
    metavar="DIR",
    help="The folder: empty, or not there yet.",
)
@click.option("--name", default=NAME, metavar="NAME", help="What the client's package is called.")
@json_option
def command(language: str, out: Path, name: str) -> None:
    """Write a harness for a client in LANGUAGE: it builds and starts, and the client's part is to be filled in.

    LANGUAGE is one of python, go, java, typescript and rust. README.md in the folder has the steps to the first
    verdict; `groupspec harness check` says what is still to be filled in, and then what is wrong.

    Example: groupspec init go --out harness --name my-client

    Exit code 0 when it is written, 2 for another language, or where the folder is not empty or cannot be written to.
    """
    skeleton = SKELETONS[language]
    files = write(skeleton, out, name)
    say(f"a harness for {name} in {skeleton.title}, for {skeleton.needs}:", *(f"  {file}" for file in files))
    folder = [] if out.resolve() == Path.cwd() else [f"cd {shlex.quote(os.fspath(out))}"]
    check = f"groupspec harness check {shlex.quote(f'cmd:{skeleton.start}')}"
    say("next:", *(f"  {line}" for line in (*folder, *skeleton.build, check)))
    say(f"  {skeleton.main} says what to fill in, README.md what comes after that")
    write_json(
        "init",
        {
            "language": language,
            "client": name,
            "folder": str(out),
            "files": [str(file.relative_to(out)) for file in files],
            "fill_in": skeleton.main,
            "build": list(skeleton.build),
            "start": skeleton.start,
        },
    )

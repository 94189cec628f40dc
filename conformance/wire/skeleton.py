"""A harness to fill in: what a language's harnesses share, one file with the client's part left open, and the steps.

What is shared is copied from the harnesses of the built-in clients, file by file as it is, and so is PROTOCOL.md; what
is to be filled in lies in `skeletons/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.outputs import cannot_write, writable_folder, write_text
from groupspec.spec.datafile import Record, read_entries

WIRE: Final = Path(__file__).parent
OPEN: Final = WIRE / "skeletons"
PAGE: Final = "PROTOCOL.md"
STEPS: Final = "README.md"
NAME: Final = "my-client"
"""The client's name in the files that are filled in."""
_NAMES: Final = re.compile(r"@?[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")


class Skeleton(Record, frozen=True):
    """The harness of a client in one language.

    Attributes:
        language: As `groupspec init` takes it; its folder below `skeletons`.
        title: The language's name.
        needs: What building and running it takes, for people.
        main: The file with the client's part.
        files: Those of the folder, `main` among them.
        add_client: How the client's package is added.
        start: The command line that starts the harness, in its folder.
        build: The command lines that build it there.
        shared_from: The folder below `harnesses` from which the shared files come.
        shared: Those, under the same names in both places.
        not_shared: Features that they do not carry out.
    """

    language: str
    title: str
    needs: str
    main: str
    files: tuple[str, ...]
    add_client: str
    start: str
    build: tuple[str, ...] = ()
    shared_from: str = ""
    shared: tuple[str, ...] = ()
    not_shared: tuple[str, ...] = ()

    def texts(self, name: str) -> Iterator[tuple[str, str]]:
        """Every file, by its path in the folder, for a client of this name."""
        for file in self.files:
            yield file, (OPEN / self.language / file).read_text(encoding="utf-8").replace(NAME, name)
        for file in self.shared:
            yield file, (WIRE / "harnesses" / self.shared_from / file).read_text(encoding="utf-8")
        yield PAGE, (WIRE / PAGE).read_text(encoding="utf-8")
        yield STEPS, self._steps().replace(NAME, name)

    def _steps(self) -> str:
        left_out = ", ".join(f"`{name}`" for name in self.not_shared)
        return (
            (OPEN / STEPS)
            .read_text(encoding="utf-8")
            .format(
                language=self.language,
                needs=self.needs,
                main=self.main,
                shared=", ".join(f"`{file}`" for file in self.shared) or "what it imports from groupspec",
                build="\n       ".join(self.build),
                again=" && ".join(self.build),
                add_client=self.add_client,
                left_out=f"\n   Not in it, as what is shared does not carry them out: {left_out}." if left_out else "",
                start=self.start,
            )
        )


SKELETONS: Final = read_entries(OPEN / "skeletons.toml", Skeleton)
"""By language."""


def write(skeleton: Skeleton, folder: Path, name: str = NAME) -> tuple[Path, ...]:
    """Write a harness to fill in to a folder that is empty or not there; the files, README.md last.

    Raises:
        UsageProblem: something is in the folder, it cannot be written to, or no client has such a name.
    """
    if not _NAMES.fullmatch(name):
        raise UsageProblem(
            f"no client can be called {name!r} here",
            where="--name",
            allowed="up to 64 letters, digits and . _ / -, after a letter or digit: the name of its package",
            next_step=f"--name {NAME}",
        )
    _require_empty(folder)
    for file, text in skeleton.texts(name):
        write_text(folder / file, text)
    return tuple(folder / file for file, _ in skeleton.texts(name))


def _require_empty(folder: Path) -> None:
    try:
        there = next(folder.iterdir(), None) if folder.exists() else None
    except OSError as problem:
        raise cannot_write(folder, problem) from problem
    if there is not None:
        raise UsageProblem(
            "the folder is not empty, and nothing in it is replaced",
            where=str(folder),
            found=there.name,
            allowed="a folder that is empty, or is not there yet",
            next_step="give another: --out DIR",
        )
    writable_folder(folder)

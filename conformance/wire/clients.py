"""The clients that the kit can judge: those with a harness of ours, and any other by its command line."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem, did_you_mean
from groupspec.conformance.wire.client_builds import BUILDS, REGISTRY, Registered, build_of, tried

_LONGEST_SLUG: Final = 60
_OF_A_MUTANT: Final = re.compile(r"reference--[A-Za-z0-9-]{1,60}")


@dataclass(frozen=True)
class Client:
    """A client under test: the name that is shown, and the command that starts its harness."""

    name: str
    command: tuple[str, ...]
    package: str = ""
    distribution: str = ""
    """What pip calls the package."""

    @property
    def installed(self) -> bool:
        """Whether Python finds the package."""
        return importlib.util.find_spec(self.package) is not None

    @property
    def folder(self) -> str:
        """The name as part of a path: no other client has the same, and none leads out of the report.

        What the kit does not know itself has its whole name in it as a digest: on some disks `A` is `a`, and a name may
        be that of a file of the report.
        """
        if self.name in BUILT_IN or build_of(self.name) is not None or _OF_A_MUTANT.fullmatch(self.name):
            return self.name
        words = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip(".-")[:_LONGEST_SLUG]
        return f"{words or 'client'}-{sha256(self.name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _in_python(entry: Registered) -> Client:
    command = sys.executable, "-m", entry.module
    return Client(entry.name, command, entry.package, entry.distribution or entry.name)


IN_PYTHON: Final = {name: _in_python(entry) for name, entry in REGISTRY.items() if entry.package}
BUILT_IN: Final = (*IN_PYTHON, *BUILDS)
"""The names of the clients with a harness of ours. Those of BUILDS are in other languages or versions, and are built
first."""


def find_client(argument: str) -> Client:
    """The client that an argument of `groupspec conform` names.

    Raises:
        UsageProblem: there is no such client, it is not installed, or the command cannot be found.
    """
    if argument.startswith("cmd:"):
        return _by_command(argument)
    if (build := build_of(argument)) is not None:
        return Client(argument, build.command())
    client = IN_PYTHON.get(argument)
    if client is None:
        page = "`groupspec init` writes a harness for another"
        if Path(argument).is_file():
            program = f"python {argument}" if argument.endswith(".py") else str(Path(argument).absolute())
            page = f"the file of that name is given as {shlex.quote(f'cmd:{program}')}"
        raise no_such_client(
            argument, "cmd:COMMAND LINE", f"`groupspec conform --list` shows the built-in ones; {page}"
        )
    if not client.installed:
        raise UsageProblem(
            f"the client {argument} is not installed",
            where=f"there is no module {client.package} for {sys.executable}",
            next_step="pip install '.[clients]'",
        )
    return client


def no_such_client(name: str, besides: str = "", advice: str = "") -> UsageProblem:
    """The message for a client without a harness of ours; `besides`: what else was allowed."""
    client = name.partition("@")[0]
    versions = [f"{each} ({BUILDS[each].version})" for each in BUILDS if each.partition("@")[0] == client]
    meant = (
        f"of {client} there is {', '.join(versions)}, and any other as {client}@VERSION"
        if versions
        else _meant_version(name) or did_you_mean(name, BUILT_IN)
    )
    allowed = [*BUILT_IN, *filter(None, [besides])]
    return UsageProblem(
        f"there is no client {name!r}", allowed=allowed, next_step="; ".join(filter(None, [meant, advice]))
    )


def _meant_version(name: str) -> str:
    """Of NAME@VERSION where a client has nearly that name: that version of it, which need not be one that was tried."""
    client, _, version = name.partition("@")
    near = get_close_matches(client.lower(), REGISTRY, n=1)
    if not near or build_of(meant := f"{near[0]}@{version}") is None:
        return ""
    return f"did you mean {meant!r}? The kit has tried {' and '.join(tried(near[0]))}"


def mutated(mutant: str) -> Client:
    """The reference with one bug put into it (see groupspec.conformance.mutation)."""
    reference = IN_PYTHON["reference"]
    return Client(f"reference--{mutant}", (*reference.command, "--mutant", mutant), reference.package)


def _by_command(argument: str) -> Client:
    if any("\ud800" <= each <= "\udfff" for each in argument):
        raise UsageProblem(
            "the command line is no text: it has bytes that are no UTF-8",
            where=argument,
            next_step="start it by a script whose name is text: results and recordings have the command in them",
        )
    try:
        command: Sequence[str] = shlex.split(argument.removeprefix("cmd:"))
    except ValueError as problem:
        raise UsageProblem(
            f"the command line cannot be read: {problem}", where=argument, allowed="a shell-like command line"
        ) from problem
    if not command:
        raise UsageProblem(
            "cmd: needs a command line", where=argument, next_step="for example cmd:'python3 my_harness.py'"
        )
    if shutil.which(command[0]) is None:
        raise UsageProblem(
            f"the command {command[0]!r} is not there, or may not be executed",
            where=argument,
            next_step="give the path of the program, or one that is on the PATH",
        )
    return Client(argument, tuple(command))

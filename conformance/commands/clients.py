"""`groupspec clients`: which clients the kit brings a harness for, and building those that take it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata

import click

from groupspec.conformance.commands._common import Known, Steps, json_option, remark, results, write_json
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.terminal import Table
from groupspec.conformance.wire.client_builds import BUILDS, build_of
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON, no_such_client

WITH_PIP = "pip install '.[clients]'"


@click.group("clients")
def command() -> None:
    """List the clients that have a harness here, and build those that are in other languages or versions.

    Example: groupspec clients install java && groupspec conform java
    """


@command.command("list")
@json_option
def list_clients() -> None:
    """Say of each client its version, whether it is installed, and what installing it takes.

    Example: groupspec clients list --json clients.json
    """
    _tell()


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="CLIENT...", type=Known("client", BUILT_IN, refused=False))
@json_option
def install(names: Sequence[str]) -> None:
    """Build a client's harness into the user's cache; what is there already is kept.

    NAME@VERSION is any version that the client's own tool finds (Maven, pip, npm, Go, Cargo) and that the harness
    compiles with; kafkajs@2.1 is the last 2.1, in Go, Node and Rust.

    Example: groupspec clients install java kgo java@3.9.1 kgo@1.18.1

    Exit code 0 when all are installed, 2 when a tool or the network is missing, or a build fails.
    """
    if unknown := [name for name in names if name not in BUILT_IN and build_of(name) is None]:
        raise no_such_client(unknown[0], advice="`groupspec clients list` says what each takes")
    for name in dict.fromkeys(names):
        if (build := build_of(name)) is not None:
            with Steps(f"building the harness of {name}"):
                folder = build.install()
            remark(f"{name} {build.version}: {folder}")
        elif not IN_PYTHON[name].installed:
            raise UsageProblem(f"{name} is a package of Python", next_step=WITH_PIP)
    _tell()


def _tell() -> None:
    clients: list[dict[str, object]] = []
    table = Table(("client", "version", "installed", "how to install, and what that takes"))
    for name in BUILT_IN:
        version: str | None
        if build := BUILDS.get(name):
            installed, version = build.installed, build.version
            needs = f"groupspec clients install {name}: {build.needs}"
        else:
            installed, needs = IN_PYTHON[name].installed, WITH_PIP
            version = _version(IN_PYTHON[name].distribution) if installed else None
        table.add(name, version or "", "yes" if installed else "no", needs)
        folder = str(build.folder) if build and installed else None
        clients.append({"name": name, "version": version, "installed": installed, "needs": needs, "folder": folder})
    results().table(table)
    write_json("clients", {"clients": clients})


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None

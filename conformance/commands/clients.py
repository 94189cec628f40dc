"""`groupspec clients`: which clients the kit brings a harness for, and building those in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import click
from rich.markup import escape
from rich.table import Table

from groupspec.conformance.commands._common import Known, Steps, json_option, remark, results, write_json
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON

WITH_PIP = "pip install 'groupspec[clients]'"


@click.group("clients")
def command() -> None:
    """List the clients that have a harness here, and build those that are in other languages.

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
@click.argument("names", nargs=-1, required=True, metavar="CLIENT...", type=Known("client", BUILT_IN))
@json_option
def install(names: Sequence[str]) -> None:
    """Build a client's harness into the user's cache; what is there already is kept.

    Example: groupspec clients install java kgo

    Exit code 0 when all are installed, 2 when a tool or the network is missing, or a build fails.
    """
    for name in dict.fromkeys(names):
        if name in BUILDS:
            with Steps(f"building the harness of {name}"):
                folder = BUILDS[name].install()
            remark(f"{name} {BUILDS[name].version}: {folder}")
        elif not IN_PYTHON[name].installed:
            raise UsageProblem(f"{name} is a package of Python", next_step=WITH_PIP)
    _tell()


def _tell() -> None:
    clients = [
        {
            "name": client.name,
            "version": _version(client.distribution) if client.installed else None,
            "installed": client.installed,
            "needs": WITH_PIP,
            "folder": None,
        }
        for client in IN_PYTHON.values()
    ] + [
        {
            "name": build.name,
            "version": build.version,
            "installed": build.installed,
            "needs": f"groupspec clients install {build.name}: {build.needs}",
            "folder": str(build.folder) if build.installed else None,
        }
        for build in BUILDS.values()
    ]
    table = Table("client", "version", "installed", "how to install, and what that takes")
    for each in clients:
        installed = "yes" if each["installed"] else "no"
        table.add_row(str(each["name"]), str(each["version"] or ""), installed, escape(str(each["needs"])))
    results().print(table)
    write_json("clients", {"clients": clients})


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None

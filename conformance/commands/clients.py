"""`groupspec clients`: which clients the kit brings a harness for, and building those in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from groupspec.conformance.commands._common import json_option, progress, remarks, results, write_json
from groupspec.conformance.errors import EXIT_OK, UsageProblem
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON


@click.group("clients")
def command() -> None:
    """List the clients that have a harness here, and build those that are in other languages.

    Example: groupspec clients install java && groupspec conform java
    """


@command.command("list")
@json_option
def list_clients(json_file: Path | None) -> int:
    """Say of each client its version, whether it is installed, and what installing it takes.

    Example: groupspec clients list --json clients.json
    """
    result = _as_json()
    _show(result)
    write_json("clients", result, json_file)
    return EXIT_OK


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="CLIENT...")
@json_option
def install(names: Sequence[str], json_file: Path | None) -> int:
    """Build a client's harness into the user's cache; what is there already is kept.

    Example: groupspec clients install java kgo

    Exit code 0 when all are installed, 2 when a tool or the network is missing, or a build fails.
    """
    for name in names:
        if name not in BUILT_IN:
            raise UsageProblem(
                f"there is no client {name!r}", allowed=BUILT_IN, next_step="`groupspec clients list` tells about each"
            )
    for name in dict.fromkeys(names):
        if name in BUILDS:
            with progress(f"building the harness of {name}"):
                folder = BUILDS[name].install()
            remarks().print(f"{name} {BUILDS[name].version}: {folder}", markup=False)
        elif not IN_PYTHON[name].installed:
            raise UsageProblem(f"{name} is a package of Python", next_step="pip install 'groupspec[clients]'")
    result = _as_json()
    _show(result)
    write_json("clients", result, json_file)
    return EXIT_OK


def _as_json() -> dict[str, list[dict[str, object]]]:
    found: list[dict[str, object]] = []
    for client in IN_PYTHON.values():
        found.append(
            {
                "name": client.name,
                "version": _version(client.distribution) if client.installed else None,
                "installed": client.installed,
                "needs": "pip install 'groupspec[clients]'",
                "folder": None,
            }
        )
    for build in BUILDS.values():
        found.append(
            {
                "name": build.name,
                "version": build.version,
                "installed": build.installed,
                "needs": f"groupspec clients install {build.name}: {build.needs}",
                "folder": str(build.folder) if build.installed else None,
            }
        )
    return {"clients": found}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _show(result: dict[str, list[dict[str, object]]]) -> None:
    table = Table("client", "version", "installed", "how to install, and what that takes")
    for client in result["clients"]:
        installed = "yes" if client["installed"] else "no"
        table.add_row(str(client["name"]), str(client["version"] or ""), installed, escape(str(client["needs"])))
    results().print(table)

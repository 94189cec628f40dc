"""`groupspec doctor`: what this machine has, what it lacks, and what each lack costs.

Nothing here is needed for everything. A lack is told by what will not work without it, so that a reader can
decide to live with it; only what every command needs makes the exit code 2.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import click

from groupspec.conformance.commands._common import json_option, results, say, write_json
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.missing import in_checkout
from groupspec.conformance.spark.java import java_home
from groupspec.conformance.terminal import Styled
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.spec.datafile import Record, read_entries

TOOL_LIMIT_S = 60
"""A tool that cannot print its version in that time counts as missing."""


class Check(Record, frozen=True):
    """One thing that groupspec can use.

    Attributes:
        name: What it is called where one gets it.
        used_for: What it does here.
        lack_costs: What does not work, or works worse, without it.
        remedy: How to get it.
        how: How it is found: a name of FINDERS, and what that takes; by default the package called `name`.
        required: Whether nothing works without it.
        make_check: Whether tests of `make check` need it. No wheel carries those: `make test` needs none of them.
        checkout: Whether it is used for what no wheel of groupspec has.
    """

    name: str
    used_for: str
    lack_costs: str = ""
    remedy: str = ""
    how: str = ""
    required: bool = False
    make_check: bool = False
    checkout: bool = False

    def find(self) -> tuple[str, str]:
        """The version, and where it is.

        Raises:
            UsageProblem: it is not there.
        """
        finder, *words = self.how.split() or ("package", self.name)
        return FINDERS[finder](*words)


def _cores() -> tuple[str, str]:
    return str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1), ""


def _loopback() -> tuple[str, str]:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return "127.0.0.1", ""
    except OSError as problem:
        raise UsageProblem(str(problem)) from problem


def _java(program: str) -> tuple[str, str]:
    found = java_home()
    if not (found.home / "bin" / program).is_file():
        raise UsageProblem(f"the Java from {found.origin} has no {program}")
    return str(found.version), f"from {found.origin}"


def _tlc() -> tuple[str, str]:
    from groupspec.conformance.engines.tlc_program import find_tlc

    return find_tlc().version, ""


def _compiler() -> tuple[str, str]:
    from groupspec.spec.explorer.native import compiler

    found = compiler()
    if found is None:
        raise UsageProblem("no cc, gcc or clang on the PATH, and no wheel ziglang")
    if found.name != found.command[0]:
        return version("ziglang"), found.name
    return _tool(found.name, "--version")[0], found.name


def _tool(*command: str) -> tuple[str, str]:
    """The first thing in a tool's message that looks like a version, or its first line."""
    if shutil.which(command[0]) is None:
        raise UsageProblem("not on the PATH")
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TOOL_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UsageProblem(f"does not start: {problem}") from problem
    said = (run.stdout or run.stderr).strip()
    if run.returncode != 0:
        raise UsageProblem(f"does not work: {said[:200]}")
    match = re.search(r"\d+(\.\d+)+", said)
    return match[0] if match else said.partition("\n")[0], ""


def _package(name: str) -> tuple[str, str]:
    try:
        return version(name), ""
    except PackageNotFoundError as problem:
        raise UsageProblem("not installed in this Python") from problem


def _built_client(name: str) -> tuple[str, str]:
    if not BUILDS[name].installed:
        raise UsageProblem(f"its harness is not built; that takes {BUILDS[name].needs}")
    return BUILDS[name].version, ""


def _python() -> tuple[str, str]:
    return platform.python_version(), f"{platform.python_implementation()} on {platform.system()} {platform.machine()}"


FINDERS: Final[dict[str, Callable[..., tuple[str, str]]]] = {
    "client": _built_client,
    "compiler": _compiler,
    "cores": _cores,
    "java": _java,
    "loopback": _loopback,
    "package": _package,
    "python": _python,
    "tlc": _tlc,
    "tool": _tool,
}


def _client_checks() -> Iterator[Check]:
    """One for each client that brings something of its own; aiokafka is needed anyway."""
    for name in BUILT_IN:
        built = name in BUILDS
        if built or IN_PYTHON[name].package not in ("groupspec.impl", "aiokafka"):
            yield Check(
                name=f"client {name}" if built else IN_PYTHON[name].distribution,
                used_for=f"`groupspec conform {name}`: the wire kit on that client",
                lack_costs=f"{name} cannot be judged; all other clients can",
                remedy=f"groupspec clients install {name}" if built else "pip install '.[clients]'",
                how=f"client {name}" if built else "",
            )


CHECKS = (*read_entries(Path(__file__).with_suffix(".toml"), Check).values(), *_client_checks())


def examine(checks: Iterable[Check]) -> dict[str, list[dict[str, object]]]:
    """Runs the checks; the result is what `--json` writes."""
    result: dict[str, list[dict[str, object]]] = {"found": [], "missing": []}
    for check in checks:
        if check.checkout and not in_checkout():
            continue
        try:
            what, detail = check.find()
        except UsageProblem as lack:
            why = "; ".join(part for part in (lack.what, lack.where) if part)
            told = {"why": why, "costs": check.lack_costs, "remedy": check.remedy, "required": check.required}
            result["missing"].append({"name": check.name, **told})
        else:
            result["found"].append({"name": check.name, "version": what, "detail": detail, "used_for": check.used_for})
    return result


@click.command()
@click.option(
    "--left-out", is_flag=True, help="Only one line: what `make test` leaves out, and which tools that needs."
)
@json_option
def command(left_out: bool) -> int:
    """Say what this machine has and lacks, and what each lack costs.

    Example: groupspec doctor --json doctor.json

    Exit code 0 when everything that is required is there, else 2.
    """
    result = examine(check for check in CHECKS if check.make_check or not left_out)
    if left_out:
        say(_left_out(result))
    else:
        _show(result)
    write_json("doctor", result)
    return EXIT_USAGE if any(lack["required"] for lack in result["missing"]) else EXIT_OK


def _left_out(result: dict[str, list[dict[str, object]]]) -> str:
    lacks = ", ".join(str(lack["name"]) for lack in result["missing"])
    tools = ", ".join(check.name for check in CHECKS if check.make_check)
    here = f"this machine has no {lacks}" if lacks else "this machine has all of these"
    return f"left out here: what takes long, and what needs {tools}: `make check` runs it; {here}"


def _show(result: dict[str, list[dict[str, object]]]) -> None:
    results().line(Styled("found", "bold green"))
    for entry in result["found"]:
        what = f"{entry['version']} {entry['detail']}".strip()
        say(f"  {entry['name']:<20} {what:<24} {entry['used_for']}")
    results().line(Styled("missing", "bold yellow" if result["missing"] else "bold green"))
    for entry in result["missing"]:
        say(
            f"  {entry['name']:<20} {entry['why']}",
            f"  {'':<20} costs:  {entry['costs']}",
            f"  {'':<20} remedy: {entry['remedy']}",
        )
    if not result["missing"]:
        say("  nothing")

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
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import click

from groupspec.conformance.commands._common import json_option, results, say, write_json
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.missing import in_checkout
from groupspec.conformance.spark.java import java_home
from groupspec.conformance.wire.client_builds import BUILDS, ClientBuild
from groupspec.conformance.wire.clients import BUILT_IN, IN_PYTHON
from groupspec.spec.datafile import Record, read_entries

TOOL_LIMIT_S = 60
"""A tool that cannot print its version in that time counts as missing."""


class Lacking(Exception):
    """Raised by a check that does not find its thing; the message says why, when there is more to say."""


class Check(Record, frozen=True):
    """One thing that groupspec can use.

    Attributes:
        name: What it is called where one gets it.
        used_for: What it does here.
        lack_costs: What does not work, or works worse, without it.
        remedy: How to get it.
        how: How it is found: `package`, `tool COMMAND LINE` that prints a version, `client NAME`, or one of FINDERS.
        required: Whether nothing works without it.
        make_check: Whether tests of `make check` need it. No wheel carries those: `make test` needs none of them.
        checkout: Whether it is used for what no wheel of groupspec has.
    """

    name: str
    used_for: str
    lack_costs: str = ""
    remedy: str = ""
    how: str = "package"
    required: bool = False
    make_check: bool = False
    checkout: bool = False

    def find(self) -> tuple[str, str]:
        """The version, and where it is.

        Raises:
            Lacking: it is not there.
        """
        kind, _, words = self.how.partition(" ")
        match kind:
            case "package":
                return _package(self.name)
            case "tool":
                return _tool(*words.split())
            case "client":
                return _built_client(BUILDS[words])
            case _:
                return FINDERS[kind]()


def _python() -> tuple[str, str]:
    return platform.python_version(), f"{platform.python_implementation()} on {platform.system()} {platform.machine()}"


def _cores() -> tuple[str, str]:
    return str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1), ""


def _loopback() -> tuple[str, str]:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return "127.0.0.1", ""
    except OSError as problem:
        raise Lacking(str(problem)) from problem


def _java() -> tuple[str, str]:
    try:
        found = java_home()
    except UsageProblem as problem:
        raise Lacking(problem.where) from problem
    return str(found.version), f"from {found.origin}"


def _tlc() -> tuple[str, str]:
    from groupspec.conformance.engines.tlc_program import find_tlc

    try:
        found = find_tlc()
    except UsageProblem as problem:
        raise Lacking("; ".join(part for part in (problem.what, problem.where) if part)) from problem
    return found.version, ""


def _compiler() -> tuple[str, str]:
    from groupspec.spec.explorer.native import compiler

    found = compiler()
    if found is None:
        raise Lacking("no cc, gcc or clang on the PATH, and no wheel ziglang")
    if found.name != found.command[0]:
        return version("ziglang"), found.name
    return _tool(found.name, "--version")[0], found.name


def _jdk() -> tuple[str, str]:
    _, origin = _java()
    if not (java_home().home / "bin" / "javac").is_file():
        raise Lacking(f"the Java {origin} has no javac")
    return str(java_home().version), origin


def _tool(*command: str) -> tuple[str, str]:
    if shutil.which(command[0]) is None:
        raise Lacking("not on the PATH")
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TOOL_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Lacking(f"does not start: {problem}") from problem
    said = (run.stdout or run.stderr).strip()
    if run.returncode != 0:
        raise Lacking(f"does not work: {said[:200]}")
    return _version_in(said), ""


def _version_in(text: str) -> str:
    """The first thing in a tool's message that looks like a version; its first line when nothing does."""
    match = re.search(r"\d+(\.\d+)+", text)
    return match[0] if match else text.partition("\n")[0]


def _package(name: str) -> tuple[str, str]:
    try:
        return version(name), ""
    except PackageNotFoundError as problem:
        raise Lacking("not installed in this Python") from problem


def _built_client(build: ClientBuild) -> tuple[str, str]:
    if not build.installed:
        raise Lacking(f"its harness is not built; that takes {build.needs}")
    return build.version, ""


FINDERS: Final[dict[str, Callable[[], tuple[str, str]]]] = {
    "python": _python,
    "cores": _cores,
    "loopback": _loopback,
    "java": _java,
    "jdk": _jdk,
    "compiler": _compiler,
    "tlc": _tlc,
}


def _client_checks() -> Iterator[Check]:
    """One for each client that brings something of its own; aiokafka is needed anyway."""
    for name in BUILT_IN:
        built = name in BUILDS
        if name not in ("reference", "aiokafka"):
            yield Check(
                name=f"client {name}" if built else IN_PYTHON[name].distribution,
                used_for=f"`groupspec conform {name}`: the wire kit on that client",
                lack_costs=f"{name} cannot be judged; all other clients can",
                remedy=f"groupspec clients install {name}" if built else "pip install 'groupspec[clients]'",
                how=f"client {name}" if built else "package",
            )


CHECKS = (*read_entries(Path(__file__).with_suffix(".toml"), Check).values(), *_client_checks())


def examine(checks: tuple[Check, ...] = CHECKS) -> dict[str, list[dict[str, object]]]:
    """Runs the checks; the result is what `--json` writes."""
    found: list[dict[str, object]] = []
    missing: list[dict[str, object]] = []
    for check in checks:
        if check.checkout and not in_checkout():
            continue
        try:
            what, detail = check.find()
        except Lacking as lack:
            missing.append(
                {
                    "name": check.name,
                    "why": str(lack),
                    "costs": check.lack_costs,
                    "remedy": check.remedy,
                    "required": check.required,
                }
            )
        else:
            found.append({"name": check.name, "version": what, "detail": detail, "used_for": check.used_for})
    return {"found": found, "missing": missing}


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
    result = examine(tuple(check for check in CHECKS if check.make_check) if left_out else CHECKS)
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
    results().print("found", style="bold green")
    for entry in result["found"]:
        what = f"{entry['version']} {entry['detail']}".strip()
        say(f"  {entry['name']:<20} {what:<24} {entry['used_for']}")
    results().print("missing", style="bold yellow" if result["missing"] else "bold green")
    for entry in result["missing"]:
        say(
            f"  {entry['name']:<20} {entry['why']}",
            f"  {'':<20} costs:  {entry['costs']}",
            f"  {'':<20} remedy: {entry['remedy']}",
        )
    if not result["missing"]:
        say("  nothing")

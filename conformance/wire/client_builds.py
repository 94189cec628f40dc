"""Clients in other languages or versions: their harnesses are built by the language's own tools, once, into a cache.

    <cache>/clients/<client>-<hash of the harness's sources>/    what was built, as a whole or not at all

A harness whose sources change gets another folder, so that nobody is judged by an old one. What is built runs without a
network. The cache is the user's, as for the real broker's jars: GROUPSPEC_CACHE, else XDG_CACHE_HOME/groupspec, else
~/.cache/groupspec.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance import tied
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import is_event
from groupspec.conformance.real_broker.jars import cache_folder, locked
from groupspec.conformance.spark.java import java_home
from groupspec.conformance.wire.docket import name_of, versions_of
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.spec.datafile import Record, read_entries

SOURCES: Final = Path(__file__).with_name("harnesses")
HARNESSES: Final = "groupspec.conformance.wire.harnesses"
BUILD_LIMIT_S: Final = 900
TRAINING_LIMIT_S: Final = 60
MOST_LINES: Final = 6


class Build(Record, frozen=True):
    """How a harness that is not in Python is built and started.

    Attributes:
        version: Of the client, as the harness's build file pins it.
        needs: What building it takes, for people.
        folder: Where the sources are, below `harnesses`.
        sources: The files there that the build reads.
        command: The tool, found on the PATH, and its arguments; `{version}` and `{python}` stand for what they say.
        takes_version: What makes the sources ask for another version than theirs, before `command`; () if that does.
        environment: What it needs besides.
        remedy: How to get the tool.
        harness: What the kit starts when it is built.
        arguments: What it is started with.
        started_by: The program, found on the PATH, that runs it; "" if it runs by itself.
        leftovers: Folders that the build leaves and that running does not take: hundreds of megabytes.
    """

    version: str
    needs: str
    command: tuple[str, ...]
    remedy: str
    harness: str
    takes_version: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    folder: str = ""
    sources: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    started_by: str = ""
    leftovers: tuple[str, ...] = ()


class Registered(Record, frozen=True):
    """A client with a harness of ours.

    Attributes:
        name: As `groupspec conform` takes it.
        package: Of a client in Python: the package that it is imported as.
        distribution: What pip calls it, if not by the client's name.
        build: Of any other client: how its harness is built.
        other_versions: Versions that the same harness drives as well, and that are tried; each is a client called
            `<name>@<version>`.
    """

    name: str
    package: str = ""
    distribution: str = ""
    build: Build | None = None
    other_versions: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The harness of a client in Python."""
        return f"{HARNESSES}.{self.name.replace('-', '_')}_client"


REGISTRY: Final = read_entries(Path(__file__).with_name("clients.toml"), Registered)
"""Every client of `clients.toml` by its name."""


class ClientBuild:
    """A client whose harness has to be built, as `clients.toml` has it."""

    def __init__(self, name: str, how: Build, version: str = "") -> None:
        self.name, self.version, self.needs = name, version or how.version, how.needs
        self._how = how

    @property
    def _sources(self) -> Path:
        return SOURCES / self._how.folder

    @property
    def folder(self) -> Path:
        """Where it is built to."""
        digest = hashlib.sha256(repr((self.version, self._how)).encode())
        for name in self._how.sources:
            digest.update(name.encode() + b"\0" + (self._sources / name).read_bytes())
        return cache_folder() / "clients" / f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def installed(self) -> bool:
        """Whether it can be started."""
        return self.folder.is_dir()

    def command(self) -> tuple[str, ...]:
        """What starts the harness.

        Raises:
            UsageProblem: it is not installed.
        """
        if not self.installed:
            raise UsageProblem(
                f"the client {self.name} is not installed",
                where=f"there is no {self.folder}",
                allowed=f"its harness, built by {self.needs}{self._tried_with()}",
                next_step=f"groupspec clients install {self.name}",
            )
        return self._command(self.folder)

    def _tried_with(self) -> str:
        """Of a version that nobody has tried: which ones somebody has, and how to try this one."""
        client, _, version = self.name.partition("@")
        known = tried(client)
        if not version or version in known:
            return ""
        return (
            f"; any version of {client} that its harness builds with; tried with {' and '.join(known)}: whether it "
            f"drives {version} `groupspec harness check {self.name}` says"
        )

    def install(self) -> Path:
        """Build it if it is not there; returns its folder. Two processes at once build it once.

        Raises:
            UsageProblem: a tool is missing, the network is, or the build fails.
        """
        folder = self.folder
        with locked(folder.parent / f"{self.name}.lock"):
            try:
                if not folder.is_dir():
                    self._build_aside(folder)
                self._moved(folder)
            except OSError as problem:
                raise self._not_built(f"{problem.strerror}: {problem.filename}") from problem
        return folder

    def _build_aside(self, folder: Path) -> None:
        """Build beside its place, and move it there when it is whole."""
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{self.name}-part-") as part:
            built = Path(part) / "built"
            built.mkdir()
            for name in self._how.sources:
                (built / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self._sources / name, built / name)
            self._build(built)
            built.rename(folder)

    def _build(self, folder: Path) -> None:
        """Build in `folder`, which holds a copy of the sources, and leave there what running takes."""
        other = self._how.takes_version if self.version != self._how.version else ()
        for words in filter(None, (other, self._how.command)):
            tool, *arguments = (part.format(version=self.version, python=sys.executable) for part in words)
            self._run([self._tool(tool), *arguments], folder)
        if not (folder / self._how.harness).exists():
            raise self._not_built(f"{self._how.command[0]} made no {self._how.harness}")
        for name in self._how.leftovers:
            shutil.rmtree(folder / name, ignore_errors=True)

    def _tool(self, name: str) -> str:
        """Where a program is."""
        found = shutil.which(name)
        if found is None:
            raise self._lacks(f"there is no {name}", self._how.remedy)
        return found

    def _run(self, command: Sequence[str], folder: Path) -> None:
        pipe = subprocess.PIPE
        try:
            run = tied.start(
                command,
                folder,
                {**os.environ, **self._environment()},
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
            )
            try:
                out, err = run.communicate(timeout=BUILD_LIMIT_S)
            finally:
                tied.end(run)  # a tool that is killed leaves what it has started, which goes on writing
                run.wait()
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise self._not_built(f"{command[0]}: {problem}") from problem
        if run.returncode != 0:
            told = _what_went_wrong((out + err).decode(errors="replace"))
            raise self._not_built(f"{command[0]} ended with code {run.returncode}: {told}")

    def _environment(self) -> Mapping[str, str]:
        return self._how.environment

    def _command(self, folder: Path) -> tuple[str, ...]:
        """What starts the harness that was built there."""
        harness = str(folder / self._how.harness)
        started = (self._tool(self._how.started_by), harness) if self._how.started_by else (harness,)
        return (*started, *self._how.arguments)

    def _moved(self, folder: Path) -> None:
        """What is left to do when the build lies in its place: for most, nothing."""

    def _not_built(self, what: str) -> UsageProblem:
        return UsageProblem(
            f"the client {self.name} {self.version} could not be built: {what}",
            where=str(self._sources),
            allowed=f"{self.needs}, and a network for the first build (or its packages in the tool's own cache)",
            next_step=f"mend what the tool says, then: groupspec clients install {self.name}",
        )

    def _lacks(self, what: str, remedy: str) -> UsageProblem:
        return UsageProblem(
            f"the client {self.name} cannot be built or run: {what}", where="PATH", allowed=self.needs, next_step=remedy
        )


class Java(ClientBuild):
    """Kafka's own client: built with a JDK, started by a JVM with an archive of its classes."""

    _FLAGS: Final = (
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xshare:auto",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
    )
    """For a quick start; what the client does is its own. The JVM's warnings must not go to stdout, the protocol's."""
    _CLASSES: Final = "classes.jsa"
    _JDK: Final = "install a JDK (Debian: apt install openjdk-17-jdk-headless)"

    def _build(self, folder: Path) -> None:
        home = self._jdk()
        super()._build(folder)
        (folder / "java.json").write_text(json.dumps({"java": str(home / "bin" / "java")}), encoding="utf-8")

    def _environment(self) -> Mapping[str, str]:
        return {"JAVA_HOME": str(self._jdk())}

    def _jdk(self) -> Path:
        try:
            home = java_home().home
        except UsageProblem as problem:
            raise self._lacks(f"there is no Java ({problem.where})", self._JDK) from problem
        if not (home / "bin" / "javac").is_file():
            raise self._lacks(f"{home} has no javac: it is no JDK", self._JDK)
        return home

    def _command(self, folder: Path) -> tuple[str, ...]:
        return self._start(folder, f"-XX:SharedArchiveFile={folder / self._CLASSES}")

    def _start(self, folder: Path, archive: str) -> tuple[str, ...]:
        """By the JVM that it was built with, or, when that is gone, by another."""
        built_with = str(json.loads((folder / "java.json").read_text(encoding="utf-8"))["java"])
        java = built_with if Path(built_with).is_file() else str(java_home().home / "bin" / "java")
        return (java, *self._FLAGS, archive, "-jar", str(folder / self._how.harness), *self._how.arguments)

    def _moved(self, folder: Path) -> None:
        """Class data sharing: without it, half a second of the client's first poll goes into loading classes.

        The archive holds the classes that a run loads, so a run is needed; and it names the path of the jars, so it is
        made when they lie in their place. Without it, or with one that another JVM made, the client runs as well, only
        later.
        """
        archive, part = folder / self._CLASSES, folder / f"{self._CLASSES}.part"
        if not archive.is_file():
            _one_run(self._start(folder, f"-XX:ArchiveClassesAtExit={part}"))
            if part.is_file():
                part.rename(archive)


class OtherInPython(ClientBuild):
    """A client in Python in another version than the one that is installed: in a folder of its own, found first."""

    def __init__(self, entry: Registered, version: str) -> None:
        install = ("{python}", "-m", "pip", "install", "--quiet", "--no-deps", "--target", ".")
        how = Build(
            version=version,
            needs=f"pip, of Python {sys.version_info.major}.{sys.version_info.minor}",
            command=(*install, f"{entry.distribution or entry.name}=={{version}}"),
            remedy="python -m ensurepip",
            harness=entry.package,
        )
        super().__init__(f"{entry.name}@{version}", how)
        self._module = entry.module

    def _command(self, folder: Path) -> tuple[str, ...]:
        path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
        return ("env", f"PYTHONPATH={path}", sys.executable, "-m", self._module)


def _what_went_wrong(output: str) -> str:
    """Of a tool's output: the first lines that say "error"; of a tool that does not use the word, the last ones."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berr(or)?\b", line, re.IGNORECASE)]
    return " / ".join(errors[:MOST_LINES] or lines[-MOST_LINES:])[:900]


def _build(entry: Registered, version: str = "") -> ClientBuild:
    """How one version is built; "": of a client that is not in Python, the one that its build file pins."""
    if entry.build is None:
        return OtherInPython(entry, version)
    kind = Java if entry.build.folder == "java" else ClientBuild
    return kind(f"{entry.name}@{version}" if version else entry.name, entry.build, version)


BUILDS: Final = {
    build.name: build
    for entry in REGISTRY.values()
    for build in (_build(entry, version) for version in ([""] if entry.build else []) + [*entry.other_versions])
}
"""By the client's name: those that are tried."""

OF_OURS: Final = ("reference", "reference-heartbeat")
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,31}")


def build_of(name: str) -> ClientBuild | None:
    """How a client is built that is in no extra of ours; None if it needs no building, or nobody knows it.

    `NAME@VERSION` is any version for which the client's own tool finds a package: whether the harness compiles with it
    and drives it is tried by building it, and by `groupspec harness check`.
    """
    client, _, version = name.partition("@")
    entry = REGISTRY.get(client)
    if name in BUILDS or entry is None or client in OF_OURS or not _VERSION.fullmatch(version):
        return BUILDS.get(name)
    return _build(entry, version)


def tried(client: str) -> tuple[str, ...]:
    """The versions of a client that its harness was tried with: those that are built, and those that the docket has."""
    built = [build.version for build in BUILDS.values() if name_of(build.name) == client]
    return tuple(dict.fromkeys([*(version.split()[0] for version in versions_of(client)), *built]))


def _one_run(command: Sequence[str]) -> None:
    """A member joins, reads and closes: what a harness loads, it has loaded then.

    A client whose group protocol the broker does not speak says so to the application, and reads nothing.
    """
    configure = protocol.Configure(
        bootstrap="",
        group_id="training",
        client_id="training",
        rebalance="eager",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=100,
        max_poll_interval_ms=6_000,
        request_timeout_ms=2_000,
        retry_backoff_ms=100,
        auto_commit=True,
        auto_commit_interval_ms=60_000,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
        callback_ms=0,
    )
    log, read, refused = Log(), is_event("records_consumed"), is_event("error")
    with ScriptedBroker(topics={"orders": 1}, lifetime_s=TRAINING_LIMIT_S) as broker:
        broker.append("orders", 0, [b"record"])
        with HarnessProcess(command, log) as process:
            process.send(msgspec.structs.replace(configure, bootstrap=broker.bootstrap))
            process.send(protocol.Subscribe(topics=["orders"]))
            process.send(protocol.Poll(poll_ms=50))
            log.wait(lambda entry: any(test(entry) for test in (read, refused)), TRAINING_LIMIT_S)
            process.send(protocol.Close())
            log.wait(lambda entry: entry.kind == "client_ended", TRAINING_LIMIT_S)

"""Apache Kafka's jars: fetched by Maven once, kept in the user's cache, shared by all brokers of a version."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from groupspec.conformance.errors import UsageProblem

KAFKA_VERSION: Final = "4.3.1"
"""The newest Apache Kafka for which broker and tools are both published."""
FORMER_VERSION: Final = "3.9.1"
"""An Apache Kafka whose classic groups are kept by the former coordinator (kafka.coordinator.group.GroupCoordinator).
"""
VERSIONS: Final = (KAFKA_VERSION, FORMER_VERSION)

_LOG4J_VERSION: Final = "2.25.4"
_LEFT_OUT: Final = "slf4j-reload4j"
"""What Kafka 3.9 writes its logs with; beside it the one that all versions have here is not heard."""
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
FETCH_LIMIT_S: Final = 600


def cache_folder() -> Path:
    """Where jars and the command line's broker live: GROUPSPEC_CACHE, else XDG_CACHE_HOME/groupspec, else ~/.cache."""
    if chosen := os.environ.get("GROUPSPEC_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groupspec"


def template(name: str, values: Mapping[str, str]) -> str:
    """One of the files in `templates/`, filled in."""
    text = (files("groupspec.conformance.real_broker") / "templates" / name).read_text(encoding="utf-8")
    return Template(text).substitute(values)


def kafka_jars(cache: Path, java_home: Path, version: str = KAFKA_VERSION) -> Path:
    """The folder with this version's jars; fetches them (55 MB, some seconds) when they are not there yet.

    Raises:
        UsageProblem: there is no mvn, or it cannot fetch them.
    """
    folder = cache / f"kafka-{version}"
    jars = folder / "jars"
    if jars.is_dir():
        return jars
    with locked(cache / "jars.lock"):
        if not jars.is_dir():  # another process may have fetched them meanwhile
            _fetch(folder, java_home, version).rename(jars)
    return jars


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Only one process at a time is inside, for one `file`; the lock ends with its process."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("w")
    except OSError as problem:
        raise UsageProblem(
            f"the folder cannot be written: {problem.strerror}",
            where=str(problem.filename or file),
            allowed="a folder that you may write to",
            next_step="set GROUPSPEC_CACHE to another one, or give --dir",
        ) from problem
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fetch(folder: Path, java_home: Path, version: str) -> Path:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise UsageProblem(
            f"no mvn to fetch Apache Kafka {version} with",
            where="PATH",
            allowed=f"Maven 3.6 or later on the PATH, or the jars of Kafka in {folder / 'jars'}",
            next_step="install Maven (Debian: apt install maven); `groupspec doctor` says what else is missing",
        )
    part = folder / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    versions = {"kafka_version": version, "log4j_version": _LOG4J_VERSION}
    (folder / "pom.xml").write_text(template("pom.xml", versions), encoding="utf-8")
    command = [mvn, "-B", "-q", "-U", _COPY, f"-DoutputDirectory={part}", "-DincludeScope=runtime"]
    command.append(f"-DexcludeArtifactIds={_LEFT_OUT}")
    try:
        run = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "JAVA_HOME": str(java_home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise _not_fetched(f"mvn was not done within {FETCH_LIMIT_S} s", folder, version) from problem
    if run.returncode != 0 or not any(part.glob("kafka_2.13-*.jar")):
        said = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
        raise _not_fetched(f"mvn ended with code {run.returncode}: " + " / ".join(said[:4])[:600], folder, version)
    return part


def _not_fetched(what: str, folder: Path, version: str) -> UsageProblem:
    return UsageProblem(
        f"Apache Kafka {version} could not be fetched: {what}",
        where=str(folder),
        next_step=f"check the network and Maven's settings, then try: cd {folder} && mvn -U dependency:resolve",
    )
